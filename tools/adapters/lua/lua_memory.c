/* Blocks that grow, for Lua itself and for what is written of it. */
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdlib.h>

void *lua_memory_make(size_t bytes)
{
    return calloc(1, bytes);
}

void *lua_memory_resize(void *block, size_t bytes)
{
    return realloc(block, bytes);
}

void lua_memory_free(void *block)
{
    free(block);
}
