/* LS_ASSERT: a programmer's mistake stops the program at once, in every build.
 * It must be cheap, must have no side effects, and must never be reached by bytes from a network,
 * a file or a user: those are rejected with an ls_status. Used by every layer. */
#ifndef LOCKSTEP_COMMON_BASE_ASSERT_H
#define LOCKSTEP_COMMON_BASE_ASSERT_H

#include "lockstep/common/base/language.h"

LS_C_BEGIN

#define LS_ASSERT(condition)                                                                       \
    ((condition) ? (void)0 : ls_assert_fail(#condition, __FILE__, __LINE__, __func__))

/* Prints the place and the condition to standard error and aborts. */
#if defined(__GNUC__)
__attribute__((noreturn, cold))
#endif
void ls_assert_fail(const char *condition, const char *file, int line, const char *function);

LS_C_END

#endif
