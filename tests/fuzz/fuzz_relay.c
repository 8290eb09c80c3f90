/* Fuzzes a relay and its directory, at all ends. */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/protocol/relay/relay_client.h"
#include "lockstep/protocol/relay/relay_listing.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/server/directory/directory.h"
#include "lockstep/server/relay/relay.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

/* ==== relay ==== */

/* Fuzzes the datagrams of a relay at all three ends: the relay, a server that registers with it and
 * a player who joins by the code, while somebody between delays, repeats, alters and invents.
 *
 *   u8 bit 0: the player tries no direct way; bit 1: it knows the server's key; bit 2: the server
 *      is listed
 *   any number of: u8 move % 8, then of
 *     0, 1, 2  nothing: the oldest datagram under way arrives
 *     3        u8 place, u8 change: it arrives altered
 *     4        nothing: it is lost;  5 nothing: it arrives and stays under way
 *     6        u8 time, in steps of 20 ms
 *     7        u8 from and to (2 bits each; bit 4: the player sends, bit 5: the server does),
 *              u8 size, bytes: an invented datagram, or the content of one that is sent
 */

enum {
    RELAY,
    SERVER,
    PLAYER,
    ELSEWHERE, /* it never returns a cookie */
    PLACES,
    UNDER_WAY_MAX = 64,
    MOVES_MAX = 400,
};

typedef struct flying {
    ls_endpoint from, to;
    size_t size;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
} flying;

typedef struct fake_socket {
    ls_datagram_socket base;
    uint32_t place;
    bool has_come;
    ls_endpoint from;
    size_t size;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
} fake_socket;

static uint64_t now_ns;
static flying under_way[UNDER_WAY_MAX];
static uint32_t first, count;
static size_t elsewhere_in, elsewhere_out;
static ls_relay_service *relay;
static fake_socket sockets[PLACES];
static ls_datagram_socket *server_socket, *player_socket;
static ls_relay_client *player;

static ls_endpoint place_of(uint32_t place)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, (uint16_t)(7310 + place));
    made.address[12] = 203;
    made.address[14] = 113;
    made.address[15] = (uint8_t)(place + 1);
    return made;
}

static void fly(uint32_t from, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    const ls_endpoint elsewhere = place_of(ELSEWHERE);
    LS_ASSERT(size <= LS_UDP_DATAGRAM_BYTES_MAX && to->via == 0);
    if (from == RELAY && ls_endpoint_is_equal(to, &elsewhere)) {
        elsewhere_out += size;
    }
    if (count < UNDER_WAY_MAX) {
        flying *made = &under_way[(first + count++) % UNDER_WAY_MAX];
        *made = (flying){.from = place_of(from), .to = *to, .size = size};
        memcpy(made->bytes, bytes, size);
    }
}

static void send_of_relay(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    (void)user;
    fly(RELAY, to, bytes, size);
}

/* ---- sockets ---- */

static void begin_turn(ls_datagram_socket *socket, uint64_t now)
{
    (void)socket;
    (void)now;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    fake_socket *at = (fake_socket *)socket;
    if (!at->has_come) {
        return LS_UDP_EMPTY;
    }
    at->has_come = false;
    *out = (ls_udp_datagram){
        .from = at->from, .bytes = at->bytes, .size = at->size, .arrived_ns = now_ns};
    return LS_UDP_RECEIVED;
}

static bool has_none(const ls_datagram_socket *socket)
{
    (void)socket;
    return false;
}

static const uint8_t *coming(const ls_datagram_socket *socket, uint32_t others, size_t *size)
{
    const fake_socket *at = (const fake_socket *)socket;
    *size = at->size;
    return others == 0 && at->has_come ? at->bytes : NULL;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    fly(((const fake_socket *)socket)->place, to, bytes, size);
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    return (ls_udp_sent){0};
}

static bool reroute(ls_datagram_socket *socket)
{
    (void)socket;
    return false;
}

static int descriptor(const ls_datagram_socket *socket)
{
    (void)socket;
    return -1;
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7300;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
}

static const ls_datagram_socket_operations operations = {
    begin_turn, receive, has_none,   coming, send_datagram,
    flush,      reroute, descriptor, port,   close_socket};

/* ---- what must hold ---- */

static void check_packet(const uint8_t *bytes, size_t size)
{
    ls_relay_packet packet;
    uint8_t again[LS_RELAY_PACKET_BYTES_MAX];
    if (ls_relay_packet_read(bytes, size, &packet)) {
        LS_ASSERT(ls_relay_packet_write(&packet, again) == size && memcmp(again, bytes, size) == 0);
    }
}

