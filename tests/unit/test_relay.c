/* The relay alone: datagrams in, datagrams out, no network. */
#include "lockstep/server/relay/relay.h"

#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/relay/relay_keys.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define SENT_MAX 64u

typedef struct sent_datagram {
    ls_endpoint to;
    size_t size;
    uint8_t bytes[1400];
} sent_datagram;

static sent_datagram sent[SENT_MAX];
static uint32_t sent_count;
static char lines[4096];
static ls_relay_service *relay;
static uint64_t now_ns;
static ls_log test_log;

static void on_send(void *user, const ls_endpoint *to, const uint8_t *bytes, size_t size)
{
    (void)user;
    cr_assert_lt(sent_count, SENT_MAX);
    sent_datagram *made = &sent[sent_count++];
    made->to = *to;
    made->size = size;
    memcpy(made->bytes, bytes, size);
}

static void on_line(void *user, ls_log_level level, const char *line)
{
    (void)user;
    (void)level;
    size_t used = strlen(lines);
    snprintf(lines + used, sizeof lines - used, "%s\n", line);
}

static void start(const ls_relay_config *config)
{
    const ls_relay_sink sink = {on_send, NULL};
    cr_assert_eq(ls_relay_create(config, &sink, ls_allocator_heap(), &relay), LS_OK);
}

static ls_relay_config config_of_test(void)
{
    ls_relay_config config = ls_relay_config_default();
    test_log = (ls_log){.level = LS_LOG_INFO, .write = on_line};
    config.log = &test_log;
    config.hosts_max = 4;
    config.players_max = 8;
    config.hosts_per_address = 2;
    return config;
}

static void begin(void)
{
    const ls_relay_config config = config_of_test();
    cr_assert_eq(ls_cipher_init(), LS_OK);
    sent_count = 0;
    lines[0] = '\0';
    now_ns = 100 * LS_NS_PER_SECOND;
    start(&config);
}

static void end(void)
{
    ls_relay_destroy(relay);
    relay = NULL;
}

TestSuite(relay, .init = begin, .fini = end);

static void restart(const ls_relay_config *config)
{
    end();
    start(config);
}

/* ---- peers ---- */

static ls_endpoint address(uint8_t number)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, (uint16_t)(5000 + number));
    made.address[12] = 203;
    made.address[14] = 113;
    made.address[15] = number;
    return made;
}

static void give(const ls_endpoint *from, const uint8_t *bytes, size_t size)
{
    ls_relay_receive(relay, from, bytes, size, now_ns);
}

static void give_packet(const ls_endpoint *from, const ls_relay_packet *packet)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    give(from, bytes, ls_relay_packet_write(packet, bytes));
}

/* The newest one to an address; false: none since the last call. */
static bool newest_to(const ls_endpoint *to, ls_relay_packet *out)
{
    bool is_found = false;
    for (uint32_t i = sent_count; i > 0 && !is_found; i--) {
        is_found = ls_endpoint_is_equal(&sent[i - 1].to, to) &&
                   ls_relay_packet_read(sent[i - 1].bytes, sent[i - 1].size, out);
    }
    sent_count = 0;
    return is_found;
}

static ls_relay_packet cookie_for(const ls_endpoint *from, uint8_t nonce)
{
    ls_relay_packet cookie = {.kind = LS_RELAY_ASK};
    memset(cookie.nonce, nonce, sizeof cookie.nonce);
    give_packet(from, &cookie);
    cr_assert(newest_to(from, &cookie));
    cr_assert_eq(cookie.kind, LS_RELAY_COOKIE);
    return cookie;
}

typedef struct test_server {
    ls_endpoint at;
    ls_key_pair identity;
    ls_relay_keys keys;
    uint64_t id;
    char name[LS_RELAY_NAME_CHARACTERS];
} test_server;

static test_server server_at(uint8_t number)
{
    test_server made = {.at = address(number)};
    ls_key_pair_random(&made.identity);
    return made;
}

