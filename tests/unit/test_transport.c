#include "lockstep/protocol/transport/transport.h"

#include <criterion/criterion.h>
#include <string.h>

/* A transport that only remembers what it was asked for. */
typedef struct test_recorder {
    ls_transport base;
    ls_peer_id peer;
    ls_channel channel;
    uint8_t bytes[8];
    size_t size;
    ls_peer_id disconnected;
} test_recorder;

static void record_send(ls_transport *transport, ls_peer_id peer, ls_channel channel,
                        const uint8_t *bytes, size_t size)
{
    test_recorder *recorder = (struct test_recorder *)transport;
    recorder->peer = peer;
    recorder->channel = channel;
    recorder->size = size;
    memcpy(recorder->bytes, bytes, size);
}

static void record_disconnect(ls_transport *transport, ls_peer_id peer)
{
    ((test_recorder *)transport)->disconnected = peer;
}

Test(transport, a_sink_sends_and_disconnects_through_its_transport)
{
    static const ls_transport_operations operations = {.send = record_send,
                                                       .disconnect = record_disconnect};
    test_recorder recorder = {.base = {&operations}};
    ls_packet_sink sink = ls_transport_sink(&recorder.base);
    sink.send(sink.user, 7, LS_CHANNEL_UNRELIABLE, (const uint8_t *)"abc", 3);
    cr_assert_eq(recorder.peer, 7);
    cr_assert_eq(recorder.channel, LS_CHANNEL_UNRELIABLE);
    cr_assert_eq(recorder.size, 3);
    cr_assert_eq(memcmp(recorder.bytes, "abc", 3), 0);
    cr_assert_eq(recorder.disconnected, 0);
    sink.disconnect(sink.user, 9);
    cr_assert_eq(recorder.disconnected, 9);
}

Test(transport, destroying_nothing_is_allowed)
{
    ls_transport_destroy(NULL);
}
