/* Foreign calls: what loaded code gets in place of some functions of the C library, in a process
 * that runs it once more to see what its results hang on. On Linux of x86-64 and aarch64 with
 * glibc; elsewhere nothing is replaced. Never in a process that plays a match. Called by helpers
 * that run ticks again. */
#ifndef LOCKSTEP_COMMON_SYSTEM_FOREIGN_CALLS_H
#define LOCKSTEP_COMMON_SYSTEM_FOREIGN_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* These are for all code that is loaded by now: plug-ins, their libraries, and the program itself
 * where it may lie anywhere in memory. Calls of the C library within itself stay as they are. */

/* Each block from malloc and its kin is filled where the code has not set it: what realloc adds to
 * a block in its place too, and a little past its end. The filler is called by any thread that
 * allocates, and must not allocate. */
void ls_foreign_calls_fill_heap(void (*filler)(uint8_t *bytes, size_t size));

/* Threads begin, and take a lock, later by chance, or begin at one moment: results that hang on
 * which one comes first, or on whether two meet, differ from process to process. */
void ls_foreign_calls_delay_threads(void);

/* Every clock is up to three years on, by chance: but of code beside this one, such as a game that
 * is linked into its program. */
void ls_foreign_calls_shift_clock(void);

/* ---- writes to files. For a copy of a process that runs foreign code once more, and whose files
 * nobody wants. On Linux, and of x86-64 alone it is told which; elsewhere files are written. ----
 */

/* From now on and until the process ends. Streams of the C library write before what they hold. */
void ls_file_writes_refuse(void);

/* The name, without folders, of the first file that was written to since the last call, by the
 * system's calls or streams of the C library; false: none was. */
bool ls_file_writes_next(char *name, size_t capacity);

#endif
