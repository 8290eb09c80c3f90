/* The libraries of a script. They leave out functions that depend on the machine (io, os, clocks)
 * or on the collector (collectgarbage, __gc, weak tables), and those that make functions which
 * stand in no script (load). */
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include "lockstep/common/system/tty.h"

#include <stdio.h>
#include <string.h>

static const char KEY_LIBRARIES = 'l';
static const char KEY_BASES = 'b';

typedef struct library {
    const char *name;
    lua_CFunction open;
} library;

/* The seventh is the metatable of strings. */
static const library libraries[] = {
    {LUA_GNAME, luaopen_base},  {"coroutine", luaopen_coroutine}, {"math", luaopen_math},
    {"string", luaopen_string}, {"table", luaopen_table},         {"utf8", luaopen_utf8},
};
#define NAMED_LIBRARIES (sizeof libraries / sizeof libraries[0])

static const char *const left_out[][2] = {
    {LUA_GNAME, "collectgarbage"}, {LUA_GNAME, "dofile"},    {LUA_GNAME, "load"},
    {LUA_GNAME, "loadfile"},       {LUA_GNAME, "warn"},      {"string", "dump"},
    {"math", "randomseed"},        {"coroutine", "running"},
};

/* ---- functions of our own ---- */

static uint64_t random_bits(ls_rng *rng)
{
    uint64_t high = ls_rng_next(rng);
    uint64_t low = ls_rng_next(rng);
    return high << 32 | low;
}

/* Without bias, in 0 .. limit. */
static uint64_t random_up_to(ls_rng *rng, uint64_t limit)
{
    uint64_t mask = limit;
    for (unsigned shift = 1; shift < 64; shift *= 2) {
        mask |= mask >> shift;
    }
    uint64_t draw = random_bits(rng) & mask;
    while (draw > limit) {
        draw = random_bits(rng) & mask;
    }
    return draw;
}

static int script_random(lua_State *L)
{
    ls_rng *rng = &lua_engine_of(L)->rng;
    if (lua_gettop(L) == 0) {
        lua_pushnumber(L, (lua_Number)(random_bits(rng) >> 11) * 0x1p-53);
        return 1;
    }
    lua_Integer low = lua_gettop(L) > 1 ? luaL_checkinteger(L, 1) : 1;
    lua_Integer high = luaL_checkinteger(L, lua_gettop(L) > 1 ? 2 : 1);
    luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
    uint64_t draw = random_up_to(rng, (uint64_t)high - (uint64_t)low);
    lua_pushinteger(L, (lua_Integer)((uint64_t)low + draw));
    return 1;
}

static int script_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, lua_isnil(L, 2) || lua_istable(L, 2), 2, "nil or table");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) {
        return luaL_error(L, "cannot change a protected metatable");
    }
    static const char *const refused[] = {"__gc", "__mode"};
    for (int i = 0; i < 2 && lua_istable(L, 2); i++) {
        lua_pushstring(L, refused[i]);
        if (lua_rawget(L, 2) != LUA_TNIL) {
            return luaL_error(L,
                              "%s depends on when memory is collected, which differs between "
                              "machines",
                              refused[i]);
        }
    }
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

/* For who writes the script: ticks that are run again print again. */
static int script_print(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    int count = lua_gettop(L);
    luaL_Buffer line;
    luaL_buffinit(L, &line);
    for (int i = 1; i <= count; i++) {
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&line);
        luaL_addchar(&line, i < count ? '\t' : '\n');
    }
    luaL_pushresult(&line);
    if (engine->log_level >= 2 && !engine->is_view) { /* LS_LOG_INFO */
        (void)dprintf(LS_TTY_ERRORS, "lua: %s", lua_tostring(L, -1));
    }
    return 0;
}

static int script_sound(lua_State *L)
{
    lua_engine *engine = lua_engine_of(L);
    ls_sound cue = {.kind = LS_SOUND_CUE, .id = (uint32_t)luaL_checkinteger(L, 1)};
    cue.volume = ls_fixed_from_double(luaL_optnumber(L, 2, 1));
    cue.has_place = lua_gettop(L) >= 4;
    if (cue.has_place) {
        cue.x = ls_fixed_from_double(luaL_checknumber(L, 3));
        cue.y = ls_fixed_from_double(luaL_checknumber(L, 4));
    }
    if (engine->cue_count < LUA_CUES_MAX) {
        engine->cues[engine->cue_count++] = cue;
    }
    return 0;
}

/* The sign of a NaN is the processor's. */
static void take_signs_of_nans(lua_State *L)
{
    for (int i = 2; i <= lua_gettop(L); i++) {
        if (lua_type(L, i) == LUA_TNUMBER && lua_tonumber(L, i) != lua_tonumber(L, i)) {
            lua_pushnumber(L, (lua_Number)__builtin_nan(""));
            lua_replace(L, i);
        }
    }
}

