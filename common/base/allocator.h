/* Allocators: every object that owns heap memory gets it through one of these, passed in at
 * create. No tick of a running match allocates; tests prove it with a counting allocator. An
 * allocator is borrowed and must outlive what it made. */
#ifndef LOCKSTEP_COMMON_BASE_ALLOCATOR_H
#define LOCKSTEP_COMMON_BASE_ALLOCATOR_H

#include "lockstep/common/base/language.h"

#include <stddef.h>

LS_C_BEGIN

typedef struct ls_allocator {
    /* Returns `bytes` zeroed bytes aligned for any type, or NULL. bytes > 0. */
    void *(*allocate)(void *user, size_t bytes);
    /* Takes back what allocate returned; NULL is allowed. */
    void (*release)(void *user, void *memory);
    void *user;
} ls_allocator;

/* The C heap. */
const ls_allocator *ls_allocator_heap(void);

/* Zeroed memory for `count` elements of `element_bytes`, or NULL when memory is out, when the
 * product overflows or when it is 0. */
void *ls_allocate_array(const ls_allocator *allocator, size_t count, size_t element_bytes);
void *ls_allocate(const ls_allocator *allocator, size_t bytes);
void ls_release(const ls_allocator *allocator, void *memory);

LS_C_END

#endif
