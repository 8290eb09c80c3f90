/* Disassembler: one of the disassembler library for one kind of processor, with room for one
 * instruction; opened and closed in this one place. Called by the readers of machine code of
 * lockstep-desync and lockstep-synctest. */
#ifndef LOCKSTEP_TOOLS_DISASSEMBLER_DISASSEMBLER_H
#define LOCKSTEP_TOOLS_DISASSEMBLER_DISASSEMBLER_H

#include "lockstep/common/base/status.h"

#include <capstone/capstone.h>

typedef struct disassembler {
    csh handle;
    cs_insn *instruction; /* NULL: it is not open */
} disassembler;

/* With this option (CS_OPT_DETAIL, CS_OPT_SKIPDATA) on. UNSUPPORTED for a processor that the
 * library does not know, NO_MEMORY. */
ls_status disassembler_open(disassembler *opened, cs_arch arch, cs_mode mode, cs_opt_type option);
void disassembler_close(
    disassembler *opened); /* also of one that is zero, or could not be opened */

#endif
