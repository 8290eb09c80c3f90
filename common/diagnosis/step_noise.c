#include "lockstep/common/diagnosis/step_noise.h"

#include <string.h>

enum {
    GAP_BYTES = 128,   /* of the frame of fill_stack, which it uses itself and leaves alone */
    PLACE_BYTES = 640, /* further down */
    PAGE_BYTES = 4096,
};

#define SCRATCH_STREAM UINT64_C(0x73637261746368)
#define BLOCK_STREAM UINT64_C(0x626c6f636b)
#define REGISTER_STREAM UINT64_C(0x7265676973746572)

/* For the compiler a use of the bytes and of all memory; it is no instruction. */
#define TOUCH(bytes) __asm__ __volatile__("" : : "r"(bytes) : "memory")

/* ---- bytes ---- */

/* A number that any two places, passes and seeds differ in. */
static uint64_t random_word(uint64_t place)
{
    uint64_t word = place * UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return word ^ word >> 32;
}

static void fill(const ls_step_noise *noise, uint64_t stream, uint8_t *bytes, size_t size)
{
    uint64_t turned = noise->kind == LS_NOISE_OPPOSITE ? UINT64_MAX : 0;
    uint64_t first = random_word(noise->seed ^ random_word(stream));
    if (noise->kind == LS_NOISE_ZERO) {
        memset(bytes, 0, size);
        return;
    }
    size_t at = 0;
    for (; size - at >= sizeof turned; at += sizeof turned) {
        uint64_t word = random_word(first + at) ^ turned;
        memcpy(bytes + at, &word, sizeof word); /* a size that varies is a call for each word */
    }
    if (at < size) {
        uint64_t word = random_word(first + at) ^ turned;
        memcpy(bytes + at, &word, size - at);
    }
}

/* Random bytes for all of it would take longer than most steps: they repeat. */
static void fill_by_pages(const ls_step_noise *noise, uint64_t stream, uint8_t *bytes, size_t size)
{
    size_t first = LS_MIN(size, (size_t)PAGE_BYTES);
    fill(noise, stream, bytes, first);
    for (size_t at = first; at < size; at += PAGE_BYTES) {
        memcpy(bytes + at, bytes, LS_MIN(size - at, (size_t)PAGE_BYTES));
    }
}

/* ---- registers ---- */

#if defined(__x86_64__) && defined(__ELF__)
/* The callee's own registers as well, which it saves before it takes one for a variable. */
__attribute__((naked, noinline)) static void call(const ls_step *step __attribute__((unused)),
                                                  void (*run)(const ls_step *step)
                                                      __attribute__((unused)),
                                                  uint64_t noise __attribute__((unused)))
{
    __asm__(".irp reg, rbx, rbp, r12, r13, r14, r15\n"
            "pushq %\\reg\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset \\reg, 0\n.endr\n"
            "pushq %rsi\n.cfi_adjust_cfa_offset 8\n"
            ".irp reg, ax, bx, cx, si, bp, 8, 9, 10, 11, 12, 13, 14, 15\n"
            "movq %rdx, %r\\reg\n.endr\n"
            ".irp reg, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
            "movq %rdx, %xmm\\reg\npunpcklqdq %xmm\\reg, %xmm\\reg\n.endr\n"
            "call *(%rsp)\n"
            "popq %rsi\n.cfi_adjust_cfa_offset -8\n"
            ".irp reg, r15, r14, r13, r12, rbp, rbx\n"
            "popq %\\reg\n.cfi_adjust_cfa_offset -8\n.cfi_restore \\reg\n.endr\n"
            "ret");
}
#else
static void call(const ls_step *step, void (*run)(const ls_step *step), uint64_t noise)
{
    (void)noise;
    run(step);
}
#endif

void ls_step_noise_call(uint64_t noise, const ls_step *step, const ls_pass *pass)
{
    call(step, pass->run, noise);
}

/* ---- the stack ---- */

__attribute__((noinline)) static void fill_stack(const ls_step_noise *noise)
{
    uint8_t bytes[LS_NOISE_STACK_BYTES];
    fill(noise, noise->passes, bytes, sizeof bytes);
    TOUCH(bytes);
}

__attribute__((noinline)) static void fill_deep_stack(const ls_step_noise *noise)
{
    uint8_t bytes[LS_NOISE_DEEP_BYTES];
    fill_by_pages(noise, noise->passes, bytes, sizeof bytes);
    TOUCH(bytes);
}

__attribute__((noinline)) static void run_deeper(void (*run)(void *user), void *user)
{
    uint8_t gap[GAP_BYTES];
    TOUCH(gap);
    run(user);
    TOUCH(gap);
}

void ls_step_noise_run(const ls_step_noise *noise, void (*run)(void *user), void *user)
{
    (noise->is_deep ? fill_deep_stack : fill_stack)(noise);
    run_deeper(run, user);
}

typedef struct noisy_pass {
    uint64_t word; /* in registers */
    const ls_step *step;
    const ls_pass *pass;
} noisy_pass;

static void call_pass(void *user)
{
    const noisy_pass *called = user;
    ls_step_noise_call(called->word, called->step, called->pass);
}

/* A pass that goes by where its variables lie gets another result. */
__attribute__((noinline)) static void call_elsewhere(void *user)
{
    uint8_t gap[PLACE_BYTES];
    TOUCH(gap);
    call_pass(user);
    TOUCH(gap);
}

void ls_step_noise_run_pass(ls_step_noise *noise, const ls_step *step, const ls_pass *pass)
{
    noisy_pass called = {0, step, pass};
    fill(noise, REGISTER_STREAM + noise->passes, (uint8_t *)&called.word, sizeof called.word);
    /* With no noise it does not matter which of its bytes are found where. */
    ls_step_noise_run(noise, noise->kind == LS_NOISE_ZERO ? call_elsewhere : call_pass, &called);
    noise->passes++;
}

static void run_pass(void *user, const ls_step *step, const ls_pass *pass, uint32_t index)
{
    (void)index;
    ls_step_noise_run_pass(user, step, pass);
}

void ls_step_noise_step(ls_step_noise *noise, ls_sim_instance *instance,
                        const ls_tick_inputs *inputs)
{
    ls_sim_instance_step_watched(instance, inputs, &(ls_step_watch){run_pass, noise});
}

/* ---- scratch and blocks ---- */

void ls_step_noise_fill_scratch(const ls_step_noise *noise, ls_sim_instance *instance)
{
    size_t size = 0;
    uint8_t *scratch = ls_sim_instance_scratch(instance, &size);
    fill(noise, SCRATCH_STREAM + noise->passes, scratch, size);
}

void ls_step_noise_fill_block(const ls_step_noise *noise, uint8_t *bytes, size_t size)
{
    fill_by_pages(noise, BLOCK_STREAM + size, bytes, size);
}
