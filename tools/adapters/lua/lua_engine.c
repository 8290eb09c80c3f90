#include "lockstep/tools/adapters/lua/lua_engine.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

#include <stdio.h>
#include <string.h>

#define START_INSTRUCTIONS_FACTOR 20u

/* Looks at the rules in a search for a line: it is given up beyond. */
#define TRACE_CHECKS_MAX 20000u

static bool restore(lua_engine *engine, const uint8_t *bytes, size_t size);

static uint64_t budget_of(const lua_engine *engine)
{
    return (uint64_t)engine->config->params[LUA_PARAM_INSTRUCTIONS];
}

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

static const char KEY_SCRIPT = 's';

/* The text alone, without the mark and the line that editors and shells put before it: the bytes
 * are a file's, and Lua does not check bytecode. */
static int open_engine(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    lua_library_open(engine);
    const ls_sim_file *file = ls_sim_config_file(engine->config, LUA_PARAM_SCRIPT);
    const char *text = (const char *)file->bytes;
    size_t size = (size_t)file->size;
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        size -= 3;
    }
    if (size > 0 && text[0] == '#') {
        const char *end = memchr(text, '\n', size);
        size = end ? size - (size_t)(end - text) : 0;
        text = end ? end : text;
    }
    if (luaL_loadbufferx(L, text, size, "=script", "t") != LUA_OK) {
        return lua_error(L);
    }
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_SCRIPT);
    return 0;
}

/* A Lua in place of the one there is, which stays when there is no memory or the script fails. */
static bool open_lua(lua_engine *engine, ls_text *why)
{
    lua_State *before = engine->L;
    ls_text_set(why, "no memory for Lua");
    engine->L = lua_newstate(reallocate, engine);
    if (engine->L) {
        memcpy(lua_getextraspace(engine->L), &engine, sizeof(lua_engine *));
    }
    if (!engine->L || !lua_engine_call(engine, open_engine, NULL, UINT64_MAX, why)) {
        if (engine->L) {
            lua_close(engine->L);
        }
        engine->L = before;
        return false;
    }
    if (before) {
        lua_close(before);
    }
    return true;
}