/* A socket gives its transport what it may have, and says truly which way that came. */
static void take_all(uint32_t place)
{
    ls_datagram_socket *socket = place == SERVER ? server_socket : player_socket;
    size_t size = 0;
    (void)ls_datagram_socket_coming(socket, 0, &size);
    ls_udp_datagram came;
    while (ls_datagram_socket_receive(socket, &came) == LS_UDP_RECEIVED) {
        LS_ASSERT(came.size <= LS_UDP_DATAGRAM_BYTES_MAX);
        if (place == SERVER) {
            const ls_endpoint of_relay = place_of(RELAY);
            LS_ASSERT(came.from.via == 0 || !ls_relay_is_meant(came.bytes, came.size));
            LS_ASSERT(came.from.via <= LS_RELAY_SERVER_PLAYERS_MAX);
            LS_ASSERT(came.from.via == 0 || !ls_endpoint_is_equal(&came.from, &of_relay));
        } else {
            LS_ASSERT(ls_relay_client_state_of(player) == LS_RELAY_CLIENT_READY);
            LS_ASSERT(ls_endpoint_is_equal(&came.from, ls_relay_client_server(player)));
        }
    }
}

static void arrive(const flying *what)
{
    for (uint32_t place = 0; place < PLACES; place++) {
        const ls_endpoint at = place_of(place);
        if (!ls_endpoint_is_equal(&at, &what->to)) {
            continue;
        }
        if (place == RELAY) {
            const ls_endpoint elsewhere = place_of(ELSEWHERE);
            elsewhere_in += ls_endpoint_is_equal(&what->from, &elsewhere) ? what->size : 0;
            ls_relay_receive(relay, &what->from, what->bytes, what->size, now_ns);
            LS_ASSERT(elsewhere_out <= elsewhere_in);
        } else if (place != ELSEWHERE) {
            fake_socket *socket = &sockets[place];
            socket->has_come = true;
            socket->from = what->from;
            socket->size = what->size;
            memcpy(socket->bytes, what->bytes, what->size);
            take_all(place);
        }
    }
}

/* ---- moves ---- */

static void invent(fuzz_input *input)
{
    uint8_t ends = fuzz_take_u8(input);
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_bytes(input, fuzz_take_u8(input), &size);
    uint8_t content[256] = {0};
    memcpy(content, bytes, size);
    check_packet(content, size);
    if ((ends & 16) != 0 && ls_relay_client_state_of(player) == LS_RELAY_CLIENT_READY) {
        ls_datagram_socket_send(player_socket, ls_relay_client_server(player), content, size);
        (void)ls_datagram_socket_flush(player_socket);
    } else if ((ends & 32) != 0) {
        ls_endpoint to = place_of(PLAYER);
        to.via = (uint16_t)(ends >> 6);
        ls_datagram_socket_send(server_socket, &to, content, size);
        (void)ls_datagram_socket_flush(server_socket);
    } else {
        flying made = {.from = place_of(ends & 3), .to = place_of(ends >> 2 & 3), .size = size};
        memcpy(made.bytes, content, size);
        arrive(&made);
    }
}

static void pass_time(uint64_t ms, ls_relay_server *server)
{
    now_ns += ms * LS_NS_PER_MS;
    ls_relay_expire(relay, now_ns);
    ls_relay_server_advance(server, now_ns);
    ls_relay_client_turn(player, now_ns);
}

static void move(fuzz_input *input, ls_relay_server *server)
{
    uint8_t what = fuzz_take_u8(input) % 8;
    if (what == 6) {
        pass_time(20u * fuzz_take_u8(input), server);
    } else if (what == 7) {
        invent(input);
    } else if (count > 0) {
        flying oldest = under_way[first];
        if (what != 5) {
            first = (first + 1) % UNDER_WAY_MAX;
            count--;
        }
        if (what == 3) {
            size_t place = fuzz_take_u8(input);
            uint8_t change = fuzz_take_u8(input);
            oldest.bytes[place < oldest.size ? place : 0] ^= change;
        }
        if (what != 4) {
            arrive(&oldest);
        }
    }
}