static size_t write_register(test_server *server, const ls_relay_packet *cookie,
                             const uint8_t *access_key, uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX])
{
    ls_relay_packet wants = *cookie;
    const ls_relay_keys_of of = {&server->identity, server->identity.public_key, cookie->key,
                                 cookie->nonce, cookie->time_ms};
    cr_assert(ls_relay_keys_make(&of, &server->keys));
    wants.kind = LS_RELAY_REGISTER;
    memcpy(wants.key, server->identity.public_key, sizeof wants.key);
    size_t size = ls_relay_packet_write(&wants, bytes);
    if (access_key) {
        ls_relay_packet_sign_access(bytes, access_key);
    }
    ls_relay_packet_sign(bytes, server->keys.proof);
    return size;
}

/* The result, or 255 when there is no answer. */
static uint8_t register_with(test_server *server, uint8_t nonce, const uint8_t *access_key)
{
    const ls_relay_packet cookie = cookie_for(&server->at, nonce);
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    ls_relay_packet answer = {.kind = LS_RELAY_ASK};
    give(&server->at, bytes, write_register(server, &cookie, access_key, bytes));
    bool is_signed =
        sent_count > 0 && ls_relay_packet_is_signed(sent[0].bytes, server->keys.to_server);
    if (!newest_to(&server->at, &answer)) {
        return 255;
    }
    cr_assert(is_signed && answer.kind == LS_RELAY_REGISTERED);
    server->id = answer.number;
    memcpy(server->name, answer.name, sizeof server->name);
    return answer.value;
}

static void registered(test_server *server)
{
    cr_assert_eq(register_with(server, 1, NULL), LS_RELAY_GOOD);
    cr_assert_neq(server->id, 0);
}

static ls_relay_packet join_of(const ls_endpoint *from, uint8_t nonce,
                               const char name[LS_RELAY_NAME_CHARACTERS])
{
    ls_relay_packet join = cookie_for(from, nonce);
    join.kind = LS_RELAY_JOIN;
    memcpy(join.name, name, LS_RELAY_NAME_CHARACTERS);
    return join;
}

/* The result, and the flow once the server has answered. */
static uint8_t join(const test_server *server, const ls_endpoint *from, uint8_t nonce,
                    uint64_t *flow)
{
    const ls_relay_packet wants = join_of(from, nonce, server->name);
    ls_relay_packet answer;
    give_packet(from, &wants);
    if (newest_to(from, &answer)) {
        return answer.value;
    }
    give_packet(from, &wants); /* the same again before the server has answered */
    now_ns += LS_NS_PER_SECOND;
    give_packet(from, &wants);
    cr_assert(newest_to(&server->at, &answer), "each JOIN repeats OPEN");
    cr_assert_eq(answer.kind, LS_RELAY_OPEN);
    cr_assert(ls_endpoint_is_equal(&answer.player, from));
    answer.kind = LS_RELAY_OPENED;
    give_packet(&server->at, &answer);
    cr_assert(newest_to(from, &answer));
    cr_assert_eq(answer.kind, LS_RELAY_JOINED);
    cr_assert(ls_endpoint_is_equal(&answer.host, &server->at));
    cr_assert(ls_endpoint_is_equal(&answer.player, from));
    *flow = answer.number;
    return answer.value;
}

static void carry(const ls_endpoint *from, uint64_t flow, size_t content)
{
    uint8_t bytes[LS_RELAY_CARRY_HEADER_BYTES + LS_RELAY_CARRIED_BYTES_MAX];
    uint8_t carried[LS_RELAY_CARRIED_BYTES_MAX];
    memset(carried, 0x81, content);
    give(from, bytes, ls_relay_write_carry(bytes, flow, carried, content));
}

/* Whether a datagram that is carried came out to there, and nothing else did. */
static bool was_carried(const ls_endpoint *to)
{
    bool is_it = sent_count == 1 && ls_endpoint_is_equal(&sent[0].to, to) &&
                 sent[0].bytes[0] == LS_RELAY_CARRY;
    sent_count = 0;
    return is_it;
}

/* ---- registering ---- */

Test(relay, server_gets_a_code_and_keeps_it_over_restarts_of_both)
{
    test_server server = server_at(1);
    char first[LS_RELAY_NAME_CHARACTERS];
    const ls_relay_config config = config_of_test();
    registered(&server);
    memcpy(first, server.name, sizeof first);
    uint64_t id = server.id;
    now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(register_with(&server, 2, NULL), LS_RELAY_GOOD, "the server was started anew");
    cr_assert_arr_eq(server.name, first, sizeof first);
    cr_assert_eq(server.id, id);
    restart(&config);
    registered(&server);
    cr_assert_arr_eq(server.name, first, sizeof first);
    cr_assert_neq(server.id, id);
    cr_assert_eq(ls_relay_counts_of(relay)->hosts, 1);
}

