#include "lockstep/server/door/rtc_peers.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/server/door/rtc_formats.h"
#include "lockstep/server/door/rtc_seal.h"
#include "lockstep/server/door/rtc_stream.h"

#include <stdio.h>
#include <string.h>

enum {
    USER_BYTES = 9, /* with their NULs */
    PASSWORD_BYTES = 25,
    RECEIVED_PER_TURN_MAX = 256,
    TEND_MS = 10,
    DTLS_FIRST = 20, /* first bytes of its datagrams */
    DTLS_LAST = 63,
    STUN_LAST = 3,
};

typedef struct rtc_peer {
    ls_rtc_peers *all;
    char user[USER_BYTES];
    char password[PASSWORD_BYTES];
    ls_sdp_offer offer;
    uint64_t origin;    /* of the offer */
    ls_endpoint remote; /* port 0: nothing has come yet */
    ls_rtc_seal *seal;
    ls_rtc_stream *stream;
    ls_door_player *player;
    uint64_t since_ns, heard_ns;
    bool is_over; /* it is destroyed at the next turn: not within a call of it */
} rtc_peer;

struct ls_rtc_peers {
    ls_door_switch *to;
    ls_door_page *page;
    ls_event_loop *loop;
    ls_datagram_socket *socket;
    ls_loop_source *watch;
    ls_loop_source *timer;
    ls_rtc_identity *identity;
    uint64_t now_ns;
    uint64_t tended_ns;
    uint32_t count;
    rtc_peer *peers[LS_RTC_PEERS_MAX];
};

/* ---- one peer, from the page's end to the server's ---- */

static void send_datagram(void *user, const uint8_t *bytes, size_t size)
{
    const rtc_peer *peer = user;
    ls_datagram_socket_send(peer->all->socket, &peer->remote, bytes, size);
    (void)ls_datagram_socket_flush(peer->all->socket);
}

static void send_packet(void *user, const uint8_t *bytes, size_t size)
{
    const rtc_peer *peer = user;
    ls_rtc_seal_send(peer->seal, bytes, size);
}

static void send_message(void *user, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    const rtc_peer *peer = user;
    (void)now_ns;
    ls_rtc_stream_send(peer->stream, bytes, size);
}

static void receive_message(void *user, const uint8_t *bytes, size_t size)
{
    rtc_peer *peer = user;
    if (!peer->player) {
        peer->player =
            ls_door_switch_add(peer->all->to, &peer->remote, &(ls_door_pipe){send_message, peer});
    }
    if (peer->player) {
        ls_door_player_forward(peer->player, bytes, size, peer->all->now_ns);
    } else {
        peer->is_over = true;
    }
}

static void receive_packet(void *user, const uint8_t *bytes, size_t size)
{
    rtc_peer *peer = user;
    if (!peer->stream) {
        const ls_rtc_stream_config config = {.port = peer->offer.sctp_port,
                                             .send = send_packet,
                                             .receive = receive_message,
                                             .user = peer};
        peer->stream = ls_rtc_stream_create(&config);
    }
    if (peer->stream) {
        ls_rtc_stream_receive(peer->stream, bytes, size);
    }
    peer->is_over |= !peer->stream || ls_rtc_stream_is_over(peer->stream);
}

static bool open_seal(rtc_peer *peer)
{
    const ls_rtc_seal_config config = {.fingerprint = peer->offer.fingerprint,
                                       .send = send_datagram,
                                       .receive = receive_packet,
                                       .user = peer};
    if (!peer->seal) {
        peer->seal = ls_rtc_seal_create(peer->all->identity, &config);
    }
    return peer->seal != NULL;
}

static void destroy_peer(ls_rtc_peers *peers, uint32_t index)
{
    rtc_peer *peer = peers->peers[index];
    ls_door_switch_remove(peer->player);
    ls_rtc_stream_destroy(peer->stream);
    ls_rtc_seal_destroy(peer->seal);
    ls_cipher_wipe(peer, sizeof *peer);
    ls_release(ls_allocator_heap(), peer);
    peers->peers[index] = NULL;
    peers->count--;
    ls_loop_source_set_active(peers->timer, peers->count > 0);
}

/* ---- what comes ---- */

/* The page goes on from another address: so it is another place to the server, which asks there. */
static void move_peer(rtc_peer *peer, const ls_endpoint *to)
{
    bool has_moved = peer->remote.port != 0 && !ls_endpoint_is_equal(&peer->remote, to);
    peer->remote = *to;
    if (has_moved && peer->player) {
        ls_door_switch_remove(peer->player);
        peer->player = ls_door_switch_add(peer->all->to, to, &(ls_door_pipe){send_message, peer});
        peer->is_over |= !peer->player;
    }
}

