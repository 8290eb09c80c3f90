/* Calls into Lua: protected, and within a budget of instructions. */
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdarg.h>

int lua_refuse(lua_State *L, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)lua_pushvfstring(L, format, arguments);
    va_end(arguments);
    return lua_error(L);
}

static void on_event(lua_State *L, lua_Debug *where);

static void set_hook(const lua_engine *engine, lua_State *L)
{
    int count = engine->is_budget_used ? 1 : LUA_HOOK_INSTRUCTIONS;
    int lines = engine->trace.look ? LUA_MASKLINE | LUA_MASKRET : 0;
    lua_sethook(L, on_event, LUA_MASKCOUNT | lines, count);
}

/* Once nothing is left every instruction fails, so that no pcall goes on. */
static void charge(lua_engine *engine, lua_State *L, int level, uint64_t instructions)
{
    if (instructions < engine->instructions_left) {
        engine->instructions_left -= instructions;
        return;
    }
    engine->instructions_left = 0;
    engine->is_budget_used = true;
    set_hook(engine, L);
    luaL_where(L, level);
    lua_pushfstring(L, "more than %I instructions in one step",
                    (LUAI_UACINT)engine->config->params[LUA_PARAM_INSTRUCTIONS]);
    lua_concat(L, 2);
    (void)lua_error(L);
}

void lua_engine_charge(lua_engine *engine, lua_State *L, uint64_t instructions)
{
    charge(engine, L, 1, instructions);
}

static void on_event(lua_State *L, lua_Debug *where)
{
    if (where->event == LUA_HOOKCOUNT) {
        charge(lua_engine_of(L), L, 0, LUA_HOOK_INSTRUCTIONS);
    } else {
        lua_engine_of(L)->trace.look(lua_engine_of(L), L, where);
    }
}

bool lua_engine_call(lua_engine *engine, lua_CFunction run, void *argument, uint64_t instructions,
                     ls_text *why)
{
    lua_State *L = engine->L;
    engine->instructions_left = instructions;
    engine->is_budget_used = false;
    set_hook(engine, L);
    lua_settop(L, 0);
    lua_pushcfunction(L, run);
    lua_pushlightuserdata(L, argument);
    int status = lua_pcall(L, 1, 0, 0);
    if (status != LUA_OK) {
        const char *message = lua_tostring(L, -1);
        ls_text_set(why, "%s", message ? message : "an error that is no text");
    } else if (engine->is_budget_used) { /* in a coroutine whose error was caught */
        ls_text_set(why, "more than %u instructions in one step",
                    (unsigned)engine->config->params[LUA_PARAM_INSTRUCTIONS]);
    }
    lua_settop(L, 0);
    return status == LUA_OK && !engine->is_budget_used;
}
