#include "lockstep/common/system/machine.h"

#include "lockstep/common/system/windows/errors.h"

#include <psapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

uint32_t ls_machine_processors(void)
{
    DWORD processors = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    return processors > 0 ? processors : 1;
}

static uint64_t count_of(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

uint64_t ls_machine_cpu_ns(void)
{
    FILETIME begun, ended, kernel = {0}, user = {0};
    (void)GetProcessTimes(GetCurrentProcess(), &begun, &ended, &kernel, &user);
    return (count_of(kernel) + count_of(user)) * 100;
}

uint64_t ls_machine_memory_bytes(void)
{
    PROCESS_MEMORY_COUNTERS counters = {.cb = sizeof counters};
    return GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)
               ? counters.WorkingSetSize
               : 0;
}

uint32_t ls_machine_threads(void)
{
    return 0;
}

const char *const *ls_machine_variables(void)
{
    static const char *const none = NULL;
    return _environ ? (const char *const *)_environ : &none;
}

void ls_machine_set_variable(const char *name, const char *value)
{
    (void)_putenv_s(name, value ? value : ""); /* an empty one is none */
}

bool ls_machine_program_path(char *path, size_t capacity)
{
    DWORD size = GetModuleFileNameA(NULL, path, (DWORD)capacity);
    bool is_whole = size > 0 && size < capacity;
    path[is_whole ? size : 0] = '\0';
    return is_whole;
}

/* The system wakes threads each 15.6 ms unless a program asks for more. */
uint32_t ls_machine_timer_slack(uint32_t slack_ns)
{
    const UINT finest_ms = 1;
    if (slack_ns > 0) {
        (void)timeBeginPeriod(finest_ms);
    } else {
        (void)timeEndPeriod(finest_ms);
    }
    return 0;
}

void ls_machine_give_way(bool is_last)
{
    (void)SetPriorityClass(GetCurrentProcess(),
                           is_last ? IDLE_PRIORITY_CLASS : BELOW_NORMAL_PRIORITY_CLASS);
}

void ls_machine_use_one_processor(void)
{
    (void)SetThreadAffinityMask(GetCurrentThread(),
                                (DWORD_PTR)1 << GetCurrentProcessorNumber() % 64);
}

/* ---- machine items ---- */

/* A text of the registry's; empty when there is none. */
static void read_text(const char *key, const char *name, char *text, DWORD capacity)
{
    text[0] = '\0';
    if (RegGetValueA(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, NULL, text, &capacity) !=
        ERROR_SUCCESS) {
        text[0] = '\0';
    }
}

void ls_machine_items(ls_build_fingerprint *out)
{
    char text[LS_PRINT_TEXT_BYTES_MAX];
    char build[32];
    read_text("HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", "ProcessorNameString", text,
              sizeof text);
    ls_build_fingerprint_set(out, LS_PRINT_CPU, text);
    read_text("SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", "CurrentBuildNumber", build,
              sizeof build);
    snprintf(text, sizeof text, "Windows %s", build);
    ls_build_fingerprint_set(out, LS_PRINT_SYSTEM, text);
    ls_build_fingerprint_set(out, LS_PRINT_LIBC, "msvcrt");
    snprintf(text, sizeof text, "%u online", (unsigned)ls_machine_processors());
    ls_build_fingerprint_set(out, LS_PRINT_CORES, text);
    snprintf(text, sizeof text, "%s%s", __builtin_cpu_supports("avx2") ? "avx2, " : "no avx2, ",
             __builtin_cpu_supports("fma") ? "fma, " : "no fma, ");
    ls_build_fingerprint_set(out, LS_PRINT_CPU_FEATURES, text);
}
