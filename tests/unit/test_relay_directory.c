/* A server, its relay, somebody who looks for games and somebody who would like to list one of his
 * own in another's name, in virtual time. */
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/relay/relay_search.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/server/relay/relay.h"

#include <criterion/criterion.h>
#include <string.h>

#define STEP_NS LS_NS_PER_MS
#define DELAY_NS (10 * LS_NS_PER_MS)

enum {
    SERVER = 1,
    SEEKER,
    ATTACKER,
    FLYING_MAX = 256,
    KEPT_MAX = 64,
};

typedef struct datagram {
    ls_endpoint from, to;
    uint64_t due_ns; /* 0: none */
    size_t size;
    uint8_t bytes[LS_UDP_DATAGRAM_BYTES_MAX];
} datagram;

static uint64_t now_ns;
static datagram flying[FLYING_MAX];
static datagram lists[KEPT_MAX]; /* every LIST that the server has sent */
static uint32_t list_count;
static size_t to_attacker, from_attacker;
static ls_relay_service *relay;
static ls_relay_server *server;
static ls_datagram_socket *socket_of_server;
static ls_datagram_socket wire;
static datagram inbox[8];
static uint32_t inbox_count;
static bool is_cut; /* nothing of the server arrives */
static ls_relay_search search;
static ls_relay_game games[16];

static ls_endpoint place(uint8_t number)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, (uint16_t)(7000 + number));
    made.address[12] = 203;
    made.address[14] = number;
    return made;
}

static void fly(uint8_t from, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    for (uint32_t i = 0; i < FLYING_MAX; i++) {
        if (flying[i].due_ns == 0) {
            flying[i] = (datagram){
                .from = place(from), .to = *to, .due_ns = now_ns + DELAY_NS, .size = size};
            memcpy(flying[i].bytes, bytes, size);
            return;
        }
    }
    cr_assert_fail("too many datagrams are under way");
}

/* ---- the server's socket ---- */

static void begin_turn(ls_datagram_socket *socket, uint64_t now)
{
    (void)socket;
    (void)now;
}

static ls_udp_receipt receive(ls_datagram_socket *socket, ls_udp_datagram *out)
{
    (void)socket;
    if (inbox_count == 0) {
        return LS_UDP_EMPTY;
    }
    datagram *came = &inbox[--inbox_count];
    *out = (ls_udp_datagram){
        .from = came->from, .bytes = came->bytes, .size = came->size, .arrived_ns = now_ns};
    return LS_UDP_RECEIVED;
}

static void send_datagram(ls_datagram_socket *socket, const ls_endpoint *to, const uint8_t *bytes,
                          size_t size)
{
    (void)socket;
    if (bytes[0] == LS_RELAY_LIST) {
        cr_assert_lt(list_count, KEPT_MAX);
        lists[list_count] = (datagram){.size = size};
        memcpy(lists[list_count++].bytes, bytes, size);
    }
    fly(SERVER, to, bytes, size);
}

static ls_udp_sent flush(ls_datagram_socket *socket)
{
    (void)socket;
    return (ls_udp_sent){0};
}

static uint16_t port(const ls_datagram_socket *socket)
{
    (void)socket;
    return 7001;
}

static void close_socket(ls_datagram_socket *socket)
{
    (void)socket;
}

static const ls_datagram_socket_operations operations = {.begin_turn = begin_turn,
                                                         .receive = receive,
                                                         .send = send_datagram,
                                                         .flush = flush,
                                                         .port = port,
                                                         .close = close_socket};

/* ---- the network ---- */

static void send_of_relay(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    (void)user;
    fly(0, to, bytes, size);
}