static void on_stun(ls_rtc_peers *peers, const ls_udp_datagram *came)
{
    ls_stun_request request;
    uint8_t answer[LS_STUN_ANSWER_BYTES_MAX];
    if (!ls_stun_read(came->bytes, came->size, &request)) {
        return;
    }
    for (uint32_t i = 0; i < LS_RTC_PEERS_MAX; i++) {
        rtc_peer *peer = peers->peers[i];
        if (!peer || strcmp(peer->user, request.name) != 0) {
            continue;
        }
        if (ls_stun_is_proven(came->bytes, &request, peer->password) && open_seal(peer)) {
            peer->heard_ns = peers->now_ns;
            if (request.is_chosen || peer->remote.port == 0) {
                move_peer(peer, &came->from);
            }
            size_t size = ls_stun_answer(&request, &came->from, peer->password, answer);
            ls_datagram_socket_send(peers->socket, &came->from, answer, size);
            (void)ls_datagram_socket_flush(peers->socket);
        }
        return;
    }
}

static void on_dtls(ls_rtc_peers *peers, const ls_udp_datagram *came)
{
    for (uint32_t i = 0; i < LS_RTC_PEERS_MAX; i++) {
        rtc_peer *peer = peers->peers[i];
        if (peer && peer->seal && !peer->is_over &&
            ls_endpoint_is_equal(&peer->remote, &came->from)) {
            peer->heard_ns = peers->now_ns;
            ls_rtc_seal_state state = ls_rtc_seal_receive(peer->seal, came->bytes, came->size);
            peer->is_over |= state == LS_RTC_SEAL_OVER;
            return;
        }
    }
}

static void on_datagrams(void *user, uint64_t now_ns)
{
    ls_rtc_peers *peers = user;
    ls_udp_datagram came;
    ls_udp_receipt receipt = LS_UDP_RECEIVED;
    peers->now_ns = now_ns;
    ls_datagram_socket_begin_turn(peers->socket, now_ns);
    for (uint32_t i = 0;
         i < RECEIVED_PER_TURN_MAX || ls_datagram_socket_has_received(peers->socket); i++) {
        receipt = ls_datagram_socket_receive(peers->socket, &came);
        if (receipt == LS_UDP_EMPTY) {
            break;
        }
        if (receipt != LS_UDP_RECEIVED || came.size == 0 || came.size > LS_UDP_RECEIVED_BYTES_MAX) {
            continue;
        }
        if (came.bytes[0] <= STUN_LAST) {
            on_stun(peers, &came);
        } else if (came.bytes[0] >= DTLS_FIRST && came.bytes[0] <= DTLS_LAST) {
            on_dtls(peers, &came);
        }
    }
    ls_door_switch_flush(peers->to);
}

/* ---- offers ---- */

static void make_word(char *out, size_t size)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t random[PASSWORD_BYTES];
    ls_cipher_random(random, size);
    for (size_t i = 0; i + 1 < size; i++) {
        out[i] = letters[random[i] & 63];
    }
    out[size - 1] = '\0';
}

/* Of two, the one that is not open for longer; LS_RTC_PEERS_MAX: none. */
static uint32_t older_of(const ls_rtc_peers *peers, uint32_t a, uint32_t b)
{
    bool is_older = a == LS_RTC_PEERS_MAX || peers->peers[b]->since_ns < peers->peers[a]->since_ns;
    return peers->peers[b]->player || !is_older ? a : b;
}

/* A place for one more of this address, of a channel that is not open if there is no other one;
 * LS_RTC_PEERS_MAX: all are open. */
static uint32_t make_place(ls_rtc_peers *peers, uint64_t origin)
{
    uint32_t place = LS_RTC_PEERS_MAX;
    uint32_t oldest = LS_RTC_PEERS_MAX;
    uint32_t oldest_neighbour = LS_RTC_PEERS_MAX;
    uint32_t neighbours = 0;
    for (uint32_t i = 0; i < LS_RTC_PEERS_MAX; i++) {
        if (!peers->peers[i]) {
            place = i;
            continue;
        }
        oldest = older_of(peers, oldest, i);
        if (peers->peers[i]->origin == origin) {
            neighbours++;
            oldest_neighbour = older_of(peers, oldest_neighbour, i);
        }
    }
    if (neighbours >= LS_RTC_PER_ADDRESS_MAX) {
        place = oldest_neighbour;
    } else if (place == LS_RTC_PEERS_MAX) {
        place = oldest;
    }
    if (place < LS_RTC_PEERS_MAX && peers->peers[place]) {
        destroy_peer(peers, place);
    }
    return place;
}

static size_t write_answer(const ls_rtc_peers *peers, const rtc_peer *peer, const ls_endpoint *own,
                           char answer[LS_SDP_ANSWER_BYTES_MAX])
{
    char place[LS_ENDPOINT_NUMERIC_BYTES];
    ls_endpoint_format(own, place);
    bool has_brackets = place[0] == '[';
    place[strcspn(place, has_brackets ? "]" : ":")] = '\0';
    ls_sdp_answer say = {.offer = &peer->offer,
                         .user = peer->user,
                         .password = peer->password,
                         .address = place + has_brackets,
                         .port = ls_datagram_socket_port(peers->socket)};
    memcpy(say.fingerprint, ls_rtc_identity_fingerprint(peers->identity), sizeof say.fingerprint);
    return ls_sdp_write_answer(&say, answer);
}

