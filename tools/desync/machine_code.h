/* Machine code: instructions of this process as text, and what each of them reads and writes. Knows
 * x86-64, as the write trace does. The only place here that names capstone. Called by the reports
 * and by the search for what a value was computed from. */
#ifndef LOCKSTEP_TOOLS_DESYNC_MACHINE_CODE_H
#define LOCKSTEP_TOOLS_DESYNC_MACHINE_CODE_H

#include "lockstep/tools/desync/code_place.h"

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

#endif
