#include "lockstep/common/game/param_files.h"

#include "lockstep/common/base/allocator.h"

#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES_MAX = 8192,
};

/* Copied, since a file that another process cuts or changes would change the match. */
static ls_status copy_file(ls_param_files *kept, const char *name, const ls_mapped_file *file,
                           ls_text *why)
{
    if (file->size > LS_FILE_BYTES_MAX) {
        return ls_sim_files_add(&kept->files, name, NULL, file->size, why); /* says how many fit */
    }
    uint8_t *bytes = ls_allocate(ls_allocator_heap(), LS_MAX(file->size, (size_t)1));
    if (!bytes) {
        return ls_fail(LS_NO_MEMORY, why, "no memory for the file of '%s'", name);
    }
    if (file->size > 0) {
        memcpy(bytes, file->bytes, file->size);
    }
    kept->memory[kept->count++] = bytes;
    return ls_sim_files_add(&kept->files, name, bytes, file->size, why);
}

/* From where the person who gives the path means it. */
static ls_status open_anywhere(const ls_param_files *kept, const char *path, ls_mapped_file *file,
                               ls_text *why)
{
    char whole[PATH_BYTES_MAX];
    bool is_apart = kept->directory && path[0] != '/';
    int size = snprintf(whole, sizeof whole, "%s%s%s", is_apart ? kept->directory : "",
                        is_apart ? "/" : "", path);
    if (size < 0 || (size_t)size >= sizeof whole) {
        return ls_fail(LS_FULL, why, "too long a path");
    }
    return ls_mapped_file_open(whole, file, why);
}

/* NULL in place of the parameter: the match was decided elsewhere. */
static ls_status read_file(ls_param_files *kept, const ls_param *param, const char *name,
                           const char *assignment, ls_text *why)
{
    const ls_param_gate *gate = param && kept->gate.open ? &kept->gate : NULL;
    ls_mapped_file file;
    ls_text reason = {""};
    ls_status status = kept->count == LS_PARAMS_MAX ? ls_fail(LS_FULL, &reason, "too many files")
                       : gate ? gate->open(gate->user, assignment, &file, &reason)
                              : open_anywhere(kept, strchr(assignment, '=') + 1, &file, &reason);
    if (status != LS_OK) {
        return ls_fail(status, why, "--param %s: %s", name, reason.bytes);
    }
    status = copy_file(kept, name, &file, why);
    if (status == LS_OK && gate) { /* of the copy, which nobody changes */
        status = gate->check(gate->user, param, kept->memory[kept->count - 1], file.size, why);
    }
    ls_mapped_file_close(&file);
    return status;
}

static ls_status read_assignment(ls_param_files *kept, const ls_param *param,
                                 const char *assignment, ls_text *why)
{
    char name[LS_NAME_BYTES_MAX];
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment || (size_t)(equals - assignment) >= sizeof name) {
        ls_name_copy(name, sizeof name, assignment);
        return ls_fail(LS_BAD_ARGUMENT, why, "--param %s is not of the form NAME=PATH", name);
    }
    ls_name_copy(name, (size_t)(equals - assignment) + 1, assignment);
    return read_file(kept, param, name, assignment, why);
}

ls_status ls_param_files_decide(ls_param_files *kept, const char *const *assignments,
                                uint32_t count, const ls_simulation *simulation,
                                ls_sim_config *config, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < count; i++) {
        size_t name_bytes = strcspn(assignments[i], "=");
        const ls_param *param = ls_simulation_param(simulation, assignments[i], name_bytes);
        bool is_file = param && param->kind == LS_PARAM_FILE && assignments[i][name_bytes] == '=';
        status = is_file ? read_assignment(kept, param, assignments[i], why)
                         : ls_sim_config_set(simulation, config, assignments[i], why);
    }
    return status == LS_OK ? ls_sim_files_decide(&kept->files, simulation, config, why) : status;
}

ls_status ls_param_files_read(ls_param_files *kept, const char *const *assignments, uint32_t count,
                              ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < count; i++) {
        status = read_assignment(kept, NULL, assignments[i], why);
    }
    return status;
}

void ls_param_files_release(ls_param_files *kept)
{
    for (uint32_t i = 0; i < kept->count; i++) {
        ls_release(ls_allocator_heap(), kept->memory[i]);
    }
    *kept = (ls_param_files){0};
}
