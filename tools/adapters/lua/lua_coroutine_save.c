#include "lockstep/tools/adapters/lua/lua_coroutine.h"
#include "lockstep/tools/adapters/lua/lua_save.h"

static void refuse_waiting(lua_writer *w, const char *where)
{
    luaL_error(w->L, "a coroutine that waits within %s cannot be saved (in %s)", where, w->where);
}

static lua_CFunction c_function_of(lua_State *L, const lua_slot *slot)
{
    lua_push_slot(L, slot);
    lua_CFunction function = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    return function;
}

static uint32_t first_place(const lua_thread *thread, const lua_frame *frame)
{
    uint32_t place = (uint32_t)(frame->function - thread->stack);
    if (frame->status & LUA_FRAME_IS_C) {
        return place;
    }
    const lua_closure *closure = frame->function->value.object;
    return lua_coroutine_first_place(closure->proto, place, (uint32_t)frame->u.lua.extra_arguments);
}

static void write_lua_frame(lua_writer *w, const lua_thread *thread, const lua_frame *frame)
{
    const lua_closure *closure = frame->function->value.object;
    uint32_t place = (uint32_t)(frame->function - thread->stack);
    uint32_t instruction = (uint32_t)(frame->u.lua.saved_pc - closure->proto->code);
    if (frame == thread->frame || lua_coroutine_called_place(closure->proto, place, instruction) !=
                                      first_place(thread, frame->next)) {
        refuse_waiting(w, "a metamethod");
    }
    lua_write_u8(w, LUA_FRAME_LUA);
    lua_write_u32(w, place);
    lua_write_u32(w, instruction);
    lua_write_u32(w, closure->proto->is_vararg ? (uint32_t)frame->u.lua.extra_arguments : 0);
    lua_write_u8(w, (frame->status & LUA_FRAME_IS_TAIL) != 0);
}

static void write_c_frame(lua_writer *w, const lua_thread *thread, const lua_frame *frame)
{
    lua_CFunction function = c_function_of(w->L, frame->function);
    bool is_last = frame == thread->frame;
    bool is_yield = is_last && function == w->engine->yield;
    bool is_pcall =
        !is_last && function == lua_script_pcall && (frame->status & LUA_FRAME_IS_PCALL) != 0;
    if (!is_yield && !is_pcall) {
        refuse_waiting(w, "a function of a library");
    }
    lua_write_u8(w, is_yield ? LUA_FRAME_YIELD : LUA_FRAME_PCALL);
    lua_write_u32(w, (uint32_t)(frame->function - thread->stack));
}

/* Pushing a value may move the stack: it is looked up anew for each. */
static void write_suspended(lua_writer *w, lua_thread *thread)
{
    if (thread->tbc_list != thread->stack) {
        refuse_waiting(w, "the scope of a variable to be closed");
    }
    uint32_t values = (uint32_t)(thread->top - thread->stack) - 1;
    lua_write_u32(w, values);
    for (uint32_t i = 0; i < values; i++) {
        luaL_checkstack(w->L, 8, "saving");
        lua_push_slot(w->L, &thread->stack[1 + i]);
        lua_write_value(w, -1);
        lua_pop(w->L, 1);
    }
    uint32_t frames = 0;
    for (lua_frame *frame = thread->frame; frame != &thread->base_frame; frame = frame->previous) {
        frames++;
    }
    lua_write_u32(w, frames);
    lua_frame *frame = &thread->base_frame;
    for (uint32_t i = 0; i < frames; i++) {
        frame = frame->next;
        if (frame->status & LUA_FRAME_IS_C) {
            write_c_frame(w, thread, frame);
        } else {
            write_lua_frame(w, thread, frame);
        }
    }
}

void lua_write_thread(lua_writer *w, lua_State *L)
{
    lua_thread *thread = lua_thread_of(L);
    if (thread->status == LUA_YIELD) {
        lua_write_u8(w, LUA_THREAD_SUSPENDED);
        write_suspended(w, thread);
    } else if (thread->frame != &thread->base_frame) {
        refuse_waiting(w, "its own step");
    } else if (lua_gettop(L) == 0) {
        lua_write_u8(w, LUA_THREAD_DEAD);
    } else {
        lua_write_u8(w, LUA_THREAD_NEW);
        lua_push_slot(w->L, thread->top - 1);
        lua_write_value(w, -1);
        lua_pop(w->L, 1);
    }
}
