#include "lockstep/tools/disassembler/disassembler.h"

ls_status disassembler_open(disassembler *opened, cs_arch arch, cs_mode mode, cs_opt_type option)
{
    *opened = (disassembler){0};
    if (cs_open(arch, mode, &opened->handle) != CS_ERR_OK) {
        return LS_UNSUPPORTED;
    }
    cs_option(opened->handle, option, CS_OPT_ON);
    opened->instruction = cs_malloc(opened->handle);
    if (!opened->instruction) {
        cs_close(&opened->handle);
        return LS_NO_MEMORY;
    }
    return LS_OK;
}

void disassembler_close(disassembler *opened)
{
    if (opened->instruction) {
        cs_free(opened->instruction, 1);
        cs_close(&opened->handle);
    }
    *opened = (disassembler){0};
}