static void land(const datagram *what)
{
    const ls_endpoint of_relay = place(0), of_server = place(SERVER), of_seeker = place(SEEKER);
    ls_udp_datagram none;
    if (ls_endpoint_is_equal(&what->to, &of_relay)) {
        bool is_of_server = ls_endpoint_is_equal(&what->from, &of_server);
        if (!is_cut || !is_of_server) {
            ls_relay_receive(relay, &what->from, what->bytes, what->size, now_ns);
        }
    } else if (ls_endpoint_is_equal(&what->to, &of_server)) {
        inbox[inbox_count++] = *what;
        while (ls_datagram_socket_receive(socket_of_server, &none) == LS_UDP_RECEIVED) {
        }
    } else if (ls_endpoint_is_equal(&what->to, &of_seeker)) {
        ls_relay_search_receive(&search, what->bytes, what->size, now_ns);
    } else {
        to_attacker += what->size;
    }
}

static void pass(uint64_t time_ns)
{
    const ls_endpoint of_relay = place(0);
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    for (uint64_t end_ns = now_ns + time_ns; now_ns < end_ns;) {
        now_ns += STEP_NS;
        for (uint32_t i = 0; i < FLYING_MAX; i++) {
            if (flying[i].due_ns != 0 && flying[i].due_ns <= now_ns) {
                const datagram arrived = flying[i];
                flying[i].due_ns = 0;
                land(&arrived);
            }
        }
        if (now_ns % LS_NS_PER_SECOND == 0) {
            ls_relay_expire(relay, now_ns);
        }
        ls_relay_server_advance(server, now_ns);
        size_t size = search.games ? ls_relay_search_advance(&search, now_ns, bytes) : 0;
        if (size > 0) {
            fly(SEEKER, &of_relay, bytes, size);
        }
    }
}

static void start_relay(uint32_t games_max)
{
    const ls_relay_sink sink = {send_of_relay, NULL};
    ls_relay_config config = ls_relay_config_default();
    config.hosts_max = 4;
    config.players_max = 8;
    config.games_max = games_max;
    ls_relay_destroy(relay);
    relay = NULL;
    cr_assert_eq(ls_relay_create(&config, &sink, ls_allocator_heap(), &relay), LS_OK);
}

static void begin(void)
{
    ls_relay_server_config config = {.relay = place(0)};
    const ls_relay_listing listing = {
        .name = "Friday", .simulation = "arena", .version = "0.1.0", .players = 1, .seats = 4};
    cr_assert_eq(ls_cipher_init(), LS_OK);
    now_ns = 100 * LS_NS_PER_SECOND;
    start_relay(2);
    ls_key_pair_random(&config.identity);
    cr_assert_eq(ls_relay_server_create(&config, ls_allocator_heap(), &server), LS_OK);
    wire.operations = &operations;
    socket_of_server = ls_relay_server_socket(server, &wire);
    ls_relay_server_set_listing(server, &listing);
}

static void end(void)
{
    ls_datagram_socket_close(socket_of_server);
    ls_relay_server_destroy(server);
    ls_relay_destroy(relay);
}

TestSuite(relay_directory, .init = begin, .fini = end);

static uint32_t shown(void)
{
    return ls_directory_count(ls_relay_directory(relay));
}

static void look(void)
{
    ls_relay_search_begin(&search, games, 16, now_ns);
    pass(LS_NS_PER_SECOND);
}

Test(relay_directory, a_server_that_wants_to_be_found_is_found_with_its_code_and_both_ways)
{
    pass(2 * LS_NS_PER_SECOND);
    cr_assert_eq(ls_relay_server_listed_of(server, now_ns), LS_RELAY_SERVER_LISTED);
    look();
    cr_assert_eq(search.state, LS_RELAY_SEARCH_DONE);
    cr_assert_eq(search.count, 1);
    cr_assert_str_eq(games[0].listing.name, "Friday");
    cr_assert_arr_eq(games[0].name, ls_relay_server_code(server)->name, LS_RELAY_NAME_CHARACTERS);
    cr_assert_arr_eq(games[0].listing.secret, ls_relay_server_code(server)->secret,
                     LS_RELAY_SECRET_CHARACTERS);
    cr_assert_eq(games[0].ping_ms, 20, "%u", games[0].ping_ms);
    cr_assert_eq(search.rtt_ns / LS_NS_PER_MS, 20);
}