static int script_format(lua_State *L)
{
    take_signs_of_nans(L);
    return lua_engine_of(L)->format(L);
}

static int script_pack(lua_State *L)
{
    take_signs_of_nans(L);
    return lua_engine_of(L)->pack(L);
}

/* ---- protected calls ---- */

int lua_pcall_continue(lua_State *L, int status, lua_KContext context)
{
    (void)context;
    if (status == LUA_OK || status == LUA_YIELD) {
        return lua_gettop(L);
    }
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

/* Lua's own, but with a continuation that has a name here. */
int lua_script_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int status = lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, lua_pcall_continue);
    return lua_pcall_continue(L, status, 0);
}

static int script_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    int arguments = lua_gettop(L) - 2;
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2);
    int status = lua_pcall(L, arguments, LUA_MULTRET, 2);
    if (status == LUA_OK) {
        return lua_gettop(L) - 2;
    }
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

/* ---- coroutines ---- */

/* The number of results, or -1 with the error's on the top of the stack. A coroutine that has
 * failed keeps nothing. */
static int resume(lua_State *L, lua_State *co, int arguments)
{
    if (!lua_checkstack(co, arguments)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_engine_charge(lua_engine_of(L), L, 100);
    bool is_resumable = lua_status(co) == LUA_YIELD || lua_gettop(co) > 0;
    lua_xmove(L, co, arguments);
    lua_engine_watch(lua_engine_of(L), co);
    int results = 0;
    int status = lua_resume(co, L, arguments, &results);
    if (status == LUA_OK || status == LUA_YIELD) {
        luaL_checkstack(L, results + 1, "too many results to resume");
        lua_xmove(co, L, results);
        return results;
    }
    lua_xmove(co, L, 1);
    if (is_resumable && lua_status(co) > LUA_YIELD) {
        (void)lua_resetthread(co);
        lua_settop(co, 0);
    }
    return -1;
}

static int script_resume(lua_State *L)
{
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "thread");
    int results = resume(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, results >= 0);
    int moved = results >= 0 ? results : 1;
    lua_insert(L, -(moved + 1));
    return moved + 1;
}

int lua_script_wrapped(lua_State *L)
{
    int results = resume(L, lua_tothread(L, lua_upvalueindex(1)), lua_gettop(L));
    if (results >= 0) {
        return results;
    }
    if (lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int script_wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, lua_script_wrapped, 1);
    return 1;
}

/* ---- opening ---- */

static void set(lua_State *L, int table, const char *name, lua_CFunction function)
{
    lua_pushcfunction(L, function);
    lua_setfield(L, table, name);
}

static void replace_functions(lua_State *L)
{
    lua_pushglobaltable(L);
    int globals = lua_gettop(L);
    set(L, globals, "next", lua_script_next);
    set(L, globals, "pairs", lua_script_pairs);
    set(L, globals, "pcall", lua_script_pcall);
    set(L, globals, "print", script_print);
    set(L, globals, "setmetatable", script_setmetatable);
    set(L, globals, "sound", script_sound);
    set(L, globals, "xpcall", script_xpcall);
    lua_getglobal(L, "coroutine");
    set(L, lua_gettop(L), "resume", script_resume);
    set(L, lua_gettop(L), "wrap", script_wrap);
    lua_getfield(L, -1, "yield");
    lua_engine_of(L)->yield = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    lua_getglobal(L, "math");
    set(L, lua_gettop(L), "random", script_random);
    lua_getglobal(L, "string");
    lua_getfield(L, -1, "format");
    lua_engine_of(L)->format = lua_tocfunction(L, -1);
    set(L, globals + 3, "format", script_format);
    lua_getfield(L, globals + 3, "pack");
    lua_engine_of(L)->pack = lua_tocfunction(L, -1);
    set(L, globals + 3, "pack", script_pack);
    lua_settop(L, globals - 1);
}

static void open_all(lua_State *L)
{
    for (size_t i = 0; i < NAMED_LIBRARIES; i++) {
        luaL_requiref(L, libraries[i].name, libraries[i].open, 1);
        lua_pop(L, 1);
    }
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        lua_getglobal(L, left_out[i][0]);
        lua_pushnil(L);
        lua_setfield(L, -2, left_out[i][1]);
        lua_pop(L, 1);
    }
    replace_functions(L);
    /* Messages would name a function by the first place that is found for it, in any order. */
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}

