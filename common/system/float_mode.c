#include "lockstep/common/system/float_mode.h"

#include <fenv.h>

#if defined(__SSE__)
#define FLUSH_BITS 0x8040u   /* flush to zero, denormals are zero */
#define CONTROL_BITS 0xffc0u /* all but the flags that say what has happened */
static uint32_t control(void)
{
    return __builtin_ia32_stmxcsr() & CONTROL_BITS;
}

static void set_control(uint32_t bits)
{
    __builtin_ia32_ldmxcsr(bits);
}
#elif defined(__aarch64__)
#define FLUSH_BITS (UINT32_C(1) << 24) /* flush to zero, of the control register */
static uint32_t control(void)
{
    uint64_t bits = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(bits));
    return (uint32_t)bits;
}

static void set_control(uint32_t bits)
{
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)bits));
}
#else
#define FLUSH_BITS 0u
static uint32_t control(void)
{
    return 0;
}

static void set_control(uint32_t bits)
{
    (void)bits;
}
#endif

#if defined(__x86_64__)
/* As fegetround and fesetround of the C library's maths, which a client does without: that library
 * takes 670 KB of its memory. The numbers of FE_ are these bits. */
#define ROUNDING_BITS 0x0c00u
#define ROUNDING_SHIFT 3 /* to where MXCSR has them */
static int rounding(void)
{
    uint16_t x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return x87 & ROUNDING_BITS;
}

static void set_rounding(int mode)
{
    uint16_t x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    x87 = (uint16_t)((x87 & ~ROUNDING_BITS) | (unsigned)mode);
    __asm__ volatile("fldcw %0" : : "m"(x87));
    uint32_t mxcsr = __builtin_ia32_stmxcsr() & ~(ROUNDING_BITS << ROUNDING_SHIFT);
    __builtin_ia32_ldmxcsr(mxcsr | (uint32_t)mode << ROUNDING_SHIFT);
}
#else
static int rounding(void)
{
    return fegetround();
}

static void set_rounding(int mode)
{
    (void)fesetround(mode);
}
#endif

ls_float_mode ls_float_mode_now(void)
{
    return (ls_float_mode){rounding(), control()};
}

void ls_float_mode_set(ls_float_mode mode)
{
    set_control(mode.control);
    set_rounding(mode.rounding);
}

void ls_float_mode_round(int mode)
{
    set_rounding(mode);
}

bool ls_float_mode_equal(ls_float_mode a, ls_float_mode b)
{
    return a.rounding == b.rounding && a.control == b.control;
}

ls_float_mode ls_float_mode_moved(uint32_t turn)
{
    static const int roundings[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    return (ls_float_mode){roundings[turn % 3], control()};
}

void ls_float_mode_flush(void)
{
    set_control(control() | FLUSH_BITS);
}

bool ls_float_mode_can_flush(void)
{
    return FLUSH_BITS != 0;
}
