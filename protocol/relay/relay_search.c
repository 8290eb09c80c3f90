#include "lockstep/protocol/relay/relay_search.h"

#include "lockstep/common/base/clock.h"

#include <string.h>

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
