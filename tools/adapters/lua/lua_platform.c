/* Lua platform: it stands between Lua and the machine. These hidden functions stand before the C
 * library's for the Lua that is linked into this plug-in: strict maths in place of libm's, clocks
 * that stand still, numbers as text, and no streams. Two functions of Lua's interface are wrapped
 * (--wrap) for the addresses that they give away.
 *
 * A third one is not of the interface: `#t` (luaH_getn), of which Lua promises no more than some
 * border where a table has holes. Which one it is depends on the table's past, and a table that was
 * loaded has another past than one that was played. It is one of all 5.4, asked by its name alone:
 * the table stays a pointer, and of a value one byte is read. tests/unit/test_lua.c holds it to
 * tables of every past. */
#include "lockstep/common/maths/strict_math.h"
#include "lockstep/common/system/stream_room.h"
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* ---- words for people ---- */

void lua_say(const char *format, ...)
{
    char line[512] = "lua: ";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line + 5, sizeof line - 5, format, arguments);
    va_end(arguments);
    if (ls_stream_has_room(LS_TTY_ERRORS)) {
        (void)dprintf(LS_TTY_ERRORS, "%s", line);
    }
}

/* ---- Lua ---- */

/* Numbers become text by this one format (LUA_NUMBER_FMT): a NaN has no sign then, which
 * processors give it as they like. Lua calls one of the two, as it was compiled. */
static int print_text(char *out, size_t size, const char *format, va_list arguments)
{
    va_list copy;
    va_copy(copy, arguments);
    bool is_nan = false;
    if (strcmp(format, LUA_NUMBER_FMT) == 0) {
        lua_Number number = va_arg(copy, lua_Number);
        is_nan = number != number;
    }
    va_end(copy);
    return is_nan ? vsnprintf(out, size, "nan", arguments)
                  : vsnprintf(out, size, format, arguments);
}

LUA_HIDDEN int snprintf(char *out, size_t size, const char *format, ...);
LUA_HIDDEN int snprintf(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = print_text(out, size, format, arguments);
    va_end(arguments);
    return written;
}

LUA_HIDDEN int __snprintf_chk(char *out, size_t size, int flag, size_t room, const char *format,
                              ...);
LUA_HIDDEN int __snprintf_chk(char *out, size_t size, int flag, size_t room, const char *format,
                              ...)
{
    va_list arguments;
    (void)flag;
    va_start(arguments, format);
    int written = print_text(out, size < room ? size : room, format, arguments);
    va_end(arguments);
    return written;
}

/* ---- Lua ---- */

LUA_HIDDEN uint64_t __wrap_luaH_getn(void *table);
LUA_HIDDEN const char *__wrap_luaL_tolstring(lua_State *L, int index, size_t *size);
LUA_HIDDEN const void *__wrap_lua_topointer(lua_State *L, int index);
const char *__real_luaL_tolstring(lua_State *L, int index, size_t *size);
const unsigned char *luaH_getint(void *table, lua_Integer key);

/* A value is 8 bytes and its tag, whose low half is 0 for nil of any kind. */
static bool is_there(void *table, uint64_t key)
{
    return (luaH_getint(table, (lua_Integer)key)[8] & 0x0f) != LUA_TNIL;
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

/* Without addresses. */
const char *__wrap_luaL_tolstring(lua_State *L, int index, size_t *size)
{
    int type = lua_type(L, index);
    if (type < LUA_TTABLE && type != LUA_TLIGHTUSERDATA) {
        return __real_luaL_tolstring(L, index, size);
    }
    if (luaL_callmeta(L, index, "__tostring")) {
        if (!lua_isstring(L, -1)) {
            luaL_error(L, "'__tostring' must return a string");
        }
    } else if (luaL_getmetafield(L, index, "__name") != LUA_TSTRING) {
        lua_pushstring(L, lua_typename(L, type));
    }
    return lua_tolstring(L, -1, size);
}

/* For "%p" of string.format. */
const void *__wrap_lua_topointer(lua_State *L, int index)
{
    (void)L;
    (void)index;
    return NULL;
}
