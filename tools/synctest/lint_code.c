#include "lockstep/tools/synctest/lint_code.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ls_lint_code {
    ls_lint_processor processor;
    csh handle;
    cs_insn *instruction;
};

typedef struct dialect {
    bool is_known;
    cs_arch arch;
    cs_mode mode;
} dialect;

static const dialect dialects[LS_PROCESSOR_COUNT] = {
    [LS_PROCESSOR_X86_64] = {true, CS_ARCH_X86, CS_MODE_64},
    [LS_PROCESSOR_I386] = {true, CS_ARCH_X86, CS_MODE_32},
    [LS_PROCESSOR_ARM64] = {true, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
    [LS_PROCESSOR_ARM] = {true, CS_ARCH_ARM, CS_MODE_ARM},
    [LS_PROCESSOR_PPC64] = {true, CS_ARCH_PPC, (cs_mode)(CS_MODE_64 | CS_MODE_LITTLE_ENDIAN)},
    [LS_PROCESSOR_S390X] = {true, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN},
};

ls_status ls_lint_code_open(ls_lint_processor processor, ls_lint_code **out)
{
    const dialect *spoken = &dialects[processor];
    ls_lint_code *code = calloc(1, sizeof *code);
    if (!code) {
        return LS_NO_MEMORY;
    }
    code->processor = processor;
    if (!spoken->is_known || cs_open(spoken->arch, spoken->mode, &code->handle) != CS_ERR_OK) {
        free(code);
        return LS_UNSUPPORTED;
    }
    cs_option(code->handle, CS_OPT_SKIPDATA, CS_OPT_ON);
    code->instruction = cs_malloc(code->handle);
    if (!code->instruction) {
        ls_lint_code_close(code);
        return LS_NO_MEMORY;
    }
    *out = code;
    return LS_OK;
}

void ls_lint_code_close(ls_lint_code *code)
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

static uint32_t add_count(ls_lint_code_count *counts, uint32_t used, const char *mnemonic,
                          const ls_lint_rule *rule)
{
    for (uint32_t i = 0; i < used; i++) {
        if (strcmp(counts[i].mnemonic, mnemonic) == 0) {
            counts[i].count++;
            return used;
        }
    }
    if (used == LS_LINT_CODE_COUNTS_MAX) {
        return used; /* what is there is bad enough */
    }
    counts[used].rule = rule;
    counts[used].count = 1;
    snprintf(counts[used].mnemonic, sizeof counts[used].mnemonic, "%s", mnemonic);
    return used + 1;
}

uint32_t ls_lint_code_read(ls_lint_code *code, const uint8_t *bytes, size_t size, uint64_t address,
                           ls_lint_code_count counts[LS_LINT_CODE_COUNTS_MAX],
                           uint64_t *instructions)
{
    uint32_t used = 0;
    while (cs_disasm_iter(code->handle, &bytes, &size, &address, code->instruction)) {
        const char *mnemonic = code->instruction->mnemonic;
        const ls_lint_rule *rule = ls_lint_rule_of_instruction(code->processor, mnemonic);
        (*instructions)++;
        if (rule) {
            used = add_count(counts, used, mnemonic, rule);
        }
    }
    return used;
}
