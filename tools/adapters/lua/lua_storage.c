/* The image of `storage`: plain data in an order that the data themselves give. Tables are numbered
 * as they are met, and follow the entry that they were met in: shared and cyclic ones are one table
 * again when they are read, and deep lists take no deep stack. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    lua_engine *engine;
    lua_State *L;
    int objects, numbers; /* places in the stack */
    uint32_t written;     /* tables whose content is written, or being written */
} writer;

/* ---- bytes ---- */

static bool reserve(lua_bytes *out, size_t more)
{
    size_t capacity = out->capacity ? out->capacity : 4096;
    while (capacity - out->size < more) {
        capacity *= 2;
    }
    if (capacity == out->capacity) {
        return true;
    }
    uint8_t *bytes = lua_memory_resize(out->bytes, capacity);
    if (!bytes) {
        return false;
    }
    out->bytes = bytes;
    out->capacity = capacity;
    return true;
}

static uint8_t *add(const writer *w, size_t count)
{
    lua_bytes *out = &w->engine->written;
    size_t limit = (size_t)w->engine->config->params[LUA_PARAM_STATE] << 10;
    if (count > limit || out->size > limit - count) {
        lua_refuse(w->L, "the state takes more than %d KiB (--param state=...)",
                   (int)w->engine->config->params[LUA_PARAM_STATE]);
    }
    if (!reserve(out, count)) {
        lua_refuse(w->L, "not enough memory");
    }
    uint8_t *at = out->bytes + out->size;
    out->size += count;
    return at;
}

static void write_u32(const writer *w, uint32_t value)
{
    ls_store_u32(add(w, 4), value);
}

static void write_tagged_u64(const writer *w, uint8_t tag, uint64_t value)
{
    uint8_t *at = add(w, 9);
    at[0] = tag;
    ls_store_u64(at + 1, value);
}

/* ---- values ---- */

static void refuse(const writer *w, const lua_key *key, const char *what)
{
    char part[48] = "";
    char path[LUA_PATH_BYTES];
    if (key) {
        lua_key_name(key, part);
    }
    lua_graph_path(w->L, &w->engine->graph, w->objects, w->written, part, "storage", path);
    lua_refuse(w->L, "%s: %s cannot be kept in 'storage'", path, what);
}

static void write_number(const writer *w, int index)
{
    lua_Number number = lua_tonumber(w->L, index);
    uint64_t bits = 0x7ff8000000000000u; /* the sign of a NaN is the processor's */
    if (lua_isinteger(w->L, index)) {
        write_tagged_u64(w, LUA_TAG_INTEGER, (uint64_t)lua_tointeger(w->L, index));
        return;
    }
    if (number == number) {
        memcpy(&bits, &number, sizeof bits);
    }
    write_tagged_u64(w, LUA_TAG_FLOAT, bits);
}

static void write_text(const writer *w, int index)
{
    size_t size = 0;
    const char *text = lua_tolstring(w->L, index, &size);
    *add(w, 1) = LUA_TAG_STRING;
    write_u32(w, (uint32_t)size); /* `add` refuses one of more than a state may take */
    memcpy(add(w, size), text, size);
}

/* A table that is met for the first time waits for its turn. */
static void write_table_number(const writer *w, const lua_key *key)
{
    lua_State *L = w->L;
    if (lua_getmetatable(L, -1)) {
        refuse(w, key, "a table with a metatable");
    }
    if (lua_outside_has(L)) {
        refuse(w, key, "a table that is reached from elsewhere too");
    }
    *add(w, 1) = LUA_TAG_TABLE;
    lua_pushvalue(L, -1);
    write_u32(w, lua_graph_add(L, &w->engine->graph, w->objects, w->numbers, w->written));
}

/* Of the value at the top of the stack, which is popped. */
static void write_value(const writer *w, const lua_key *key)
{
    switch (lua_type(w->L, -1)) {
    case LUA_TBOOLEAN:
        *add(w, 1) = lua_toboolean(w->L, -1) ? LUA_TAG_TRUE : LUA_TAG_FALSE;
        break;
    case LUA_TNUMBER:
        write_number(w, -1);
        break;
    case LUA_TSTRING:
        write_text(w, -1);
        break;
    case LUA_TTABLE:
        write_table_number(w, key);
        break;
    case LUA_TFUNCTION:
        refuse(w, key, "a function");
        break;
    case LUA_TTHREAD:
        refuse(w, key, "a coroutine");
        break;
    default:
        refuse(w, key, "a userdata");
    }
    lua_pop(w->L, 1);
}

