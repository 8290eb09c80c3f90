#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/relay/relay_listing.h"
#include "lockstep/protocol/relay/relay_server.h"
#include "lockstep/server/directory/directory.h"
#include "lockstep/server/relay/relay.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- relay_listing ---- */

/* Holds LIST and GAMES against docs/directory.md. */

static const uint8_t key[LS_CIPHER_KEY_BYTES] = {7};

static void begin(void)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
}

TestSuite(relay_listing, .init = begin);

static ls_relay_list list_of_test(void)
{
    return (ls_relay_list){.number = UINT64_C(0x1122334455667788),
                           .counter = UINT64_C(0x2122232425262728),
                           .challenge = UINT64_C(0x3132333435363738),
                           .listing = {.name = "Friday",
                                       .simulation = "arena",
                                       .region = "eu",
                                       .version = "0.1.0",
                                       .simulation_version = 0x41424344,
                                       .digest = UINT64_C(0x5152535455565758),
                                       .protocol = 0x6162,
                                       .players = 0x7172,
                                       .seats = 0x8182,
                                       .spectators = 0x9192,
                                       .needs_token = true,
                                       .secret = {'2', '9', 'F'},
                                       .page = "http://localhost/#b"}};
}

static void fill(char *text, size_t capacity)
{
    memset(text, 'a', capacity - 1);
    text[capacity - 1] = '\0';
}

static ls_relay_list longest(void)
{
    ls_relay_list list = list_of_test();
    fill(list.listing.name, sizeof list.listing.name);
    fill(list.listing.simulation, sizeof list.listing.simulation);
    fill(list.listing.region, sizeof list.listing.region);
    fill(list.listing.version, sizeof list.listing.version);
    fill(list.listing.page, sizeof list.listing.page);
    memcpy(list.listing.page, "https://", 8);
    return list;
}

Test(relay_listing, list_has_the_layout_of_the_page)
{
    const ls_relay_list list = list_of_test();
    uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
    const uint8_t text[] = {6,   'F', 'r', 'i', 'd', 'a', 'y', 5,   'a', 'r', 'e',
                            'n', 'a', 2,   'e', 'u', 5,   '0', '.', '1', '.', '0'};
    const uint8_t behind[] = {0x44, 0x43, 0x42, 0x41, 0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52,
                              0x51, 0x62, 0x61, 0x72, 0x71, 0x82, 0x81, 0x92, 0x91, 1,    '2',
                              '9',  'F',  19,   'h',  't',  't',  'p',  ':',  '/',  '/',  'l',
                              'o',  'c',  'a',  'l',  'h',  'o',  's',  't',  '/',  '#',  'b'};
    size_t size = ls_relay_list_write(&list, key, bytes);
    cr_assert_eq(size, 25 + sizeof text + sizeof behind + 16);
    cr_assert_eq(bytes[0], 0x70);
    cr_assert_eq(ls_load_u64(bytes + 1), list.number);
    cr_assert_eq(ls_load_u64(bytes + 9), list.counter);
    cr_assert_eq(ls_load_u64(bytes + 17), list.challenge);
    cr_assert_arr_eq(bytes + 25, text, sizeof text);
    cr_assert_arr_eq(bytes + 25 + sizeof text, behind, sizeof behind);
}

Test(relay_listing, the_sizes_are_those_of_the_page)
{
    ls_relay_list list = longest();
    uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
    cr_assert_eq(ls_relay_list_write(&list, key, bytes), LS_RELAY_LIST_BYTES_MAX);
    list.listing = (ls_relay_listing){
        .name = "a", .simulation = "b", .version = "c", .secret = {'2', '2', '2'}};
    cr_assert_eq(ls_relay_list_write(&list, key, bytes), 73);
}

Test(relay_listing, what_is_read_is_written_again_and_other_sizes_are_dropped)
{
    const ls_relay_list lists[] = {list_of_test(), longest()};
    for (size_t i = 0; i < 2; i++) {
        uint8_t bytes[LS_RELAY_LIST_BYTES_MAX + 1] = {0};
        uint8_t again[LS_RELAY_LIST_BYTES_MAX];
        ls_relay_list read;
        size_t written = ls_relay_list_write(&lists[i], key, bytes);
        for (size_t size = 0; size <= sizeof bytes; size++) {
            cr_assert_eq(ls_relay_list_read(bytes, size, &read), size == written, "%zu", size);
        }
        cr_assert_eq(ls_relay_list_write(&read, key, again), written);
        cr_assert_arr_eq(again, bytes, written);
    }
}