Test(relay, nobody_registers_in_the_name_of_another_server)
{
    test_server server = server_at(1), thief = server_at(2);
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    registered(&server);
    const ls_relay_packet cookie = cookie_for(&thief.at, 9);
    size_t size = write_register(&thief, &cookie, NULL, bytes);
    memcpy(bytes + 45, server.identity.public_key, LS_CIPHER_KEY_BYTES); /* S */
    ls_relay_packet_sign(bytes, thief.keys.proof);
    give(&thief.at, bytes, size);
    cr_assert_eq(sent_count, 0);
    cr_assert_eq(ls_relay_counts_of(relay)->hosts, 1);
    ls_relay_packet keep = {.kind = LS_RELAY_KEEP, .number = server.id, .counter = 1};
    size = ls_relay_packet_write(&keep, bytes);
    ls_relay_packet_sign(bytes, server.keys.to_relay);
    give(&server.at, bytes, size);
    cr_assert(newest_to(&server.at, &keep));
    cr_assert_eq(keep.kind, LS_RELAY_KEPT, "the server is where it was");
}

Test(relay, a_registration_that_somebody_repeats_changes_nothing)
{
    test_server server = server_at(1);
    uint8_t old[LS_RELAY_PACKET_BYTES_MAX], keep_bytes[LS_RELAY_PACKET_BYTES_MAX];
    const ls_relay_packet cookie = cookie_for(&server.at, 1);
    size_t size = write_register(&server, &cookie, NULL, old);
    give(&server.at, old, size);
    now_ns += LS_NS_PER_MS;
    cr_assert_eq(register_with(&server, 2, NULL), LS_RELAY_GOOD);
    give(&server.at, old, size);
    cr_assert_eq(sent_count, 0);
    ls_relay_packet keep = {.kind = LS_RELAY_KEEP, .number = server.id, .counter = 7};
    size = ls_relay_packet_write(&keep, keep_bytes);
    ls_relay_packet_sign(keep_bytes, server.keys.to_relay);
    give(&server.at, keep_bytes, size);
    cr_assert_eq(sent_count, 1);
    give(&server.at, keep_bytes, size);
    cr_assert_eq(sent_count, 1, "nor does a KEEP");
    keep_bytes[20] ^= 1;
    give(&server.at, keep_bytes, size);
    cr_assert_eq(sent_count, 1);
}

Test(relay, a_cookie_is_for_its_address_its_nonce_and_five_seconds)
{
    test_server server = server_at(1);
    const ls_endpoint other = address(2);
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    ls_relay_packet cookie = cookie_for(&server.at, 1);
    size_t size = write_register(&server, &cookie, NULL, bytes);
    give(&other, bytes, size);
    cr_assert_eq(sent_count, 0);
    now_ns += 5 * LS_NS_PER_SECOND + LS_NS_PER_MS;
    give(&server.at, bytes, size);
    cr_assert_eq(sent_count, 0);
    cookie = cookie_for(&server.at, 1);
    cookie.nonce[0]++;
    give(&server.at, bytes, write_register(&server, &cookie, NULL, bytes));
    cr_assert_eq(sent_count, 0);
    cookie.nonce[0]--;
    cookie.time_ms++;
    give(&server.at, bytes, write_register(&server, &cookie, NULL, bytes));
    cr_assert_eq(sent_count, 0);
    cookie.time_ms--;
    now_ns += 5 * LS_NS_PER_SECOND;
    give(&server.at, bytes, write_register(&server, &cookie, NULL, bytes));
    cr_assert_eq(sent_count, 1);
}

