/* The bytes and values of an image, as lua_save.h says. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/tools/adapters/lua/lua_save.h"

#include <string.h>

/* ---- bytes ---- */

bool lua_write_reserve(lua_bytes *out, size_t more)
{
    if (out->capacity - out->size >= more) {
        return true;
    }
    size_t capacity = out->capacity ? out->capacity : 4096;
    while (capacity - out->size < more) {
        capacity *= 2;
    }
    uint8_t *bytes = lua_memory_resize(out->bytes, capacity);
    if (!bytes) {
        return false;
    }
    out->bytes = bytes;
    out->capacity = capacity;
    return true;
}

uint8_t *lua_write_add(lua_writer *w, size_t count)
{
    lua_bytes *out = &w->engine->written;
    size_t limit = (size_t)w->engine->config->params[LUA_PARAM_STATE] << 10;
    if (count > limit || out->size > limit - count) {
        luaL_error(w->L, "the state takes more than %d KiB (--param state=...)",
                   (int)w->engine->config->params[LUA_PARAM_STATE]);
    }
    if (!lua_write_reserve(out, count)) {
        luaL_error(w->L, "not enough memory");
    }
    uint8_t *at = out->bytes + out->size;
    out->size += count;
    return at;
}

void lua_write_u8(lua_writer *w, uint8_t value)
{
    *lua_write_add(w, 1) = value;
}

void lua_write_u32(lua_writer *w, uint32_t value)
{
    ls_store_u32(lua_write_add(w, 4), value);
}

static void write_u64(lua_writer *w, uint64_t value)
{
    ls_store_u64(lua_write_add(w, 8), value);
}

/* ---- objects by address ---- */

static uint32_t place_of(const lua_object_map *map, const void *address)
{
    uint64_t mixed = (uint64_t)(uintptr_t)address * 0x9E3779B97F4A7C15u;
    uint32_t place = (uint32_t)(mixed >> 32) & (map->capacity - 1);
    while (map->places[place].address && map->places[place].address != address) {
        place = (place + 1) & (map->capacity - 1);
    }
    return place;
}

static bool grow_map(lua_object_map *map)
{
    lua_object_map larger = {.capacity = map->capacity ? map->capacity * 2 : 256};
    larger.places = lua_memory_make(larger.capacity * sizeof larger.places[0]);
    if (!larger.places) {
        return false;
    }
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->places[i].address) {
            larger.places[place_of(&larger, map->places[i].address)] = map->places[i];
        }
    }
    larger.count = map->count;
    lua_memory_free(map->places);
    *map = larger;
    return true;
}

/* The number of an object; `next` when it is new. */
uint32_t lua_write_numbered(lua_writer *w, lua_object_map *map, const void *address, uint32_t next)
{
    if (map->count * 2 >= map->capacity && !grow_map(map)) {
        luaL_error(w->L, "not enough memory");
    }
    lua_object *object = &map->places[place_of(map, address)];
    if (!object->address) {
        *object = (lua_object){address, next};
        map->count++;
    }
    return object->number;
}

const lua_object *lua_object_map_find(const lua_object_map *map, const void *address)
{
    const lua_object *found = map->capacity ? &map->places[place_of(map, address)] : NULL;
    return found && found->address ? found : NULL;
}

void lua_object_map_clear(lua_object_map *map)
{
    if (map->count > 0) {
        memset(map->places, 0, map->capacity * sizeof map->places[0]);
    }
    map->count = 0;
}

/* ---- values ---- */

void lua_write_refuse(lua_writer *w, const char *what)
{
    luaL_error(w->L, "%s cannot be saved (in %s)", what, w->where);
}

/* The number of an object that is met; a new one, at `index`, waits for its turn. */
static bool write_object(lua_writer *w, uint8_t tag, int index)
{
    const void *address = __real_lua_topointer(w->L, index);
    uint32_t number = lua_write_numbered(w, &w->engine->objects, address, w->object_count);
    lua_write_u8(w, tag);
    lua_write_u32(w, number);
    if (number < w->object_count) {
        return false;
    }
    lua_pushvalue(w->L, index);
    lua_rawseti(w->L, w->queue, (lua_Integer)++w->object_count);
    return true;
}

static void write_number(lua_writer *w, int index)
{
    uint64_t bits = 0;
    if (lua_isinteger(w->L, index)) {
        lua_write_u8(w, LUA_TAG_INTEGER);
        bits = (uint64_t)lua_tointeger(w->L, index);
    } else {
        lua_Number number = lua_tonumber(w->L, index);
        memcpy(&bits, &number, sizeof bits);
        bits = number == number ? bits : 0x7ff8000000000000u;
        lua_write_u8(w, LUA_TAG_FLOAT);
    }
    write_u64(w, bits);
}

static void write_text(lua_writer *w, int index)
{
    size_t size = 0;
    const char *text = lua_tolstring(w->L, index, &size);
    lua_write_u8(w, LUA_TAG_STRING);
    if (size > UINT32_MAX) {
        lua_write_refuse(w, "a string of more than 4 GiB");
    }
    lua_write_u32(w, (uint32_t)size);
    memcpy(lua_write_add(w, size), text, size);
}

/* LUA_C_FUNCTIONS_MAX: it is none of the libraries'. */
static uint32_t c_function_number(const lua_engine *engine, lua_CFunction function)
{
    for (uint32_t i = 0; i < engine->c_function_count; i++) {
        if (engine->c_functions[i] == function) {
            return i;
        }
    }
    return LUA_C_FUNCTIONS_MAX;
}

static void write_function(lua_writer *w, int index)
{
    lua_CFunction function = lua_tocfunction(w->L, index);
    if (function == lua_script_wrapped) {
        (void)write_object(w, LUA_TAG_WRAPPED, index);
        return;
    }
    if (function) {
        uint32_t number = c_function_number(w->engine, function);
        if (number == LUA_C_FUNCTIONS_MAX) {
            lua_write_refuse(w, "an iterator of string.gmatch");
        }
        lua_write_u8(w, LUA_TAG_C);
        lua_write_u32(w, number);
        return;
    }
    if (!write_object(w, LUA_TAG_FUNCTION, index)) {
        return;
    }
    const lua_closure *closure = __real_lua_topointer(w->L, index);
    uint32_t number = 0;
    while (number < w->engine->proto_count && w->engine->protos[number] != closure->proto) {
        number++;
    }
    lua_write_u32(w, number);
}

void lua_write_value(lua_writer *w, int index)
{
    index = lua_absindex(w->L, index);
    luaL_checkstack(w->L, 8, "saving");
    switch (lua_type(w->L, index)) {
    case LUA_TNIL:
        lua_write_u8(w, LUA_TAG_NIL);
        break;
    case LUA_TBOOLEAN:
        lua_write_u8(w, lua_toboolean(w->L, index) ? LUA_TAG_TRUE : LUA_TAG_FALSE);
        break;
    case LUA_TNUMBER:
        write_number(w, index);
        break;
    case LUA_TSTRING:
        write_text(w, index);
        break;
    case LUA_TTABLE: {
        int library = lua_library_number(w->L, w->libraries, index);
        if (library) {
            lua_write_u8(w, LUA_TAG_LIBRARY);
            lua_write_u32(w, (uint32_t)library);
        } else {
            (void)write_object(w, LUA_TAG_TABLE, index);
        }
        break;
    }
    case LUA_TFUNCTION:
        write_function(w, index);
        break;
    case LUA_TTHREAD:
        (void)write_object(w, LUA_TAG_THREAD, index);
        break;
    default:
        lua_write_refuse(w, "a userdata");
    }
}
