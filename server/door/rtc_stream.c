#define _DEFAULT_SOURCE
#include "lockstep/server/door/rtc_stream.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/server/door/rtc_formats.h"

#include <stdlib.h>
#include <string.h>
#include <usrsctp.h>

enum {
    OWN_PORT = 5000,
    STREAMS = 16,
    BUFFER_BYTES = 32768, /* of messages that wait to leave */
    PATH_MTU = 1300,      /* of packets within the seal: a datagram of ours is one */
    CONTROL = 50,         /* kinds of messages */
    BINARY = 53,
};

struct ls_rtc_stream {
    ls_rtc_stream_config config;
    struct socket *socket;
    uint16_t channel; /* the number of its stream */
    bool is_open;
    bool is_over;
};

/* ---- usrsctp's calls ---- */

static int send_packet(void *address, void *bytes, size_t size, uint8_t service, uint8_t fragments)
{
    const ls_rtc_stream *stream = address;
    (void)service;
    (void)fragments;
    stream->config.send(stream->config.user, bytes, size);
    return 0;
}

static void send_kind(ls_rtc_stream *stream, uint32_t kind, const uint8_t *bytes, size_t size)
{
    struct sctp_sendv_spa how = {.sendv_flags = SCTP_SEND_SNDINFO_VALID};
    how.sendv_sndinfo.snd_sid = stream->channel;
    how.sendv_sndinfo.snd_ppid = htonl(kind);
    if (kind == BINARY) {
        how.sendv_sndinfo.snd_flags = SCTP_UNORDERED;
        how.sendv_flags |= SCTP_SEND_PRINFO_VALID;
        how.sendv_prinfo.pr_policy = SCTP_PR_SCTP_RTX;
        how.sendv_prinfo.pr_value = 0;
    }
    (void)usrsctp_sendv(stream->socket, bytes, size, NULL, 0, &how, sizeof how, SCTP_SENDV_SPA, 0);
}

/* One that was negotiated has no OPEN: its first message opens it. */
static void on_message(ls_rtc_stream *stream, uint16_t channel, uint32_t kind, const uint8_t *bytes,
                       size_t size)
{
    ls_dcep_open open;
    bool opens = kind == CONTROL && ls_dcep_read(bytes, size, &open) && open.is_ours;
    if (!stream->is_open && (opens || kind == BINARY) && channel < STREAMS) {
        stream->is_open = true;
        stream->channel = channel;
    }
    if (!stream->is_open || channel != stream->channel) {
        return;
    }
    if (opens) {
        send_kind(stream, CONTROL, &ls_dcep_ack, sizeof ls_dcep_ack);
    } else if (kind == BINARY) {
        stream->config.receive(stream->config.user, bytes, size);
    }
}

static void on_notification(ls_rtc_stream *stream, const void *bytes, size_t size)
{
    const union sctp_notification *notification = bytes;
    if (size >= sizeof notification->sn_assoc_change &&
        notification->sn_header.sn_type == SCTP_ASSOC_CHANGE) {
        uint16_t state = notification->sn_assoc_change.sac_state;
        stream->is_over |=
            state == SCTP_COMM_LOST || state == SCTP_SHUTDOWN_COMP || state == SCTP_CANT_STR_ASSOC;
    }
}

static int on_received(struct socket *socket, union sctp_sockstore from, void *bytes, size_t size,
                       struct sctp_rcvinfo about, int flags, void *user)
{
    ls_rtc_stream *stream = user;
    (void)socket;
    (void)from;
    if (bytes && stream && (flags & MSG_NOTIFICATION) != 0) {
        on_notification(stream, bytes, size);
    } else if (bytes && stream) {
        on_message(stream, about.rcv_sid, ntohl(about.rcv_ppid), bytes, size);
    } else if (stream) {
        stream->is_over = true;
    }
    free(bytes);
    return 1;
}

/* ---- the whole ---- */

