/* Lua coroutine: the stack of a suspended coroutine in an image. A stack that cannot be saved is an
 * error of the script, one that cannot be loaded an error of the bytes. Called by
 * lua_coroutine_save.c and lua_load.c. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_COROUTINE_H
#define LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_COROUTINE_H

#include "lockstep/tools/adapters/lua/lua_engine.h"

typedef struct lua_frame_image {
    uint32_t kind;
    uint32_t place;
    uint32_t instruction;
    uint32_t extra_arguments;
    uint32_t is_tail;
} lua_frame_image;

/* Makes the frames of a thread whose values are on its stack already; false: they do not fit. */
bool lua_coroutine_build(lua_engine *engine, lua_State *thread, const lua_frame_image *frames,
                         uint32_t count);

/* Whether a place in the stack is a variable that functions may share with a frame's own, which
 * then closes it when it returns. */
bool lua_coroutine_is_shared(lua_State *thread, uint32_t place);

/* Where the function lies that a Lua frame calls, by the instruction before the next one; 0: it
 * calls none there. */
uint32_t lua_coroutine_called_place(const lua_proto *proto, uint32_t place, uint32_t instruction);
/* Where a frame's function lay when it was called. */
uint32_t lua_coroutine_first_place(const lua_proto *proto, uint32_t place,
                                   uint32_t extra_arguments);

#endif
