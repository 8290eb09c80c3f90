/* Fuzzes what comes to a directory of games, and what a client is told that looks into one.
 *
 *   any number of: u8 move % 4, then of
 *     0  u8 place, bit 7: with the number that is waited for; u16 size % 450, a LIST
 *     1  u16 size % 1,201, GAMES, which become the answer to the client's LOOK
 *     2  u8 time, in steps of 100 ms
 *     3  u8 the place that somebody looks from
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/program/json.h"
#include "lockstep/protocol/relay/relay_listing.h"
#include "lockstep/server/directory/directory.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    PLACES = 16,
    SHOWN_MAX = 12,
    FOUND_MAX = 40,
    MOVES_MAX = 300,
};

static const uint8_t key[LS_CIPHER_KEY_BYTES] = {1};
static ls_directory *directory;
static ls_relay_search search;
static ls_relay_game found[FOUND_MAX];
static uint64_t now_ns;
static uint64_t counters[PLACES], challenges[PLACES];

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
    uint32_t at = place % PLACES;
    list.counter = ++counters[at];
    list.challenge = (place & 128) != 0 ? challenges[at] : list.challenge;
    bool was_asked = challenges[at] != 0 && list.challenge == challenges[at];
    if (ls_directory_receive(directory, at, code, &list, now_ns, &listed)) {
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
    ls_relay_search_receive(&search, bytes, size, now_ns);
    LS_ASSERT(search.count <= FOUND_MAX);
}

static void look_from(uint8_t place)
{
    const ls_relay_packet look = {.kind = LS_RELAY_LOOK, .place = place};
    const ls_endpoint from = ls_endpoint_from_ipv4(0x01010101, 7);
    uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX];
    ls_relay_games games;
    size_t size = ls_directory_look(directory, &from, &look, now_ns, bytes);
    LS_ASSERT(size <= sizeof bytes && (size == 0 || ls_relay_games_read(bytes, size, &games)));
}

/* The client has its cookie, and looks. */
static void begin_search(void)
{
    uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX];
    ls_relay_search_begin(&search, found, FOUND_MAX, now_ns);
    (void)ls_relay_search_advance(&search, now_ns, bytes);
    ls_relay_packet cookie = {.kind = LS_RELAY_COOKIE};
    memcpy(cookie.nonce, search.sent.nonce, sizeof cookie.nonce);
    size_t size = ls_relay_packet_write(&cookie, bytes);
    ls_relay_search_receive(&search, bytes, size, now_ns);
    (void)ls_relay_search_advance(&search, now_ns, bytes);
    LS_ASSERT(search.sent.kind == LS_RELAY_LOOK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    uint8_t sent[LS_RELAY_PACKET_BYTES_MAX];
    LS_ASSERT(ls_cipher_init() == LS_OK);
    now_ns = 1000 * LS_NS_PER_SECOND;
    memset(counters, 0, sizeof counters);
    memset(challenges, 0, sizeof challenges);
    LS_ASSERT(ls_directory_create(PLACES, SHOWN_MAX, ls_allocator_heap(), &directory) == LS_OK);
    begin_search();
    for (uint32_t i = 0; i < MOVES_MAX && input.size > 0; i++) {
        switch (fuzz_take_u8(&input) % 4) {
        case 0:
            offer(&input);
            break;
        case 1:
            answer(&input);
            break;
        case 2:
            now_ns += 100 * LS_NS_PER_MS * fuzz_take_u8(&input);
            ls_directory_expire(directory, now_ns);
            (void)ls_relay_search_advance(&search, now_ns, sent);
            break;
        default:
            look_from(fuzz_take_u8(&input));
            break;
        }
        LS_ASSERT(ls_directory_count(directory) <= SHOWN_MAX);
    }
    static char text[PLACES * 600];
    size_t text_bytes = ls_directory_json_bytes(directory);
    LS_ASSERT(text_bytes <= sizeof text);
    ls_directory_write_json(directory, text);
    ls_json *json = ls_json_parse(text, text_bytes);
    LS_ASSERT(json); /* names are texts that every reader of JSON takes */
    ls_json_destroy(json);
    ls_directory_destroy(directory);
    return 0;
}