void ls_rtc_streams_begin(void)
{
    usrsctp_init_nothreads(0, send_packet, NULL);
    (void)usrsctp_sysctl_set_sctp_ecn_enable(0);
    (void)usrsctp_sysctl_set_sctp_asconf_enable(0);
    (void)usrsctp_sysctl_set_sctp_blackhole(2);
    (void)usrsctp_sysctl_set_sctp_nr_outgoing_streams_default(STREAMS);
}

void ls_rtc_streams_end(void)
{
    (void)usrsctp_finish();
}

void ls_rtc_streams_tend(uint32_t elapsed_ms)
{
    usrsctp_handle_timers(elapsed_ms);
}

static bool set_option(ls_rtc_stream *stream, int level, int name, const void *value, size_t size)
{
    return usrsctp_setsockopt(stream->socket, level, name, value, (socklen_t)size) == 0;
}

/* Leaves nothing behind when it is closed; packets are of one datagram. */
static bool set_options(ls_rtc_stream *stream)
{
    const struct linger at_once = {.l_onoff = 1};
    const int on = 1;
    const int buffer = BUFFER_BYTES;
    const struct sctp_event event = {
        .se_assoc_id = SCTP_ALL_ASSOC, .se_on = 1, .se_type = SCTP_ASSOC_CHANGE};
    const struct sctp_initmsg streams = {.sinit_num_ostreams = STREAMS,
                                         .sinit_max_instreams = STREAMS};
    return usrsctp_set_non_blocking(stream->socket, 1) == 0 &&
           set_option(stream, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) &&
           set_option(stream, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) &&
           set_option(stream, IPPROTO_SCTP, SCTP_NODELAY, &on, sizeof on) &&
           set_option(stream, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event) &&
           set_option(stream, IPPROTO_SCTP, SCTP_INITMSG, &streams, sizeof streams);
}

static bool connect_stream(ls_rtc_stream *stream)
{
    struct sockaddr_conn own = {
        .sconn_family = AF_CONN, .sconn_port = htons(OWN_PORT), .sconn_addr = stream};
    struct sockaddr_conn peer = own;
    peer.sconn_port = htons(stream->config.port);
    struct sctp_paddrparams path = {.spp_flags = SPP_PMTUD_DISABLE, .spp_pathmtu = PATH_MTU};
    memcpy(&path.spp_address, &peer, sizeof peer);
    if (usrsctp_bind(stream->socket, (struct sockaddr *)&own, sizeof own) != 0) {
        return false;
    }
    (void)usrsctp_connect(stream->socket, (struct sockaddr *)&peer, sizeof peer);
    (void)set_option(stream, IPPROTO_SCTP, SCTP_PEER_ADDR_PARAMS, &path, sizeof path);
    return true;
}

ls_rtc_stream *ls_rtc_stream_create(const ls_rtc_stream_config *config)
{
    ls_rtc_stream *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return NULL;
    }
    made->config = *config;
    usrsctp_register_address(made);
    made->socket = usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, on_received, NULL, 0, made);
    if (!made->socket || !set_options(made) || !connect_stream(made)) {
        ls_rtc_stream_destroy(made);
        return NULL;
    }
    return made;
}

void ls_rtc_stream_destroy(ls_rtc_stream *stream)
{
    if (stream) {
        if (stream->socket) {
            (void)usrsctp_set_ulpinfo(stream->socket, NULL);
            usrsctp_close(stream->socket);
        }
        usrsctp_deregister_address(stream);
        ls_release(ls_allocator_heap(), stream);
    }
}

void ls_rtc_stream_receive(ls_rtc_stream *stream, const uint8_t *bytes, size_t size)
{
    usrsctp_conninput(stream, bytes, size, 0);
}

void ls_rtc_stream_send(ls_rtc_stream *stream, const uint8_t *bytes, size_t size)
{
    if (stream->is_open && !stream->is_over) {
        send_kind(stream, BINARY, bytes, size);
    }
}

bool ls_rtc_stream_is_over(const ls_rtc_stream *stream)
{
    return stream->is_over;
}