size_t ls_rtc_peers_answer(ls_rtc_peers *peers, const ls_rtc_offer *offer,
                           char answer[LS_SDP_ANSWER_BYTES_MAX], uint32_t *status, const char **why)
{
    ls_sdp_offer read;
    if (!ls_sdp_read_offer(offer->text, offer->size, &read, why)) {
        *status = 400;
        return 0;
    }
    uint64_t origin = ls_endpoint_origin(offer->from);
    uint32_t place = make_place(peers, origin);
    rtc_peer *made =
        place < LS_RTC_PEERS_MAX ? ls_allocate(ls_allocator_heap(), sizeof *made) : NULL;
    if (!made) {
        *status = 503;
        *why = "there are too many channels";
        return 0;
    }
    uint64_t now_ns = ls_event_loop_now_ns(peers->loop);
    *made = (rtc_peer){
        .all = peers, .offer = read, .origin = origin, .since_ns = now_ns, .heard_ns = now_ns};
    make_word(made->user, sizeof made->user);
    make_word(made->password, sizeof made->password);
    peers->peers[place] = made;
    peers->count++;
    ls_loop_source_set_active(peers->timer, true);
    return write_answer(peers, made, offer->own, answer);
}

/* ---- the whole ---- */

static bool is_overdue(const rtc_peer *peer, uint64_t now_ns)
{
    uint64_t silent_ns = LS_RTC_SILENT_S * LS_NS_PER_SECOND;
    if (!peer->player) {
        return now_ns > peer->since_ns + LS_RTC_OPENING_S * LS_NS_PER_SECOND;
    }
    return now_ns > peer->heard_ns + silent_ns ||
           now_ns > ls_door_player_answered_ns(peer->player) + silent_ns;
}

static void tend(void *user, uint64_t now_ns)
{
    ls_rtc_peers *peers = user;
    uint64_t elapsed_ms = (now_ns - peers->tended_ns) / LS_NS_PER_MS;
    peers->now_ns = now_ns;
    peers->tended_ns += elapsed_ms * LS_NS_PER_MS;
    ls_rtc_streams_tend((uint32_t)LS_MIN(elapsed_ms, 1000u));
    for (uint32_t i = 0; i < LS_RTC_PEERS_MAX; i++) {
        rtc_peer *peer = peers->peers[i];
        if (!peer) {
            continue;
        }
        if (peer->seal) {
            ls_rtc_seal_tend(peer->seal);
        }
        if (peer->is_over || (peer->stream && ls_rtc_stream_is_over(peer->stream)) ||
            is_overdue(peer, now_ns)) {
            destroy_peer(peers, i);
        }
    }
}

static ls_status open_peers(ls_rtc_peers *peers, int descriptor)
{
    const ls_loop_handler datagrams = {on_datagrams, peers};
    const ls_loop_handler tending = {tend, peers};
    ls_rtc_streams_begin();
    ls_status status = ls_udp_socket_adopt(descriptor, ls_allocator_heap(), &peers->socket);
    LS_THEN(status, ls_rtc_identity_create(&peers->identity));
    LS_THEN(status, ls_event_loop_watch(peers->loop, ls_datagram_socket_descriptor(peers->socket),
                                        datagrams, &peers->watch));
    LS_THEN(status, ls_event_loop_add_timer(peers->loop, TEND_MS, tending, &peers->timer));
    if (status == LS_OK) {
        ls_loop_source_set_active(peers->timer, false);
    }
    return status;
}

ls_status ls_rtc_peers_create(int descriptor, ls_door_switch *to, ls_door_page *page,
                              ls_event_loop *loop, ls_rtc_peers **out)
{
    ls_rtc_peers *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->to = to;
    made->page = page;
    made->loop = loop;
    made->tended_ns = ls_event_loop_now_ns(loop);
    ls_status status = open_peers(made, descriptor);
    if (status != LS_OK) {
        ls_rtc_peers_destroy(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_rtc_peers_destroy(ls_rtc_peers *peers)
{
    if (!peers) {
        return;
    }
    for (uint32_t i = 0; i < LS_RTC_PEERS_MAX; i++) {
        if (peers->peers[i]) {
            destroy_peer(peers, i);
        }
    }
    ls_rtc_streams_end();
    ls_loop_source_remove(peers->watch);
    ls_loop_source_remove(peers->timer);
    ls_datagram_socket_close(peers->socket);
    ls_rtc_identity_destroy(peers->identity);
    ls_release(ls_allocator_heap(), peers);
}
