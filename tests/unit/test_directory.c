/* The directory alone, in virtual time. */
#include "lockstep/server/directory/directory.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum {
    PLACES = 64,
    GAMES_MAX = 40,
};

static ls_directory *directory;
static uint64_t now_ns;
static uint64_t counters[PLACES];

static void begin(void)
{
    cr_assert_eq(ls_cipher_init(), LS_OK);
    now_ns = 100 * LS_NS_PER_SECOND;
    cr_assert_eq(ls_directory_create(PLACES, GAMES_MAX, ls_allocator_heap(), &directory), LS_OK);
}

static void end(void)
{
    ls_directory_destroy(directory);
}

TestSuite(directory, .init = begin, .fini = end);

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
    return ls_directory_receive(directory, place, code, list, now_ns, listed);
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

static ls_relay_games look(const ls_endpoint *from, uint32_t place)
{
    const ls_relay_packet packet = {.kind = LS_RELAY_LOOK, .nonce = {9}, .place = place};
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    ls_relay_games games;
    size_t size = ls_directory_look(directory, from, &packet, now_ns, bytes);
    cr_assert(ls_relay_games_read(bytes, size, &games));
    return games;
}

static uint32_t look_all(void)
{
    const ls_endpoint from = address(1);
    uint32_t found = 0;
    uint32_t place = 0;
    while (place != LS_RELAY_GAMES_END) {
        const ls_relay_games games = look(&from, place);
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
    now_ns += 25 * LS_NS_PER_MS;
    list = list_of(3, listed.challenge);
    cr_assert(give(3, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_GOOD);
    cr_assert_eq(listed.challenge, 0);
    const ls_relay_games games = look(&from, 0);
    cr_assert_eq(games.count, 1);
    cr_assert_str_eq(games.games[0].listing.name, "Game 3");
    cr_assert_eq(games.games[0].ping_ms, 25);
    cr_assert_eq(look(&from, 4).count, 0, "it stands at place 3");
}

Test(directory, another_number_an_old_one_and_a_used_one_show_nothing)
{
    ls_relay_packet listed;
    ls_relay_list list = list_of(0, 0);
    cr_assert(give(0, &list, &listed));
    list = list_of(0, listed.challenge ^ 1);
    cr_assert(give(0, &list, &listed));
    cr_assert_eq(listed.value, LS_RELAY_TO_BE_PROVEN);
    now_ns += 6 * LS_NS_PER_SECOND;
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
        now_ns += 10 * LS_NS_PER_SECOND;
        ls_directory_expire(directory, now_ns);
        cr_assert_eq(prove(0), LS_RELAY_GOOD);
    }
    ls_relay_packet listed;
    const ls_relay_list repeated = list_of(0, 0);
    now_ns += 30 * LS_NS_PER_SECOND;
    cr_assert(give(0, &repeated, &listed));
    ls_directory_expire(directory, now_ns);
    cr_assert_eq(ls_directory_count(directory), 1);
    now_ns += 1;
    ls_directory_expire(directory, now_ns);
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
    now_ns += 2 * LS_NS_PER_SECOND;
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
        answered += ls_directory_look(directory, from, &packet, now_ns, bytes) > 0 ? 1 : 0;
    }
    return answered;
}

Test(directory, an_address_and_all_together_are_answered_so_often)
{
    ls_endpoint from = address(1);
    cr_assert_eq(count_looks(&from, 1000), 64);
    from.port++;
    cr_assert_eq(count_looks(&from, 1000), 0, "ports do not count");
    now_ns += LS_NS_PER_SECOND;
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
    const ls_relay_games games = look(&from, 0);
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
    now_ns += 4 * LS_NS_PER_SECOND;
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
