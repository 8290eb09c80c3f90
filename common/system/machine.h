/* Machine: the processors, the memory and the environment that this program has. Called by
 * programs. */
#ifndef LOCKSTEP_COMMON_SYSTEM_MACHINE_H
#define LOCKSTEP_COMMON_SYSTEM_MACHINE_H

#include "lockstep/common/base/build_fingerprint.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many processors there are, 1 or more. */
uint32_t ls_machine_processors(void);

/* How long this process has worked so far, on all processors. */
uint64_t ls_machine_cpu_ns(void);

/* The memory of this process that is in use now; 0: the system does not say. */
uint64_t ls_machine_memory_bytes(void);

/* The threads of this process; 0: the system does not say. */
uint32_t ls_machine_threads(void);

/* The variables of this process, "NAME=value", NULL last; until one is changed. */
const char *const *ls_machine_variables(void);

/* NULL: there is none of that name any more. */
void ls_machine_set_variable(const char *name, const char *value);

/* The file that this program was started from; false: not known, or longer. */
bool ls_machine_program_path(char *path, size_t capacity);

/* How late the system may wake this thread to save work, in place of what is returned; 0: the
 * system's own choice. */
uint32_t ls_machine_timer_slack(uint32_t slack_ns);

/* From now on this process goes behind others that want a processor: all others, or all but those
 * that do so too. Where so many want one that the last would never get it, it stays among them. */
void ls_machine_give_way(bool is_last);

/* On the one that it runs on at the moment, if the system can. */
void ls_machine_use_one_processor(void);

/* ---- Machine items: what the system says of this machine, for a build fingerprint ---- */

/* Sets CPU, SYSTEM, LIBC, CORES, PRELOADS, and in CPU_FEATURES those of the processor, each with a
 * comma behind it. An item stays empty when the system does not say it. */
void ls_machine_items(ls_build_fingerprint *out);

#endif