FUZZ_TARGET(relay)
{
    fuzz_input input = {bytes, size};
    ls_relay_config config = ls_relay_config_default();
    ls_relay_server_config of_server = {.relay = place_of(RELAY)};
    const ls_relay_sink sink = {send_of_relay, NULL};
    ls_relay_server *server = NULL;
    LS_ASSERT(ls_cipher_init() == LS_OK);
    now_ns = 1000 * LS_NS_PER_SECOND;
    first = count = 0;
    elsewhere_in = elsewhere_out = 0;
    config.hosts_max = 4;
    config.players_max = 8;
    ls_key_pair_from_private((const uint8_t[LS_CIPHER_KEY_BYTES]){1}, &of_server.identity);
    for (uint32_t place = 0; place < PLACES; place++) {
        sockets[place] = (fake_socket){.base.operations = &operations, .place = place};
    }
    LS_ASSERT(ls_relay_create(&config, &sink, ls_allocator_heap(), &relay) == LS_OK);
    LS_ASSERT(ls_relay_server_create(&of_server, ls_allocator_heap(), &server) == LS_OK);
    server_socket = ls_relay_server_socket(server, &sockets[SERVER].base);
    uint8_t kind = fuzz_take_u8(&input);
    if ((kind & 4) != 0) {
        const ls_relay_listing listing = {
            .name = "Friday", .simulation = "arena", .version = "0.1.0"};
        ls_relay_server_set_listing(server, &listing);
    }
    ls_relay_client_config of_player = {.relay = place_of(RELAY),
                                        .has_server_key = (kind & 2) != 0,
                                        .avoids_direct = (kind & 1) != 0};
    ls_relay_code_name(of_server.identity.public_key, 0, of_player.code.name);
    ls_relay_code_secret(of_server.identity.private_key, of_player.code.secret);
    LS_ASSERT(ls_relay_client_create(&of_player, &sockets[PLAYER].base, ls_allocator_heap(),
                                     &player) == LS_OK);
    player_socket = ls_relay_client_socket(player);
    pass_time(0, server);
    for (uint32_t i = 0; i < MOVES_MAX && input.size > 0; i++) {
        move(&input, server);
    }
    const uint8_t *key = ls_relay_client_server_key(player);
    LS_ASSERT(!key || memcmp(key, of_server.identity.public_key, LS_CIPHER_KEY_BYTES) == 0);
    ls_datagram_socket_close(player_socket);
    ls_datagram_socket_close(server_socket);
    ls_relay_server_destroy(server);
    ls_relay_destroy(relay);
    return 0;
}

/* ==== directory ==== */

/* Fuzzes what comes to a directory of games, and what a client is told that looks into one.
 *
 *   any number of: u8 move % 4, then of
 *     0  u8 place, bit 7: with the number that is waited for; u16 size % 450, a LIST
 *     1  u16 size % 1,201, GAMES, which become the answer to the client's LOOK
 *     2  u8 time, in steps of 100 ms
 *     3  u8 the place that somebody looks from
 */

enum {
    DIRECTORY_PLACES = 16,
    SHOWN_MAX = 12,
    FOUND_MAX = 40,
    DIRECTORY_MOVES_MAX = 300,
};

static const uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
static ls_directory *directory;
static ls_relay_search search;
static ls_relay_game found[FOUND_MAX];
static uint64_t directory_now_ns;
static uint64_t counters[DIRECTORY_PLACES], challenges[DIRECTORY_PLACES];

static void offer(fuzz_input *input)
{
    const char code[LS_RELAY_NAME_CHARACTERS] = {'K', '7', 'Q', 'M'};
    uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
    ls_relay_packet listed;
    ls_relay_list list;
    uint8_t place = fuzz_take_u8(input);
    size_t size = 0;
    const uint8_t *came =
        fuzz_take_bytes(input, fuzz_take_u16(input) % (LS_RELAY_LIST_BYTES_MAX + 1), &size);
    if (!ls_relay_list_read(came, size, &list)) {
        return;
    }
    LS_ASSERT(ls_relay_list_write(&list, key, bytes) == size);
    LS_ASSERT(memcmp(bytes, came, size - LS_RELAY_TAG_BYTES) == 0);
    uint32_t at = place % DIRECTORY_PLACES;
    list.counter = ++counters[at];
    list.challenge = (place & 128) != 0 ? challenges[at] : list.challenge;
    bool was_asked = challenges[at] != 0 && list.challenge == challenges[at];
    if (ls_directory_receive(directory, at, code, &list, directory_now_ns, &listed)) {
        LS_ASSERT(listed.value != LS_RELAY_GOOD || was_asked ||
                  list.challenge == LS_RELAY_LIST_OVER);
        challenges[at] = listed.challenge;
    }
}

