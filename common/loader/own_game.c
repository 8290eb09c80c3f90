#include "lockstep/common/loader/own_game.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/state_schema.h"

#include <string.h>

_Static_assert((int)LOCKSTEP_PADDING == (int)LS_FIELD_PADDING &&
                   (int)LOCKSTEP_FIXED == (int)LS_FIELD_FIXED &&
                   (int)LOCKSTEP_F64 == (int)LS_FIELD_F64 &&
                   (int)LOCKSTEP_F64 + 1 == (int)LS_FIELD_TYPE_COUNT,
               "types have the same numbers");
_Static_assert(LOCKSTEP_JOINED == LS_EVENT_JOINED && LOCKSTEP_LEFT == LS_EVENT_LEFT,
               "events have the same bits");
_Static_assert(LOCKSTEP_PLAYERS_MAX == LS_PLAYERS_MAX &&
                   LOCKSTEP_INPUT_BYTES_MAX == LS_INPUT_BYTES_MAX,
               "limits are the same");

static lockstep_setup setup_of(const ls_sim_config *config)
{
    return (lockstep_setup){.size = sizeof(lockstep_setup),
                            .seed = config->seed,
                            .players = config->players,
                            .tick_rate_hz = config->tick_rate_hz};
}

static size_t state_bytes(const ls_sim_config *config)
{
    const lockstep_game *game = config->user;
    return game->state_bytes;
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    const lockstep_game *game = config->user;
    if (!game->fields) {
        const ls_field all = {"state", "", LS_FIELD_U8, (uint32_t)game->state_bytes, 1, 0, 0};
        return ls_fields_copy(&all, 1, out, capacity);
    }
    for (size_t i = 0; i < game->field_count && i < capacity; i++) {
        const lockstep_field *field = &game->fields[i];
        out[i] = (ls_field){field->path,
                            field->unit ? field->unit : "",
                            (ls_field_type)field->type,
                            field->length,
                            field->count,
                            field->offset,
                            field->stride};
    }
    return (uint32_t)game->field_count;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    const lockstep_game *game = config->user;
    const lockstep_setup setup = setup_of(config);
    (void)why;
    if (game->init) {
        game->init(game->user, state, &setup);
    }
    return LS_OK;
}

static void wrote(const void *step, size_t offset, size_t bytes)
{
    ls_step_wrote(step, offset, bytes);
}

static void step(const ls_step *step)
{
    const lockstep_game *game = step->config->user;
    const lockstep_setup setup = setup_of(step->config);
    lockstep_slot slots[LS_PLAYERS_MAX];
    for (uint32_t i = 0; i < step->inputs->slot_count; i++) {
        const ls_slot_input *slot = &step->inputs->slots[i];
        slots[i] = (lockstep_slot){slot->bytes, slot->size, slot->events};
    }
    const lockstep_inputs inputs = {.size = sizeof inputs,
                                    .setup = &setup,
                                    .slots = slots,
                                    .tick = step->inputs->tick,
                                    .wrote = step->written ? wrote : NULL,
                                    .step = step};
    game->step(game->user, step->state, &inputs);
}

static void copy_mask(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (from) {
        memcpy(to, from, bytes);
    }
}

static void input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    const lockstep_game *game = config->user;
    (void)state;
    copy_mask(bits->edges, game->edges, game->input_bytes);
    copy_mask(bits->buttons, game->buttons, game->input_bytes);
}

static const ls_pass passes[] = {{"step", step}};

bool ls_own_game_read(const lockstep_game *game, lockstep_game *out)
{
    /* A header of ours ends behind `user`, `buttons` or `names_writes`; a newer one beyond. */
    if (game->size != offsetof(lockstep_game, edges) &&
        game->size != offsetof(lockstep_game, names_writes) && game->size < sizeof *out) {
        return false;
    }
    memset(out, 0, sizeof *out);
    memcpy(out, game, LS_MIN(game->size, sizeof *out));
    return true;
}

ls_simulation ls_own_game_simulation(lockstep_game *game)
{
    return (ls_simulation){.abi = LS_SIMULATION_ABI,
                           .size = sizeof(ls_simulation),
                           .version = game->version,
                           .name = game->name,
                           .summary = "a game of lockstep.h",
                           .default_tick_rate_hz = game->tick_rate_hz,
                           .default_players = game->players_max,
                           .players_max = game->players_max,
                           .input_bytes_max = game->input_bytes,
                           .passes = passes,
                           .pass_count = 1,
                           .state_bytes = state_bytes,
                           .fields = fields,
                           .init = init,
                           .input_bits = game->edges || game->buttons ? input_bits : NULL,
                           .user = game,
                           .names_writes = game->names_writes};
}

const void *ls_own_game_code(const ls_simulation *simulation)
{
    const lockstep_game *game = simulation->passes == passes ? simulation->user : NULL;
    return game ? (const void *)(uintptr_t)game->step : NULL;
}

/* A client would learn of it once it has connected. */
static ls_status check_coverage(const lockstep_game *game, ls_text *why)
{
    if (!game->fields || game->field_count > LS_FIELDS_MAX) {
        return LS_OK; /* an instance says so */
    }
    ls_field rows[LS_FIELDS_MAX];
    const ls_sim_config config = {.user = (void *)(uintptr_t)game};
    ls_schema *schema = NULL;
    ls_status status = ls_schema_create(rows, fields(&config, rows, LS_FIELDS_MAX),
                                        game->state_bytes, ls_allocator_heap(), &schema, why);
    ls_schema_destroy(schema);
    return status;
}

ls_status ls_own_game_check(const lockstep_game *game, ls_text *why)
{
    if (!game->name || !game->step) {
        return ls_fail(LS_BAD_ARGUMENT, why, "lockstep_game.%s is missing",
                       game->name ? "step" : "name");
    }
    /* ls_simulation_check would name the members of a struct that the game's author has not seen.
     */
    const struct {
        const char *member;
        uint32_t value, min, max;
    } rules[] = {
        {"tick_rate_hz", game->tick_rate_hz, LS_TICK_RATE_MIN_HZ, LS_TICK_RATE_MAX_HZ},
        {"players_max", game->players_max, 1, LOCKSTEP_PLAYERS_MAX},
        {"input_bytes", game->input_bytes, 0, LOCKSTEP_INPUT_BYTES_MAX},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].value < rules[i].min || rules[i].value > rules[i].max) {
            return ls_fail(LS_BAD_ARGUMENT, why, "lockstep_game.%s takes %u..%u, not %u",
                           rules[i].member, rules[i].min, rules[i].max, rules[i].value);
        }
    }
    if (!game->fields && game->field_count > 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "lockstep_game.field_count is %zu, and fields is NULL",
                       game->field_count);
    }
    for (size_t i = 0; i < game->field_count; i++) {
        if (!game->fields[i].path || game->fields[i].type >= LS_FIELD_TYPE_COUNT) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "lockstep_game.fields[%zu] has no path, or a type that there is not", i);
        }
    }
    return check_coverage(game, why);
}
