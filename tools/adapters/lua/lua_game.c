/* The lua plug-in: a whole game in one script. The block holds a handle; the engine's image of the
 * state, made after every step, is what is saved and hashed. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <locale.h>
#include <string.h>

static const ls_param params[LUA_PARAM_COUNT] = {
    [LUA_PARAM_SCRIPT] = LS_PARAM_FILE_OF("script", "the game, in Lua", 1, 1 << 20),
    [LUA_PARAM_OPTIONS] = LS_PARAM_STRING_OF("options", "for the script's init", "", 0, 255),
    [LUA_PARAM_INSTRUCTIONS] =
        LS_PARAM_INTEGER_OF("instructions", "", "that a step may take", 5000000, 1000, 2000000000),
    [LUA_PARAM_STATE] =
        LS_PARAM_INTEGER_OF("state", "KiB", "that the state may take", 256, 1, 65536),
    [LUA_PARAM_MEMORY] = LS_PARAM_INTEGER_OF("memory", "MiB", "that Lua may take", 256, 1, 4096),
};

typedef struct lua_state_block {
    lua_engine *engine;
} lua_state_block;

static lua_engine *engine_of(const void *state)
{
    return ((const lua_state_block *)state)->engine;
}

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(lua_state_block);
}

/* ---- the C locale, for this thread, while Lua runs ---- */

typedef struct own_locale {
    locale_t locale;
    locale_t before;
} own_locale;

static own_locale own_locale_begin(void)
{
    own_locale own = {.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    own.before = uselocale(own.locale);
    return own;
}

static void own_locale_end(own_locale own)
{
    (void)uselocale(own.before);
    freelocale(own.locale);
}

static ls_status build(const ls_sim_config *config, void *state, ls_text *why)
{
    lua_engine *engine = NULL;
    ls_status status = lua_engine_create(config, &engine, why);
    if (status != LS_OK) {
        return status;
    }
    status = lua_engine_start(engine, why);
    if (status != LS_OK) {
        lua_engine_destroy(engine);
        return status;
    }
    ((lua_state_block *)state)->engine = engine;
    return LS_OK;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    own_locale own = own_locale_begin();
    ls_status status = ls_strict_double_init(build, config, state, why);
    own_locale_end(own);
    return status;
}

static void deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    lua_view_free(engine_of(state));
    lua_engine_destroy(engine_of(state));
}

static void run_script(const ls_step *step)
{
    lua_engine_step(engine_of(step->state), step);
}

static void pass_script(const ls_step *step)
{
    own_locale own = own_locale_begin();
    ls_strict_double_pass(run_script, step);
    own_locale_end(own);
}

static const ls_pass passes[] = {{"script", pass_script}};

/* ---- the image ---- */

static uint64_t hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    return engine_of(state)->image_hash;
}

static size_t save(const ls_sim_config *config, const void *state, uint8_t *bytes, size_t capacity)
{
    (void)config;
    const lua_bytes *image = &engine_of(state)->image;
    if (image->size <= capacity) {
        memcpy(bytes, image->bytes, image->size);
    }
    return image->size;
}

static size_t save_bytes_max(const ls_sim_config *config)
{
    size_t limit = (size_t)config->params[LUA_PARAM_STATE] << 10;
    size_t failed = LUA_IMAGE_WATCHES_AT + 8 * LUA_WATCHES_MAX + LS_TEXT_BYTES_MAX;
    return limit > failed ? limit : failed;
}

/* The watched values of state 0 have their places in every image. */
static uint32_t save_fields_of(const ls_sim_config *config, const void *state, ls_field *fields,
                               uint32_t capacity)
{
    (void)config;
    static const ls_field random[] = {{"random.state", "", LS_FIELD_U64, 1, 1, 0, 0},
                                      {"random.increment", "", LS_FIELD_U64, 1, 1, 8, 0}};
    const lua_engine *engine = engine_of(state);
    uint32_t count = ls_fields_copy(random, 2, fields, capacity);
    for (uint32_t i = 0; i < engine->watch_count && count < capacity; i++) {
        const lua_watch *watch = &engine->watches[i];
        const char *unit = watch->type == LS_FIELD_U64 ? "hash" : "";
        fields[count++] = (ls_field){
            watch->path, unit, watch->type, 1, 1, LUA_IMAGE_WATCHES_AT + (size_t)8 * i, 0};
    }
    return count;
}

typedef struct load_call {
    const uint8_t *bytes;
    size_t size;
    lua_engine *engine;
} load_call;

static ls_status run_load(const ls_sim_config *config, void *call, ls_text *why)
{
    (void)config;
    (void)why;
    const load_call *load = call;
    return lua_engine_load(load->engine, load->bytes, load->size);
}

static ls_status load(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size)
{
    load_call call = {bytes, size, engine_of(state)};
    own_locale own = own_locale_begin();
    ls_status status = ls_strict_double_init(run_load, config, &call, NULL);
    own_locale_end(own);
    return status;
}

/* Another Lua is another game: machines with different ones never share a match. */
static uint64_t content_digest(const ls_sim_config *config)
{
    (void)config;
    return ls_hash_bytes(LUA_RELEASE, strlen(LUA_RELEASE), LUA_VERSION_RELEASE_NUM);
}

/* ---- picture, sound and hands ---- */

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    own_locale own = own_locale_begin();
    lua_view_draw(engine_of(previous), engine_of(current), alpha, list);
    own_locale_end(own);
}

static void status(const ls_sim_config *config, const void *state, uint32_t slot,
                   ls_status_list *list)
{
    (void)config;
    own_locale own = own_locale_begin();
    lua_view_status(engine_of(state), slot, list);
    own_locale_end(own);
}

static void sounds(const ls_sim_config *config, const void *previous, const void *current,
                   ls_sound_list *list)
{
    (void)config;
    (void)previous;
    const lua_engine *engine = engine_of(current);
    for (uint32_t i = 0; i < engine->cue_count; i++) {
        ls_sound_push(list, engine->cues[i]);
    }
}

static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    (void)config;
    own_locale own = own_locale_begin();
    uint32_t size = lua_view_bot(engine_of(state), slot, rng, bytes);
    own_locale_end(own);
    return size;
}

static uint32_t control(const ls_sim_config *config, const void *state, uint32_t slot,
                        const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    own_locale own = own_locale_begin();
    uint32_t size = lua_view_control(engine_of(state), slot, controls, bytes);
    own_locale_end(own);
    return size;
}

static void input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    own_locale own = own_locale_begin();
    lua_view_input_bits(engine_of(state), bits);
    own_locale_end(own);
}

static const ls_simulation simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 2,
    .name = "lua",
    .summary = "a game that is one Lua script: --param script=game.lua",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = LS_PLAYERS_MAX,
    .input_bytes_max = LUA_INPUT_BYTES_MAX,
    .params = params,
    .param_count = LUA_PARAM_COUNT,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .content_digest = content_digest,
    .state_bytes = state_bytes,
    .init = init,
    .draw = draw,
    .bot = bot,
    .control = control,
    .hash = hash,
    .save = save,
    .load = load,
    .deinit = deinit,
    .save_bytes_max = save_bytes_max,
    .sounds = sounds,
    .save_fields_of = save_fields_of,
    .input_bits = input_bits,
    .status = status,
};

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);
LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    return &simulation;
}
