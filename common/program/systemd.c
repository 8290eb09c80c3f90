#include "lockstep/common/program/systemd.h"

#include "lockstep/common/system/socket.h"

#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

enum {
    SENTENCE_BYTES_MAX = 256,
};

void ls_service_notify_ready(void)
{
    (void)sd_notify(0, "READY=1");
}

void ls_service_notify_status(const char *sentence)
{
    char line[SENTENCE_BYTES_MAX];
    snprintf(line, sizeof line, "%s", sentence);
    for (char *at = line; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\r' ? ' ' : *at; /* a line of its own would be a command */
    }
    (void)sd_notifyf(0, "STATUS=%s", line);
}

void ls_service_notify_stopping(void)
{
    (void)sd_notify(0, "STOPPING=1");
}

void ls_service_notify_alive(void)
{
    (void)sd_notify(0, "WATCHDOG=1");
}

/* Whether there is a place for it; a sentence says why not. */
static ls_status place(ls_service_sockets *sockets, int descriptor, ls_text *why)
{
    ls_socket_kind kind = ls_socket_kind_of(descriptor);
    if (kind == LS_SOCKET_DATAGRAMS) {
        if (sockets->datagram_count == LS_SERVICE_DATAGRAM_SOCKETS_MAX) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "systemd has opened more UDP sockets than there can be workers (%u): "
                           "leave out some lines ListenDatagram of the socket unit",
                           LS_SERVICE_DATAGRAM_SOCKETS_MAX);
        }
        sockets->datagrams[sockets->datagram_count++] = descriptor;
        return LS_OK;
    }
    if (kind == LS_SOCKET_LISTENING && sockets->stream < 0) {
        sockets->stream = descriptor;
        return LS_OK;
    }
    return ls_fail(LS_BAD_ARGUMENT, why,
                   "systemd has opened a socket that is of no use here (descriptor %d): the socket "
                   "unit may have lines ListenDatagram for UDP, and one ListenStream for HTTP",
                   descriptor);
}

ls_status ls_service_sockets_take(ls_service_sockets *out, ls_text *why)
{
    ls_status status = LS_OK;
    *out = (ls_service_sockets){.stream = -1};
    int count = sd_listen_fds(1); /* no child is told of them */
    if (count < 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the sockets of LISTEN_FDS and LISTEN_PID cannot be taken: %s",
                       strerror(-count));
    }
    for (int i = 0; i < count && status == LS_OK; i++) {
        status = place(out, SD_LISTEN_FDS_START + i, why);
    }
    for (int i = 0; i < count && status != LS_OK; i++) {
        ls_socket_close(SD_LISTEN_FDS_START + i);
    }
    if (status != LS_OK) {
        *out = (ls_service_sockets){.stream = -1};
    }
    return status;
}
