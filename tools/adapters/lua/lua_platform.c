/* Lua platform: it stands between Lua and the machine. These hidden functions stand before the C
 * library's for the Lua that is linked into this plug-in: strict maths in place of libm's, clocks
 * that stand still, and no streams. Four functions of Lua itself are wrapped (--wrap), whose
 * results depend on addresses or on a table's past. */
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/tools/adapters/lua/lua_internals.h"

#define LUA_HIDDEN __attribute__((visibility("hidden")))

/* ---- libm: what IEEE 754 does not fix ---- */

#define LUA_STRICT(name)                                                                           \
    LUA_HIDDEN lua_Number name(lua_Number x);                                                      \
    LUA_HIDDEN lua_Number name(lua_Number x)                                                       \
    {                                                                                              \
        return ls_strict_##name(x);                                                                \
    }
#define LUA_STRICT_OF_TWO(name)                                                                    \
    LUA_HIDDEN lua_Number name(lua_Number x, lua_Number y);                                        \
    LUA_HIDDEN lua_Number name(lua_Number x, lua_Number y)                                         \
    {                                                                                              \
        return ls_strict_##name(x, y);                                                             \
    }

LUA_STRICT(acos)
LUA_STRICT(asin)
LUA_STRICT(cos)
LUA_STRICT(cosh)
LUA_STRICT(exp)
LUA_STRICT(log)
LUA_STRICT(log2)
LUA_STRICT(log10)
LUA_STRICT(sin)
LUA_STRICT(sinh)
LUA_STRICT(tan)
LUA_STRICT(tanh)
LUA_STRICT_OF_TWO(atan2)
LUA_STRICT_OF_TWO(pow)

/* ---- clocks: table.sort would choose its pivots by them ---- */

#define LUA_STANDS_STILL(name)                                                                     \
    LUA_HIDDEN long name(long *now);                                                               \
    LUA_HIDDEN long name(long *now)                                                                \
    {                                                                                              \
        (void)now;                                                                                 \
        return 0;                                                                                  \
    }

LUA_STANDS_STILL(clock)
LUA_STANDS_STILL(time)

/* ---- streams: of functions that no script reaches, and not to be named from a plug-in ---- */

LUA_HIDDEN extern void *lua_no_stdin __asm__("stdin");
LUA_HIDDEN extern void *lua_no_stdout __asm__("stdout");
LUA_HIDDEN extern void *lua_no_stderr __asm__("stderr");
void *lua_no_stdin, *lua_no_stdout, *lua_no_stderr;

/* ---- Lua ---- */

LUA_HIDDEN uint64_t __wrap_luaH_getn(void *table);
LUA_HIDDEN const char *__wrap_luaL_tolstring(lua_State *L, int index, size_t *size);
LUA_HIDDEN void __wrap_luaO_tostring(lua_State *L, lua_slot *value);
LUA_HIDDEN const void *__wrap_lua_topointer(lua_State *L, int index);
const char *__real_luaL_tolstring(lua_State *L, int index, size_t *size);

static bool is_there(void *table, uint64_t key)
{
    return !lua_slot_is_empty(luaH_getint(table, (lua_Integer)key));
}

/* The length of a table with holes: Lua's own answer depends on how the table came to be. */
uint64_t __wrap_luaH_getn(void *table)
{
    uint64_t below = 0;
    uint64_t above = 1;
    while (is_there(table, above)) {
        below = above;
        if (above > (uint64_t)LUA_MAXINTEGER / 2) {
            return below;
        }
        above *= 2;
    }
    while (above - below > 1) {
        uint64_t middle = below + (above - below) / 2;
        if (is_there(table, middle)) {
            below = middle;
        } else {
            above = middle;
        }
    }
    return below;
}

/* Without addresses, and a NaN without the sign that processors give it as they like. */
const char *__wrap_luaL_tolstring(lua_State *L, int index, size_t *size)
{
    int type = lua_type(L, index);
    if (type == LUA_TNUMBER && lua_tonumber(L, index) != lua_tonumber(L, index)) {
        lua_pushliteral(L, "nan");
    } else if (type < LUA_TTABLE && type != LUA_TLIGHTUSERDATA) {
        return __real_luaL_tolstring(L, index, size);
    } else if (luaL_callmeta(L, index, "__tostring")) {
        if (!lua_isstring(L, -1)) {
            luaL_error(L, "'__tostring' must return a string");
        }
    } else if (luaL_getmetafield(L, index, "__name") != LUA_TSTRING) {
        lua_pushstring(L, lua_typename(L, type));
    }
    return lua_tolstring(L, -1, size);
}

/* For `..` and what else makes a string of a number. */
void __wrap_luaO_tostring(lua_State *L, lua_slot *value)
{
    if (value->tag == LUA_SLOT_FLOAT && value->value.number != value->value.number) {
        value->value.integer = 0x7ff8000000000000;
    }
    __real_luaO_tostring(L, value);
}

/* For "%p" of string.format. */
const void *__wrap_lua_topointer(lua_State *L, int index)
{
    (void)L;
    (void)index;
    return NULL;
}
