/* All that a script reaches but its `storage` is fixed once the script is loaded: it is in no save,
 * and has to be the same on a machine that comes late. Each table has a fingerprint, and so have
 * the variables of each function; addresses count in it, since it is compared within one Lua alone.
 */
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <string.h>

/* Lua's own one: the plug-in's is blind (lua_platform.c). */
const void *__real_lua_topointer(lua_State *L, int index);

static const char KEY_OBJECTS = 'o';
static const char KEY_NUMBERS = 'n';

/* The globals are the first object, and the metatable of strings is the second. */
#define GLOBALS 1u

/* ---- fingerprints ---- */

/* A weak mix is enough for values that only this script chooses, and it is made for each constant
 * in every tick. */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t mixed = (a ^ (b << 32 | b >> 32)) * 0x9e3779b97f4a7c15u;
    return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
}

static uint64_t print_of_value(lua_State *L, int index)
{
    uint64_t bits = 0;
    uint64_t type = (uint64_t)lua_type(L, index);
    if (type == LUA_TBOOLEAN) {
        bits = (uint64_t)lua_toboolean(L, index);
    } else if (type != LUA_TNUMBER) {
        bits = (uint64_t)(uintptr_t)__real_lua_topointer(L, index);
    } else if (lua_isinteger(L, index)) {
        bits = (uint64_t)lua_tointeger(L, index);
    } else {
        lua_Number number = lua_tonumber(L, index);
        memcpy(&bits, &number, sizeof bits);
        type = LUA_NUMTYPES;
    }
    return mix(type, bits);
}

static bool is_storage(lua_State *L, int key)
{
    return lua_type(L, key) == LUA_TSTRING && strcmp(lua_tostring(L, key), "storage") == 0;
}

/* Of the object at the top of the stack, whatever the order of a table. */
static uint64_t print_of(lua_State *L, uint32_t number)
{
    int object = lua_gettop(L);
    uint64_t sum = 0;
    if (lua_isfunction(L, object)) {
        for (int i = 1; lua_getupvalue(L, object, i); i++) {
            sum += mix((uint64_t)i, print_of_value(L, -1));
            lua_pop(L, 1);
        }
        return sum;
    }
    lua_pushnil(L);
    while (lua_next(L, object)) {
        if (number != GLOBALS || !is_storage(L, -2)) {
            sum += mix(print_of_value(L, -2), print_of_value(L, -1));
        }
        lua_pop(L, 1);
    }
    if (lua_getmetatable(L, object)) {
        sum += print_of_value(L, -1);
        lua_pop(L, 1);
    }
    return sum;
}

/* ---- recording ---- */

typedef struct walk {
    lua_engine *engine;
    lua_State *L;
    int objects, numbers; /* places in the stack */
    uint32_t from;        /* the object that is looked into */
} walk;

static void refuse(const walk *w, const char *part, const char *what)
{
    char path[LUA_PATH_BYTES];
    lua_graph_path(w->L, &w->engine->outside, w->objects, w->from, part, "global", path);
    lua_refuse(w->L,
               "script: %s is %s, which changes by itself: a script keeps its state in "
               "'storage'",
               path, what);
}

/* Pops a value that is met, `part` of the object. A function of C without variables has no state.
 */
static void meet(const walk *w, const char *part)
{
    lua_State *L = w->L;
    int type = lua_type(L, -1);
    if (type == LUA_TTHREAD) {
        refuse(w, part, "a coroutine");
    } else if (type == LUA_TUSERDATA) {
        refuse(w, part, "an iterator of string.gmatch");
    }
    bool is_plain = lua_iscfunction(L, -1);
    if (is_plain && lua_getupvalue(L, -1, 1)) {
        lua_pop(L, 1);
        is_plain = false;
    }
    if (type == LUA_TTABLE || (type == LUA_TFUNCTION && !is_plain)) {
        (void)lua_graph_add(L, &w->engine->outside, w->objects, w->numbers, w->from);
    } else {
        lua_pop(L, 1);
    }
}

static void look_into_table(const walk *w, int table)
{
    lua_State *L = w->L;
    lua_keys *keys = &w->engine->entries;
    char part[48];
    char path[LUA_PATH_BYTES];
    if (!lua_keys_collect(L, table, keys)) {
        lua_graph_path(L, &w->engine->outside, w->objects, w->from, "", "global", path);
        lua_keys_refuse(L, path);
    }
    for (size_t i = 0; i < keys->count; i++) {
        lua_key_push(L, &keys->keys[i]);
        if (w->from == GLOBALS && is_storage(L, -1)) {
            lua_pop(L, 1);
            continue;
        }
        (void)lua_rawget(L, table);
        lua_key_name(&keys->keys[i], part);
        meet(w, part);
    }
    if (lua_getmetatable(L, table)) {
        meet(w, ".(metatable)");
    }
}

static void look_into(const walk *w)
{
    lua_State *L = w->L;
    int object = lua_gettop(L);
    const char *variable = NULL;
    if (lua_istable(L, object)) {
        look_into_table(w, object);
        return;
    }
    for (int i = 1; (variable = lua_getupvalue(L, object, i)) != NULL; i++) {
        meet(w, variable);
    }
}

void lua_outside_record(lua_engine *engine, lua_State *L)
{
    walk w = {.engine = engine, .L = L};
    lua_newtable(L);
    w.objects = lua_gettop(L);
    lua_newtable(L);
    w.numbers = lua_gettop(L);
    engine->outside.count = 0;
    lua_pushglobaltable(L);
    (void)lua_graph_add(L, &engine->outside, w.objects, w.numbers, 0);
    lua_pushliteral(L, "");
    (void)lua_getmetatable(L, -1);
    (void)lua_graph_add(L, &engine->outside, w.objects, w.numbers, 0);
    lua_pop(L, 1);
    while (w.from < engine->outside.count) {
        lua_rawgeti(L, w.objects, ++w.from);
        look_into(&w);
        lua_pop(L, 1);
    }
    uint64_t *prints = lua_memory_resize(engine->prints, w.from * sizeof *prints);
    if (!prints) {
        lua_refuse(L, "not enough memory");
    }
    engine->prints = prints;
    for (uint32_t i = 1; i <= w.from; i++) {
        lua_rawgeti(L, w.objects, i);
        prints[i - 1] = print_of(L, i);
        lua_pop(L, 1);
    }
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_NUMBERS);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_OBJECTS);
}

/* ---- checking ---- */

static void refuse_change(const walk *w)
{
    char path[LUA_PATH_BYTES] = "a global";
    if (lua_isfunction(w->L, -1)) {
        (void)snprintf(path, sizeof path, "a variable of a function");
    } else if (w->from != GLOBALS) {
        lua_graph_path(w->L, &w->engine->outside, w->objects, w->from, "", "global", path);
    }
    lua_refuse(w->L,
               "%s has changed since the script was loaded: a script keeps its state in 'storage'",
               path);
}

void lua_outside_check(lua_engine *engine, lua_State *L)
{
    luaL_checkstack(L, 32, "checking");
    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY_OBJECTS);
    walk w = {.engine = engine, .L = L, .objects = lua_gettop(L)};
    while (w.from < engine->outside.count) {
        lua_rawgeti(L, w.objects, ++w.from);
        if (print_of(L, w.from) != engine->prints[w.from - 1]) {
            refuse_change(&w);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

bool lua_outside_has(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY_NUMBERS);
    lua_pushvalue(L, -2);
    bool has = lua_istable(L, -2) && lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 2);
    return has;
}
