#include "lockstep/common/system/windows/errors.h"

#include <errno.h>
#include <string.h>

static const struct {
    unsigned long system;
    int error;
} errors[] = {
    {ERROR_FILE_NOT_FOUND, ENOENT},
    {ERROR_PATH_NOT_FOUND, ENOENT},
    {ERROR_INVALID_NAME, ENOENT},
    {ERROR_BAD_NETPATH, ENOENT},
    {ERROR_ACCESS_DENIED, EACCES},
    {ERROR_SHARING_VIOLATION, EACCES},
    {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
    {ERROR_IO_PENDING, EWOULDBLOCK},
    {ERROR_FILE_EXISTS, EEXIST},
    {ERROR_ALREADY_EXISTS, EEXIST},
    {ERROR_DIRECTORY, ENOTDIR},
    {ERROR_DISK_FULL, ENOSPC},
    {ERROR_HANDLE_DISK_FULL, ENOSPC},
    {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
    {ERROR_OUTOFMEMORY, ENOMEM},
    {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
    {ERROR_BROKEN_PIPE, EPIPE},
    {ERROR_NO_DATA, EPIPE},
    {WSAEWOULDBLOCK, EWOULDBLOCK},
    {WSAEINTR, EINTR},
    {WSAEACCES, EACCES},
    {WSAEINVAL, EINVAL},
    {WSAEMFILE, EMFILE},
    {WSAENOTSOCK, ENOTSOCK},
    {WSAEMSGSIZE, EMSGSIZE},
    {WSAEAFNOSUPPORT, EAFNOSUPPORT},
    {WSAEADDRINUSE, EADDRINUSE},
    {WSAEADDRNOTAVAIL, EADDRNOTAVAIL},
    {WSAENETUNREACH, ENETUNREACH},
    {WSAEHOSTUNREACH, EHOSTUNREACH},
    {WSAENETRESET, ENETRESET},
    {WSAENOBUFS, ENOBUFS},
    {WSAENOTCONN, ENOTCONN},
    /* Of a datagram, whose receiver is not there. A connection that was reset ends likewise. */
    {WSAECONNRESET, ECONNREFUSED},
    {WSAECONNREFUSED, ECONNREFUSED},
};

bool ls_windows_fail(void)
{
    unsigned long system = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (errors[i].system == system) {
            errno = errors[i].error;
        }
    }
    return false;
}

const char *ls_windows_words(void)
{
    static _Thread_local char words[256];
    unsigned long system = GetLastError();
    unsigned long size = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS |
                                            FORMAT_MESSAGE_MAX_WIDTH_MASK,
                                        NULL, system, 0, words, sizeof words, NULL);
    while (size > 0 && strchr(" .\r\n", words[size - 1])) {
        words[--size] = '\0';
    }
    return size > 0 ? words : "the system gives no reason";
}
