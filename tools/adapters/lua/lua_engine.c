#include "lockstep/tools/adapters/lua/lua_engine.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/system/tty.h"

#include <stdio.h>
#include <string.h>

#define START_INSTRUCTIONS_FACTOR 20u

/* ---- memory ---- */

static void *reallocate(void *user, void *block, size_t old_size, size_t size)
{
    lua_engine *engine = user;
    size_t old = block ? old_size : 0;
    if (size == 0) {
        lua_memory_free(block);
        engine->used_bytes -= old;
        return NULL;
    }
    size_t limit = (size_t)engine->config->params[LUA_PARAM_MEMORY] << 20;
    if (size > old && engine->used_bytes - old + size > limit) {
        return NULL;
    }
    void *moved = lua_memory_resize(block, size);
    if (moved) {
        engine->used_bytes = engine->used_bytes - old + size;
    }
    return moved;
}

/* ---- create ---- */

static uint32_t count_protos(const lua_proto *proto)
{
    uint32_t count = 1;
    for (int i = 0; i < proto->proto_count; i++) {
        count += count_protos(proto->protos[i]);
    }
    return count;
}

static void list_protos(lua_engine *engine, lua_proto *proto)
{
    engine->protos[engine->proto_count++] = proto;
    for (int i = 0; i < proto->proto_count; i++) {
        list_protos(engine, proto->protos[i]);
    }
}

static const char KEY_SCRIPT = 's';

/* A script as text alone: the bytes are a file's, and Lua does not check bytecode. */
static int open_engine(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    lua_library_open(engine);
    const ls_sim_file *file = ls_sim_config_file(engine->config, LUA_PARAM_SCRIPT);
    const char *text = (const char *)file->bytes;
    if (luaL_loadbufferx(L, text, (size_t)file->size, "=script", "t") != LUA_OK) {
        return lua_error(L);
    }
    const lua_closure *closure = __real_lua_topointer(L, -1);
    engine->protos = lua_memory_make(count_protos(closure->proto) * sizeof(lua_proto *));
    if (!engine->protos) {
        return luaL_error(L, "not enough memory");
    }
    list_protos(engine, closure->proto);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_SCRIPT);
    return 0;
}

ls_status lua_engine_create(const ls_sim_config *config, lua_engine **out, ls_text *why)
{
    lua_engine *engine = lua_memory_make(1 * sizeof *engine);
    if (!engine) {
        return LS_NO_MEMORY;
    }
    engine->config = config;
    engine->log_level = 1;
    engine->rng = ls_rng_make(config->seed, 1);
    engine->L = lua_newstate(reallocate, engine);
    if (!engine->L) {
        lua_memory_free(engine);
        return ls_fail(LS_NO_MEMORY, why, "no memory for Lua");
    }
    memcpy(lua_getextraspace(engine->L), &engine, sizeof(lua_engine *));
    if (!lua_engine_call(engine, open_engine, NULL, UINT64_MAX, why)) {
        lua_engine_destroy(engine);
        return LS_BAD_ARGUMENT;
    }
    *out = engine;
    return LS_OK;
}

void lua_engine_destroy(lua_engine *engine)
{
    if (!engine) {
        return;
    }
    lua_close(engine->L);
    lua_keys_free(&engine->keys);
    lua_keys_free(&engine->changes);
    lua_keys_free(&engine->inner[0]);
    lua_keys_free(&engine->inner[1]);
    lua_memory_free(engine->uses);
    lua_memory_free(engine->protos);
    lua_memory_free(engine->watches);
    lua_memory_free(engine->image.bytes);
    lua_memory_free(engine->image_before.bytes);
    lua_memory_free(engine->written.bytes);
    lua_memory_free(engine->objects.places);
    lua_memory_free(engine->upvalues.places);
    lua_memory_free(engine);
}

/* ---- images ---- */

static int write_image(lua_State *L)
{
    lua_library_push(L);
    lua_image_write(lua_engine_of(L), L);
    return 0;
}

static void keep_written(lua_engine *engine)
{
    lua_bytes old = engine->image_before;
    engine->image_before = engine->image;
    engine->image_before_hash = engine->image_hash;
    engine->image = engine->written;
    engine->written = old;
    engine->image_hash = ls_hash_bytes(engine->image.bytes, engine->image.size, 0);
}

static void report(lua_engine *engine)
{
    if (engine->log_level >= 1 && !engine->has_reported) { /* LS_LOG_WARNING */
        (void)dprintf(LS_TTY_ERRORS, "lua: the script has failed: %s\n", engine->failure);
    }
    engine->has_reported = true;
}

static void fail(lua_engine *engine, const ls_text *why)
{
    snprintf(engine->failure, sizeof engine->failure, "%.400s (tick %u)", why->bytes,
             (unsigned)engine->tick);
    ls_text_make_printable(engine->failure, strlen(engine->failure));
    report(engine);
}

/* A step leaves a state that can be saved, or a failure. */
static bool make_image(lua_engine *engine)
{
    ls_text why = {{0}};
    if (engine->failure[0] == 0 && !lua_engine_call(engine, write_image, NULL, UINT64_MAX, &why)) {
        fail(engine, &why);
    }
    if (engine->failure[0] && !lua_image_write_failed(engine)) {
        return false;
    }
    keep_written(engine);
    return true;
}

/* ---- state 0 ---- */

static void push_config(lua_State *L, const lua_engine *engine)
{
    const ls_sim_config *config = engine->config;
    ls_rate rate = ls_sim_config_rate(config);
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, config->players);
    lua_setfield(L, -2, "players");
    lua_pushinteger(L, (lua_Integer)config->seed);
    lua_setfield(L, -2, "seed");
    lua_pushnumber(L, (lua_Number)rate.numerator / (lua_Number)rate.denominator);
    lua_setfield(L, -2, "rate");
    lua_pushstring(L, ls_sim_config_string(config, LUA_PARAM_OPTIONS));
    lua_setfield(L, -2, "options");
}

