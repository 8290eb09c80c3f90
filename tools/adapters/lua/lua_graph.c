/* Objects as they are met, and the names of places in them. */
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <string.h>

uint32_t lua_graph_add(lua_State *L, lua_graph *graph, int objects, int numbers, uint32_t parent)
{
    lua_pushvalue(L, -1);
    if (lua_rawget(L, numbers) == LUA_TNUMBER) {
        uint32_t number = (uint32_t)lua_tointeger(L, -1);
        lua_pop(L, 2);
        return number;
    }
    lua_pop(L, 1);
    if (graph->count == graph->capacity) {
        uint32_t capacity = graph->capacity ? graph->capacity * 2 : 64;
        uint32_t *parents = lua_memory_resize(graph->parents, capacity * sizeof *parents);
        if (!parents) {
            luaL_error(L, "not enough memory");
        }
        graph->parents = parents;
        graph->capacity = capacity;
    }
    graph->parents[graph->count++] = parent;
    lua_pushvalue(L, -1);
    lua_rawseti(L, objects, graph->count);
    lua_pushinteger(L, graph->count);
    lua_rawset(L, numbers);
    return graph->count;
}

void lua_graph_free(lua_graph *graph)
{
    lua_memory_free(graph->parents);
}

/* ---- names ---- */

static void put_before(char path[LUA_PATH_BYTES], const char *part)
{
    char whole[LUA_PATH_BYTES];
    (void)snprintf(whole, sizeof whole, "%.48s%.100s", part, path);
    memcpy(path, whole, sizeof whole);
}

/* The place of the child, at the top of the stack, in a table or among a function's variables. */
static void find_part(lua_State *L, int parent, char name[48])
{
    int child = lua_gettop(L);
    lua_keys *keys = &lua_engine_of(L)->keys;
    (void)snprintf(name, 48, "[...]");
    const char *variable = NULL;
    for (int i = 1; lua_isfunction(L, parent) && (variable = lua_getupvalue(L, parent, i)); i++) {
        if (lua_rawequal(L, -1, child)) {
            (void)snprintf(name, 48, "%.40s", variable);
        }
        lua_pop(L, 1);
    }
    if (!lua_istable(L, parent) || !lua_keys_collect(L, parent, keys)) {
        return;
    }
    for (size_t i = 0; i < keys->count; i++) {
        lua_key_push(L, &keys->keys[i]);
        (void)lua_rawget(L, parent);
        bool is_it = lua_rawequal(L, -1, child);
        lua_pop(L, 1);
        if (is_it) {
            lua_key_name(&keys->keys[i], name);
            return;
        }
    }
    (void)snprintf(name, 48, ".(metatable)");
}

void lua_graph_path(lua_State *L, const lua_graph *graph, int objects, uint32_t object,
                    const char *part, const char *root, char path[LUA_PATH_BYTES])
{
    char name[48];
    memset(path, 0, LUA_PATH_BYTES);
    (void)snprintf(name, sizeof name, "%.47s", part);
    luaL_checkstack(L, 16, "naming");
    while (true) {
        put_before(path, name);
        uint32_t parent = graph->parents[object - 1];
        lua_rawgeti(L, objects, object);
        if (parent == 0 || lua_isfunction(L, -1)) {
            break;
        }
        lua_rawgeti(L, objects, parent);
        lua_insert(L, -2);
        find_part(L, lua_gettop(L) - 1, name);
        lua_pop(L, 2);
        object = parent;
    }
    bool is_variable = lua_isfunction(L, -1);
    lua_pop(L, 1);
    if (strcmp(root, "storage") == 0) {
        put_before(path, root);
        return;
    }
    char whole[LUA_PATH_BYTES];
    const char *kind = is_variable ? "variable" : object > 1 ? "metatable of strings" : root;
    (void)snprintf(whole, sizeof whole, "%s '%.100s'", kind, path[0] == '.' ? path + 1 : path);
    memcpy(path, whole, sizeof whole);
}
