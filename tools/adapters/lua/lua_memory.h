/* Lua memory: blocks that grow, for Lua itself and for what is written of it: the one place of the
 * plug-in that asks the C heap. Called by the plug-in's other files. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_MEMORY_H
#define LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_MEMORY_H

#include <stddef.h>

/* Zeroed; NULL: there is none. */
void *lua_memory_make(size_t bytes);
/* Keeps the content; NULL leaves the block as it was. `bytes` > 0. */
void *lua_memory_resize(void *block, size_t bytes);
void lua_memory_free(void *block);

#endif