static void push_libraries(lua_State *L)
{
    lua_createtable(L, LUA_LIBRARY_COUNT, 0);
    for (size_t i = 0; i < NAMED_LIBRARIES; i++) {
        lua_getglobal(L, libraries[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_rawseti(L, -3, LUA_LIBRARY_COUNT);
    lua_pop(L, 1);
}

static void copy_table(lua_State *L, int from, int to)
{
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

static void push_copies(lua_State *L, int list)
{
    lua_createtable(L, LUA_LIBRARY_COUNT, 0);
    for (int i = 1; i <= LUA_LIBRARY_COUNT; i++) {
        lua_rawgeti(L, list, i);
        lua_newtable(L);
        copy_table(L, lua_gettop(L) - 1, lua_gettop(L));
        lua_rawseti(L, -3, i);
        lua_pop(L, 1);
    }
}

static void name_function(lua_engine *engine, const char *name, lua_CFunction function)
{
    for (uint32_t i = 0; i < engine->c_function_count; i++) {
        if (engine->c_functions[i] == function) {
            return;
        }
    }
    if (engine->c_function_count == LUA_C_FUNCTIONS_MAX) {
        luaL_error(engine->L, "Lua has more functions than expected");
    }
    engine->c_names[engine->c_function_count] = name;
    engine->c_functions[engine->c_function_count++] = function;
}

/* Names are in order of the libraries' keys, so that they have the same numbers everywhere. */
static void name_functions(lua_engine *engine, lua_State *L, int list)
{
    for (int i = 1; i <= LUA_LIBRARY_COUNT; i++) {
        lua_rawgeti(L, list, i);
        lua_keys_collect(L, -1, &engine->keys);
        for (size_t k = 0; k < engine->keys.count; k++) {
            lua_key_push(L, &engine->keys.keys[k]);
            if (lua_rawget(L, -2) == LUA_TFUNCTION) {
                name_function(engine, engine->keys.keys[k].text, lua_tocfunction(L, -1));
            }
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}

/* Loops of a suspended coroutine hold these. */
static void name_iterators(lua_engine *engine, lua_State *L)
{
    name_function(engine, "pairs loop", lua_script_pairs_next);
    lua_getglobal(L, "ipairs");
    lua_newtable(L);
    lua_call(L, 1, 1);
    name_function(engine, "ipairs loop", lua_tocfunction(L, -1));
    lua_getglobal(L, "utf8");
    lua_getfield(L, -1, "codes");
    lua_pushliteral(L, "");
    lua_call(L, 1, 1);
    name_function(engine, "utf8.codes loop", lua_tocfunction(L, -1));
    lua_pop(L, 3);
}

void lua_library_open(lua_engine *engine)
{
    lua_State *L = engine->L;
    open_all(L);
    push_libraries(L);
    int list = lua_gettop(L);
    name_functions(engine, L, list);
    name_iterators(engine, L);
    push_copies(L, list);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_BASES);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_LIBRARIES);
}

void lua_library_push(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY_LIBRARIES);
}

void lua_library_push_bases(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &KEY_BASES);
}

int lua_library_number(lua_State *L, int list, int value)
{
    int found = 0;
    for (int i = 1; i <= LUA_LIBRARY_COUNT && !found; i++) {
        lua_rawgeti(L, list, i);
        found = lua_rawequal(L, -1, value) ? i : 0;
        lua_pop(L, 1);
    }
    return found;
}

/* Libraries name each other: _G.math, _G._G. A library of `from` at the top becomes the one of the
 * same number in `to`. */
static void translate(lua_State *L, int from, int to)
{
    int number = lua_istable(L, -1) ? lua_library_number(L, from, lua_gettop(L)) : 0;
    if (number) {
        lua_pop(L, 1);
        lua_rawgeti(L, to, number);
    }
}

/* The bases hold the libraries of the first hour: they are kept in place of their copies. */
void lua_library_push_originals(lua_State *L, int bases)
{
    lua_createtable(L, LUA_LIBRARY_COUNT, 0);
    lua_rawgeti(L, bases, 1);
    for (size_t i = 0; i < NAMED_LIBRARIES; i++) {
        lua_getfield(L, -1, libraries[i].name);
        lua_rawseti(L, -3, (lua_Integer)i + 1);
    }
    lua_pop(L, 1);
}

void lua_library_push_new(lua_State *L)
{
    lua_library_push_bases(L);
    int bases = lua_gettop(L);
    lua_library_push_originals(L, bases);
    int originals = bases + 1;
    push_copies(L, bases);
    int copies = bases + 2;
    for (int i = 1; i <= LUA_LIBRARY_COUNT; i++) {
        lua_rawgeti(L, bases, i);
        lua_rawgeti(L, copies, i);
        lua_pushnil(L);
        while (lua_next(L, copies + 1)) {
            translate(L, originals, copies);
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, copies + 2);
        }
        lua_settop(L, copies);
    }
    lua_replace(L, bases);
    lua_settop(L, bases);
}

/* Fails at nothing: all keys are there. */
void lua_library_use(lua_State *L)
{
    lua_rawgeti(L, -1, 1);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_pushliteral(L, "");
    lua_rawgeti(L, -2, LUA_LIBRARY_COUNT);
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &KEY_LIBRARIES);
}
