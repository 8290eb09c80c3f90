#include "lockstep/tools/desync/machine_code.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INSTRUCTION_BYTES_MAX = 15,
    BYTES_BEFORE = 96, /* read where no symbol says where a function begins */
    PAGE = 4096,
};

struct explain_machine_code {
    csh handle;
    cs_insn *instruction;
};

explain_machine_code *explain_machine_code_open(void)
{
#if defined(__x86_64__)
    explain_machine_code *code = calloc(1, sizeof *code);
    if (!code || cs_open(CS_ARCH_X86, CS_MODE_64, &code->handle) != CS_ERR_OK) {
        free(code);
        return NULL;
    }
    cs_option(code->handle, CS_OPT_DETAIL, CS_OPT_ON);
    code->instruction = cs_malloc(code->handle);
    if (!code->instruction) {
        explain_machine_code_close(code);
        return NULL;
    }
    return code;
#else
    return NULL;
#endif
}

void explain_machine_code_close(explain_machine_code *code)
{
    if (!code) {
        return;
    }
    if (code->instruction) {
        cs_free(code->instruction, 1);
    }
    cs_close(&code->handle);
    free(code);
}

/* ---- as text ---- */

typedef struct decoding {
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
} decoding;

static decoding decode_from(uint64_t begin, uint64_t end)
{
    return (decoding){(const uint8_t *)(uintptr_t)begin, (size_t)(end - begin), begin};
}

static bool decode_next(const explain_machine_code *code, decoding *at)
{
    return cs_disasm_iter(code->handle, &at->bytes, &at->size, &at->address, code->instruction);
}

static bool leads_to(const explain_machine_code *code, uint64_t begin, uint64_t instruction)
{
    decoding at = decode_from(begin, instruction + INSTRUCTION_BYTES_MAX);
    while (at.address < instruction && decode_next(code, &at)) {
    }
    return at.address == instruction;
}

/* Where to begin so that the instruction is met: wherever one begins within a function, after a few
 * instructions the right ones come out. */
static uint64_t find_begin(const explain_machine_code *code, const explain_code_span *span,
                           uint64_t instruction)
{
    if (span->is_function && leads_to(code, span->begin, instruction)) {
        return span->begin;
    }
    uint64_t begin =
        instruction - span->begin > BYTES_BEFORE ? instruction - BYTES_BEFORE : span->begin;
    while (begin < instruction && !leads_to(code, begin, instruction)) {
        begin++;
    }
    return begin;
}

static void add_instruction(explain_listing *out, const cs_insn *from, uint64_t wanted)
{
    if (from->address <= wanted && out->count == EXPLAIN_LISTING_BEFORE + 1) {
        memmove(out->list, out->list + 1, EXPLAIN_LISTING_BEFORE * sizeof out->list[0]);
        out->count--;
    }
    explain_instruction *made = &out->list[out->count++];
    *made = (explain_instruction){.address = from->address, .is_wanted = from->address == wanted};
    snprintf(made->mnemonic, sizeof made->mnemonic, "%s", from->mnemonic);
    snprintf(made->operands, sizeof made->operands, "%.120s", from->op_str);
}

void explain_machine_code_list(const explain_machine_code *code, const explain_code_places *places,
                               uint64_t instruction, explain_listing *out)
{
    explain_code_span span;
    uint32_t after = 0;
    *out = (explain_listing){.count = 0};
    if (!code || !explain_code_places_span(places, instruction, &span)) {
        return;
    }
    /* the file's last page may end before its code is said to */
    uint64_t end = span.is_function ? span.end : (instruction / PAGE + 1) * PAGE;
    decoding at =
        decode_from(find_begin(code, &span, instruction), end < span.end ? end : span.end);
    out->function = span.is_function ? span.begin : 0;
    while (after <= EXPLAIN_LISTING_AFTER && decode_next(code, &at)) {
        after += code->instruction->address >= instruction ? 1 : 0;
        add_instruction(out, code->instruction, instruction);
    }
}

/* Whether both do the same, with other registers or in the other form of the same instruction. */
static bool is_same_operation(const explain_instruction *a, const explain_instruction *b)
{
    const char *first = a->mnemonic + (a->mnemonic[0] == 'v' ? 1 : 0);
    const char *second = b->mnemonic + (b->mnemonic[0] == 'v' ? 1 : 0);
    return strcmp(first, second) == 0;
}

/* The longest common sequence, from the end on: what is left of both is what differs. Where one
 * list begins before the other nothing is known of the other. */
void explain_listing_compare(explain_listing *a, explain_listing *b)
{
    uint32_t longest[EXPLAIN_LISTING_MAX + 1][EXPLAIN_LISTING_MAX + 1] = {{0}};
    for (uint32_t i = 1; i <= a->count; i++) {
        for (uint32_t j = 1; j <= b->count; j++) {
            uint32_t without =
                longest[i - 1][j] > longest[i][j - 1] ? longest[i - 1][j] : longest[i][j - 1];
            bool is_same = is_same_operation(&a->list[i - 1], &b->list[j - 1]);
            longest[i][j] = is_same ? longest[i - 1][j - 1] + 1 : without;
        }
    }
    uint32_t i = a->count;
    uint32_t j = b->count;
    while (i > 0 && j > 0) {
        if (is_same_operation(&a->list[i - 1], &b->list[j - 1])) {
            i--;
            j--;
        } else if (longest[i - 1][j] >= longest[i][j - 1]) {
            a->list[--i].differs = true;
        } else {
            b->list[--j].differs = true;
        }
    }
}