Test(relay_directory, numbers_follow_within_seconds_and_the_entry_stays_for_minutes)
{
    pass(2 * LS_NS_PER_SECOND);
    const ls_relay_listing later = {
        .name = "Friday", .simulation = "arena", .version = "0.1.0", .players = 3, .seats = 4};
    ls_relay_server_set_listing(server, &later);
    pass(3 * LS_NS_PER_SECOND);
    look();
    cr_assert_eq(games[0].listing.players, 3, "what is new is listed soon");
    for (int i = 0; i < 12; i++) {
        pass(10 * LS_NS_PER_SECOND);
        cr_assert_eq(shown(), 1);
        cr_assert_eq(ls_relay_server_listed_of(server, now_ns), LS_RELAY_SERVER_LISTED);
    }
    cr_assert_leq(list_count, 2 * 14, "two datagrams in ten seconds, not %u in all", list_count);
    look();
    cr_assert_eq(games[0].listing.players, 3);
}

Test(relay_directory, a_server_that_falls_silent_is_forgotten_and_one_that_returns_is_found)
{
    pass(2 * LS_NS_PER_SECOND);
    is_cut = true;
    pass(27 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 1);
    pass(15 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 0);
    look();
    cr_assert_eq(search.state, LS_RELAY_SEARCH_DONE);
    cr_assert_eq(search.count, 0);
    cr_assert_eq(ls_relay_server_listed_of(server, now_ns), LS_RELAY_SERVER_UNLISTED);
    is_cut = false;
    pass(10 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 1);
}

Test(relay_directory, a_server_that_ends_takes_its_game_off_the_list)
{
    pass(2 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 1);
    ls_relay_server_withdraw(server);
    pass(LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 0);
    pass(15 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 0, "it is not listed anew");
}

Test(relay_directory, a_relay_that_was_started_again_has_the_game_again)
{
    pass(2 * LS_NS_PER_SECOND);
    start_relay(2);
    cr_assert_eq(shown(), 0);
    pass(15 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 1);
}

Test(relay_directory, a_relay_without_a_list_says_so)
{
    start_relay(0);
    pass(2 * LS_NS_PER_SECOND);
    cr_assert_eq(ls_relay_server_listed_of(server, now_ns), LS_RELAY_SERVER_LIST_FULL);
    look();
    cr_assert_eq(search.count, 0);
}

Test(relay_directory, a_silent_relay_and_one_that_falls_silent_end_a_search)
{
    ls_relay_search_begin(&search, games, 16, now_ns);
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    while (search.state == LS_RELAY_SEARCHING) {
        now_ns += 50 * LS_NS_PER_MS;
        (void)ls_relay_search_advance(&search, now_ns, bytes);
        cr_assert_lt(now_ns, 110 * LS_NS_PER_SECOND);
    }
    cr_assert_eq(search.state, LS_RELAY_SEARCH_SILENT);
}

/* ---- attacks ---- */

static void attack(const ls_endpoint *from, const datagram *with)
{
    from_attacker += with->size;
    ls_relay_receive(relay, from, with->bytes, with->size, now_ns);
}

static void expect_only_gone(void)
{
    for (uint32_t i = 0; i < FLYING_MAX; i++) {
        cr_assert(flying[i].due_ns == 0 || flying[i].bytes[0] == LS_RELAY_GONE);
        flying[i].due_ns = 0;
    }
}

