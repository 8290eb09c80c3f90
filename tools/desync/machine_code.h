/* Machine code: instructions of this process as text, and what each of them reads and writes. Knows
 * x86-64, as the write trace does. The only place here that names capstone. Called by the reports
 * and by the search for what a value was computed from. */
#ifndef LOCKSTEP_TOOLS_DESYNC_MACHINE_CODE_H
#define LOCKSTEP_TOOLS_DESYNC_MACHINE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Code place: function, file and line of an instruction in this process, with the
 * functions that the compiler has put into it, as far as symbols and debug information
 * tell. The only place that names libdw ---- */

typedef struct explain_code_places explain_code_places;

/* Of what is loaded now; NULL when nothing can be told. */
explain_code_places *explain_code_places_open(void);
void explain_code_places_close(explain_code_places *places);

/* One level of a call stack, real or inlined. */
typedef struct explain_code_level {
    char function[96]; /* "step_units" or, without debug information, "step_units+0x1c" */
    char file[64];     /* "": not known */
    char path[200];    /* of the same, as the compiler was given it */
    int line;          /* within `file`: of the instruction, or of the call to the level before */
    bool is_put_into_next; /* the compiler inlined it into the next level */
    char container[32];    /* "std::unordered_map": it lies in a loop over one; "": none is known */
} explain_code_level;

/* The innermost level first; at least one. A return address belongs to the call before it. */
uint32_t explain_code_places_levels(const explain_code_places *places, uint64_t instruction,
                                    bool is_return_address, explain_code_level *levels,
                                    uint32_t capacity);

/* The levels of an instruction and of the calls around it: return addresses, innermost first. */
#define EXPLAIN_LEVELS_MAX 32u
uint32_t explain_code_places_stack(const explain_code_places *places, uint64_t instruction,
                                   const uint64_t *stack, uint32_t stack_count,
                                   explain_code_level levels[EXPLAIN_LEVELS_MAX]);

/* Whether the source is of a library's headers, which nobody who looks for a fault wants to see. */
bool explain_code_level_is_of_library(const explain_code_level *level);

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

typedef struct explain_machine_code explain_machine_code;

/* NULL: this machine's code cannot be read. */
explain_machine_code *explain_machine_code_open(void);
void explain_machine_code_close(explain_machine_code *code);

/* ---- as text ---- */

typedef struct explain_instruction {
    uint64_t address;
    char mnemonic[32];
    char operands[128];
    bool is_wanted; /* the one that was asked for */
    bool differs;   /* the other list has no such instruction at its place */
} explain_instruction;

#define EXPLAIN_LISTING_BEFORE 14u
#define EXPLAIN_LISTING_AFTER 3u
#define EXPLAIN_LISTING_MAX (EXPLAIN_LISTING_BEFORE + 1u + EXPLAIN_LISTING_AFTER)

typedef struct explain_listing {
    uint64_t function; /* address that offsets are told from; 0: not known */
    uint32_t count;
    explain_instruction list[EXPLAIN_LISTING_MAX];
} explain_listing;

/* A few instructions before and after one. */
void explain_machine_code_list(const explain_machine_code *code, const explain_code_places *places,
                               uint64_t instruction, explain_listing *out);

/* Marks in both what the other does not have: by the operation, not by the registers that a
 * compiler happened to take. */
void explain_listing_compare(explain_listing *a, explain_listing *b);

/* ---- as what it reads and writes ---- */

#define EXPLAIN_BASE_IS_INSTRUCTION 254u /* the address after the instruction */
#define EXPLAIN_BASE_IS_NONE 255u

typedef struct explain_memory_use {
    uint8_t base; /* a register as a step log counts them, or one of the above */
    uint8_t index;
    uint8_t scale;
    uint8_t bytes;
    bool is_read;
    bool is_written;
    int64_t displacement;
} explain_memory_use;

#define EXPLAIN_USES_MAX 3u

/* Sets of registers: the general ones as a step log counts them, then vectors, flags and others.
 * The stack pointer is in none. */
typedef struct explain_effect {
    uint64_t instruction; /* its address */
    uint64_t reads;
    uint64_t writes;
    uint8_t bytes;
    bool is_branch; /* a conditional one */
    uint8_t use_count;
    explain_memory_use uses[EXPLAIN_USES_MAX];
} explain_effect;

/* Of code that is loaded. An instruction that is not known has none. */
void explain_machine_code_effect(const explain_machine_code *code, uint64_t instruction,
                                 explain_effect *out);

#endif
