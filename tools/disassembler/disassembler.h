/* Disassembler: one of capstone for one kind of processor, with room for one instruction. The
 * library is loaded when the first one is opened: it changes a megabyte of tables when it is, and
 * the programs that read machine code start copies of themselves by the hundred that read none.
 * Called by the readers of machine code of lockstep-desync and lockstep-synctest. */
#ifndef LOCKSTEP_TOOLS_DISASSEMBLER_DISASSEMBLER_H
#define LOCKSTEP_TOOLS_DISASSEMBLER_DISASSEMBLER_H

#include "lockstep/common/base/status.h"

#include <capstone/capstone.h>

typedef struct disassembler {
    csh handle;
    cs_insn *instruction; /* NULL: it is not open */
} disassembler;

/* With this option (CS_OPT_DETAIL, CS_OPT_SKIPDATA) on. UNSUPPORTED for a processor that the
 * library does not know, NOT_FOUND where the library is not installed, NO_MEMORY. */
ls_status disassembler_open(disassembler *opened, cs_arch arch, cs_mode mode, cs_opt_type option);
void disassembler_close(
    disassembler *opened); /* also of one that is zero, or could not be opened */

/* Reads an instruction into `instruction`, and leads the three behind it. False: there is none. */
bool disassembler_next(const disassembler *opened, const uint8_t **bytes, size_t *size,
                       uint64_t *address);

const char *disassembler_register(const disassembler *opened, unsigned id); /* NULL: none */

/* Those that the instruction reads and writes. False: it is not known. */
bool disassembler_registers(const disassembler *opened, cs_regs reads, uint8_t *read_count,
                            cs_regs writes, uint8_t *write_count);

#endif
