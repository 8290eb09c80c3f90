#include "lockstep/tools/adapters/lua/lua_coroutine.h"

#define C_FRAME_VALUES 20u /* LUA_MINSTACK */
#define LUA_FRAME_VALUES_MAX 256u

uint32_t lua_coroutine_called_place(const lua_proto *proto, uint32_t place, uint32_t instruction)
{
    if (instruction == 0 || instruction > (uint32_t)proto->code_count) {
        return 0;
    }
    uint32_t call = proto->code[instruction - 1];
    switch (lua_op(call)) {
    case LUA_OP_CALL:
    case LUA_OP_TAILCALL:
        return place + 1 + lua_op_a(call);
    case LUA_OP_TFORCALL:
        return place + 1 + lua_op_a(call) + 4;
    default:
        return 0;
    }
}

uint32_t lua_coroutine_first_place(const lua_proto *proto, uint32_t place, uint32_t extra_arguments)
{
    return proto->is_vararg ? place - (extra_arguments + proto->parameters + 1) : place;
}

/* ---- what the virtual machine takes for granted ---- */

typedef struct checked_frame {
    const lua_thread *thread;
    const lua_proto *proto;
    uint32_t place;
    uint32_t call; /* the instruction that waits */
} checked_frame;

/* 0xFF: there is no such value. */
static uint8_t tag_of(const checked_frame *f, uint32_t place)
{
    uint32_t count = (uint32_t)(f->thread->top - f->thread->stack);
    return place < count ? f->thread->stack[place].tag : 0xFFu;
}

/* Within a numeric loop its three values are numbers of one kind. */
static bool is_loop_sound(const checked_frame *f, uint32_t prepare)
{
    uint32_t code = f->proto->code[prepare];
    if (f->call <= prepare || f->call > prepare + lua_op_bx(code)) {
        return true;
    }
    uint32_t at = f->place + 1 + lua_op_a(code);
    uint8_t tag = tag_of(f, at);
    return (tag == LUA_SLOT_INTEGER || tag == LUA_SLOT_FLOAT) && tag_of(f, at + 1) == tag &&
           tag_of(f, at + 2) == tag;
}

/* Within a table's constructor there is the table. */
static bool is_list_sound(const checked_frame *f, uint32_t set)
{
    uint32_t a = lua_op_a(f->proto->code[set]);
    if (set <= f->call) {
        return true;
    }
    for (uint32_t i = set; i-- > 0;) {
        uint32_t code = f->proto->code[i];
        if (lua_op(code) == LUA_OP_NEWTABLE && lua_op_a(code) == a) {
            return i > f->call || tag_of(f, f->place + 1 + a) == LUA_SLOT_TABLE;
        }
    }
    return false;
}

static bool is_code_sound(const checked_frame *f)
{
    for (uint32_t i = 0; i < (uint32_t)f->proto->code_count; i++) {
        uint32_t op = lua_op(f->proto->code[i]);
        if ((op == LUA_OP_FORPREP && !is_loop_sound(f, i)) ||
            (op == LUA_OP_SETLIST && !is_list_sound(f, i))) {
            return false;
        }
    }
    return true;
}

/* ---- frames ---- */

typedef struct builder {
    lua_engine *engine;
    lua_thread *thread;
    uint32_t called_place; /* where the next frame's function has to be */
    short results;         /* that its caller wants of it */
    bool is_fresh;         /* its caller is no Lua function's plain call */
} builder;

static const lua_proto *proto_at(const lua_thread *thread, uint32_t place)
{
    const lua_slot *slot = &thread->stack[place];
    const lua_closure *closure = slot->value.object;
    return slot->tag == LUA_SLOT_LUA_FUNCTION ? closure->proto : NULL;
}

static bool is_lua_frame_sound(const builder *b, const lua_frame_image *image,
                               const lua_proto *proto)
{
    checked_frame f = {b->thread, proto, image->place, image->instruction - 1};
    uint32_t first = image->place - (proto->is_vararg ? proto->parameters + 1u : 0u);
    return (proto->is_vararg || image->extra_arguments == 0) && first <= image->place &&
           image->extra_arguments <= first &&
           lua_coroutine_first_place(proto, image->place, image->extra_arguments) ==
               b->called_place &&
           lua_coroutine_called_place(proto, image->place, image->instruction) != 0 &&
           is_code_sound(&f);
}

static bool build_lua(builder *b, lua_frame *frame, const lua_frame_image *image)
{
    const lua_proto *proto = proto_at(b->thread, image->place);
    if (!proto || !is_lua_frame_sound(b, image, proto)) {
        return false;
    }
    frame->top = frame->function + 1 + proto->registers;
    frame->u.lua.saved_pc = proto->code + image->instruction;
    frame->u.lua.trap = 1;
    frame->u.lua.extra_arguments = (int)image->extra_arguments;
    frame->status = (unsigned short)((b->is_fresh ? LUA_FRAME_IS_FRESH : 0) |
                                     (image->is_tail ? LUA_FRAME_IS_TAIL : 0));
    uint32_t call = proto->code[image->instruction - 1];
    b->called_place = lua_coroutine_called_place(proto, image->place, image->instruction);
    b->is_fresh = lua_op(call) == LUA_OP_TFORCALL;
    b->results = (short)(lua_op(call) == LUA_OP_TFORCALL ? (int)lua_op_c(call)
                         : lua_op(call) == LUA_OP_CALL   ? (int)lua_op_c(call) - 1
                                                         : LUA_MULTRET);
    return true;
}

