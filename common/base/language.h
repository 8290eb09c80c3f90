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

/* ---- case function: a function that says something of each value in a list. The list is an X
 * macro, as LS_STATUS_MAP; `row` turns one of its rows into an LS_CASE. Used by the files that own
 * a list ---- */

#define LS_CASE(label, result)                                                                     \
    case label:                                                                                    \
        return result;

#define LS_CASE_FUNCTION(result_type, function, type, map, row, otherwise)                         \
    result_type function(type value)                                                               \
    {                                                                                              \
        switch ((int)value) {                                                                      \
            map(row)                                                                               \
        }                                                                                          \
        return otherwise;                                                                          \
    }

/* Rows of lists X(NAME, number, text): the name as it is written, or the text. */
#define LS_CASE_NAME(name, number, text) LS_CASE(number, #name)
#define LS_CASE_TEXT(name, number, text) LS_CASE(number, text)

/* ---- sanitizers: which of them a file is compiled with, 1 or 0. gcc says so by macros, clang by
 * features. Used where memory is handed out, and by tests that look at memory ---- */

#if defined(__has_feature)
#define LS_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LS_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || LS_HAS_FEATURE(address_sanitizer)
#define LS_HAS_ADDRESS_SANITIZER 1
#else
#define LS_HAS_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || LS_HAS_FEATURE(thread_sanitizer)
#define LS_HAS_THREAD_SANITIZER 1
#else
#define LS_HAS_THREAD_SANITIZER 0
#endif

/* The heap is the sanitizer's. */
#define LS_IS_SANITIZED                                                                            \
    (LS_HAS_ADDRESS_SANITIZER || LS_HAS_THREAD_SANITIZER || LS_HAS_FEATURE(memory_sanitizer))

#endif
