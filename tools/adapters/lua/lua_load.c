/* Reads an image of a script's state: builds it beside the one that is in use. The bytes are
 * another machine's: what makes no sense is an error, and what is not written as this program would
 * write it is found by writing it again. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/tools/adapters/lua/lua_coroutine.h"

#include <string.h>

typedef struct reader {
    lua_engine *engine;
    lua_State *L;
    const uint8_t *bytes;
    size_t size;
    size_t at;
    int libraries; /* places in L's stack */
    int objects;
    uint32_t object_count;
    uint32_t objects_read;
    uint32_t upvalue_count;
} reader;

static void refuse(const reader *r)
{
    luaL_error(r->L, "byte %d of a save makes no sense", (int)r->at);
}

static const uint8_t *take(reader *r, size_t count)
{
    if (count > r->size - r->at) {
        refuse(r);
    }
    const uint8_t *at = r->bytes + r->at;
    r->at += count;
    return at;
}

static uint8_t read_u8(reader *r)
{
    return *take(r, 1);
}

static uint32_t read_u32(reader *r)
{
    return ls_load_u32(take(r, 4));
}

/* ---- values ---- */

static void push_closure(reader *r, uint32_t number)
{
    if (number >= r->engine->proto_count) {
        refuse(r);
    }
    lua_proto *proto = r->engine->protos[number];
    lua_closure *closure = luaF_newLclosure(r->L, proto->upvalue_count);
    closure->proto = proto;
    lua_thread *thread = lua_thread_of(r->L);
    thread->top->value.object = closure;
    thread->top->tag = LUA_SLOT_LUA_FUNCTION;
    thread->top++;
    luaF_initupvals(r->L, closure);
}

static void push_new_object(reader *r, uint8_t tag)
{
    switch (tag) {
    case LUA_TAG_TABLE:
        lua_newtable(r->L);
        break;
    case LUA_TAG_FUNCTION:
        push_closure(r, read_u32(r));
        break;
    case LUA_TAG_WRAPPED:
        lua_pushnil(r->L);
        lua_pushcclosure(r->L, lua_script_wrapped, 1);
        break;
    default:
        (void)lua_newthread(r->L);
    }
}

static void push_object(reader *r, uint8_t tag)
{
    uint32_t number = read_u32(r);
    if (number < r->object_count) {
        lua_rawgeti(r->L, r->objects, (lua_Integer)number + 1);
        return;
    }
    if (number > r->object_count) {
        refuse(r);
    }
    push_new_object(r, tag);
    lua_pushvalue(r->L, -1);
    lua_rawseti(r->L, r->objects, (lua_Integer)++r->object_count);
}

static void push_c_function(reader *r)
{
    uint32_t number = read_u32(r);
    if (number >= r->engine->c_function_count) {
        refuse(r);
    }
    lua_pushcfunction(r->L, r->engine->c_functions[number]);
}

static void push_library(reader *r)
{
    uint32_t number = read_u32(r);
    if (number < 1 || number > LUA_LIBRARY_COUNT) {
        refuse(r);
    }
    lua_rawgeti(r->L, r->libraries, number);
}

static void push_float(reader *r)
{
    uint64_t bits = ls_load_u64(take(r, 8));
    lua_Number number = 0;
    memcpy(&number, &bits, sizeof number);
    lua_pushnumber(r->L, number);
}

static void push_text(reader *r)
{
    uint32_t size = read_u32(r);
    const uint8_t *text = take(r, size);
    lua_pushlstring(r->L, (const char *)text, size);
}

static void push_value(reader *r)
{
    luaL_checkstack(r->L, 8, "loading");
    uint8_t tag = read_u8(r);
    switch (tag) {
    case LUA_TAG_NIL:
        lua_pushnil(r->L);
        break;
    case LUA_TAG_FALSE:
    case LUA_TAG_TRUE:
        lua_pushboolean(r->L, tag == LUA_TAG_TRUE);
        break;
    case LUA_TAG_INTEGER:
        lua_pushinteger(r->L, (lua_Integer)ls_load_u64(take(r, 8)));
        break;
    case LUA_TAG_FLOAT:
        push_float(r);
        break;
    case LUA_TAG_STRING:
        push_text(r);
        break;
    case LUA_TAG_C:
        push_c_function(r);
        break;
    case LUA_TAG_LIBRARY:
        push_library(r);
        break;
    case LUA_TAG_TABLE:
    case LUA_TAG_FUNCTION:
    case LUA_TAG_WRAPPED:
    case LUA_TAG_THREAD:
        push_object(r, tag);
        break;
    default:
        refuse(r);
    }
}

