/* The values of `storage` that have names in a desync report. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- watches ---- */

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

void lua_watch_write(lua_engine *engine, lua_State *L, int storage)
{
    uint8_t *at = engine->written.bytes + LUA_IMAGE_WATCHES_AT;
    for (uint32_t i = 0; i < engine->watch_count; i++) {
        look_at_watch(L, storage, &engine->watches[i]);
        ls_store_u64(at + (size_t)8 * i, engine->watches[i].bits);
    }
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
