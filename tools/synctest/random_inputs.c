#include "lockstep/tools/synctest/random_inputs.h"

#include <string.h>

/* ---- random inputs ---- */

enum {
    HELD_TICKS_MAX = 12,
    SMALL_MAX = 16,
    BYTES_MAX = 64, /* longer inputs reach nothing more */
};

synctest_random_player synctest_random_player_make(uint64_t seed)
{
    return (synctest_random_player){.rng = ls_rng_make(seed, 0x72616e64)};
}

bool synctest_inputs_are_random(uint32_t ticks, ls_tick tick)
{
    return tick >= ticks - ticks / 3;
}

static uint8_t small_number(ls_rng *rng)
{
    static const uint8_t edges[] = {0x7f, 0x80, 0xff, 0x40};
    uint32_t number = ls_rng_below(rng, SMALL_MAX + sizeof edges);
    return number < SMALL_MAX ? (uint8_t)number : edges[number - SMALL_MAX];
}

static void choose(synctest_random_player *player, uint32_t size_max)
{
    ls_rng *rng = &player->rng;
    player->kind = (synctest_input_kind)ls_rng_below(rng, SYNCTEST_INPUT_KIND_COUNT);
    player->ticks_left = ls_rng_below(rng, HELD_TICKS_MAX) + 1;
    player->position = ls_rng_below(rng, BYTES_MAX);
    player->size = ls_rng_below(rng, (size_max < BYTES_MAX ? size_max : BYTES_MAX) + 1);
    for (uint32_t i = 0; i < player->size; i++) {
        uint8_t any = (uint8_t)ls_rng_next(rng);
        player->bytes[i] = player->kind == SYNCTEST_INPUT_SMALL ? small_number(rng) : any;
    }
}

uint32_t synctest_random_player_input(synctest_random_player *player, uint8_t *bytes, uint32_t size,
                                      uint32_t size_max)
{
    if (player->ticks_left == 0) {
        choose(player, size_max);
    }
    player->ticks_left--;
    if (player->kind == SYNCTEST_INPUT_BOT ||
        (player->kind == SYNCTEST_INPUT_ALTERED && size == 0)) {
        return size;
    }
    if (player->kind == SYNCTEST_INPUT_ALTERED) {
        bytes[player->position % size] = player->size > 0 ? player->bytes[0] : 0;
        return size;
    }
    memcpy(bytes, player->bytes, player->size);
    return player->size;
}

/* ---- scripts ---- */

enum {
    LATE_ONE_IN = 4, /* seats that nobody takes at the start */
    LATE_TICKS_MAX = 60,
    STAY_TICKS_MIN = 100,
    STAY_TICKS_MAX = 400,
    AWAY_TICKS_MIN = 5,
    AWAY_TICKS_MAX = 60,
};

synctest_script synctest_script_make(uint64_t seed, uint32_t players)
{
    synctest_script script = {.rng = ls_rng_make(seed, 0x73637269), .players = players};
    for (uint32_t slot = 1; slot < players; slot++) {
        bool is_late = ls_rng_below(&script.rng, LATE_ONE_IN) == 0;
        uint32_t wait = ls_rng_below(&script.rng, LATE_TICKS_MAX);
        script.next_change[slot] = is_late ? wait : 0;
    }
    return script;
}

void synctest_script_advance(synctest_script *script, ls_tick tick, uint32_t events[LS_PLAYERS_MAX])
{
    memset(events, 0, LS_PLAYERS_MAX * sizeof events[0]);
    for (uint32_t slot = 0; slot < script->players; slot++) {
        if (script->next_change[slot] != tick) {
            continue;
        }
        bool is_joining = !script->is_present[slot];
        int32_t wait = is_joining ? ls_rng_between(&script->rng, STAY_TICKS_MIN, STAY_TICKS_MAX)
                                  : ls_rng_between(&script->rng, AWAY_TICKS_MIN, AWAY_TICKS_MAX);
        script->is_present[slot] = is_joining;
        script->next_change[slot] = tick + (uint32_t)wait;
        events[slot] = is_joining ? LS_EVENT_JOINED : LS_EVENT_LEFT;
    }
}