Test(relay, servers_of_an_address_and_of_all_are_limited)
{
    test_server servers[6];
    for (uint32_t i = 0; i < 6; i++) {
        servers[i] = server_at(i < 3 ? 1 : (uint8_t)i);
        servers[i].at.port = (uint16_t)(6000 + i);
    }
    registered(&servers[0]);
    registered(&servers[1]);
    cr_assert_eq(register_with(&servers[2], 1, NULL), LS_RELAY_FULL, "a third one of the address");
    registered(&servers[3]);
    registered(&servers[4]);
    cr_assert_eq(register_with(&servers[5], 1, NULL), LS_RELAY_FULL, "a fifth one");
    now_ns += 31 * LS_NS_PER_SECOND;
    ls_relay_expire(relay, now_ns);
    cr_assert_eq(ls_relay_counts_of(relay)->hosts, 0);
    registered(&servers[5]);
    registered(&servers[2]);
}

Test(relay, a_relay_with_a_key_takes_servers_with_that_key_alone)
{
    ls_relay_config config = config_of_test();
    test_server server = server_at(1);
    config.has_access_key = true;
    memset(config.access_key, 5, sizeof config.access_key);
    restart(&config);
    const uint8_t wrong[LS_CIPHER_KEY_BYTES] = {1};
    cr_assert_eq(cookie_for(&server.at, 1).value, 1, "servers are told");
    cr_assert_eq(register_with(&server, 1, NULL), LS_RELAY_KEY_NEEDED);
    cr_assert_eq(register_with(&server, 2, wrong), LS_RELAY_KEY_NEEDED);
    cr_assert_eq(ls_relay_counts_of(relay)->hosts, 0);
    cr_assert_eq(register_with(&server, 3, config.access_key), LS_RELAY_GOOD);
}

/* Some of them have the same first choice. */
Test(relay, two_servers_never_have_the_same_code)
{
    ls_relay_config config = config_of_test();
    test_server first = server_at(1);
    char second_choice[LS_RELAY_NAME_CHARACTERS];
    config.hosts_max = 64;
    config.hosts_per_address = 64;
    restart(&config);
    registered(&first);
    ls_relay_code_name(first.identity.public_key, 1, second_choice);
    cr_assert_neq(memcmp(first.name, second_choice, sizeof second_choice), 0);
    char names[32][LS_RELAY_NAME_CHARACTERS];
    for (uint32_t i = 0; i < 32; i++) {
        test_server each = server_at((uint8_t)(2 + i));
        registered(&each);
        memcpy(names[i], each.name, sizeof names[i]);
        for (uint32_t other = 0; other < i; other++) {
            cr_assert_neq(memcmp(names[i], names[other], sizeof names[i]), 0);
        }
    }
}

/* ---- joining and carrying ---- */

Test(relay, datagrams_are_carried_both_ways_between_the_two_of_a_flow_alone)
{
    test_server server = server_at(1);
    const ls_endpoint player = address(2), unknown = address(3);
    uint64_t flow = 0;
    ls_relay_packet answer;
    registered(&server);
    cr_assert_eq(join(&server, &player, 1, &flow), LS_RELAY_GOOD);
    carry(&player, flow, 1200);
    cr_assert_eq(sent[0].size, 1209);
    cr_assert(was_carried(&server.at));
    carry(&server.at, flow, 1);
    cr_assert(was_carried(&player));
    carry(&unknown, flow, 100);
    cr_assert(newest_to(&unknown, &answer));
    cr_assert_eq(answer.kind, LS_RELAY_GONE);
    carry(&player, flow + LS_RELAY_PLAYERS_MAX, 100);
    cr_assert(newest_to(&player, &answer));
    cr_assert_eq(answer.kind, LS_RELAY_GONE);
    cr_assert_eq(ls_relay_counts_of(relay)->carried, 2);
}

Test(relay, a_server_that_was_started_anew_is_told_of_its_players_again)
{
    test_server server = server_at(1);
    const ls_endpoint player = address(2);
    uint64_t flow = 0;
    ls_relay_packet open;
    registered(&server);
    (void)join(&server, &player, 1, &flow);
    now_ns += LS_NS_PER_SECOND;
    server.at.port++; /* and its router gave it another port */
    cr_assert_eq(register_with(&server, 2, NULL), LS_RELAY_GOOD);
    carry(&player, flow, 10);
    cr_assert(newest_to(&server.at, &open));
    cr_assert_eq(open.kind, LS_RELAY_OPEN);
    cr_assert_eq(open.number, flow);
    open.kind = LS_RELAY_OPENED;
    give_packet(&server.at, &open);
    sent_count = 0;
    carry(&player, flow, 10);
    cr_assert(was_carried(&server.at));
}

