/* Image of a script's state: all that is reached from the globals, in an order that the values
 * themselves give. Objects (tables, functions, coroutines) are numbered as they are met, and follow
 * the global that they were met in. Libraries are written as what has changed in them. */
#include "lockstep/tools/adapters/lua/lua_save.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"

#include <stdio.h>
#include <string.h>

/* ---- objects ---- */

/* The time at which memory is collected differs between machines. */
static void check_metatable(lua_writer *w, int metatable)
{
    static const char *const refused[] = {"__gc", "__mode"};
    for (int i = 0; i < 2; i++) {
        lua_pushstring(w->L, refused[i]);
        if (lua_rawget(w->L, metatable) != LUA_TNIL) {
            lua_write_refuse(w, i == 0 ? "a metatable with __gc" : "a metatable with __mode");
        }
        lua_pop(w->L, 1);
    }
}

static void write_metatable(lua_writer *w, int table)
{
    if (!lua_getmetatable(w->L, table)) {
        lua_write_u8(w, LUA_TAG_NIL);
        return;
    }
    check_metatable(w, lua_gettop(w->L));
    lua_write_value(w, -1);
    lua_pop(w->L, 1);
}

static void write_entry(lua_writer *w, int table, const lua_key *key)
{
    lua_key_push(w->L, key);
    lua_write_value(w, -1);
    (void)lua_rawget(w->L, table);
    lua_write_value(w, -1);
    lua_pop(w->L, 1);
}

static void write_table(lua_writer *w, int table)
{
    write_metatable(w, table);
    lua_keys *keys = &w->engine->keys;
    lua_keys_collect(w->L, table, keys);
    lua_write_u32(w, (uint32_t)keys->count);
    for (size_t i = 0; i < keys->count; i++) {
        write_entry(w, table, &keys->keys[i]);
    }
}

static void write_upvalue(lua_writer *w, lua_upvalue *upvalue)
{
    uint32_t number = lua_write_numbered(w, &w->engine->upvalues, upvalue, w->upvalue_count);
    lua_write_u32(w, number);
    if (number < w->upvalue_count) {
        return;
    }
    w->upvalue_count++;
    lua_push_slot(w->L, upvalue->value);
    lua_write_value(w, -1);
    lua_pop(w->L, 1);
}

static void write_closure(lua_writer *w, int index)
{
    const lua_closure *closure = __real_lua_topointer(w->L, index);
    for (uint32_t i = 0; i < closure->upvalue_count; i++) {
        write_upvalue(w, closure->upvalues[i]);
    }
}

static void write_queued(lua_writer *w, int index)
{
    switch (lua_type(w->L, index)) {
    case LUA_TTABLE:
        write_table(w, index);
        break;
    case LUA_TTHREAD:
        lua_write_thread(w, lua_tothread(w->L, index));
        break;
    default:
        if (lua_iscfunction(w->L, index)) {
            lua_getupvalue(w->L, index, 1);
            lua_write_value(w, -1);
            lua_pop(w->L, 1);
        } else {
            write_closure(w, index);
        }
    }
}

/* An object is written when its turn comes, not where it is met: deep lists take no deep stack. */
static void write_waiting(lua_writer *w)
{
    while (w->objects_written < w->object_count) {
        lua_rawgeti(w->L, w->queue, (lua_Integer)++w->objects_written);
        write_queued(w, lua_gettop(w->L));
        lua_pop(w->L, 1);
    }
}

/* ---- libraries ---- */

/* Whether the value at the top is what the library had from the start; both are popped. Libraries
 * name each other. */
static bool is_as_before(lua_writer *w, int value, int base)
{
    if (lua_rawequal(w->L, value, base)) {
        return true;
    }
    int number = lua_istable(w->L, value) ? lua_library_number(w->L, w->libraries, value) : 0;
    return number && number == lua_library_number(w->L, w->originals, base);
}

static void collect_changes(lua_writer *w, int library, int base)
{
    lua_State *L = w->L;
    lua_keys *keys = &w->engine->changes;
    keys->count = 0;
    lua_pushnil(L);
    while (lua_next(L, library)) {
        lua_pushvalue(L, -2);
        (void)lua_rawget(L, base);
        if (!is_as_before(w, lua_gettop(L) - 1, lua_gettop(L))) {
            lua_keys_add(L, -3, keys);
        }
        lua_pop(L, 2);
    }
    lua_pushnil(L);
    while (lua_next(L, base)) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, library) == LUA_TNIL) {
            lua_keys_add(L, -3, keys);
        }
        lua_pop(L, 2);
    }
    lua_keys_sort(keys);
}

static lua_watch *watch_of_global(lua_engine *engine, const lua_key *key)
{
    for (uint32_t i = 0; i < engine->watch_count && key->type == LUA_TSTRING; i++) {
        lua_watch *watch = &engine->watches[i];
        if (watch->type == LS_FIELD_U64 && strcmp(watch->part[0], key->text) == 0) {
            return watch;
        }
    }
    return NULL;
}

