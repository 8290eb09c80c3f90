/* Lua save: the parts that write an image share it. A writer raises a Lua error when
 * something cannot be saved. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_SAVE_H
#define LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_SAVE_H

#include "lockstep/tools/adapters/lua/lua_engine.h"

typedef struct lua_writer {
    lua_engine *engine;
    lua_State *L;
    int libraries, bases, originals, queue; /* places in L's stack */
    uint32_t object_count;
    uint32_t objects_written;
    uint32_t upvalue_count;
    char where[80]; /* for messages */
} lua_writer;

/* lua_write.c: bytes, objects by their address, and values. */
bool lua_write_reserve(lua_bytes *out, size_t more);
uint8_t *lua_write_add(lua_writer *w, size_t count);
void lua_write_u8(lua_writer *w, uint8_t value);
void lua_write_u32(lua_writer *w, uint32_t value);
void lua_write_value(lua_writer *w, int index);
void lua_write_refuse(lua_writer *w, const char *what);
/* The number of an address; `next` when it is a new one. */
uint32_t lua_write_numbered(lua_writer *w, lua_object_map *map, const void *address, uint32_t next);
const lua_object *lua_object_map_find(const lua_object_map *map, const void *address);
void lua_object_map_clear(lua_object_map *map);

/* lua_coroutine_save.c */
void lua_write_thread(lua_writer *w, lua_State *thread);

/* lua_watch.c */
void lua_write_watches(lua_writer *w);
/* Of the globals, whose table is at the top of the stack and whose keys are engine->changes. */
void lua_watch_choose(lua_engine *engine, lua_State *L);

#endif