static void write_entry(const writer *w, int table, const lua_key *key)
{
    lua_key_push(w->L, key);
    lua_pushvalue(w->L, -1);
    write_value(w, key);
    (void)lua_rawget(w->L, table);
    write_value(w, key);
}

static void collect(const writer *w, int table, lua_keys *keys)
{
    char path[LUA_PATH_BYTES];
    if (!lua_keys_collect(w->L, table, keys)) {
        lua_graph_path(w->L, &w->engine->graph, w->objects, w->written, "", "storage", path);
        lua_keys_refuse(w->L, path);
    }
    write_u32(w, (uint32_t)keys->count);
}

static void write_waiting(writer *w)
{
    lua_keys *keys = &w->engine->keys;
    while (w->written < w->engine->graph.count) {
        lua_rawgeti(w->L, w->objects, ++w->written);
        int table = lua_gettop(w->L);
        collect(w, table, keys);
        for (size_t i = 0; i < keys->count; i++) {
            write_entry(w, table, &keys->keys[i]);
        }
        lua_pop(w->L, 1);
    }
}

/* ---- watches: values of `storage` that have names in a desync report ---- */

static void push_watched(lua_State *L, int storage, const lua_watch *watch)
{
    lua_pushvalue(L, storage);
    for (uint32_t i = 0; i < watch->part_count; i++) {
        if (!lua_istable(L, -1)) {
            lua_pop(L, 1);
            lua_pushnil(L);
            return;
        }
        const char *part = watch->part[i];
        if (part[0] >= '0' && part[0] <= '9') {
            lua_pushinteger(L, strtol(part, NULL, 10));
        } else {
            lua_pushstring(L, part);
        }
        (void)lua_rawget(L, -2);
        lua_remove(L, -2);
    }
}

static void look_at_watch(lua_State *L, int storage, lua_watch *watch)
{
    if (watch->type == LS_FIELD_U64) {
        return; /* lua_storage.c hashes the entry as it writes it */
    }
    push_watched(L, storage, watch);
    watch->bits = 0;
    if (lua_type(L, -1) == LUA_TNUMBER) {
        lua_Number number = lua_tonumber(L, -1);
        lua_Integer integer = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        number = number == number ? number : 0;
        if (watch->type == LS_FIELD_F64) {
            memcpy(&watch->bits, &number, sizeof number);
        } else {
            watch->bits = (uint64_t)integer;
        }
    }
    lua_pop(L, 1);
}

static void lua_watch_write(lua_engine *engine, lua_State *L, int storage)
{
    uint8_t *at = engine->written.bytes + LUA_IMAGE_WATCHES_AT;
    for (uint32_t i = 0; i < engine->watch_count; i++) {
        look_at_watch(L, storage, &engine->watches[i]);
        ls_store_u64(at + (size_t)8 * i, engine->watches[i].bits);
    }
}

/* ---- storage ---- */

static lua_watch *watch_of_entry(lua_engine *engine, const lua_key *key)
{
    for (uint32_t i = 0; i < engine->watch_count && key->type == LUA_TSTRING; i++) {
        lua_watch *watch = &engine->watches[i];
        if (watch->type == LS_FIELD_U64 && strcmp(watch->part[0], key->text) == 0) {
            return watch;
        }
    }
    return NULL;
}

static void write_entries(writer *w, int storage)
{
    lua_engine *engine = w->engine;
    lua_keys *keys = &engine->entries;
    for (uint32_t i = 0; i < engine->watch_count; i++) {
        engine->watches[i].bits = 0;
    }
    collect(w, storage, keys);
    for (size_t i = 0; i < keys->count; i++) {
        size_t start = engine->written.size;
        uint32_t before = w->written;
        w->written = 1; /* `storage` itself, for names */
        write_entry(w, storage, &keys->keys[i]);
        w->written = before;
        write_waiting(w);
        lua_watch *watch = watch_of_entry(engine, &keys->keys[i]);
        if (watch) {
            watch->bits =
                ls_hash_bytes(engine->written.bytes + start, engine->written.size - start, 0);
        }
    }
}

