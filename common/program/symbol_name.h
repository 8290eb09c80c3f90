/* Symbol name: what a symbol of C++ or Rust was called in the source, with its namespaces:
 * "game::think" for _ZN4game5thinkEv. Called by reports about files without debug
 * information, never in a process while it plays a match. */
#ifndef LOCKSTEP_COMMON_PROGRAM_SYMBOL_NAME_H
#define LOCKSTEP_COMMON_PROGRAM_SYMBOL_NAME_H

#include <stddef.h>

/* Copies it as ls_name_copy does. Any other symbol is copied as it is, and so is each where
 * libiberty was not there when this was built (LS_HAS_LIBIBERTY). */
void ls_symbol_name_read(char *name, size_t capacity, const char *symbol);

#endif
