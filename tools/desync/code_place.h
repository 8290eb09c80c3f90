/* Code place: function, file and line of an instruction in this process, with the functions that
 * the compiler has put into it, as far as symbols and debug information tell. The only place that
 * names libdw. Called by reports of write traces. */
#ifndef LOCKSTEP_TOOLS_DESYNC_CODE_PLACE_H
#define LOCKSTEP_TOOLS_DESYNC_CODE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct explain_code_places explain_code_places;

/* Of what is loaded now; NULL when nothing can be told. */
explain_code_places *explain_code_places_open(void);
void explain_code_places_close(explain_code_places *places);

/* One level of a call stack, real or inlined. */
typedef struct explain_code_level {
    char function[96]; /* "step_units" or, without debug information, "step_units+0x1c" */
    char file[64];     /* "": not known */
    int line;          /* within `file`: of the instruction, or of the call to the level before */
    bool is_put_into_next; /* the compiler inlined it into the next level */
} explain_code_level;

/* The innermost level first; at least one. A return address belongs to the call before it. */
uint32_t explain_code_places_levels(const explain_code_places *places, uint64_t instruction,
                                    bool is_return_address, explain_code_level *levels,
                                    uint32_t capacity);

/* "move (game.c:41)", "move+0x12", "game.so+0x11c0" or "0x7f..."; always ends with NUL. */
void explain_code_level_text(const explain_code_level *level, char *text, size_t capacity);

/* The machine code around an instruction: all of its file's; its function's, by the symbol, or the
 * file's where there is none. False: nothing is known of it. */
typedef struct explain_code_span {
    uint64_t begin;
    uint64_t end;
    bool is_function; /* `begin` is the first byte of an instruction */
} explain_code_span;
bool explain_code_places_file(const explain_code_places *places, uint64_t instruction,
                              explain_code_span *out);
bool explain_code_places_span(const explain_code_places *places, uint64_t instruction,
                              explain_code_span *out);

#endif
