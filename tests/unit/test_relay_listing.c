/* Holds LIST and GAMES against docs/directory.md. */
#include "lockstep/protocol/relay/relay_listing.h"

#include "lockstep/common/base/byte_io.h"

#include <criterion/criterion.h>
#include <string.h>

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
