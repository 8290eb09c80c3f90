#include "lockstep/common/base/status.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/language.h"

#include <stdio.h>
#include <stdlib.h>

LS_CASE_FUNCTION(const char *, ls_status_name, int, LS_STATUS_MAP, LS_CASE_NAME, "UNKNOWN")
LS_CASE_FUNCTION(const char *, ls_status_text, int, LS_STATUS_MAP, LS_CASE_TEXT, "UNKNOWN")

/* Where LS_ASSERT (assert.h) ends. */
void ls_assert_fail(const char *condition, const char *file, int line, const char *function)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, condition);
    abort();
}
