#include "lockstep/protocol/relay/relay_listing.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    PLACE_AT = 1 + LS_RELAY_NONCE_BYTES,
    NEXT_AT = PLACE_AT + 4,
    GAMES_HEADER_BYTES = NEXT_AT + 4,
    TOKEN_FLAG = 1,
};

/* ---- fields ---- */

static bool is_of_word(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || (character && strchr("-_.+", character));
}

bool ls_relay_is_word(const char *text)
{
    size_t size = 0;
    while (is_of_word(text[size])) {
        size++;
    }
    return text[size] == '\0' && size > 0 && size < LS_RELAY_WORD_BYTES_MAX;
}

static bool is_of_link(char character)
{
    return character > ' ' && character < 0x7f && !strchr("\"'<>\\`", character);
}

/* Control characters are in no text. A name's other bytes are its reader's to look at. */
static bool is_of_name(char character)
{
    return (uint8_t)character >= 0x20 && (uint8_t)character != 0x7f;
}

bool ls_relay_is_page(const char *text)
{
    size_t size = 0;
    while (is_of_link(text[size])) {
        size++;
    }
    return text[size] == '\0' && size < LS_RELAY_PAGE_BYTES_MAX &&
           (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0);
}

static void text(ls_byte_stream *stream, char *field, size_t capacity, bool (*may_stand)(char))
{
    uint8_t size = (uint8_t)strlen(field);
    ls_byte_stream_u8(stream, &size);
    if (stream->has_failed || size >= capacity) {
        stream->has_failed = true;
        return;
    }
    ls_byte_stream_bytes(stream, (uint8_t *)field, size);
    for (uint8_t i = 0; !stream->has_failed && i < size; i++) {
        stream->has_failed = !may_stand(field[i]);
    }
}

static void number(ls_byte_stream *stream, uint16_t *value)
{
    uint8_t bytes[2];
    ls_store_u16(bytes, *value);
    ls_byte_stream_bytes(stream, bytes, sizeof bytes);
    *value = stream->has_failed ? 0 : ls_load_u16(bytes);
}

/* A listing that is read into is all zero. */
static void entry(ls_byte_stream *stream, ls_relay_listing *of)
{
    uint8_t flags = of->needs_token ? TOKEN_FLAG : 0;
    text(stream, of->name, sizeof of->name, is_of_name);
    text(stream, of->simulation, sizeof of->simulation, is_of_word);
    text(stream, of->region, sizeof of->region, is_of_word);
    text(stream, of->version, sizeof of->version, is_of_word);
    ls_byte_stream_u32(stream, &of->simulation_version);
    ls_byte_stream_u64(stream, &of->digest);
    number(stream, &of->protocol);
    number(stream, &of->players);
    number(stream, &of->seats);
    number(stream, &of->spectators);
    ls_byte_stream_u8(stream, &flags);
    ls_byte_stream_bytes(stream, (uint8_t *)of->secret, sizeof of->secret);
    of->needs_token = flags == TOKEN_FLAG;
    bool is_whole = of->name[0] && of->simulation[0] && of->version[0] && flags <= TOKEN_FLAG;
    for (size_t i = 0; i < sizeof of->secret; i++) {
        is_whole = is_whole && ls_relay_code_has(of->secret[i]);
    }
    stream->has_failed = stream->has_failed || !is_whole;
}

/* ---- LIST ---- */

static void list_fields(ls_byte_stream *stream, ls_relay_list *list)
{
    uint8_t kind = LS_RELAY_LIST;
    ls_byte_stream_u8(stream, &kind);
    ls_byte_stream_u64(stream, &list->number);
    ls_byte_stream_u64(stream, &list->counter);
    ls_byte_stream_u64(stream, &list->challenge);
    entry(stream, &list->listing);
    text(stream, list->listing.page, sizeof list->listing.page, is_of_link);
    bool is_good = list->listing.page[0] == '\0' || ls_relay_is_page(list->listing.page);
    stream->has_failed = stream->has_failed || kind != LS_RELAY_LIST || !is_good;
}

size_t ls_relay_list_write(const ls_relay_list *list, const uint8_t to_relay[LS_CIPHER_KEY_BYTES],
                           uint8_t bytes[LS_RELAY_LIST_BYTES_MAX])
{
    ls_relay_list copy = *list;
    ls_byte_stream stream =
        ls_byte_stream_write(bytes, LS_RELAY_LIST_BYTES_MAX - LS_RELAY_TAG_BYTES);
    list_fields(&stream, &copy);
    LS_ASSERT(!stream.has_failed);
    ls_cipher_hash(to_relay, LS_CIPHER_KEY_BYTES, bytes, stream.at, bytes + stream.at,
                   LS_RELAY_TAG_BYTES);
    return stream.at + LS_RELAY_TAG_BYTES;
}

