#define _GNU_SOURCE
#include "lockstep/tools/synctest/crash.h"

#include "lockstep/common/simulation/plugin_place.h"
#include "lockstep/common/system/crash_signal.h"

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    HANDLER_STACK_BYTES = 64 << 10, /* of its own: the crash may be that the other is used up */
    ENDED = 70,
};

static synctest_exchange *told;
static sigjmp_buf way_back;
static volatile sig_atomic_t is_guarded;
static uintptr_t touched;

_Noreturn void synctest_crash_end(int signal_number)
{
    told->outcome.kind = SYNCTEST_OUTCOME_CRASHED;
    told->outcome.signal = signal_number;
    _exit(ENDED);
}

static uintptr_t instruction_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* Notes the instruction if it is the plug-in's. */
static int note_place(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    uintptr_t instruction = *(const uintptr_t *)user;
    if (strcmp(info->dlpi_name, told->match.sim) != 0) {
        return 0;
    }
    for (uint16_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t address = instruction - info->dlpi_addr;
        if (header->p_type == PT_LOAD && header->p_flags & PF_X && address >= header->p_vaddr &&
            address - header->p_vaddr < header->p_memsz) {
            told->outcome.crash_address = address;
        }
    }
    return 1;
}

/* The phases of the process are wider than the calls of the simulation. */
static void note_call(void)
{
    switch (ls_plugin_place_here.call) {
    case LS_PLUGIN_CALL_OPEN:
        told->progress.phase = SYNCTEST_PHASE_OPENING;
        break;
    case LS_PLUGIN_CALL_INIT:
        told->progress.phase = SYNCTEST_PHASE_INIT;
        break;
    case LS_PLUGIN_CALL_LOAD:
        told->progress.phase = SYNCTEST_PHASE_LOADING_SAVE;
        break;
    default:
        break;
    }
}

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
    bool is_access = signal_number == SIGSEGV || signal_number == SIGBUS;
    if (is_guarded && is_access) {
        touched = (uintptr_t)info->si_addr;
        siglongjmp(way_back, 1);
    }
    uintptr_t instruction = instruction_of(context);
    dl_iterate_phdr(note_place, &instruction);
    note_call();
    synctest_crash_end(signal_number);
}

void synctest_crash_watch(synctest_exchange *exchange)
{
    static uint8_t stack[HANDLER_STACK_BYTES];
    told = exchange;
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    int number = 0;
    for (size_t i = 0; (number = ls_crash_signal(i)) != 0; i++) {
        sigaction(number, &action, NULL);
    }
}

bool synctest_crash_guard(void (*run)(void *user), void *user, uintptr_t *address)
{
    if (sigsetjmp(way_back, 1) != 0) {
        is_guarded = 0;
        *address = touched;
        return false;
    }
    is_guarded = 1;
    run(user);
    is_guarded = 0;
    return true;
}
