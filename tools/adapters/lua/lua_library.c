/* The libraries of a script. They leave out functions that depend on the machine (io, os, clocks)
 * or on the collector (collectgarbage, __gc, weak tables), and those that make functions which
 * stand in no script (load). */
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <string.h>

typedef struct library {
    const char *name;
    lua_CFunction open;
} library;

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
    bool is_heard = engine->log_level >= 1; /* LS_LOG_WARNING: as instances are from the start */
    if (is_heard && !engine->is_view && !engine->trace.look) {
        lua_say("%s", lua_tostring(L, -1));
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
static void clear_signs_of_nans(lua_State *L)
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
    clear_signs_of_nans(L);
    return lua_engine_of(L)->format(L);
}

static int script_pack(lua_State *L)
{
    clear_signs_of_nans(L);
    return lua_engine_of(L)->pack(L);
}

/* ---- coroutines: they are Lua's own, but none runs for nothing ---- */

static int charged(lua_State *L)
{
    lua_engine_charge(lua_engine_of(L), L, 100);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static int script_wrap(lua_State *L)
{
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    lua_pushcclosure(L, charged, 1);
    return 1;
}

/* ---- opening ---- */

static void set(lua_State *L, int table, const char *name, lua_CFunction function)
{
    lua_pushcfunction(L, function);
    lua_setfield(L, table, name);
}

/* The library's own function becomes a variable of ours. */
static void cover(lua_State *L, int table, const char *name, lua_CFunction function)
{
    lua_getfield(L, table, name);
    lua_pushcclosure(L, function, 1);
    lua_setfield(L, table, name);
}

static void replace_functions(lua_State *L)
{
    lua_pushglobaltable(L);
    int globals = lua_gettop(L);
    set(L, globals, "next", lua_script_next);
    set(L, globals, "pairs", lua_script_pairs);
    set(L, globals, "print", script_print);
    set(L, globals, "setmetatable", script_setmetatable);
    set(L, globals, "sound", script_sound);
    lua_getglobal(L, "coroutine");
    cover(L, globals + 1, "resume", charged);
    cover(L, globals + 1, "wrap", script_wrap);
    lua_getglobal(L, "math");
    set(L, globals + 2, "random", script_random);
    lua_getglobal(L, "string");
    lua_getfield(L, globals + 3, "format");
    lua_engine_of(L)->format = lua_tocfunction(L, -1);
    set(L, globals + 3, "format", script_format);
    lua_getfield(L, globals + 3, "pack");
    lua_engine_of(L)->pack = lua_tocfunction(L, -1);
    set(L, globals + 3, "pack", script_pack);
    lua_settop(L, globals - 1);
}

void lua_library_open(lua_engine *engine)
{
    lua_State *L = engine->L;
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
    lua_newtable(L);
    lua_setglobal(L, "storage");
}
