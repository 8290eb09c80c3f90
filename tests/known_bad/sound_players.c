/* Seats that are taken and left, texts and bytes of players, and inputs of any size. */
#include "lockstep/tests/known_bad/sound.h"

#define SEATS LS_PLAYERS_MAX

typedef struct seat {
    uint8_t is_taken;
    uint8_t last_bytes;
    uint16_t joins;
    uint32_t score;
} seat;

typedef struct hall {
    seat seats[SEATS];
    uint64_t chain;
} hall;

#define SEAT(member, type, unit)                                                                   \
    LS_FIELD_EACH("seats", offsetof(hall, seats), SEATS, seat, member, LS_FIELD_##type, unit)

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    const ls_field list[] = {SEAT(is_taken, U8, ""), SEAT(last_bytes, U8, ""), SEAT(joins, U16, ""),
                             SEAT(score, U32, "points"),
                             LS_FIELD_OF(hall, chain, LS_FIELD_U64, "")};
    return ls_fields_copy(list, sizeof list / sizeof list[0], out, capacity);
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    ((hall *)state)->chain = config->seed;
    return LS_OK;
}

static uint32_t answer(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                       uint8_t *bytes)
{
    const hall *h = state;
    (void)config;
    bytes[0] = (uint8_t)h->seats[slot].score;
    bytes[1] = (uint8_t)ls_rng_below(rng, 4);
    return 2;
}

static void seat_players(const ls_step *step)
{
    hall *h = step->state;
    for (uint32_t slot = 0; slot < step->inputs->slot_count; slot++) {
        const ls_slot_input *input = &step->inputs->slots[slot];
        seat *s = &h->seats[slot];
        s->joins += (input->events & LS_EVENT_JOINED) != 0;
        s->is_taken = input->events & LS_EVENT_JOINED ? 1 : s->is_taken;
        s->is_taken = input->events & LS_EVENT_LEFT ? 0 : s->is_taken;
        s->last_bytes = (uint8_t)input->size;
        s->score += input->size > 1 ? input->bytes[1] : input->size;
    }
    h->chain = h->chain * UINT64_C(6364136223846793005) + sound_inputs(step);
}

SOUND_PLUGIN("sound_players", seat_players, sizeof(hall), .fields = fields, .init = init,
             .bot = answer)