bool ls_relay_list_read(const uint8_t *bytes, size_t size, ls_relay_list *list)
{
    ls_relay_list read = {.number = 0};
    if (size < LS_RELAY_TAG_BYTES || size > LS_RELAY_LIST_BYTES_MAX) {
        return false;
    }
    ls_byte_stream stream = ls_byte_stream_read(bytes, size - LS_RELAY_TAG_BYTES);
    list_fields(&stream, &read);
    if (!ls_byte_stream_is_at_end(&stream)) {
        return false;
    }
    *list = read;
    return true;
}

bool ls_relay_list_is_signed(const uint8_t *bytes, size_t size,
                             const uint8_t to_relay[LS_CIPHER_KEY_BYTES])
{
    uint8_t tag[LS_RELAY_TAG_BYTES];
    size_t before = size - LS_RELAY_TAG_BYTES;
    ls_cipher_hash(to_relay, LS_CIPHER_KEY_BYTES, bytes, before, tag, sizeof tag);
    return ls_cipher_is_equal(tag, bytes + before, sizeof tag);
}

/* ---- GAMES ---- */

void ls_relay_game_code(const ls_relay_game *game, char text[LS_RELAY_CODE_BYTES])
{
    ls_relay_code code;
    memcpy(code.name, game->name, sizeof code.name);
    memcpy(code.secret, game->listing.secret, sizeof code.secret);
    ls_relay_code_format(&code, text);
}

static void game_fields(ls_byte_stream *stream, ls_relay_game *game)
{
    ls_byte_stream_bytes(stream, (uint8_t *)game->name, sizeof game->name);
    number(stream, &game->ping_ms);
    for (size_t i = 0; !stream->has_failed && i < sizeof game->name; i++) {
        stream->has_failed = !ls_relay_code_has(game->name[i]);
    }
    entry(stream, &game->listing);
}

size_t ls_relay_games_begin(const ls_relay_packet *look, uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX])
{
    bytes[0] = LS_RELAY_GAMES;
    memcpy(bytes + 1, look->nonce, LS_RELAY_NONCE_BYTES);
    ls_store_u32(bytes + PLACE_AT, look->place);
    ls_store_u32(bytes + NEXT_AT, LS_RELAY_GAMES_END);
    return GAMES_HEADER_BYTES;
}

bool ls_relay_games_add(uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX], size_t *size,
                        const ls_relay_game *game)
{
    ls_relay_game copy = *game;
    ls_byte_stream stream = ls_byte_stream_write(bytes + *size, LS_RELAY_GAMES_BYTES_MAX - *size);
    game_fields(&stream, &copy);
    *size += stream.has_failed ? 0 : stream.at;
    return !stream.has_failed;
}

void ls_relay_games_end(uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX], uint32_t next)
{
    ls_store_u32(bytes + NEXT_AT, next);
}

bool ls_relay_games_read(const uint8_t *bytes, size_t size, ls_relay_games *games)
{
    if (size < GAMES_HEADER_BYTES || size > LS_RELAY_GAMES_BYTES_MAX ||
        bytes[0] != LS_RELAY_GAMES) {
        return false;
    }
    memcpy(games->nonce, bytes + 1, sizeof games->nonce);
    games->place = ls_load_u32(bytes + PLACE_AT);
    games->next = ls_load_u32(bytes + NEXT_AT);
    games->count = 0;
    ls_byte_stream stream =
        ls_byte_stream_read(bytes + GAMES_HEADER_BYTES, size - GAMES_HEADER_BYTES);
    while (!stream.has_failed && !ls_byte_stream_is_at_end(&stream) &&
           games->count < LS_RELAY_GAMES_MAX) {
        ls_relay_game *game = &games->games[games->count];
        memset(game, 0, sizeof *game);
        game_fields(&stream, game);
        games->count += stream.has_failed ? 0 : 1;
    }
    return ls_byte_stream_is_at_end(&stream);
}

/* ---- relay search ---- */

#define REPEAT_NS (250 * LS_NS_PER_MS)
#define SILENCE_NS (4 * LS_NS_PER_SECOND)
#define ALL_NS (20 * LS_NS_PER_SECOND)

enum {
    REPEATS_MAX = 4, /* of LOOK, until its cookie may have grown too old */
};

static void send_next(ls_relay_search *search, ls_relay_kind kind, uint64_t now_ns)
{
    search->sent.kind = kind;
    search->repeats = 0;
    search->due_ns = now_ns;
}