/* Other players could not use it. */
Test(relay, neighbours_of_a_server_alone_are_told_its_own_network)
{
    test_server server = server_at(1);
    const ls_endpoint local = ls_endpoint_from_ipv4(0x0200000a, 7300);
    registered(&server);
    for (uint8_t number = 1; number <= 2; number++) {
        ls_endpoint player = address(number);
        player.port++;
        const ls_relay_packet wants = join_of(&player, number, server.name);
        ls_relay_packet answer;
        give_packet(&player, &wants);
        cr_assert(newest_to(&server.at, &answer));
        cr_assert_eq(answer.kind, LS_RELAY_OPEN);
        answer.kind = LS_RELAY_OPENED;
        answer.outside_port = 9000;
        answer.local = local;
        give_packet(&server.at, &answer);
        cr_assert(newest_to(&player, &answer));
        cr_assert_eq(answer.kind, LS_RELAY_JOINED);
        cr_assert_eq(answer.outside_port, 9000);
        cr_assert_eq(ls_endpoint_is_equal(&answer.local, &local), number == 1);
        cr_assert_eq(answer.local.port != 0, number == 1);
    }
}

Test(relay, a_server_that_has_forgotten_a_player_is_told_of_it_again)
{
    test_server server = server_at(1);
    const ls_endpoint player = address(2), unknown = address(3);
    uint64_t flow = 0;
    registered(&server);
    (void)join(&server, &player, 1, &flow);
    const ls_relay_packet gone = {.kind = LS_RELAY_GONE, .number = flow};
    give_packet(&unknown, &gone);
    carry(&player, flow, 10);
    cr_assert(was_carried(&server.at), "only the server may say so");
    give_packet(&server.at, &gone);
    now_ns += LS_NS_PER_SECOND;
    carry(&player, flow, 10);
    ls_relay_packet open;
    cr_assert(newest_to(&server.at, &open));
    cr_assert_eq(open.kind, LS_RELAY_OPEN);
    cr_assert_eq(open.number, flow);
}

Test(relay, a_player_that_joins_anew_has_another_flow_and_an_unknown_code_none)
{
    test_server server = server_at(1);
    const ls_endpoint player = address(2);
    uint64_t first = 0, second = 0;
    registered(&server);
    (void)join(&server, &player, 1, &first);
    (void)join(&server, &player, 2, &second);
    cr_assert_neq(first, second);
    cr_assert_eq(ls_relay_counts_of(relay)->players, 1);
    test_server nowhere = {.at = server.at, .name = {'2', '2', '2', '2'}};
    cr_assert_eq(join(&nowhere, &player, 3, &second), LS_RELAY_NO_SUCH_CODE);
    now_ns += 31 * LS_NS_PER_SECOND;
    ls_relay_expire(relay, now_ns);
    cr_assert_eq(join(&server, &player, 4, &second), LS_RELAY_NO_SUCH_CODE);
    cr_assert_eq(ls_relay_counts_of(relay)->players, 0);
}

Test(relay, an_address_names_few_codes_that_are_none_and_is_then_not_answered)
{
    test_server server = server_at(1);
    const ls_endpoint guesser = address(2), other = address(3);
    uint32_t answered = 0;
    registered(&server);
    for (uint32_t i = 0; i < 24; i++) {
        const ls_relay_packet wants = join_of(&guesser, (uint8_t)(i + 1), "2222");
        ls_relay_packet answer;
        give_packet(&guesser, &wants);
        answered += newest_to(&guesser, &answer) ? 1 : 0;
    }
    cr_assert_eq(answered, 16);
    const ls_relay_packet right = join_of(&guesser, 99, server.name);
    give_packet(&guesser, &right);
    cr_assert_eq(sent_count, 0, "and the right one says nothing either");
    uint64_t flow = 0;
    cr_assert_eq(join(&server, &other, 1, &flow), LS_RELAY_GOOD);
    now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(join(&server, &guesser, 100, &flow), LS_RELAY_GOOD);
}

