#include "lockstep/common/base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void ls_assert_fail(const char *condition, const char *file, int line, const char *function)
{
    fprintf(stderr, "%s:%d: %s: assertion failed: %s\n", file, line, function, condition);
    abort();
}