uint32_t lua_storage_head_bytes(const lua_engine *engine)
{
    return LUA_IMAGE_WATCHES_AT + 8 * engine->watch_count;
}

static void write_head(const lua_engine *engine)
{
    uint8_t *bytes = engine->written.bytes;
    memset(bytes, 0, lua_storage_head_bytes(engine));
    ls_store_u64(bytes, engine->rng.state);
    ls_store_u64(bytes + 8, engine->rng.increment);
    ls_store_u32(bytes + LUA_IMAGE_FORMAT_AT, LUA_IMAGE_FORMAT);
    ls_store_u32(bytes + LUA_IMAGE_FAILURE_AT, (uint32_t)strlen(engine->failure));
}

void lua_storage_write(lua_engine *engine, lua_State *L, int storage)
{
    luaL_checkstack(L, 32, "saving");
    writer w = {.engine = engine, .L = L, .written = 1};
    storage = lua_absindex(L, storage);
    lua_newtable(L);
    w.objects = lua_gettop(L);
    lua_newtable(L);
    w.numbers = lua_gettop(L);
    engine->written.size = 0;
    engine->graph.count = 0;
    (void)add(&w, lua_storage_head_bytes(engine));
    if (!lua_istable(L, storage)) {
        lua_refuse(L, "'storage' is no table");
    }
    lua_pushvalue(L, storage);
    if (lua_getmetatable(L, -1) || lua_outside_has(L)) {
        lua_refuse(L, "'storage' has a metatable, or is reached from elsewhere too");
    }
    (void)lua_graph_add(L, &engine->graph, w.objects, w.numbers, 0);
    write_entries(&w, storage);
    write_head(engine);
    lua_watch_write(engine, L, storage);
    lua_pop(L, 2);
}

bool lua_storage_write_failed(lua_engine *engine)
{
    uint32_t head = lua_storage_head_bytes(engine);
    size_t bytes = strlen(engine->failure);
    engine->written.size = 0;
    if (!reserve(&engine->written, head + bytes)) {
        return false;
    }
    write_head(engine);
    memcpy(engine->written.bytes + head, engine->failure, bytes);
    engine->written.size = head + bytes;
    return true;
}

/* ---- reading ---- */

typedef struct reader {
    lua_State *L;
    const uint8_t *bytes;
    size_t size;
    size_t at; /* <= size */
    int objects;
    uint32_t count;
    uint32_t read;
} reader;

static int make_no_sense(const reader *r)
{
    return lua_refuse(r->L, "byte %d of a save makes no sense", (int)r->at);
}

/* The next bytes, where there are so many. */
static const uint8_t *next_bytes(reader *r, size_t count)
{
    if (count > r->size - r->at) {
        make_no_sense(r);
    }
    const uint8_t *at = r->bytes + r->at;
    r->at += count;
    return at;
}

static void push_table(reader *r)
{
    uint32_t number = ls_load_u32(next_bytes(r, 4));
    if (number == 0 || number > r->count + 1) {
        make_no_sense(r);
    }
    if (number > r->count) {
        lua_newtable(r->L);
        lua_rawseti(r->L, r->objects, ++r->count);
    }
    lua_rawgeti(r->L, r->objects, number);
}

static void push_value(reader *r)
{
    uint8_t tag = *next_bytes(r, 1);
    uint64_t bits =
        tag == LUA_TAG_INTEGER || tag == LUA_TAG_FLOAT ? ls_load_u64(next_bytes(r, 8)) : 0;
    uint32_t size = tag == LUA_TAG_STRING ? ls_load_u32(next_bytes(r, 4)) : 0;
    lua_Number number = 0;
    memcpy(&number, &bits, sizeof number);
    switch (tag) {
    case LUA_TAG_FALSE:
    case LUA_TAG_TRUE:
        lua_pushboolean(r->L, tag == LUA_TAG_TRUE);
        break;
    case LUA_TAG_INTEGER:
        lua_pushinteger(r->L, (lua_Integer)bits);
        break;
    case LUA_TAG_FLOAT:
        lua_pushnumber(r->L, number);
        break;
    case LUA_TAG_STRING:
        lua_pushlstring(r->L, (const char *)next_bytes(r, size), size);
        break;
    case LUA_TAG_TABLE:
        push_table(r);
        break;
    default:
        make_no_sense(r);
    }
}

