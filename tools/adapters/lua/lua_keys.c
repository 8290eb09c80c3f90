/* The order of a table's keys: numbers by their worth, then strings byte by byte, then false and
 * true. Lua's own order depends on addresses and on a table's past. */
#include "lockstep/common/maths/stable_sort.h"
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <string.h>

/* The float is no whole number that an integer could hold: Lua makes such a key an integer. */
static int compare_mixed(lua_Integer integer, lua_Number number)
{
    if (number >= 0x1p63) {
        return -1;
    }
    if (number < -0x1p63) {
        return 1;
    }
    lua_Integer towards_zero = (lua_Integer)number;
    lua_Integer floor = towards_zero - ((lua_Number)towards_zero > number);
    return integer <= floor ? -1 : 1;
}

static int compare_numbers(const lua_key *a, const lua_key *b)
{
    if (!a->is_float && !b->is_float) {
        return (a->integer > b->integer) - (a->integer < b->integer);
    }
    if (a->is_float && b->is_float) {
        return (a->number > b->number) - (a->number < b->number);
    }
    return a->is_float ? -compare_mixed(b->integer, a->number)
                       : compare_mixed(a->integer, b->number);
}

static int compare_texts(const lua_key *a, const lua_key *b)
{
    size_t shorter = a->text_bytes < b->text_bytes ? a->text_bytes : b->text_bytes;
    int difference = memcmp(a->text, b->text, shorter);
    return difference ? difference
                      : (a->text_bytes > b->text_bytes) - (a->text_bytes < b->text_bytes);
}

static int rank(const lua_key *key)
{
    return key->type == LUA_TNUMBER ? 0 : key->type == LUA_TSTRING ? 1 : 2;
}

static int compare(const void *first, const void *second, const void *context)
{
    (void)context;
    const lua_key *a = first;
    const lua_key *b = second;
    if (rank(a) != rank(b)) {
        return rank(a) - rank(b);
    }
    if (a->type == LUA_TNUMBER) {
        return compare_numbers(a, b);
    }
    return a->type == LUA_TSTRING ? compare_texts(a, b) : a->flag - b->flag;
}

/* Without the key's type: of several such keys, which is met first differs between machines. */
int lua_keys_refuse(lua_State *L, const char *where)
{
    return lua_refuse(
        L,
        "%s: a key that is no number, string or boolean has no order that is the same "
        "on every machine",
        where);
}

static int refuse_here(lua_State *L)
{
    lua_Debug here;
    bool is_known = lua_getstack(L, 1, &here) && lua_getinfo(L, "l", &here);
    (void)lua_pushfstring(L, "script:%d", is_known ? here.currentline : 0);
    return lua_keys_refuse(L, lua_tostring(L, -1));
}

static bool read_key(lua_State *L, int index, lua_key *out)
{
    lua_key key = {.type = (uint8_t)lua_type(L, index)};
    if (key.type == LUA_TNUMBER) {
        key.is_float = !lua_isinteger(L, index);
        key.integer = key.is_float ? 0 : lua_tointeger(L, index);
        key.number = key.is_float ? lua_tonumber(L, index) : 0;
    } else if (key.type == LUA_TSTRING) {
        key.text = lua_tolstring(L, index, &key.text_bytes);
    } else {
        key.flag = lua_toboolean(L, index);
    }
    *out = key;
    return key.type == LUA_TNUMBER || key.type == LUA_TSTRING || key.type == LUA_TBOOLEAN;
}

static bool grow(lua_keys *keys)
{
    size_t capacity = keys->capacity ? keys->capacity * 2 : 64;
    lua_key *more = lua_memory_resize(keys->keys, capacity * sizeof *more);
    keys->keys = more ? more : keys->keys;
    lua_key *scratch = more ? lua_memory_resize(keys->scratch, capacity * sizeof *scratch) : NULL;
    keys->scratch = scratch ? scratch : keys->scratch;
    keys->capacity = scratch ? capacity : keys->capacity;
    return scratch != NULL;
}

static void sort(lua_keys *keys)
{
    for (size_t i = 1; i < keys->count; i++) {
        if (compare(&keys->keys[i - 1], &keys->keys[i], NULL) > 0) {
            ls_stable_sort(keys->keys, keys->count, sizeof keys->keys[0], keys->scratch, compare,
                           NULL);
            return;
        }
    }
}