/* From his own address, and from the server's, which he forges. */
Test(relay_directory, a_list_that_is_repeated_or_altered_shows_and_renews_nothing)
{
    const ls_endpoint own = place(ATTACKER), forged = place(SERVER);
    pass(12 * LS_NS_PER_SECOND);
    cr_assert_geq(list_count, 3);
    pass(LS_NS_PER_SECOND);
    is_cut = true;
    expect_only_gone();
    uint64_t refused = ls_relay_counts_of(relay)->refused;
    uint64_t tries = 0;
    for (uint32_t i = 0; i < list_count; i++) {
        for (size_t bit = 0; bit <= 8 * lists[i].size; bit++) { /* and as it was */
            datagram altered = lists[i];
            altered.bytes[bit / 8] ^= (uint8_t)(bit < 8 * lists[i].size ? 1u << bit % 8 : 0);
            if (altered.bytes[0] != LS_RELAY_LIST) {
                continue;
            }
            attack(&own, &altered);
            attack(&forged, &altered);
            tries += 2;
            expect_only_gone();
        }
    }
    cr_assert_eq(ls_relay_counts_of(relay)->refused, refused + tries);
    cr_assert_gt(tries, 4000);
    pass(42 * LS_NS_PER_SECOND);
    cr_assert_eq(shown(), 0);
}

Test(relay_directory, without_a_cookie_nobody_is_sent_the_list)
{
    const ls_endpoint own = place(ATTACKER);
    pass(2 * LS_NS_PER_SECOND);
    for (uint32_t i = 0; i < 200; i++) {
        datagram look_at = {.size = 0};
        ls_relay_packet packet = {.kind = i % 2 == 0 ? LS_RELAY_LOOK : LS_RELAY_ASK,
                                  .time_ms = now_ns / LS_NS_PER_MS};
        ls_cipher_random(packet.cookie, sizeof packet.cookie);
        look_at.size = ls_relay_packet_write(&packet, look_at.bytes);
        attack(&own, &look_at);
        pass(LS_NS_PER_MS);
    }
    pass(LS_NS_PER_SECOND);
    cr_assert_gt(to_attacker, 0, "cookies have come");
    cr_assert_leq(to_attacker, from_attacker / 2, "and nothing but these");
}

Test(relay_directory, a_search_takes_nothing_that_does_not_answer_it)
{
    const ls_relay_packet look_at = {.kind = LS_RELAY_LOOK};
    const ls_relay_packet cookie = {.kind = LS_RELAY_COOKIE};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    pass(2 * LS_NS_PER_SECOND);
    ls_relay_search_begin(&search, games, 16, now_ns);
    pass(2 * LS_NS_PER_MS);
    ls_relay_search_receive(&search, bytes, ls_relay_packet_write(&cookie, bytes), now_ns);
    cr_assert_eq(search.rtt_ns, UINT64_MAX, "another one's cookie");
    pass(25 * LS_NS_PER_MS);
    cr_assert_eq(search.sent.kind, LS_RELAY_LOOK);
    ls_relay_search_receive(&search, bytes, ls_relay_games_begin(&look_at, bytes), now_ns);
    cr_assert_eq(search.state, LS_RELAY_SEARCHING, "another one's games");
    ls_relay_search_receive(&search, bytes, 0, now_ns);
    pass(LS_NS_PER_SECOND);
    cr_assert_eq(search.state, LS_RELAY_SEARCH_DONE);
    cr_assert_eq(search.count, 1);
}

Test(relay_directory, a_relay_cannot_keep_a_search_up_for_ever)
{
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    uint64_t begun_ns = now_ns;
    is_cut = true;
    ls_relay_search_begin(&search, games, 16, now_ns);
    pass(25 * LS_NS_PER_MS);
    cr_assert_eq(search.sent.kind, LS_RELAY_LOOK);
    for (uint32_t next = 1; search.state == LS_RELAY_SEARCHING; next++) {
        ls_relay_packet look_at = search.sent;
        look_at.place = search.place;
        size_t size = ls_relay_games_begin(&look_at, bytes);
        ls_relay_games_end(bytes, next);
        ls_relay_search_receive(&search, bytes, size, now_ns);
        now_ns += 100 * LS_NS_PER_MS;
        uint8_t sent[LS_RELAY_PACKET_BYTES_MAX];
        (void)ls_relay_search_advance(&search, now_ns, sent);
    }
    cr_assert_eq(search.state, LS_RELAY_SEARCH_CUT);
    cr_assert_leq(now_ns - begun_ns, 21 * LS_NS_PER_SECOND);
}