static void read_entry(reader *r, int table)
{
    push_value(r);
    bool is_nan =
        lua_type(r->L, -1) == LUA_TNUMBER && lua_tonumber(r->L, -1) != lua_tonumber(r->L, -1);
    if (lua_istable(r->L, -1) || is_nan) {
        make_no_sense(r);
    }
    push_value(r);
    lua_rawset(r->L, table);
}

static void read_waiting(reader *r)
{
    while (r->read < r->count) {
        lua_rawgeti(r->L, r->objects, ++r->read);
        int table = lua_gettop(r->L);
        for (uint32_t left = ls_load_u32(next_bytes(r, 4)); left > 0; left--) {
            read_entry(r, table);
        }
        lua_pop(r->L, 1);
    }
}

void lua_storage_read(lua_engine *engine, lua_State *L, const uint8_t *bytes, size_t size)
{
    luaL_checkstack(L, 32, "loading");
    reader r = {.L = L, .bytes = bytes, .size = size, .count = 1, .read = 1};
    (void)next_bytes(&r, lua_storage_head_bytes(engine));
    lua_newtable(L);
    int storage = lua_gettop(L);
    lua_newtable(L);
    r.objects = lua_gettop(L);
    lua_pushvalue(L, storage);
    lua_rawseti(L, r.objects, 1);
    for (uint32_t left = ls_load_u32(next_bytes(&r, 4)); left > 0; left--) {
        read_entry(&r, storage);
        read_waiting(&r);
    }
    if (r.at != size) {
        make_no_sense(&r);
    }
    lua_settop(L, storage);
}

/* ---- what to watch ---- */

static void add_watch(lua_engine *engine, const lua_watch *path, ls_field_type type)
{
    if (engine->watch_count == LUA_WATCHES_MAX) {
        return;
    }
    engine->watches[engine->watch_count] = *path;
    engine->watches[engine->watch_count++].type = type;
}

static bool is_name(const lua_key *key)
{
    return key->type == LUA_TNUMBER ? !key->is_float && key->integer >= 0 && key->integer < 1000
                                    : lua_key_is_name(key, 20);
}

static void extend_path(lua_watch *path, const lua_key *key)
{
    char part[24];
    size_t used = strlen(path->path);
    if (key->type == LUA_TNUMBER) {
        snprintf(part, sizeof part, "%lld", (long long)key->integer);
        snprintf(path->path + used, sizeof path->path - used, "[%s]", part);
    } else {
        snprintf(part, sizeof part, "%s", key->text);
        snprintf(path->path + used, sizeof path->path - used, ".%s", part);
    }
    memcpy(path->part[path->part_count++], part, sizeof part);
}

/* Numbers in `storage` and in its tables, three names deep. `keys` are of the table at the top of
 * the stack. */
static void choose(lua_engine *engine, lua_State *L, const lua_watch *above, const lua_keys *keys)
{
    int table = lua_gettop(L);
    for (size_t i = 0; i < keys->count && engine->watch_count < LUA_WATCHES_MAX; i++) {
        if (!is_name(&keys->keys[i])) {
            continue;
        }
        lua_watch path = *above;
        extend_path(&path, &keys->keys[i]);
        lua_key_push(L, &keys->keys[i]);
        int type = lua_rawget(L, table);
        if (type == LUA_TNUMBER) {
            add_watch(engine, &path, lua_isinteger(L, -1) ? LS_FIELD_I64 : LS_FIELD_F64);
        } else if (path.part_count == 1) {
            add_watch(engine, &path, LS_FIELD_U64);
        }
        if (type == LUA_TTABLE && path.part_count < 3) {
            lua_keys *inner = &engine->inner[path.part_count - 1];
            if (lua_keys_collect(L, -1, inner)) {
                choose(engine, L, &path, inner);
            }
        }
        lua_pop(L, 1);
    }
}

void lua_watch_choose(lua_engine *engine, lua_State *L, int storage)
{
    engine->watches = lua_memory_make(LUA_WATCHES_MAX * sizeof engine->watches[0]);
    if (!engine->watches) {
        luaL_error(L, "not enough memory");
    }
    lua_pushvalue(L, storage);
    if (lua_keys_collect(L, -1, &engine->entries)) {
        choose(engine, L, &(lua_watch){.path = "storage"}, &engine->entries);
    }
    lua_pop(L, 1);
}