Test(relay, players_of_all_are_limited_and_forgotten_when_silent)
{
    test_server server = server_at(1);
    uint64_t flow = 0;
    registered(&server);
    for (uint8_t i = 0; i < 8; i++) {
        const ls_endpoint player = address((uint8_t)(10 + i));
        cr_assert_eq(join(&server, &player, 1, &flow), LS_RELAY_GOOD);
    }
    const ls_endpoint late = address(30);
    cr_assert_eq(join(&server, &late, 1, &flow), LS_RELAY_CODE_FULL);
    now_ns += 25 * LS_NS_PER_SECOND;
    const ls_endpoint lively = address(17);
    carry(&lively, flow, 10);
    sent_count = 0;
    cr_assert_eq(register_with(&server, 2, NULL), LS_RELAY_GOOD);
    now_ns += 10 * LS_NS_PER_SECOND;
    ls_relay_expire(relay, now_ns);
    cr_assert_eq(ls_relay_counts_of(relay)->players, 1);
    cr_assert_eq(join(&server, &late, 2, &flow), LS_RELAY_GOOD);
}

static uint32_t carry_as_much_as_one_may(const ls_endpoint *from, uint64_t flow)
{
    uint32_t count = 0;
    do {
        sent_count = 0;
        carry(from, flow, 991); /* 1,000 with the header */
        count += sent_count;
    } while (sent_count > 0 && count < 100000);
    return count;
}

Test(relay, the_bytes_of_a_player_and_of_a_match_are_limited_each_way)
{
    ls_relay_config config = config_of_test();
    test_server server = server_at(1);
    const ls_endpoint players[2] = {address(2), address(3)};
    uint64_t flows[2] = {0};
    config.player_kb = 100;
    config.match_kb = 150;
    restart(&config);
    registered(&server);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_eq(join(&server, &players[i], 1, &flows[i]), LS_RELAY_GOOD);
    }
    /* Half a second's at once, and the one that goes beyond it. */
    cr_assert_eq(carry_as_much_as_one_may(&players[0], flows[0]), 51);
    cr_assert_eq(carry_as_much_as_one_may(&server.at, flows[0]), 51, "the other way is another");
    cr_assert_eq(carry_as_much_as_one_may(&players[1], flows[1]), 25, "what the match has left");
    now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(carry_as_much_as_one_may(&players[0], flows[0]), 51);
    cr_assert_gt(ls_relay_counts_of(relay)->limited, 0);
}

Test(relay, the_log_says_which_way_each_player_goes_once)
{
    test_server server = server_at(1);
    const ls_endpoint first = address(2), second = address(3);
    uint64_t flows[2];
    registered(&server);
    (void)join(&server, &first, 1, &flows[0]);
    (void)join(&server, &second, 1, &flows[1]);
    const ls_relay_packet direct = {.kind = LS_RELAY_WAY, .number = flows[0], .value = 1};
    const ls_relay_packet carried = {.kind = LS_RELAY_WAY, .number = flows[1]};
    give_packet(&second, &direct); /* of another player */
    give_packet(&first, &direct);
    give_packet(&first, &direct);
    give_packet(&second, &carried);
    char expected[256];
    snprintf(expected, sizeof expected,
             "%.4s: registered: a server at 203.0.113.1:5001\n"
             "%.4s: directly: a player at 203.0.113.2:5002\n"
             "%.4s: through the relay: a player at 203.0.113.3:5003\n",
             server.name, server.name, server.name);
    cr_assert_str_eq(lines, expected);
}

/* ---- memory ---- */

Test(relay, all_memory_is_taken_at_create_and_given_back)
{
    const ls_relay_config config = config_of_test();
    const ls_relay_sink sink = {on_send, NULL};
    counting_allocator counting;
    uint64_t flow = 0;
    counting_allocator_init(&counting);
    end();
    for (counting.allowed = 0;
         ls_relay_create(&config, &sink, &counting.allocator, &relay) == LS_NO_MEMORY;) {
        cr_assert_eq(counting.live_blocks, 0);
        cr_assert_lt(counting.allocations, 1000);
        counting.allowed = counting.refusals;
    }
    uint64_t taken = counting.allocations;
    uint64_t calls = heap_calls();
    test_server server = server_at(1);
    registered(&server);
    for (uint8_t i = 0; i < 20; i++) {
        const ls_endpoint player = address((uint8_t)(10 + i));
        (void)join(&server, &player, 1, &flow);
        carry(&player, flow, 1200);
        sent_count = 0;
    }
    now_ns += 31 * LS_NS_PER_SECOND;
    ls_relay_expire(relay, now_ns);
    cr_assert_eq(counting.allocations, taken);
    cr_assert_eq(heap_calls(), calls);
    end();
    cr_assert_eq(counting.live_blocks, 0);
}