static bool is_c_function(const lua_slot *slot, lua_CFunction function)
{
    lua_slot expected = {.tag = 0x16}; /* a C function without upvalues */
    __builtin_memcpy(&expected.value, &function, sizeof function);
    return slot->tag == expected.tag && slot->value.object == expected.value.object;
}

static bool build_pcall(builder *b, lua_frame *frame, const lua_frame_image *image)
{
    if (image->place != b->called_place || !is_c_function(frame->function, lua_script_pcall)) {
        return false;
    }
    b->called_place = image->place + 2;
    b->is_fresh = true;
    b->results = LUA_MULTRET;
    frame->top = frame->function + 2 + C_FRAME_VALUES;
    frame->u.c.continuation = lua_pcall_continue;
    frame->u.c.old_error_function = 0;
    frame->u.c.context = 0;
    frame->called = (int)(b->called_place * sizeof(lua_slot));
    frame->status = LUA_FRAME_IS_C | LUA_FRAME_ALLOWS_HOOK | LUA_FRAME_IS_PCALL;
    return true;
}

static bool build_yield(builder *b, lua_frame *frame, const lua_frame_image *image)
{
    if (image->place != b->called_place || frame->function + 1 != b->thread->top ||
        !is_c_function(frame->function, b->engine->yield)) {
        return false;
    }
    frame->top = b->thread->top + C_FRAME_VALUES;
    frame->u.c.continuation = NULL;
    frame->status = LUA_FRAME_IS_C;
    return true;
}

static bool build_frame(builder *b, lua_frame *frame, const lua_frame_image *image, bool is_last)
{
    if (image->place >= (uint32_t)(b->thread->top - b->thread->stack) ||
        is_last != (image->kind == LUA_FRAME_YIELD)) {
        return false;
    }
    frame->function = b->thread->stack + image->place;
    frame->results = b->results;
    switch (image->kind) {
    case LUA_FRAME_LUA:
        return build_lua(b, frame, image);
    case LUA_FRAME_PCALL:
        return build_pcall(b, frame, image);
    default:
        return build_yield(b, frame, image);
    }
}

/* Frames that do nothing, so that the collector finds a stack in order at any time. */
static bool reserve_frames(lua_State *L, uint32_t count)
{
    lua_thread *thread = lua_thread_of(L);
    for (uint32_t i = 0; i < count; i++) {
        lua_frame *frame = luaE_extendCI(L);
        frame->function = thread->stack;
        frame->top = thread->top;
        frame->status = LUA_FRAME_IS_C;
        frame->results = 0;
        thread->frame = frame;
    }
    return lua_checkstack(L, LUA_FRAME_VALUES_MAX);
}

/* Frames are made in place, without another allocation: the stack does not move. */
bool lua_coroutine_build(lua_engine *engine, lua_State *L, const lua_frame_image *frames,
                         uint32_t count)
{
    lua_thread *thread = lua_thread_of(L);
    builder b = {engine, thread, 1, LUA_MULTRET, true};
    if (count < 2 || !reserve_frames(L, count)) {
        return false;
    }
    lua_frame *frame = &thread->base_frame;
    for (uint32_t i = 0; i < count; i++) {
        frame = frame->next;
        if (!build_frame(&b, frame, &frames[i], i + 1 == count)) {
            return false;
        }
    }
    thread->status = LUA_YIELD;
    return true;
}

/* ---- upvalues ---- */

static bool captures(const lua_proto *proto, uint32_t in_register)
{
    for (int i = 0; i < proto->proto_count; i++) {
        const lua_proto *inner = proto->protos[i];
        for (int k = 0; k < inner->upvalue_count; k++) {
            if (inner->captures[k].is_in_stack && inner->captures[k].index == in_register) {
                return true;
            }
        }
    }
    return false;
}

bool lua_coroutine_is_shared(lua_State *L, uint32_t place)
{
    const lua_thread *thread = lua_thread_of(L);
    const lua_slot *slot = thread->stack + place;
    const lua_frame *frame = thread->frame;
    while (frame != &thread->base_frame && slot <= frame->function) {
        frame = frame->previous;
    }
    if (frame == &thread->base_frame || frame->status & LUA_FRAME_IS_C) {
        return false;
    }
    const lua_closure *closure = frame->function->value.object;
    return captures(closure->proto, (uint32_t)(slot - frame->function - 1));
}
