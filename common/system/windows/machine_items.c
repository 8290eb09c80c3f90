#include "lockstep/common/system/machine_items.h"

#include "lockstep/common/system/machine.h"

#include <stdio.h>
#include <windows.h>

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
