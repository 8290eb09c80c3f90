/* Language: small things that C does not have. LS_C_BEGIN and LS_C_END stand around declarations
 * that C++ may call; LS_LITERAL(type){...} is a value of a struct in C and in C++; LS_MIN and
 * LS_MAX work on any numbers, and look at the one that they return twice. Included by every
 * installed header that declares a function. */
#ifndef LOCKSTEP_COMMON_BASE_LANGUAGE_H
#define LOCKSTEP_COMMON_BASE_LANGUAGE_H

#define LS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LS_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Stands behind the declaration of a function whose argument number `text`, counted from 1, is a
 * format of printf with its values from number `first` on: compilers compare the two. */
#ifdef __GNUC__
#define LS_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define LS_PRINTF(text, first)
#endif

#ifdef __cplusplus
#define LS_C_BEGIN extern "C" {
#define LS_C_END }
#define LS_LITERAL(type) type
#else
#define LS_C_BEGIN
#define LS_C_END
#define LS_LITERAL(type) (type)
#endif

/* Before the definition of a function that runs at every tick of a match, unless it is small enough
 * to be inlined. By the next tick it is in no cache: such functions lie together in a program, on
 * few pages, and are fetched all at once (ls_tick_code_fetch). */
#if defined(__ELF__)
#define LS_TICK_CODE __attribute__((section("ls_tick_code")))
#else
#define LS_TICK_CODE
#endif

#endif