static int start(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY_SCRIPT);
    lua_call(L, 0, 0);
    if (lua_getglobal(L, "step") != LUA_TFUNCTION) {
        return luaL_error(L, "script: it has no function 'step'");
    }
    if (lua_getglobal(L, "init") == LUA_TFUNCTION) {
        push_config(L, lua_engine_of(L));
        lua_call(L, 1, 0);
    }
    return 0;
}

static int choose_watches(lua_State *L)
{
    lua_library_push(L);
    lua_image_choose_watches(lua_engine_of(L), L);
    return 0;
}

ls_status lua_engine_start(lua_engine *engine, ls_text *why)
{
    uint64_t budget = (uint64_t)engine->config->params[LUA_PARAM_INSTRUCTIONS];
    if (!lua_engine_call(engine, start, NULL, START_INSTRUCTIONS_FACTOR * budget, why) ||
        !lua_engine_call(engine, choose_watches, NULL, UINT64_MAX, why) ||
        !lua_engine_call(engine, write_image, NULL, UINT64_MAX, why)) {
        return LS_BAD_ARGUMENT;
    }
    keep_written(engine);
    return LS_OK;
}

/* ---- the step ---- */

static void push_input(lua_State *L, const ls_slot_input *input)
{
    lua_createtable(L, 0, 3);
    lua_pushlstring(L, input->size ? (const char *)input->bytes : "", input->size);
    lua_setfield(L, -2, "bytes");
    lua_pushboolean(L, (input->events & LS_EVENT_JOINED) != 0);
    lua_setfield(L, -2, "joined");
    lua_pushboolean(L, (input->events & LS_EVENT_LEFT) != 0);
    lua_setfield(L, -2, "left");
}

static int run_step(lua_State *L)
{
    const ls_tick_inputs *inputs = ((const ls_step *)lua_touserdata(L, 1))->inputs;
    lua_getglobal(L, "step");
    lua_pushinteger(L, inputs->tick);
    lua_createtable(L, (int)inputs->slot_count, 1);
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        push_input(L, &inputs->slots[slot]);
        lua_rawseti(L, -2, slot);
    }
    lua_call(L, 2, 0);
    return 0;
}

void lua_engine_step(lua_engine *engine, const ls_step *step)
{
    engine->cue_count = 0;
    engine->tick = step->inputs->tick;
    engine->log_level = step->tuning ? step->tuning->log_level : 1;
    if (engine->failure[0]) {
        return;
    }
    ls_text why = {{0}};
    uint64_t budget = (uint64_t)engine->config->params[LUA_PARAM_INSTRUCTIONS];
    if (!lua_engine_call(engine, run_step, (void *)(uintptr_t)step, budget, &why)) {
        fail(engine, &why);
    }
    (void)make_image(engine);
}

/* ---- load ---- */

typedef struct image {
    const uint8_t *bytes;
    size_t size;
} image;

/* The watches tell a reader what follows from the rest, and are no part of the state. */
static bool is_as_written(const lua_engine *engine, const image *from)
{
    uint32_t head = lua_image_head_bytes(engine);
    const uint8_t *written = engine->written.bytes;
    return engine->written.size == from->size &&
           memcmp(written, from->bytes, LUA_IMAGE_WATCHES_AT) == 0 &&
           memcmp(written + head, from->bytes + head, from->size - head) == 0;
}

/* The state is written again: only the same bytes are an image of it. */
static int load_image(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    const image *from = lua_touserdata(L, 1);
    lua_gc(L, LUA_GCSTOP);
    lua_image_read(engine, L, from->bytes, from->size);
    lua_image_write(engine, L);
    if (!is_as_written(engine, from)) {
        return luaL_error(L, "not a save of this script");
    }
    lua_library_use(L);
    return 0;
}

static bool load_failed(lua_engine *engine, const image *from)
{
    uint32_t head = lua_image_head_bytes(engine);
    size_t bytes = from->size - head;
    if (bytes == 0 || bytes >= sizeof engine->failure) {
        return false;
    }
    memcpy(engine->failure, from->bytes + head, bytes);
    ls_text_make_printable(engine->failure, bytes);
    return lua_image_write_failed(engine) && engine->written.size == from->size &&
           memcmp(engine->written.bytes, from->bytes, from->size) == 0;
}

static bool load(lua_engine *engine, const image *from)
{
    engine->rng = (ls_rng){ls_load_u64(from->bytes), ls_load_u64(from->bytes + 8)};
    memset(engine->failure, 0, sizeof engine->failure);
    if (ls_load_u32(from->bytes + LUA_IMAGE_FAILURE_AT) != 0) {
        return load_failed(engine, from);
    }
    bool is_loaded = lua_engine_call(engine, load_image, (void *)(uintptr_t)from, UINT64_MAX, NULL);
    lua_gc(engine->L, LUA_GCRESTART);
    return is_loaded;
}

ls_status lua_engine_load(lua_engine *engine, const uint8_t *bytes, size_t size)
{
    image from = {bytes, size};
    if (size < lua_image_head_bytes(engine)) {
        return LS_MALFORMED;
    }
    ls_rng rng = engine->rng;
    char failure[sizeof engine->failure];
    memcpy(failure, engine->failure, sizeof failure);
    if (!load(engine, &from)) {
        engine->rng = rng;
        memcpy(engine->failure, failure, sizeof failure);
        return LS_MALFORMED;
    }
    engine->has_reported = engine->failure[0] != 0;
    keep_written(engine);
    return LS_OK;
}
