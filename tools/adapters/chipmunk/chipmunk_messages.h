/* Chipmunk messages: stands in for functions of the C library that the engine's own copy calls
 * under these names (CMakeLists.txt renames them). It is not to print into the host's output; and
 * qsort, which leaves ties in any order, is never called: it is in an optimisation of the engine's
 * tree that nothing asks for. Called by the engine. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_MESSAGES_H
#define LOCKSTEP_TOOLS_ADAPTERS_CHIPMUNK_CHIPMUNK_MESSAGES_H

#include <stddef.h>

extern void *chipmunk_no_stream;
int chipmunk_no_puts(const char *text);
int chipmunk_no_printf(const char *format, ...);
int chipmunk_no_printf_chk(int flag, const char *format, ...); /* with -D_FORTIFY_SOURCE */
void chipmunk_no_qsort(void *elements, size_t count, size_t bytes,
                       int (*compare)(const void *a, const void *b));

#endif