Test(relay_listing, a_text_with_what_may_not_stand_in_it_is_dropped)
{
    static const struct {
        size_t at; /* of the LIST of the test */
        uint8_t byte;
    } altered[] = {
        {25, 32},  {25, 0},   {26, 31},   {26, 0x7f}, {32, 64},  {32, 0},   {33, ' '},
        {33, 0},   {38, 16},  {39, 0x80}, {41, 0},    {41, 16},  {42, '/'}, {67, 2},
        {68, '1'}, {70, 'O'}, {71, 6},    {71, 0xff}, {72, 'j'}, {77, '?'}, {79, ' '},
        {79, '"'}, {80, '<'}, {81, 0x80}, {0, 0x71},  {0, 0x73},
    };
    for (size_t i = 0; i < sizeof altered / sizeof altered[0]; i++) {
        const ls_relay_list list = list_of_test();
        uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
        ls_relay_list read = {.number = 9};
        size_t size = ls_relay_list_write(&list, key, bytes);
        bytes[altered[i].at] = altered[i].byte;
        cr_assert_not(ls_relay_list_read(bytes, size, &read), "byte %zu", altered[i].at);
        cr_assert_eq(read.number, 9, "what could not be read changes nothing");
    }
}

Test(relay_listing, a_tag_holds_for_its_key_and_every_bit)
{
    const ls_relay_list list = list_of_test();
    const uint8_t other[LS_CIPHER_KEY_BYTES] = {8};
    uint8_t bytes[LS_RELAY_LIST_BYTES_MAX];
    size_t size = ls_relay_list_write(&list, key, bytes);
    cr_assert(ls_relay_list_is_signed(bytes, size, key));
    cr_assert_not(ls_relay_list_is_signed(bytes, size, other));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cr_assert_not(ls_relay_list_is_signed(bytes, size, key), "bit %zu", bit);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

Test(relay_listing, games_are_read_as_they_were_added_until_no_more_fit)
{
    const ls_relay_packet look = {.kind = LS_RELAY_LOOK, .nonce = {1, 2, 3}, .place = 5};
    const ls_relay_list lists[] = {longest(), list_of_test()};
    ls_relay_game game = {.name = {'K', '7', 'Q', 'M'}, .ping_ms = 0x0102};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    ls_relay_games read;
    for (size_t i = 0; i < 2; i++) {
        uint32_t added = 0;
        size_t size = ls_relay_games_begin(&look, bytes);
        cr_assert_eq(size, 25);
        game.listing = lists[i].listing;
        while (ls_relay_games_add(bytes, &size, &game)) {
            added++;
        }
        cr_assert_eq(added, i == 0 ? 7 : 22, "%u", added);
        cr_assert_leq(size, LS_RELAY_GAMES_BYTES_MAX);
        ls_relay_games_end(bytes, 77);
        cr_assert(ls_relay_games_read(bytes, size, &read));
        cr_assert_eq(read.count, added);
        cr_assert_eq(read.place, 5);
        cr_assert_eq(read.next, 77);
        cr_assert_arr_eq(read.nonce, look.nonce, sizeof look.nonce);
        cr_assert_arr_eq(read.games[added - 1].name, "K7QM", 4);
        cr_assert_eq(read.games[added - 1].ping_ms, 0x0102);
        cr_assert_str_eq(read.games[added - 1].listing.name, game.listing.name);
        cr_assert_not(ls_relay_games_read(bytes, size - 1, &read));
    }
}

Test(relay_listing, a_datagram_holds_no_more_games_than_its_reader_has_places)
{
    const ls_relay_packet look = {.kind = LS_RELAY_LOOK};
    const ls_relay_game game = {
        .name = {'2', '2', '2', '2'},
        .listing = {.name = "a", .simulation = "b", .version = "c", .secret = {'2', '2', '2'}}};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    ls_relay_games read;
    size_t size = ls_relay_games_begin(&look, bytes);
    while (ls_relay_games_add(bytes, &size, &game)) {
    }
    cr_assert(ls_relay_games_read(bytes, size, &read));
    cr_assert_eq(read.next, LS_RELAY_GAMES_END);
    cr_assert_lt(read.count, LS_RELAY_GAMES_MAX);
    bytes[26] = 'O'; /* in a code */
    cr_assert_not(ls_relay_games_read(bytes, size, &read));
}

Test(relay_listing, a_word_has_up_to_fifteen_plain_characters)
{
    cr_assert(ls_relay_is_word("eu-west.2_A+"));
    cr_assert(ls_relay_is_word("123456789012345"));
    cr_assert_not(ls_relay_is_word("1234567890123456"));
    cr_assert_not(ls_relay_is_word(""));
    cr_assert_not(ls_relay_is_word("eu west"));
    cr_assert_not(ls_relay_is_word("\xc3\xa9"));
}

Test(relay_listing, a_page_is_a_plain_link_of_the_web)
{
    char text[LS_RELAY_PAGE_BYTES_MAX + 1] = "https://";
    cr_assert(ls_relay_is_page("https://example.com:7380/play#lockstep://K7QM-29F@h/#k_-.c"));
    cr_assert(ls_relay_is_page("http://[::1]/play"));
    memset(text + 8, 'a', LS_RELAY_PAGE_BYTES_MAX - 8 - 1);
    cr_assert(ls_relay_is_page(text));
    text[LS_RELAY_PAGE_BYTES_MAX - 1] = 'a';
    cr_assert_not(ls_relay_is_page(text), "one too long");
    cr_assert_not(ls_relay_is_page(""));
    cr_assert_not(ls_relay_is_page("javascript:alert(1)"));
    cr_assert_not(ls_relay_is_page("http:/a"));
    cr_assert_not(ls_relay_is_page("https://example.com/ b"));
    cr_assert_not(ls_relay_is_page("https://example.com/\""));
    cr_assert_not(ls_relay_is_page("https://\xc3\xa9"));
}

/* ---- relay_directory ---- */

/* A server, its relay, somebody who looks for games and somebody who would like to list one of his
 * own in another's name, in virtual time. */

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
static ls_relay_game found_games[16];

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

static void relay_directory_begin(void)
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

TestSuite(relay_directory, .init = relay_directory_begin, .fini = end);

static uint32_t shown(void)
{
    return ls_directory_count(ls_relay_directory(relay));
}

static void look(void)
{
    ls_relay_search_begin(&search, found_games, 16, now_ns);
    pass(LS_NS_PER_SECOND);
}

Test(relay_directory, a_server_that_wants_to_be_found_is_found_with_its_code_and_both_ways)
{
    pass(2 * LS_NS_PER_SECOND);
    cr_assert_eq(ls_relay_server_listed_of(server, now_ns), LS_RELAY_SERVER_LISTED);
    look();
    cr_assert_eq(search.state, LS_RELAY_SEARCH_DONE);
    cr_assert_eq(search.count, 1);
    cr_assert_str_eq(found_games[0].listing.name, "Friday");
    cr_assert_arr_eq(found_games[0].name, ls_relay_server_code(server)->name,
                     LS_RELAY_NAME_CHARACTERS);
    cr_assert_arr_eq(found_games[0].listing.secret, ls_relay_server_code(server)->secret,
                     LS_RELAY_SECRET_CHARACTERS);
    cr_assert_eq(found_games[0].ping_ms, 20, "%u", found_games[0].ping_ms);
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
    cr_assert_eq(found_games[0].listing.players, 3, "what is new is listed soon");
    for (int i = 0; i < 12; i++) {
        pass(10 * LS_NS_PER_SECOND);
        cr_assert_eq(shown(), 1);
        cr_assert_eq(ls_relay_server_listed_of(server, now_ns), LS_RELAY_SERVER_LISTED);
    }
    cr_assert_leq(list_count, 2 * 14, "two datagrams in ten seconds, not %u in all", list_count);
    look();
    cr_assert_eq(found_games[0].listing.players, 3);
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
    ls_relay_search_begin(&search, found_games, 16, now_ns);
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
    ls_relay_search_begin(&search, found_games, 16, now_ns);
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
    ls_relay_search_begin(&search, found_games, 16, now_ns);
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

/* ==== directory ==== */

/* The directory alone, in virtual time. */

enum {
    PLACES = 64,
    GAMES_MAX = 40,
};

static ls_directory *directory;
static uint64_t directory_now_ns;
static uint64_t counters[PLACES];

static void directory_begin(void)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    directory_now_ns = 100 * LS_NS_PER_SECOND;
    cr_assert_eq(ls_directory_create(PLACES, GAMES_MAX, ls_allocator_heap(), &directory), LS_OK);
}

static void directory_end(void)
{
    ls_directory_destroy(directory);
}

TestSuite(directory, .init = directory_begin, .fini = directory_end);

static ls_endpoint address(uint8_t number)
{
    ls_endpoint made = ls_endpoint_from_ipv4(0, (uint16_t)(5000 + number));
    made.address[12] = 203;
    made.address[14] = number;
    return made;
}

static ls_relay_list list_of(uint32_t place, uint64_t challenge)
{
    ls_relay_list list = {.number = 1 + place,
                          .counter = ++counters[place],
                          .challenge = challenge,
                          .listing = {.simulation = "arena",
                                      .version = "0.1.0",
                                      .players = 1,
                                      .seats = 4,
                                      .secret = {'2', '9', 'F'}}};
    snprintf(list.listing.name, sizeof list.listing.name, "Game %u", place);
    return list;
}

static bool give(uint32_t place, const ls_relay_list *list, ls_relay_packet *listed)
{
    const char code[LS_RELAY_NAME_CHARACTERS] = {'K', '7', (char)('A' + place / 26 % 8),
                                                 "ABCDEFGHJKLMNPQRSTUVWXYZ23"[place % 26]};
    return ls_directory_receive(directory, place, code, list, directory_now_ns, listed);
}

/* The answer to a LIST with the challenge that the one before has brought. */
static uint8_t prove(uint32_t place)
{
    ls_relay_packet listed;
    ls_relay_list list = list_of(place, 0);
    cr_assert(give(place, &list, &listed));
    if (listed.value != LS_RELAY_TO_BE_PROVEN) {
        return listed.value;
    }
    cr_assert_neq(listed.challenge, 0);
    list = list_of(place, listed.challenge);
    cr_assert(give(place, &list, &listed));
    return listed.value;
}

static ls_relay_games directory_look(const ls_endpoint *from, uint32_t place)
{
    const ls_relay_packet packet = {.kind = LS_RELAY_LOOK, .nonce = {9}, .place = place};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    ls_relay_games games;
    size_t size = ls_directory_look(directory, from, &packet, directory_now_ns, bytes);
    cr_assert(ls_relay_games_read(bytes, size, &games));
    return games;
}

static uint32_t look_all(void)
{
    const ls_endpoint from = address(1);
    uint32_t found = 0;
    uint32_t place = 0;
    while (place != LS_RELAY_GAMES_END) {
        const ls_relay_games games = directory_look(&from, place);
        found += games.count;
        place = games.next;
    }
    return found;
}

Test(directory, a_game_is_shown_once_its_server_has_returned_the_number_that_was_sent_to_it)
{
    ls_relay_packet listed;
    const ls_endpoint from = address(1);
    ls_relay_list list = list_of(3, 0);
    cr_assert(give(3, &list, &listed));
    cr_assert_eq(listed.kind, LS_RELAY_LISTED);
    cr_assert_eq(listed.value, LS_RELAY_TO_BE_PROVEN);
    cr_assert_eq(listed.number, 4);
    cr_assert_eq(listed.counter, list.counter);
    cr_assert_eq(look_all(), 0);
    directory_now_ns += 25 * LS_NS_PER_MS;
    list = list_of(3, listed.challenge);
    cr_assert(give(3, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_GOOD);
    cr_assert_eq(listed.challenge, 0);
    const ls_relay_games games = directory_look(&from, 0);
    cr_assert_eq(games.count, 1);
    cr_assert_str_eq(games.games[0].listing.name, "Game 3");
    cr_assert_eq(games.games[0].ping_ms, 25);
    cr_assert_eq(directory_look(&from, 4).count, 0, "it stands at place 3");
}

Test(directory, another_number_an_old_one_and_a_used_one_show_nothing)
{
    ls_relay_packet listed;
    ls_relay_list list = list_of(0, 0);
    cr_assert(give(0, &list, &listed));
    list = list_of(0, listed.challenge ^ 1);
    cr_assert(give(0, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_TO_BE_PROVEN);
    directory_now_ns += 6 * LS_NS_PER_SECOND;
    uint64_t old = listed.challenge;
    list = list_of(0, old);
    cr_assert(give(0, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_TO_BE_PROVEN);
    cr_assert_neq(listed.challenge, old);
    cr_assert_eq(look_all(), 0);
    uint64_t good = listed.challenge;
    list = list_of(0, good);
    cr_assert(give(0, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_GOOD);
    list = list_of(0, good);
    cr_assert(give(0, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_TO_BE_PROVEN, "each number is good once");
}

Test(directory, a_list_that_came_before_is_not_answered)
{
    ls_relay_packet listed;
    (void)list_of(0, 0);
    ls_relay_list list = list_of(0, 0);
    cr_assert(give(0, &list, &listed));
    cr_assert_not(give(0, &list, &listed));
    list.counter--;
    cr_assert_not(give(0, &list, &listed));
    ls_directory_begin(directory, 0);
    cr_assert(give(0, &list, &listed), "the counter of another registration begins anew");
}

Test(directory, a_game_falls_out_thirty_seconds_after_its_last_renewal)
{
    cr_assert_eq(prove(0), LS_RELAY_GOOD);
    for (int i = 0; i < 5; i++) {
        directory_now_ns += 10 * LS_NS_PER_SECOND;
        ls_directory_expire(directory, directory_now_ns);
        cr_assert_eq(prove(0), LS_RELAY_GOOD);
    }
    ls_relay_packet listed;
    const ls_relay_list repeated = list_of(0, 0);
    directory_now_ns += 30 * LS_NS_PER_SECOND;
    cr_assert(give(0, &repeated, &listed));
    ls_directory_expire(directory, directory_now_ns);
    cr_assert_eq(ls_directory_count(directory), 1);
    directory_now_ns += 1;
    ls_directory_expire(directory, directory_now_ns);
    cr_assert_eq(ls_directory_count(directory), 0, "what is not proven renews nothing");
    cr_assert_eq(look_all(), 0);
    cr_assert_eq(prove(0), LS_RELAY_GOOD);
    ls_directory_remove(directory, 0);
    cr_assert_eq(look_all(), 0);
    cr_assert_eq(ls_directory_count(directory), 0);
}

Test(directory, no_more_games_are_shown_than_it_may_have_and_those_there_stay)
{
    for (uint32_t i = 0; i < GAMES_MAX; i++) {
        cr_assert_eq(prove(i), LS_RELAY_GOOD);
    }
    cr_assert_eq(prove(GAMES_MAX), LS_RELAY_LIST_FULL);
    cr_assert_eq(prove(0), LS_RELAY_GOOD);
    cr_assert_eq(look_all(), GAMES_MAX);
    ls_directory_remove(directory, 7);
    cr_assert_eq(prove(GAMES_MAX), LS_RELAY_GOOD);
    cr_assert_eq(look_all(), GAMES_MAX);
}

Test(directory, a_server_that_lists_too_often_is_not_answered)
{
    ls_relay_packet listed;
    uint32_t answered = 0;
    for (int i = 0; i < 1000; i++) {
        const ls_relay_list list = list_of(0, 0);
        answered += give(0, &list, &listed) ? 1 : 0;
    }
    cr_assert_eq(answered, 8);
    directory_now_ns += 2 * LS_NS_PER_SECOND;
    for (int i = 0; i < 1000; i++) {
        const ls_relay_list list = list_of(0, 0);
        answered += give(0, &list, &listed) ? 1 : 0;
    }
    cr_assert_eq(answered, 12);
    cr_assert_eq(prove(1), LS_RELAY_GOOD, "others are");
}

static uint32_t count_looks(const ls_endpoint *from, uint32_t tries)
{
    const ls_relay_packet packet = {.kind = LS_RELAY_LOOK};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    uint32_t answered = 0;
    for (uint32_t i = 0; i < tries; i++) {
        answered +=
            ls_directory_look(directory, from, &packet, directory_now_ns, bytes) > 0 ? 1 : 0;
    }
    return answered;
}

Test(directory, an_address_and_all_together_are_answered_so_often)
{
    ls_endpoint from = address(1);
    cr_assert_eq(count_looks(&from, 1000), 64);
    from.port++;
    cr_assert_eq(count_looks(&from, 1000), 0, "ports do not count");
    directory_now_ns += LS_NS_PER_SECOND;
    cr_assert_eq(count_looks(&from, 1000), 16);
    uint32_t all = 0;
    for (uint32_t i = 0; i < 65536; i++) {
        ls_endpoint other = address(2);
        other.address[12] = (uint8_t)(i >> 8);
        other.address[13] = (uint8_t)i;
        all += count_looks(&other, 1);
    }
    cr_assert_leq(all, 4096);
    cr_assert_geq(all, 4000);
}

Test(directory, names_become_what_a_reader_can_be_shown)
{
    ls_relay_packet listed;
    ls_relay_list list = list_of(0, 0);
    const ls_endpoint from = address(1);
    cr_assert(give(0, &list, &listed));
    list = list_of(0, listed.challenge);
    memcpy(list.listing.name,
           "a\xe2\x80\xae"
           "b\xff c",
           9); /* turns the direction of writing */
    cr_assert(give(0, &list, &listed));
    const ls_relay_games games = directory_look(&from, 0);
    cr_assert_str_eq(games.games[0].listing.name, "ab", "%s", games.games[0].listing.name);
}

static const char *json(void)
{
    static char text[4096];
    size_t size = ls_directory_json_bytes(directory);
    cr_assert_lt(size, sizeof text);
    ls_directory_write_json(directory, text);
    text[size] = '\0';
    return text;
}

/* With the longest texts, and a name of characters that have to be escaped. */
Test(directory, every_listing_fits_its_json)
{
    ls_relay_packet listed;
    ls_relay_list list = list_of(0, 0);
    cr_assert(give(0, &list, &listed));
    list = list_of(0, listed.challenge);
    memset(list.listing.name, '"', sizeof list.listing.name - 1);
    list.listing.name[1] = '\\';
    memset(list.listing.simulation, 's', sizeof list.listing.simulation - 1);
    memset(list.listing.region, 'r', sizeof list.listing.region - 1);
    memset(list.listing.version, 'v', sizeof list.listing.version - 1);
    memset(list.listing.page, '/', sizeof list.listing.page - 1);
    list.listing.simulation_version = UINT32_MAX;
    list.listing.digest = UINT64_MAX;
    list.listing.protocol = list.listing.spectators = UINT16_MAX;
    list.listing.players = list.listing.seats = UINT16_MAX;
    directory_now_ns += 4 * LS_NS_PER_SECOND;
    cr_assert(give(0, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_GOOD);
    cr_assert_not_null(strstr(json(), "\"name\":\"\\\"\\\\\\\""));
    cr_assert_not_null(strstr(json(), "\"free\":0,"));
    cr_assert_not_null(strstr(json(), "\"page\":\"////"));
}

Test(directory, the_json_has_what_the_page_says)
{
    cr_assert_eq(prove(2), LS_RELAY_GOOD);
    const char *line = json();
    cr_assert_str_eq(line,
                     "{\"games\":[{\"code\":\"K7AC-29F\",\"name\":\"Game 2\",\"region\":\"\","
                     "\"simulation\":\"arena\",\"simulation_version\":0,"
                     "\"digest\":\"0000000000000000\",\"players\":1,\"seats\":4,"
                     "\"spectators\":0,\"needs_token\":false,\"version\":\"0.1.0\",\"free\":3,"
                     "\"protocol\":0,\"ping_ms\":0}]}");
    cr_assert_eq(prove(5), LS_RELAY_GOOD);
    cr_assert_not_null(strstr(json(), "},{\"code\":\"K7AF-29F\",\"name\":\"Game 5\""));
    ls_directory_remove(directory, 2);
    ls_directory_remove(directory, 5);
    cr_assert_str_eq(json(), "{\"games\":[]}");
}