ls_status lua_engine_create(const ls_sim_config *config, lua_engine **out, ls_text *why)
{
    lua_engine *engine = lua_memory_make(1 * sizeof *engine);
    if (!engine) {
        return LS_NO_MEMORY;
    }
    engine->config = config;
    engine->log_level = 1;
    if (!open_lua(engine, why)) {
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
    if (engine->L) {
        lua_close(engine->L);
    }
    lua_keys_free(&engine->keys);
    lua_keys_free(&engine->entries);
    lua_keys_free(&engine->inner[0]);
    lua_keys_free(&engine->inner[1]);
    lua_graph_free(&engine->outside);
    lua_graph_free(&engine->graph);
    lua_memory_free(engine->prints);
    lua_memory_free(engine->watches);
    lua_memory_free(engine->image.bytes);
    lua_memory_free(engine->image_before.bytes);
    lua_memory_free(engine->written.bytes);
    lua_memory_free(engine);
}

/* ---- images ---- */

static int write_image(lua_State *L)
{
    lua_getglobal(L, "storage");
    lua_storage_write(lua_engine_of(L), L, -1);
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
        lua_say("the script has failed: %s\n", engine->failure);
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

/* Everything that the script has made but its storage is fixed from now on. */
static int record(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    lua_outside_record(engine, L);
    lua_getglobal(L, "storage");
    if (lua_istable(L, -1) && !engine->watches) {
        lua_watch_choose(engine, L, lua_gettop(L));
    }
    return 0;
}

static bool load_script(lua_engine *engine, ls_text *why)
{
    engine->rng = ls_rng_make(engine->config->seed, 1);
    return lua_engine_call(engine, start, NULL, START_INSTRUCTIONS_FACTOR * budget_of(engine),
                           why) &&
           lua_engine_call(engine, record, NULL, UINT64_MAX, why);
}

ls_status lua_engine_start(lua_engine *engine, ls_text *why)
{
    if (!load_script(engine, why) || !lua_engine_call(engine, write_image, NULL, UINT64_MAX, why)) {
        return LS_BAD_ARGUMENT;
    }
    keep_written(engine);
    return LS_OK;
}

/* ---- rules: storage alone changes, and holds plain data ---- */

/* A view may write to its copy of the storage whatever it likes. */
static int check_rules(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    lua_outside_check(engine, L);
    return engine->is_view ? 0 : write_image(L);
}

static void trace_rules(lua_engine *engine, lua_State *L)
{
    lua_trace *trace = &engine->trace;
    luaL_checkstack(L, 8, "checking");
    lua_pushcfunction(L, check_rules);
    bool is_broken = lua_pcall(L, 0, 0, 0) != LUA_OK;
    if (is_broken) {
        if (!trace->is_broken) {
            trace->broken_line = trace->line;
            ls_text_set(&trace->why, "%s", lua_tostring(L, -1));
        }
        lua_pop(L, 1);
    }
    trace->is_broken = is_broken;
}

/* A rule that is broken now was broken by the line that ran. A line that called a function runs on
 * when the function returns. */
static void trace_line(lua_engine *engine, lua_State *L, lua_Debug *where)
{
    lua_trace *trace = &engine->trace;
    lua_Debug caller;
    if (trace->checks_left == 0) {
        return;
    }
    trace->checks_left--;
    trace_rules(engine, L);
    if (where->event == LUA_HOOKLINE) {
        trace->line = where->currentline;
    } else if (lua_getstack(L, 1, &caller) && lua_getinfo(L, "l", &caller) &&
               caller.currentline > 0) {
        trace->line = caller.currentline;
    }
}

/* The same call once more, from the same state, looked at line by line: where the line is found,
 * `why` begins with it. */
static void find_line(lua_engine *engine, lua_CFunction run, void *argument, const lua_bytes *from,
                      ls_text *why)
{
    lua_trace *trace = &engine->trace;
    uint32_t cue_count = engine->cue_count;
    if (!restore(engine, from->bytes, from->size)) {
        return;
    }
    *trace = (lua_trace){.look = trace_line, .checks_left = TRACE_CHECKS_MAX};
    (void)lua_engine_call(engine, run, argument, budget_of(engine), NULL);
    trace->look = NULL;
    if (trace->checks_left > 0) {
        trace_rules(engine, engine->L);
    }
    if (trace->is_broken && trace->broken_line > 0) {
        ls_text_set(why, "script:%d: %s", trace->broken_line, trace->why.bytes);
    }
    engine->cue_count = cue_count;
}

bool lua_engine_play(lua_engine *engine, lua_CFunction run, void *argument, const lua_bytes *from,
                     ls_text *why)
{
    engine->is_spoilt = true; /* until it is known that it is not */
    if (!lua_engine_call(engine, run, argument, budget_of(engine), why)) {
        return false;
    }
    if (!lua_engine_call(engine, check_rules, NULL, UINT64_MAX, why)) {
        find_line(engine, run, argument, from, why);
        engine->is_spoilt = true;
        return false;
    }
    engine->is_spoilt = false;
    return true;
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
    bool is_written =
        lua_engine_play(engine, run_step, (void *)(uintptr_t)step, &engine->image, &why);
    if (!is_written) {
        fail(engine, &why);
        is_written = lua_storage_write_failed(engine);
    }
    if (is_written) {
        keep_written(engine);
    }
}

/* ---- load ---- */

/* The watches tell a reader what follows from the rest, and are no part of the state. */
static bool is_as_written(const lua_engine *engine, const lua_bytes *from)
{
    uint32_t head = lua_storage_head_bytes(engine);
    const uint8_t *written = engine->written.bytes;
    return engine->written.size == from->size &&
           memcmp(written, from->bytes, LUA_IMAGE_WATCHES_AT) == 0 &&
           memcmp(written + head, from->bytes + head, from->size - head) == 0;
}

/* The state is written again: only the same bytes are an image of it. */
static int load_image(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    const lua_bytes *from = lua_touserdata(L, 1);
    lua_storage_read(engine, L, from->bytes, from->size);
    lua_storage_write(engine, L, -1);
    if (!is_as_written(engine, from)) {
        return luaL_error(L, "not a save of this script");
    }
    lua_pushglobaltable(L);
    lua_insert(L, -2);
    lua_pushliteral(L, "storage");
    lua_insert(L, -2);
    lua_rawset(L, -3);
    return 0;
}

static bool load_failed(lua_engine *engine, const lua_bytes *from)
{
    uint32_t head = lua_storage_head_bytes(engine);
    size_t bytes = from->size - head;
    if (bytes == 0 || bytes >= sizeof engine->failure) {
        return false;
    }
    memcpy(engine->failure, from->bytes + head, bytes);
    ls_text_make_printable(engine->failure, bytes);
    return lua_storage_write_failed(engine) && engine->written.size == from->size &&
           memcmp(engine->written.bytes, from->bytes, from->size) == 0;
}

/* Makes the state of an image, and writes it; the engine's generator and failure are its own then.
 */
static bool restore(lua_engine *engine, const uint8_t *bytes, size_t size)
{
    lua_bytes from = {(uint8_t *)(uintptr_t)bytes, size, size};
    if (engine->is_spoilt) {
        if (!open_lua(engine, NULL) || !load_script(engine, NULL)) {
            return false;
        }
        engine->is_spoilt = false;
    }
    engine->rng = (ls_rng){ls_load_u64(bytes), ls_load_u64(bytes + 8)};
    memset(engine->failure, 0, sizeof engine->failure);
    return ls_load_u32(bytes + LUA_IMAGE_FAILURE_AT) != 0
               ? load_failed(engine, &from)
               : lua_engine_call(engine, load_image, &from, UINT64_MAX, NULL);
}

ls_status lua_engine_load(lua_engine *engine, const uint8_t *bytes, size_t size)
{
    if (size < lua_storage_head_bytes(engine)) {
        return LS_MALFORMED;
    }
    ls_rng rng = engine->rng;
    char failure[sizeof engine->failure];
    memcpy(failure, engine->failure, sizeof failure);
    if (!restore(engine, bytes, size)) {
        engine->rng = rng;
        memcpy(engine->failure, failure, sizeof failure);
        return LS_MALFORMED;
    }
    engine->has_reported = engine->failure[0] != 0;
    keep_written(engine);
    return LS_OK;
}