/* ---- objects ---- */

static void read_metatable(reader *r, int table)
{
    push_value(r);
    if (lua_isnil(r->L, -1)) {
        lua_pop(r->L, 1);
        return;
    }
    if (!lua_istable(r->L, -1)) {
        refuse(r);
    }
    lua_pushliteral(r->L, "__gc");
    if (lua_rawget(r->L, -2) != LUA_TNIL) {
        refuse(r);
    }
    lua_pop(r->L, 1);
    lua_setmetatable(r->L, table);
}

static void read_entries(reader *r, int table)
{
    uint32_t count = read_u32(r);
    for (uint32_t i = 0; i < count; i++) {
        push_value(r);
        int type = lua_type(r->L, -1);
        bool is_nan = type == LUA_TNUMBER && lua_tonumber(r->L, -1) != lua_tonumber(r->L, -1);
        if ((type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN) || is_nan) {
            refuse(r);
        }
        push_value(r);
        lua_rawset(r->L, table);
    }
}

static void add_use(reader *r, uint32_t index, uint32_t upvalue)
{
    lua_engine *engine = r->engine;
    if (engine->use_count == engine->use_capacity) {
        uint32_t capacity = engine->use_capacity ? engine->use_capacity * 2 : 64;
        lua_upvalue_use *uses = lua_memory_resize(engine->uses, capacity * sizeof *uses);
        if (!uses) {
            luaL_error(r->L, "not enough memory");
        }
        engine->uses = uses;
        engine->use_capacity = capacity;
    }
    uint32_t place = engine->use_count++;
    lua_upvalue_use *uses = engine->uses;
    uses[place] =
        (lua_upvalue_use){.object = r->objects_read - 1, .index = index, .upvalue = upvalue};
    if (upvalue == r->upvalue_count) {
        uses[upvalue].first = place;
        uses[upvalue].is_linked = false;
    } else {
        uses[uses[upvalue].newest].next = place;
    }
    uses[upvalue].newest = place;
}

static void read_upvalue(reader *r, int function, uint32_t index)
{
    uint32_t number = read_u32(r);
    if (number > r->upvalue_count) {
        refuse(r);
    }
    add_use(r, index, number);
    if (number == r->upvalue_count) {
        r->upvalue_count++;
        push_value(r);
        (void)lua_setupvalue(r->L, function, (int)index + 1);
        return;
    }
    const lua_upvalue_use *use = &r->engine->uses[r->engine->uses[number].first];
    lua_rawgeti(r->L, r->objects, (lua_Integer)use->object + 1);
    lua_upvaluejoin(r->L, function, (int)index + 1, lua_gettop(r->L), (int)use->index + 1);
    lua_pop(r->L, 1);
}

static void read_function(reader *r, int function)
{
    if (lua_iscfunction(r->L, function)) {
        push_value(r);
        if (!lua_isthread(r->L, -1)) {
            refuse(r);
        }
        (void)lua_setupvalue(r->L, function, 1);
        return;
    }
    const lua_closure *closure = __real_lua_topointer(r->L, function);
    for (uint32_t i = 0; i < closure->upvalue_count; i++) {
        read_upvalue(r, function, i);
    }
}

static lua_frame_image read_frame(reader *r)
{
    lua_frame_image frame = {.kind = read_u8(r)};
    frame.place = read_u32(r);
    if (frame.kind == LUA_FRAME_LUA) {
        frame.instruction = read_u32(r);
        frame.extra_arguments = read_u32(r);
        frame.is_tail = read_u8(r);
    }
    return frame;
}

static void read_suspended(reader *r, lua_State *thread)
{
    uint32_t values = read_u32(r);
    if (values > r->size - r->at || !lua_checkstack(thread, (int)values + 1)) {
        refuse(r);
    }
    for (uint32_t i = 0; i < values; i++) {
        push_value(r);
        lua_xmove(r->L, thread, 1);
    }
    uint32_t count = read_u32(r);
    if (count > (r->size - r->at) / 5) {
        refuse(r);
    }
    lua_frame_image *frames = lua_newuserdatauv(r->L, (count + 1) * sizeof *frames, 0);
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = read_frame(r);
    }
    if (!lua_coroutine_build(r->engine, thread, frames, count)) {
        refuse(r);
    }
    lua_pop(r->L, 1);
}