static void write_change(lua_writer *w, int library, const lua_key *key)
{
    size_t start = w->engine->written.size;
    snprintf(w->where, sizeof w->where, "global '%.60s'",
             key->type == LUA_TSTRING ? key->text : "[...]");
    write_entry(w, library, key);
    write_waiting(w);
    lua_watch *watch = watch_of_global(w->engine, key);
    if (watch) {
        lua_bytes *out = &w->engine->written;
        watch->bits = ls_hash_bytes(out->bytes + start, out->size - start, 0);
    }
}

static void write_library(lua_writer *w, int number)
{
    lua_rawgeti(w->L, w->libraries, number);
    lua_rawgeti(w->L, w->bases, number);
    int library = lua_gettop(w->L) - 1;
    write_metatable(w, library);
    write_waiting(w);
    collect_changes(w, library, library + 1);
    lua_write_u32(w, (uint32_t)w->engine->changes.count);
    for (size_t i = 0; i < w->engine->changes.count; i++) {
        write_change(w, library, &w->engine->changes.keys[i]);
    }
    lua_pop(w->L, 2);
}

/* ---- links ---- */

/* Upvalues that are variables of suspended coroutines. A coroutine that nothing reaches does not
 * count: when it is collected differs between machines, and its upvalues stay as they are. */
static void write_links(lua_writer *w)
{
    size_t count_at = w->engine->written.size;
    uint32_t count = 0;
    lua_write_u32(w, 0);
    for (uint32_t i = 0; i < w->object_count; i++) {
        if (lua_rawgeti(w->L, w->queue, (lua_Integer)i + 1) == LUA_TTHREAD) {
            lua_thread *thread = lua_thread_of(lua_tothread(w->L, -1));
            for (lua_upvalue *up = thread->open_upvalues; up; up = up->u.open.next) {
                const lua_object *met = lua_object_map_find(&w->engine->upvalues, up);
                if (met) {
                    lua_write_u32(w, i);
                    lua_write_u32(w, (uint32_t)(up->value - thread->stack));
                    lua_write_u32(w, met->number);
                    count++;
                }
            }
        }
        lua_pop(w->L, 1);
    }
    ls_store_u32(w->engine->written.bytes + count_at, count);
}

/* ---- the image ---- */

uint32_t lua_image_head_bytes(const lua_engine *engine)
{
    return LUA_IMAGE_WATCHES_AT + 8 * engine->watch_count;
}

static void write_head(const lua_engine *engine, uint8_t *bytes)
{
    memset(bytes, 0, lua_image_head_bytes(engine));
    ls_store_u32(bytes + LUA_IMAGE_FORMAT_AT, LUA_IMAGE_FORMAT);
    ls_store_u32(bytes + LUA_IMAGE_FAILURE_AT, (uint32_t)strlen(engine->failure));
    ls_store_u64(bytes, engine->rng.state);
    ls_store_u64(bytes + 8, engine->rng.increment);
}

static void start_writer(lua_writer *w, lua_engine *engine, lua_State *L)
{
    *w = (lua_writer){.engine = engine, .L = L, .libraries = lua_gettop(L)};
    luaL_checkstack(L, 32, "saving");
    lua_library_push_bases(L);
    w->bases = lua_gettop(L);
    lua_library_push_originals(L, w->bases);
    w->originals = lua_gettop(L);
    lua_newtable(L);
    w->queue = lua_gettop(L);
    lua_object_map_clear(&engine->objects);
    lua_object_map_clear(&engine->upvalues);
    for (uint32_t i = 0; i < engine->watch_count; i++) {
        engine->watches[i].bits = 0;
    }
}

void lua_image_write(lua_engine *engine, lua_State *L)
{
    lua_writer w;
    start_writer(&w, engine, L);
    engine->written.size = 0;
    (void)lua_write_add(&w, lua_image_head_bytes(engine));
    for (int i = 1; i <= LUA_LIBRARY_COUNT; i++) {
        snprintf(w.where, sizeof w.where, "library %d", i);
        write_library(&w, i);
    }
    write_links(&w);
    write_head(engine, engine->written.bytes);
    lua_write_watches(&w);
    lua_settop(L, w.libraries);
}

bool lua_image_write_failed(lua_engine *engine)
{
    uint32_t head = lua_image_head_bytes(engine);
    size_t bytes = strlen(engine->failure);
    engine->written.size = 0;
    if (!lua_write_reserve(&engine->written, head + bytes)) {
        return false;
    }
    write_head(engine, engine->written.bytes);
    memcpy(engine->written.bytes + head, engine->failure, bytes);
    engine->written.size = head + bytes;
    return true;
}

/* ---- watches ---- */

void lua_image_choose_watches(lua_engine *engine, lua_State *L)
{
    lua_writer w;
    start_writer(&w, engine, L);
    lua_rawgeti(L, w.libraries, 1);
    lua_rawgeti(L, w.bases, 1);
    collect_changes(&w, lua_gettop(L) - 1, lua_gettop(L));
    lua_pop(L, 1);
    lua_watch_choose(engine, L);
    lua_settop(L, w.libraries);
}
