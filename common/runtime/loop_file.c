#define _GNU_SOURCE /* uv.h */
#include "lockstep/common/runtime/loop_file.h"

#include "lockstep/common/system/file.h"
#include "lockstep/common/system/signals.h"

#include <errno.h>
#include <uv.h>

/* Takes the result of a call that was made without a callback. */
static ls_status finish(uv_fs_t *request, const char *what, ls_text *why)
{
    ssize_t result = request->result;
    uv_fs_req_cleanup(request);
    if (result < 0) {
        return ls_fail(LS_IO, why, "%s: %s", what, uv_strerror((int)result));
    }
    return LS_OK;
}

void ls_loop_file_close(int file)
{
    uv_fs_t request;
    uv_fs_close(NULL, &request, file, NULL);
    uv_fs_req_cleanup(&request);
}

/* A file system without locks is no reason not to write. */
static ls_status lock(const char *path, int file, ls_text *why)
{
    if (!ls_file_lock_open(file) && errno == EWOULDBLOCK) {
        return ls_fail(LS_ALREADY_STARTED, why, "%s: another process is writing to it", path);
    }
    return LS_OK;
}

ls_status ls_loop_file_open(const char *path, ls_loop_file_mode mode, int *file, ls_text *why)
{
    uv_fs_t request;
    ls_signals_ignore_file_limits(); /* a file that may not grow is an error like another */
    int flags = UV_FS_O_WRONLY | (mode == LS_LOOP_FILE_NEW ? UV_FS_O_CREAT | UV_FS_O_EXCL : 0);
    int opened = uv_fs_open(NULL, &request, path, flags, 0600, NULL);
    ls_status status = finish(&request, path, why);
    if (status != LS_OK) {
        return status;
    }
    status = lock(path, opened, why);
    if (status != LS_OK) {
        ls_loop_file_close(opened);
        return status;
    }
    *file = opened;
    return LS_OK;
}

ls_status ls_loop_file_write(int file, const uint8_t *bytes, size_t size, uint64_t offset,
                             ls_text *why)
{
    size_t written = 0;
    while (written < size) {
        uv_fs_t request;
        uv_buf_t rest =
            uv_buf_init((char *)(uintptr_t)(bytes + written), (unsigned)(size - written));
        int result = uv_fs_write(NULL, &request, file, &rest, 1, (int64_t)(offset + written), NULL);
        ls_status status = finish(&request, "writing", why);
        if (status != LS_OK) {
            return status;
        }
        if (result == 0) {
            return ls_fail(LS_IO, why, "writing: nothing was taken");
        }
        written += (size_t)result;
    }
    return LS_OK;
}

ls_status ls_loop_file_synchronise(int file, ls_text *why)
{
    uv_fs_t request;
    uv_fs_fdatasync(NULL, &request, file, NULL);
    return finish(&request, "synchronising", why);
}

bool ls_loop_file_is_deleted(int file)
{
    uv_fs_t request;
    bool is_deleted = uv_fs_fstat(NULL, &request, file, NULL) == 0 && request.statbuf.st_nlink == 0;
    uv_fs_req_cleanup(&request);
    return is_deleted;
}

ls_status ls_loop_file_cut(int file, uint64_t size, ls_text *why)
{
    uv_fs_t request;
    uv_fs_ftruncate(NULL, &request, file, (int64_t)size, NULL);
    return finish(&request, "cutting", why);
}
