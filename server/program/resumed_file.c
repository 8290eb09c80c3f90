#include "lockstep/server/program/resumed_file.h"

ls_status ls_resumed_file_open(const char *path, ls_resumed_file *out, ls_text *why)
{
    ls_resumed_file opened = {{0}, NULL};
    ls_text reason = {{0}};
    ls_status status = ls_mapped_file_open(path, &opened.file, why);
    if (status != LS_OK) {
        return status;
    }
    status = ls_resume_open(opened.file.bytes, opened.file.size, ls_allocator_heap(),
                            &opened.resume, &reason);
    if (status != LS_OK) {
        ls_text_set(why, "%s: %s", path, reason.bytes);
        ls_mapped_file_close(&opened.file);
        return status;
    }
    *out = opened;
    return LS_OK;
}

void ls_resumed_file_close(ls_resumed_file *resumed)
{
    ls_resume_close(resumed->resume);
    ls_mapped_file_close(&resumed->file);
}