static void ask(ls_relay_search *search, uint64_t now_ns)
{
    search->sent = (ls_relay_packet){.kind = LS_RELAY_ASK};
    ls_cipher_random(search->sent.nonce, sizeof search->sent.nonce);
    send_next(search, LS_RELAY_ASK, now_ns);
}

void ls_relay_search_begin(ls_relay_search *search, ls_relay_game *games, uint32_t games_max,
                           uint64_t now_ns)
{
    *search = (ls_relay_search){.games = games,
                                .games_max = games_max,
                                .rtt_ns = UINT64_MAX,
                                .end_ns = now_ns + SILENCE_NS,
                                .last_ns = now_ns + ALL_NS};
    ask(search, now_ns);
}

size_t ls_relay_search_advance(ls_relay_search *search, uint64_t now_ns,
                               uint8_t bytes[LS_RELAY_PACKET_BYTES_MAX])
{
    if (search->state == LS_RELAY_SEARCHING &&
        (now_ns >= search->end_ns || now_ns >= search->last_ns)) {
        search->state = search->rtt_ns == UINT64_MAX ? LS_RELAY_SEARCH_SILENT : LS_RELAY_SEARCH_CUT;
    }
    if (search->state != LS_RELAY_SEARCHING || now_ns < search->due_ns) {
        return 0;
    }
    if (search->sent.kind == LS_RELAY_LOOK && search->repeats == REPEATS_MAX) {
        ask(search, now_ns);
    }
    search->repeats++;
    search->sent_ns = now_ns;
    search->due_ns = now_ns + REPEAT_NS;
    return ls_relay_packet_write(&search->sent, bytes);
}

/* An answer to what was sent more than once may be to any of them. */
static void note_answer(ls_relay_search *search, uint64_t now_ns)
{
    if (search->repeats == 1) {
        search->rtt_ns = LS_MIN(search->rtt_ns, now_ns - search->sent_ns);
    } else if (search->rtt_ns == UINT64_MAX) {
        search->rtt_ns = now_ns - search->sent_ns + (search->repeats - 1) * REPEAT_NS;
    }
    search->end_ns = now_ns + SILENCE_NS;
}

static void on_cookie(ls_relay_search *search, const ls_relay_packet *cookie, uint64_t now_ns)
{
    note_answer(search, now_ns);
    search->sent.time_ms = cookie->time_ms;
    search->sent.place = search->place;
    memcpy(search->sent.cookie, cookie->cookie, sizeof search->sent.cookie);
    send_next(search, LS_RELAY_LOOK, now_ns);
}

/* A server that has registered anew may stand in two datagrams. */
static bool is_known(const ls_relay_search *search, const ls_relay_game *game)
{
    for (uint32_t i = 0; i < search->count; i++) {
        if (memcmp(search->games[i].name, game->name, sizeof game->name) == 0) {
            return true;
        }
    }
    return false;
}

static void on_games(ls_relay_search *search, const ls_relay_games *games, uint64_t now_ns)
{
    note_answer(search, now_ns);
    for (uint32_t i = 0; i < games->count && search->count < search->games_max; i++) {
        if (!is_known(search, &games->games[i])) {
            search->games[search->count++] = games->games[i];
        }
    }
    if (games->next == LS_RELAY_GAMES_END) {
        search->state = LS_RELAY_SEARCH_DONE;
    } else if (games->next <= search->place || search->count == search->games_max) {
        search->state = LS_RELAY_SEARCH_CUT;
    } else {
        search->place = games->next;
        search->sent.place = games->next;
        send_next(search, LS_RELAY_LOOK, now_ns);
    }
}

void ls_relay_search_receive(ls_relay_search *search, const uint8_t *bytes, size_t size,
                             uint64_t now_ns)
{
    ls_relay_packet packet;
    ls_relay_games games;
    bool is_waiting = search->state == LS_RELAY_SEARCHING && search->repeats > 0;
    if (!is_waiting) {
        return;
    }
    if (search->sent.kind == LS_RELAY_ASK) {
        if (ls_relay_packet_read(bytes, size, &packet) && packet.kind == LS_RELAY_COOKIE &&
            memcmp(packet.nonce, search->sent.nonce, sizeof packet.nonce) == 0) {
            on_cookie(search, &packet, now_ns);
        }
    } else if (ls_relay_games_read(bytes, size, &games) && games.place == search->place &&
               memcmp(games.nonce, search->sent.nonce, sizeof games.nonce) == 0) {
        on_games(search, &games, now_ns);
    }
}