/* ---- addresses that are not proven ---- */

/* Every kind and size, with numbers of the relay's own and with others. */
Test(relay, no_address_that_is_not_proven_is_sent_more_bytes_than_came_from_it)
{
    test_server server = server_at(1);
    const ls_endpoint player = address(2), forged = address(3);
    uint64_t flow = 0;
    uint32_t answers = 0;
    registered(&server);
    (void)join(&server, &player, 1, &flow);
    const uint64_t numbers[] = {0, 1, flow, server.id, flow ^ LS_RELAY_PLAYERS_MAX};
    for (uint32_t first = 0; first < 256; first++) {
        for (size_t size = 0; size <= 1300; size += size < 140 ? 1 : 97) {
            for (size_t n = 0; n < sizeof numbers / sizeof numbers[0]; n++) {
                uint8_t bytes[1300] = {0};
                bytes[0] = (uint8_t)first;
                memcpy(bytes + 1, first == 0x60 ? (const void *)"LSR1\0\0\0" : &numbers[n], 8);
                sent_count = 0;
                now_ns += LS_NS_PER_MS;
                give(&forged, bytes, size);
                size_t out = 0;
                for (uint32_t i = 0; i < sent_count; i++) {
                    cr_assert(ls_endpoint_is_equal(&sent[i].to, &forged));
                    out += sent[i].size;
                }
                cr_assert_leq(out, size, "kind %x, %zu bytes", first, size);
                answers += sent_count;
            }
        }
    }
    cr_assert_gt(answers, 100, "ASK, KEEP and CARRY have been answered");
}

static ls_endpoint address_of_crowd(uint32_t number)
{
    return ls_endpoint_from_ipv4(0x0b000000u + number * 256 * 7, 4000);
}

/* Whether the relay says anything to a client that names a code. */
static bool is_answered(const ls_endpoint *from, const char name[LS_RELAY_NAME_CHARACTERS])
{
    ls_relay_packet answer = join_of(from, 1, name);
    give_packet(from, &answer);
    return newest_to(from, &answer);
}

Test(relay, wrong_codes_cost_the_address_that_names_them_and_no_other)
{
    enum {
        CROWD = 190,
        GUESSES = 17
    };
    test_server server = server_at(1);
    uint32_t limited = 0;
    registered(&server);
    for (uint32_t i = 0; i < CROWD * GUESSES; i++) {
        const ls_endpoint from = address_of_crowd(i % CROWD);
        now_ns += LS_NS_PER_MS / 2;
        (void)is_answered(&from, "2222");
    }
    for (uint32_t i = 0; i < CROWD; i++) {
        const ls_endpoint from = address_of_crowd(i);
        now_ns += LS_NS_PER_MS / 2;
        limited += !is_answered(&from, "2222");
    }
    cr_assert_gt(limited, CROWD * 9 / 10);
    for (uint32_t i = 0; i < 100; i++) {
        const ls_endpoint from = address_of_crowd(CROWD + i);
        now_ns += 2 * LS_NS_PER_MS;
        cr_expect(is_answered(&from, "2222"), "%u has guessed nothing before", i);
    }
}

Test(relay, a_flood_of_questions_is_answered_up_to_a_rate_and_takes_no_memory)
{
    uint32_t answered = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        const ls_endpoint forged = ls_endpoint_from_ipv4(i * 2654435761u, 4000);
        ls_relay_packet ask = {.kind = LS_RELAY_ASK};
        sent_count = 0;
        give_packet(&forged, &ask);
        answered += sent_count;
    }
    cr_assert_lt(answered, 9000);
    cr_assert_eq(ls_relay_counts_of(relay)->hosts + ls_relay_counts_of(relay)->players, 0);
    cr_assert_eq(ls_relay_counts_of(relay)->limited + answered, 20000);
}
