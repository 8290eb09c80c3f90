#include "lockstep/tools/disassembler/disassembler.h"

#include "lockstep/common/system/library.h"

/* Loaded once, and kept. */
static struct {
    void *file;
    __typeof__(cs_open) *open;
    __typeof__(cs_option) *option;
    __typeof__(cs_malloc) *acquire;
    __typeof__(cs_free) *release;
    __typeof__(cs_close) *close;
    __typeof__(cs_disasm_iter) *next;
    __typeof__(cs_reg_name) *register_name;
    __typeof__(cs_regs_access) *registers;
} capstone;

/* A pointer of what is found is stored as one to bytes, as POSIX has it of functions. */
static bool find(const char *name, void *function)
{
    *(void **)function = ls_library_find(capstone.file, name);
    return *(void **)function != NULL;
}

static bool load(void)
{
    if (capstone.file) {
        return true;
    }
    capstone.file = ls_library_open_installed(LS_CAPSTONE_FILE);
    bool is_whole =
        capstone.file && find("cs_open", &capstone.open) && find("cs_option", &capstone.option) &&
        find("cs_malloc", &capstone.acquire) && find("cs_free", &capstone.release) &&
        find("cs_close", &capstone.close) && find("cs_disasm_iter", &capstone.next) &&
        find("cs_reg_name", &capstone.register_name) && find("cs_regs_access", &capstone.registers);
    if (!is_whole) {
        ls_library_close(capstone.file);
        capstone.file = NULL;
    }
    return is_whole;
}

ls_status disassembler_open(disassembler *opened, cs_arch arch, cs_mode mode, cs_opt_type option)
{
    *opened = (disassembler){0};
    if (!load()) {
        return LS_NOT_FOUND;
    }
    if (capstone.open(arch, mode, &opened->handle) != CS_ERR_OK) {
        return LS_UNSUPPORTED;
    }
    capstone.option(opened->handle, option, CS_OPT_ON);
    opened->instruction = capstone.acquire(opened->handle);
    if (!opened->instruction) {
        capstone.close(&opened->handle);
        return LS_NO_MEMORY;
    }
    return LS_OK;
}

void disassembler_close(disassembler *opened)
{
    if (opened->instruction) {
        capstone.release(opened->instruction, 1);
        capstone.close(&opened->handle);
    }
    *opened = (disassembler){0};
}

bool disassembler_next(const disassembler *opened, const uint8_t **bytes, size_t *size,
                       uint64_t *address)
{
    return capstone.next(opened->handle, bytes, size, address, opened->instruction);
}

const char *disassembler_register(const disassembler *opened, unsigned id)
{
    return capstone.register_name(opened->handle, id);
}

bool disassembler_registers(const disassembler *opened, cs_regs reads, uint8_t *read_count,
                            cs_regs writes, uint8_t *write_count)
{
    return capstone.registers(opened->handle, opened->instruction, reads, read_count, writes,
                              write_count) == CS_ERR_OK;
}
