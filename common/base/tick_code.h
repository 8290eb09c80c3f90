/* Tick code: the functions that run at every tick of a match. By the next tick they are in no
 * cache, so a tick costs what it takes to fetch them: marked, they lie together in a program, on
 * few pages, and are fetched all at once. Changes no value and no outcome. */
#ifndef LOCKSTEP_COMMON_BASE_TICK_CODE_H
#define LOCKSTEP_COMMON_BASE_TICK_CODE_H

/* Before the definition of such a function, unless it is small enough to be inlined. */
#if defined(__ELF__)
#define LS_TICK_CODE __attribute__((section("ls_tick_code")))
#else
#define LS_TICK_CODE
#endif

/* Asks the machine for all of them: called as soon as it is known that a tick may be due. */
void ls_tick_code_fetch(void);

#endif