/* Games that were read are written again as they came. */
static void check_games(const uint8_t *bytes, size_t size)
{
    ls_relay_games games;
    uint8_t again[LS_RELAY_GAMES_BYTES_MAX];
    if (ls_relay_games_read(bytes, size, &games)) {
        ls_relay_packet look = {.place = games.place};
        memcpy(look.nonce, games.nonce, sizeof look.nonce);
        size_t written = ls_relay_games_begin(&look, again);
        for (uint32_t i = 0; i < games.count; i++) {
            LS_ASSERT(ls_relay_games_add(again, &written, &games.games[i]));
        }
        ls_relay_games_end(again, games.next);
        LS_ASSERT(written == size && memcmp(again, bytes, size) == 0);
    }
}

static void answer(fuzz_input *input)
{
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    size_t size = 0;
    const uint8_t *came =
        fuzz_take_bytes(input, fuzz_take_u16(input) % (LS_RELAY_GAMES_BYTES_MAX + 1), &size);
    memcpy(bytes, came, size);
    if (size > 21) {
        memcpy(bytes + 1, search.sent.nonce, LS_RELAY_NONCE_BYTES);
        ls_store_u32(bytes + 17, search.place);
    }
    check_games(bytes, size);
    ls_relay_search_receive(&search, bytes, size, directory_now_ns);
    LS_ASSERT(search.count <= FOUND_MAX);
}

static void look_from(uint8_t place)
{
    const ls_relay_packet look = {.kind = LS_RELAY_LOOK, .place = place};
    const ls_endpoint from = ls_endpoint_from_ipv4(0x01010101, 7);
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    ls_relay_games games;
    size_t size = ls_directory_look(directory, &from, &look, directory_now_ns, bytes);
    LS_ASSERT(size <= sizeof bytes && (size == 0 || ls_relay_games_read(bytes, size, &games)));
}

/* The client has its cookie, and looks. */
static void begin_search(void)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    ls_relay_search_begin(&search, found, FOUND_MAX, directory_now_ns);
    (void)ls_relay_search_advance(&search, directory_now_ns, bytes);
    ls_relay_packet cookie = {.kind = LS_RELAY_COOKIE};
    memcpy(cookie.nonce, search.sent.nonce, sizeof cookie.nonce);
    size_t size = ls_relay_packet_write(&cookie, bytes);
    ls_relay_search_receive(&search, bytes, size, directory_now_ns);
    (void)ls_relay_search_advance(&search, directory_now_ns, bytes);
    LS_ASSERT(search.sent.kind == LS_RELAY_LOOK);
}

FUZZ_TARGET(directory)
{
    fuzz_input input = {bytes, size};
    uint8_t sent[LS_RELAY_PACKET_BYTES_MAX];
    LS_ASSERT(ls_cipher_init() == LS_OK);
    directory_now_ns = 1000 * LS_NS_PER_SECOND;
    memset(counters, 0, sizeof counters);
    memset(challenges, 0, sizeof challenges);
    LS_ASSERT(ls_directory_create(DIRECTORY_PLACES, SHOWN_MAX, ls_allocator_heap(), &directory) ==
              LS_OK);
    begin_search();
    for (uint32_t i = 0; i < DIRECTORY_MOVES_MAX && input.size > 0; i++) {
        switch (fuzz_take_u8(&input) % 4) {
        case 0:
            offer(&input);
            break;
        case 1:
            answer(&input);
            break;
        case 2:
            directory_now_ns += 100 * LS_NS_PER_MS * fuzz_take_u8(&input);
            ls_directory_expire(directory, directory_now_ns);
            (void)ls_relay_search_advance(&search, directory_now_ns, sent);
            break;
        default:
            look_from(fuzz_take_u8(&input));
            break;
        }
        LS_ASSERT(ls_directory_count(directory) <= SHOWN_MAX);
    }
    static char text[DIRECTORY_PLACES * 600];
    size_t text_bytes = ls_directory_json_bytes(directory);
    LS_ASSERT(text_bytes <= sizeof text);
    ls_directory_write_json(directory, text);
    ls_json *json = ls_json_parse(text, text_bytes);
    LS_ASSERT(json); /* names are texts that every reader of JSON takes */
    ls_json_destroy(json);
    ls_directory_destroy(directory);
    return 0;
}
