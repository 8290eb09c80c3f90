/* Where machine code is not read: nothing is known of an instruction but its address. */
#include "lockstep/tools/desync/machine_code.h"

#include <inttypes.h>
#include <stdio.h>

explain_code_places *explain_code_places_open(void)
{
    return NULL;
}

void explain_code_places_close(explain_code_places *places)
{
    (void)places;
}

uint32_t explain_code_places_levels(const explain_code_places *places, uint64_t instruction,
                                    bool is_return_address, explain_code_level *levels,
                                    uint32_t capacity)
{
    (void)places;
    (void)is_return_address;
    if (capacity > 0) {
        levels[0] = (explain_code_level){.line = 0};
        snprintf(levels[0].function, sizeof levels[0].function, "0x%" PRIx64, instruction);
    }
    return capacity > 0;
}

uint32_t explain_code_places_stack(const explain_code_places *places, uint64_t instruction,
                                   const uint64_t *stack, uint32_t stack_count,
                                   explain_code_level levels[EXPLAIN_LEVELS_MAX])
{
    (void)stack;
    (void)stack_count;
    return explain_code_places_levels(places, instruction, false, levels, EXPLAIN_LEVELS_MAX);
}

bool explain_code_level_is_of_library(const explain_code_level *level)
{
    (void)level;
    return false;
}

void explain_code_level_text(const explain_code_level *level, char *text, size_t capacity)
{
    snprintf(text, capacity, "%s", level->function);
}

bool explain_code_places_file(const explain_code_places *places, uint64_t instruction,
                              explain_code_span *out)
{
    (void)places;
    (void)instruction;
    (void)out;
    return false;
}

explain_machine_code *explain_machine_code_open(void)
{
    return NULL;
}

void explain_machine_code_close(explain_machine_code *code)
{
    (void)code;
}

void explain_machine_code_list(const explain_machine_code *code, const explain_code_places *places,
                               uint64_t instruction, explain_listing *out)
{
    (void)code;
    (void)places;
    (void)instruction;
    *out = (explain_listing){.count = 0};
}

void explain_listing_compare(explain_listing *a, explain_listing *b)
{
    (void)a;
    (void)b;
}

void explain_machine_code_effect(const explain_machine_code *code, uint64_t instruction,
                                 explain_effect *out)
{
    (void)code;
    *out = (explain_effect){.instruction = instruction};
}
