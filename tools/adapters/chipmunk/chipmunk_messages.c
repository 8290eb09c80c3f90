/* Chipmunk messages: stands in for functions of the C library that the engine's own copy calls
 * under these names (CMakeLists.txt renames them). It is not to print into the host's output; and
 * qsort, which leaves ties in any order, is never called: it is in an optimisation of the engine's
 * tree that nothing asks for. */
#include "lockstep/common/base/assert.h"

#include <chipmunk/chipmunk.h>

#include <stdbool.h>
#include <stddef.h>

extern void *chipmunk_no_stream;
int chipmunk_no_puts(const char *text);
int chipmunk_no_printf(const char *format, ...);
int chipmunk_no_printf_chk(int flag, const char *format, ...); /* with -D_FORTIFY_SOURCE */
void chipmunk_no_qsort(void *elements, size_t count, size_t bytes,
                       int (*compare)(const void *a, const void *b));

void *chipmunk_no_stream;

int chipmunk_no_puts(const char *text)
{
    (void)text;
    return 0;
}

int chipmunk_no_printf(const char *format, ...)
{
    (void)format;
    return 0;
}

int chipmunk_no_printf_chk(int flag, const char *format, ...)
{
    (void)flag;
    (void)format;
    return 0;
}

void chipmunk_no_qsort(void *elements, size_t count, size_t bytes,
                       int (*compare)(const void *a, const void *b))
{
    (void)elements;
    (void)count;
    (void)bytes;
    (void)compare;
    LS_ASSERT(false);
}

/* A warning is not worth a line; an error is a mistake in this folder. */
void cpMessage(const char *condition, const char *file, int line, int is_error, int is_hard,
               const char *message, ...)
{
    (void)is_hard;
    (void)message;
    if (is_error) {
        ls_assert_fail(condition, file, line, "the engine");
    }
}
