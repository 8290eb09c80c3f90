#include "lockstep/tools/synctest/lint_code.h"

#include "lockstep/tools/disassembler/disassembler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct synctest_lint_code {
    synctest_lint_processor processor;
    disassembler reader;
};

typedef struct dialect {
    bool is_known;
    cs_arch arch;
    cs_mode mode;
} dialect;

static const dialect dialects[SYNCTEST_PROCESSOR_COUNT] = {
    [SYNCTEST_PROCESSOR_X86_64] = {true, CS_ARCH_X86, CS_MODE_64},
    [SYNCTEST_PROCESSOR_I386] = {true, CS_ARCH_X86, CS_MODE_32},
    [SYNCTEST_PROCESSOR_ARM64] = {true, CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN},
    [SYNCTEST_PROCESSOR_ARM] = {true, CS_ARCH_ARM, CS_MODE_ARM},
    [SYNCTEST_PROCESSOR_PPC64] = {true, CS_ARCH_PPC, (cs_mode)(CS_MODE_64 | CS_MODE_LITTLE_ENDIAN)},
    [SYNCTEST_PROCESSOR_S390X] = {true, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN},
};

ls_status synctest_lint_code_open(synctest_lint_processor processor, synctest_lint_code **out)
{
    const dialect *spoken = &dialects[processor];
    synctest_lint_code *code = calloc(1, sizeof *code);
    if (!code) {
        return LS_NO_MEMORY;
    }
    code->processor = processor;
    ls_status status = spoken->is_known ? disassembler_open(&code->reader, spoken->arch,
                                                            spoken->mode, CS_OPT_SKIPDATA)
                                        : LS_UNSUPPORTED;
    if (status != LS_OK) {
        free(code);
        return status;
    }
    *out = code;
    return LS_OK;
}

void synctest_lint_code_close(synctest_lint_code *code)
{
    if (code) {
        disassembler_close(&code->reader);
        free(code);
    }
}

static uint32_t add_count(synctest_lint_code_count *counts, uint32_t used, const char *mnemonic,
                          const synctest_lint_rule *rule)
{
    for (uint32_t i = 0; i < used; i++) {
        if (strcmp(counts[i].mnemonic, mnemonic) == 0) {
            counts[i].count++;
            return used;
        }
    }
    if (used == SYNCTEST_LINT_CODE_COUNTS_MAX) {
        return used; /* what is there is bad enough */
    }
    counts[used].rule = rule;
    counts[used].count = 1;
    snprintf(counts[used].mnemonic, sizeof counts[used].mnemonic, "%s", mnemonic);
    return used + 1;
}

uint32_t synctest_lint_code_read(synctest_lint_code *code, const uint8_t *bytes, size_t size,
                                 uint64_t address,
                                 synctest_lint_code_count counts[SYNCTEST_LINT_CODE_COUNTS_MAX],
                                 uint64_t *instructions)
{
    uint32_t used = 0;
    while (cs_disasm_iter(code->reader.handle, &bytes, &size, &address, code->reader.instruction)) {
        const char *mnemonic = code->reader.instruction->mnemonic;
        const synctest_lint_rule *rule =
            synctest_lint_rule_of_instruction(code->processor, mnemonic);
        (*instructions)++;
        if (rule) {
            used = add_count(counts, used, mnemonic, rule);
        }
    }
    return used;
}
