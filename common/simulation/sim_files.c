#include "lockstep/common/simulation/sim_files.h"

#include "lockstep/common/base/hash.h"

#include <inttypes.h>
#include <string.h>

static const ls_named_file *find(const ls_sim_files *files, const char *name)
{
    for (uint32_t i = 0; files && i < files->count; i++) {
        if (strcmp(files->list[i].name, name) == 0) {
            return &files->list[i];
        }
    }
    return NULL;
}

ls_status ls_sim_files_add(ls_sim_files *files, const char *name, const uint8_t *bytes, size_t size,
                           ls_text *why)
{
    size_t name_bytes = strlen(name);
    if (name_bytes == 0 || name_bytes >= LS_NAME_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a file parameter's name has 1..%u bytes",
                       LS_NAME_BYTES_MAX - 1);
    }
    if (size > LS_FILE_BYTES_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the file of '%s' has %zu bytes; it can have %u", name,
                       size, LS_FILE_BYTES_MAX);
    }
    const ls_named_file *old = find(files, name);
    uint32_t place = old ? (uint32_t)(old - files->list) : files->count;
    if (place == LS_FILE_PARAMS_MAX) {
        return ls_fail(LS_FULL, why, "a match has %u files at most", LS_FILE_PARAMS_MAX);
    }
    ls_named_file *added = &files->list[place];
    ls_name_copy(added->name, sizeof added->name, name);
    added->file = (ls_sim_file){.bytes = size > 0 ? bytes : NULL,
                                .size = size,
                                .digest = size > 0 ? ls_hash_bytes(bytes, size, 0) : 0};
    files->count = LS_MAX(files->count, place + 1);
    return LS_OK;
}

static ls_status refuse_name(const ls_simulation *simulation, const char *name, ls_text *why)
{
    ls_text_set(why, "'%s' has no file parameter '%s'", simulation->name, name);
    const char *before = "; it has: ";
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        if (simulation->params[i].kind == LS_PARAM_FILE) {
            ls_text_add(why, "%s%s", before, simulation->params[i].name);
            before = ", ";
        }
    }
    return LS_NOT_FOUND;
}

/* A file that nothing asks for is a mistake of the person who gave it. */
static ls_status check_names(const ls_sim_files *files, const ls_simulation *simulation,
                             ls_text *why)
{
    for (uint32_t i = 0; files && i < files->count; i++) {
        const char *name = files->list[i].name;
        const ls_param *param = ls_simulation_param(simulation, name, strlen(name));
        if (!param || param->kind != LS_PARAM_FILE) {
            return refuse_name(simulation, name, why);
        }
    }
    return LS_OK;
}

ls_status ls_sim_files_decide(const ls_sim_files *files, const ls_simulation *simulation,
                              ls_sim_config *config, ls_text *why)
{
    ls_status status = check_names(files, simulation, why);
    uint32_t place = 0;
    for (uint32_t i = 0; status == LS_OK && i < simulation->param_count; i++) {
        if (simulation->params[i].kind != LS_PARAM_FILE) {
            continue;
        }
        const ls_named_file *found = find(files, simulation->params[i].name);
        if (found) {
            config->files[place] = found->file;
        }
        place++;
    }
    return status;
}

static ls_status provide(const ls_named_file *found, const char *name, ls_sim_file *file,
                         ls_text *why)
{
    if (file->size == 0) {
        file->bytes = NULL;
        return LS_OK;
    }
    if (!found || found->file.size == 0) {
        return ls_fail(LS_PARAMETER_MISMATCH, why,
                       "the match needs the file '%s' (digest %016" PRIx64 ", %" PRIu64
                       " bytes): give it with --param %s=PATH",
                       name, file->digest, file->size, name);
    }
    if (found->file.digest != file->digest || found->file.size != file->size) {
        return ls_fail(LS_PARAMETER_MISMATCH, why,
                       "file '%s': this machine has digest %016" PRIx64 " (%" PRIu64
                       " bytes), the match %016" PRIx64 " (%" PRIu64 " bytes)",
                       name, found->file.digest, found->file.size, file->digest, file->size);
    }
    file->bytes = found->file.bytes;
    return LS_OK;
}

ls_status ls_sim_files_provide(const ls_sim_files *files, const ls_simulation *simulation,
                               ls_sim_config *config, ls_text *why)
{
    ls_status status = check_names(files, simulation, why);
    uint32_t place = 0;
    for (uint32_t i = 0; status == LS_OK && i < simulation->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        if (param->kind == LS_PARAM_FILE && place < config->file_count) {
            status = provide(find(files, param->name), param->name, &config->files[place], why);
            place++;
        }
    }
    return status;
}
