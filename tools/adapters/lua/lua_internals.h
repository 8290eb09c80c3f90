/* Lua internals: the parts of Lua 5.4.4's own structs (lobject.h, lstate.h, lopcodes.h) that its
 * API does not show and that saving a function or a suspended coroutine takes. They are linked
 * statically, so what is built is what runs: lua_platform.c refuses other versions. Used by the
 * saving and loading of the lua plug-in alone. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_INTERNALS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_INTERNALS_H

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if LUA_VERSION_RELEASE_NUM != 50404
#error "the lua plug-in knows the inside of Lua 5.4.4 alone"
#endif

/* TValue and StackValue */
typedef struct lua_slot {
    union {
        void *object;
        lua_Integer integer;
        lua_Number number;
    } value;
    uint8_t tag;
    unsigned short tbc_delta;
} lua_slot;

#define LUA_SLOT_INTEGER 0x03u
#define LUA_SLOT_FLOAT 0x13u
#define LUA_SLOT_TABLE 0x45u
#define LUA_SLOT_LUA_FUNCTION 0x46u

static inline bool lua_slot_is_empty(const lua_slot *slot)
{
    return (slot->tag & 0x0Fu) == LUA_TNIL;
}

/* CommonHeader */
#define LUA_OBJECT_HEADER                                                                          \
    void *next;                                                                                    \
    uint8_t tag;                                                                                   \
    uint8_t marked

/* Upvaldesc: where a function that is made finds one of its upvalues. */
typedef struct lua_capture {
    void *name;
    uint8_t is_in_stack; /* in register `index` of the function that makes it */
    uint8_t index;
    uint8_t kind;
} lua_capture;

typedef struct lua_proto {
    LUA_OBJECT_HEADER;
    uint8_t parameters;
    uint8_t is_vararg;
    uint8_t registers;
    int upvalue_count, constant_count, code_count, line_info_count, proto_count, local_count,
        absolute_line_info_count, first_line, last_line;
    lua_slot *constants;
    uint32_t *code;
    struct lua_proto **protos;
    lua_capture *captures;
} lua_proto;

typedef struct lua_upvalue {
    LUA_OBJECT_HEADER;
    uint8_t is_tbc;
    lua_slot *value;
    union {
        struct {
            struct lua_upvalue *next;
            struct lua_upvalue **previous;
        } open;
        lua_slot closed;
    } u;
} lua_upvalue;

static inline bool lua_upvalue_is_open(const lua_upvalue *upvalue)
{
    return upvalue->value != &upvalue->u.closed;
}

typedef struct lua_closure {
    LUA_OBJECT_HEADER;
    uint8_t upvalue_count;
    void *gclist;
    lua_proto *proto;
    lua_upvalue *upvalues[1];
} lua_closure;

/* CallInfo */
typedef struct lua_frame {
    lua_slot *function;
    lua_slot *top;
    struct lua_frame *previous, *next;
    union {
        struct {
            const uint32_t *saved_pc;
            int trap; /* sig_atomic_t */
            int extra_arguments;
        } lua;
        struct {
            lua_KFunction continuation;
            ptrdiff_t old_error_function;
            lua_KContext context;
        } c;
    } u;
    int called; /* u2 */
    short results;
    unsigned short status;
} lua_frame;

#define LUA_FRAME_ALLOWS_HOOK 0x01u
#define LUA_FRAME_IS_C 0x02u
#define LUA_FRAME_IS_FRESH 0x04u
#define LUA_FRAME_IS_PCALL 0x10u
#define LUA_FRAME_IS_TAIL 0x20u

/* lua_State */
typedef struct lua_thread {
    LUA_OBJECT_HEADER;
    uint8_t status;
    uint8_t allows_hook;
    unsigned short frame_count;
    lua_slot *top;
    void *global;
    lua_frame *frame;
    lua_slot *stack_last;
    lua_slot *stack;
    lua_upvalue *open_upvalues;
    lua_slot *tbc_list;
    void *gclist;
    struct lua_thread *twups;
    void *error_jump;
    lua_frame base_frame;
} lua_thread;

static inline lua_thread *lua_thread_of(lua_State *L)
{
    return (lua_thread *)(void *)L;
}

/* Pushes a copy of the value. There is room for it. */
static inline void lua_push_slot(lua_State *L, const lua_slot *slot)
{
    lua_thread *thread = lua_thread_of(L);
    thread->top->value = slot->value;
    thread->top->tag = slot->tag;
    thread->top++;
}

/* Instructions */
enum {
    LUA_OP_NEWTABLE = 19,
    LUA_OP_CALL = 68,
    LUA_OP_TAILCALL = 69,
    LUA_OP_FORLOOP = 73,
    LUA_OP_FORPREP = 74,
    LUA_OP_TFORCALL = 76,
    LUA_OP_SETLIST = 78,
};

static inline uint32_t lua_op(uint32_t instruction)
{
    return instruction & 0x7Fu;
}

static inline uint32_t lua_op_a(uint32_t instruction)
{
    return instruction >> 7 & 0xFFu;
}

static inline uint32_t lua_op_c(uint32_t instruction)
{
    return instruction >> 24;
}

static inline uint32_t lua_op_bx(uint32_t instruction)
{
    return instruction >> 15;
}

/* Lua's own functions. */
lua_frame *luaE_extendCI(lua_State *L);
lua_upvalue *luaF_findupval(lua_State *L, lua_slot *level);
lua_closure *luaF_newLclosure(lua_State *L, int upvalues);
void luaF_initupvals(lua_State *L, lua_closure *closure);
/* lua_topointer, which is wrapped for scripts. */
const void *__real_lua_topointer(lua_State *L, int index);
void __real_luaO_tostring(lua_State *L, lua_slot *value);
const lua_slot *luaH_getint(void *table, lua_Integer key);

#endif