static void read_thread(reader *r, lua_State *thread)
{
    uint8_t status = read_u8(r);
    if (status == LUA_THREAD_SUSPENDED) {
        read_suspended(r, thread);
    } else if (status == LUA_THREAD_NEW) {
        push_value(r);
        if (!lua_isfunction(r->L, -1)) {
            refuse(r);
        }
        lua_xmove(r->L, thread, 1);
    } else if (status != LUA_THREAD_DEAD) {
        refuse(r);
    }
}

static void read_object(reader *r, int index)
{
    switch (lua_type(r->L, index)) {
    case LUA_TTABLE:
        read_metatable(r, index);
        read_entries(r, index);
        break;
    case LUA_TTHREAD:
        read_thread(r, lua_tothread(r->L, index));
        break;
    default:
        read_function(r, index);
    }
}

static void read_waiting(reader *r)
{
    while (r->objects_read < r->object_count) {
        lua_rawgeti(r->L, r->objects, (lua_Integer)++r->objects_read);
        read_object(r, lua_gettop(r->L));
        lua_settop(r->L, r->objects);
    }
}

/* ---- libraries and links ---- */

static void read_change(reader *r, int library)
{
    push_value(r);
    int type = lua_type(r->L, -1);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN) {
        refuse(r);
    }
    if (type == LUA_TNUMBER && lua_tonumber(r->L, -1) != lua_tonumber(r->L, -1)) {
        refuse(r);
    }
    push_value(r);
    lua_rawset(r->L, library);
}

static void read_library(reader *r, int number)
{
    lua_rawgeti(r->L, r->libraries, number);
    int library = lua_gettop(r->L);
    lua_insert(r->L, r->objects); /* below the objects, which read_waiting keeps */
    library = r->objects++;
    read_metatable(r, library);
    read_waiting(r);
    uint32_t count = read_u32(r);
    for (uint32_t i = 0; i < count; i++) {
        read_change(r, library);
        read_waiting(r);
    }
    lua_remove(r->L, library);
    r->objects--;
}

static void link_upvalue(reader *r, lua_upvalue *upvalue, uint32_t number)
{
    lua_upvalue_use *uses = r->engine->uses;
    if (uses[number].is_linked) {
        refuse(r);
    }
    uses[number].is_linked = true;
    uint32_t place = uses[number].first;
    do {
        lua_rawgeti(r->L, r->objects, (lua_Integer)uses[place].object + 1);
        lua_closure *closure = (lua_closure *)(uintptr_t)__real_lua_topointer(r->L, -1);
        closure->upvalues[uses[place].index] = upvalue;
        lua_pop(r->L, 1);
        place = uses[place].next;
    } while (place != 0);
}

/* Closures are new and the collector stands still: it need not be told. */
static void read_links(reader *r)
{
    uint32_t count = read_u32(r);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t object = read_u32(r);
        uint32_t place = read_u32(r);
        uint32_t number = read_u32(r);
        if (object >= r->object_count || number >= r->upvalue_count) {
            refuse(r);
        }
        lua_rawgeti(r->L, r->objects, (lua_Integer)object + 1);
        lua_State *thread = lua_tothread(r->L, -1);
        if (!thread || lua_status(thread) != LUA_YIELD || place == 0) {
            refuse(r);
        }
        lua_thread *inside = lua_thread_of(thread);
        if (place >= (uint32_t)(inside->top - inside->stack) ||
            !lua_coroutine_is_shared(thread, place)) {
            refuse(r);
        }
        link_upvalue(r, luaF_findupval(thread, inside->stack + place), number);
        lua_pop(r->L, 1);
    }
}

void lua_image_read(lua_engine *engine, lua_State *L, const uint8_t *bytes, size_t size)
{
    reader r = {.engine = engine, .L = L, .bytes = bytes, .size = size};
    engine->use_count = 0;
    r.at = lua_image_head_bytes(engine);
    lua_library_push_new(L);
    r.libraries = lua_gettop(L);
    lua_newtable(L);
    r.objects = lua_gettop(L);
    for (int i = 1; i <= LUA_LIBRARY_COUNT; i++) {
        read_library(&r, i);
    }
    read_links(&r);
    if (r.at != size) {
        refuse(&r);
    }
    lua_settop(L, r.libraries);
}