bool lua_keys_collect(lua_State *L, int table, lua_keys *keys)
{
    table = lua_absindex(L, table);
    keys->count = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        if (keys->count == keys->capacity && !grow(keys)) {
            luaL_error(L, "not enough memory");
        }
        if (!read_key(L, -1, &keys->keys[keys->count])) {
            lua_pop(L, 1);
            return false;
        }
        keys->count++;
    }
    sort(keys);
    return true;
}

bool lua_key_is_name(const lua_key *key, size_t bytes_max)
{
    bool is = key->type == LUA_TSTRING && key->text_bytes > 0 && key->text_bytes < bytes_max &&
              !(key->text[0] >= '0' && key->text[0] <= '9');
    for (size_t i = 0; is && i < key->text_bytes; i++) {
        char c = key->text[i];
        is = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    return is;
}

void lua_key_name(const lua_key *key, char name[48])
{
    if (lua_key_is_name(key, 40)) {
        (void)snprintf(name, 48, ".%s", key->text);
    } else if (key->type == LUA_TSTRING) {
        (void)snprintf(name, 48, "['%.40s']", key->text);
    } else if (key->type == LUA_TBOOLEAN) {
        (void)snprintf(name, 48, "[%s]", key->flag ? "true" : "false");
    } else if (key->is_float) {
        (void)snprintf(name, 48, "[%.14g]", key->number);
    } else {
        (void)snprintf(name, 48, "[%lld]", (long long)key->integer);
    }
}

void lua_key_push(lua_State *L, const lua_key *key)
{
    if (key->type == LUA_TSTRING) {
        lua_pushlstring(L, key->text, key->text_bytes);
    } else if (key->type == LUA_TBOOLEAN) {
        lua_pushboolean(L, key->flag);
    } else if (key->is_float) {
        lua_pushnumber(L, key->number);
    } else {
        lua_pushinteger(L, key->integer);
    }
}

void lua_keys_free(lua_keys *keys)
{
    lua_memory_free(keys->keys);
    lua_memory_free(keys->scratch);
}

/* ---- pairs and next ---- */

/* Keys that are gone by now are passed over, new ones are not visited. */
static int pairs_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_rawgeti(L, 1, -1);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_rawgeti(L, 1, 0);
    lua_Integer done = lua_tointeger(L, 3);
    while (true) {
        done++;
        lua_settop(L, 2);
        if (lua_rawgeti(L, 1, done) == LUA_TNIL) {
            return 1;
        }
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 2) != LUA_TNIL) {
            break;
        }
    }
    lua_pushinteger(L, done);
    lua_rawseti(L, 1, 0);
    return 2;
}

/* The loop's own state: [0] how many keys are done, [-1] the table, [1 ..] its keys as they were
 * when the loop began. */
int lua_script_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_keys *keys = &lua_engine_of(L)->keys;
    if (!lua_keys_collect(L, 1, keys)) {
        return refuse_here(L);
    }
    int count = (int)keys->count;
    lua_pushcfunction(L, pairs_next);
    lua_createtable(L, count, 2);
    for (int i = 0; i < count; i++) {
        lua_key_push(L, &keys->keys[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, 0);
    lua_rawseti(L, -2, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, -1);
    lua_engine_charge(lua_engine_of(L), L, keys->count);
    return 2;
}

/* Looks at every key: for `next(t) == nil`, not for loops. */
int lua_script_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    bool has_first = lua_isnil(L, 2);
    lua_key after = {0};
    if (!has_first && !read_key(L, 2, &after)) {
        return refuse_here(L);
    }
    lua_key least = {.type = LUA_TNIL};
    uint64_t looked = 0;
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        looked++;
        lua_key key;
        if (!read_key(L, -1, &key)) {
            return refuse_here(L);
        }
        bool is_after = has_first || compare(&key, &after, NULL) > 0;
        if (is_after && (least.type == LUA_TNIL || compare(&key, &least, NULL) < 0)) {
            least = key;
        }
    }
    lua_engine_charge(lua_engine_of(L), L, looked);
    if (least.type == LUA_TNIL) {
        lua_pushnil(L);
        return 1;
    }
    lua_key_push(L, &least);
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}
