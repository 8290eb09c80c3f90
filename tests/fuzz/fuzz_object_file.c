/* Fuzzes the reading of plug-in files: whether all bytes of an ELF file are there, and the types
 * that its debug information (DWARF) tells of. Any bytes, as a file. */
#define _GNU_SOURCE
#include "lockstep/common/base/assert.h"
#include "lockstep/common/loader/plugin_contents.h"
#include "lockstep/tests/fuzz/fuzz_input.h"
#include "lockstep/tools/schema/debug_types.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 16,
    PATH_BYTES = 32,
};

/* Goes through a type as a schema is made of it. */
static void check_type(const schema_debug_type *type, uint32_t depth)
{
    LS_ASSERT(type->spelling != NULL);
    if (depth == DEPTH_MAX) {
        return;
    }
    if (type->kind == SCHEMA_DEBUG_ARRAY && type->element) {
        check_type(type->element, depth + 1);
    }
    for (uint32_t i = 0; i < type->member_count && i < 8; i++) {
        LS_ASSERT(type->members[i].name != NULL);
        if (type->members[i].type && depth < 3) {
            check_type(type->members[i].type, depth + 1);
        }
    }
}

static void check_names(schema_debug_file *file)
{
    uint32_t count = 0;
    const schema_debug_name *names = schema_debug_names(file, &count);
    for (uint32_t i = 0; i < count && i < 8; i++) {
        const schema_debug_type *type = NULL;
        ls_text why = {{0}};
        ls_status status = schema_debug_find(file, names[i].name, &type, &why);
        if (status == LS_OK) {
            check_type(type, 0);
        } else {
            LS_ASSERT(why.bytes[0] != '\0');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int file = -1;
    char path[PATH_BYTES];
    ls_text why = {{0}};
    if (file < 0) {
        file = memfd_create("fuzz", 0);
        LS_ASSERT(file >= 0);
    }
    bool is_written = ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size;
    LS_ASSERT(is_written);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    ls_status status = ls_plugin_file_check(path, &why);
    LS_ASSERT(status == LS_OK || (status == LS_PLUGIN && why.bytes[0] != '\0'));
    schema_debug_file *debug = NULL;
    if (schema_debug_open(path, &debug, &why) == LS_OK) {
        check_names(debug);
        schema_debug_close(debug);
    }
    return 0;
}
