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

ls_float_mode ls_float_mode_now(void)
{
    return (ls_float_mode){fegetround(), control()};
}

void ls_float_mode_set(ls_float_mode mode)
{
    set_control(mode.control);
    fesetround(mode.rounding);
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
