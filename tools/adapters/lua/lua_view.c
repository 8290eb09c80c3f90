/* The picture, status, bot and hands of a script. Its functions for them run on a copy that is
 * brought to the state by its image: whatever they change in `storage`, the match does not see it.
 */
#include "lockstep/common/maths/fixed_trig.h"
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/tools/adapters/lua/lua_engine.h"

#include <stdio.h>
#include <string.h>

/* NULL: the script has failed, or there is no memory for a copy. */
static lua_engine *view_at(lua_engine *engine, const lua_bytes *image)
{
    if (!engine->view) {
        if (lua_engine_create(engine->config, &engine->view, NULL) != LS_OK) {
            return NULL;
        }
        engine->view->is_view = true;
        engine->view->log_level = 0;
        (void)lua_engine_start(engine->view, NULL);
    }
    /* Changes that an earlier call made in the copy are gone. */
    return lua_engine_load(engine->view, image->bytes, image->size) == LS_OK &&
                   engine->view->failure[0] == 0
               ? engine->view
               : NULL;
}

void lua_view_free(lua_engine *engine)
{
    lua_engine_destroy(engine->view);
    lua_memory_free(engine->shown.shapes);
    lua_memory_free(engine->shown.texts);
    lua_memory_free(engine->shown_before.shapes);
    lua_memory_free(engine->shown_before.texts);
}

/* ---- shapes ---- */

static ls_fixed fixed_argument(lua_State *L, int index)
{
    lua_Number number = luaL_checknumber(L, index);
    if (!(number > -1e6 && number < 1e6)) {
        number = 0;
    }
    return ls_fixed_from_double(number);
}

static void push_shape(lua_State *L, ls_draw_shape shape, const char *text)
{
    lua_shapes *drawing = lua_engine_of(L)->drawing;
    if (!drawing || drawing->count == LUA_SHAPES_MAX) {
        return;
    }
    shape.id = (uint32_t)luaL_checkinteger(L, 1);
    if (text) {
        char *copy = drawing->texts[drawing->count];
        snprintf(copy, LUA_SHAPE_TEXT_BYTES, "%s", text);
        shape.text = copy;
    }
    drawing->shapes[drawing->count++] = shape;
}

static uint32_t owner_argument(lua_State *L, int index)
{
    return lua_isnoneornil(L, index) ? 0 : (uint32_t)luaL_checkinteger(L, index) + 1;
}

/* disc(id, x, y, radius, colour, angle, slot), and box, with two half sizes in place of a radius */
static int draw_solid(lua_State *L, ls_draw_kind kind)
{
    int size = kind == LS_DRAW_DISC ? 4 : 5; /* the last one */
    ls_draw_shape shape = {.kind = kind};
    shape.x = fixed_argument(L, 2);
    shape.y = fixed_argument(L, 3);
    shape.half_width = fixed_argument(L, 4);
    shape.half_height = fixed_argument(L, size);
    shape.colour = (uint32_t)luaL_checkinteger(L, size + 1);
    shape.angle =
        lua_isnoneornil(L, size + 2) ? 0 : ls_angle_from_radians(fixed_argument(L, size + 2));
    shape.owner = owner_argument(L, size + 3);
    push_shape(L, shape, NULL);
    return 0;
}

static int draw_disc(lua_State *L)
{
    return draw_solid(L, LS_DRAW_DISC);
}

static int draw_box(lua_State *L)
{
    return draw_solid(L, LS_DRAW_BOX);
}

/* line(id, x1, y1, x2, y2, thickness, colour) */
static int draw_line(lua_State *L)
{
    ls_draw_shape shape = {.kind = LS_DRAW_LINE};
    shape.x = fixed_argument(L, 2);
    shape.y = fixed_argument(L, 3);
    ls_vec2 way = {fixed_argument(L, 4) - shape.x, fixed_argument(L, 5) - shape.y};
    shape.half_width = ls_vec2_length(way);
    shape.angle = ls_fixed_atan2(way.y, way.x);
    shape.half_height = fixed_argument(L, 6);
    shape.colour = (uint32_t)luaL_checkinteger(L, 7);
    push_shape(L, shape, NULL);
    return 0;
}

/* text(id, x, y, height, text, colour) */
static int draw_text(lua_State *L)
{
    ls_draw_shape shape = {.kind = LS_DRAW_TEXT};
    shape.x = fixed_argument(L, 2);
    shape.y = fixed_argument(L, 3);
    shape.half_height = fixed_argument(L, 4) / 2;
    shape.colour = (uint32_t)luaL_checkinteger(L, 6);
    push_shape(L, shape, luaL_checkstring(L, 5));
    return 0;
}

/* view(left, bottom, right, top) */
static int draw_view(lua_State *L)
{
    lua_shapes *drawing = lua_engine_of(L)->drawing;
    if (drawing) {
        drawing->view_min = (ls_vec2){fixed_argument(L, 1), fixed_argument(L, 2)};
        drawing->view_max = (ls_vec2){fixed_argument(L, 3), fixed_argument(L, 4)};
    }
    return 0;
}

static int run_draw(lua_State *L)
{
    static const luaL_Reg functions[] = {{"disc", draw_disc}, {"box", draw_box},
                                         {"line", draw_line}, {"text", draw_text},
                                         {"view", draw_view}, {NULL, NULL}};
    if (lua_getglobal(L, "draw") == LUA_TFUNCTION) {
        luaL_newlib(L, functions);
        lua_call(L, 1, 0);
    }
    return 0;
}

static void show_failure(lua_shapes *shapes, const char *failure)
{
    const size_t columns = 60;
    size_t bytes = strlen(failure);
    shapes->count = 0;
    for (size_t at = 0; at < bytes; at += columns) {
        ls_draw_shape line = {.kind = LS_DRAW_TEXT, .colour = 0xff8080FFu};
        line.x = LS_FIXED_INT(-15);
        line.y = LS_FIXED_INT(8) - LS_FIXED_INT((int)shapes->count);
        line.half_height = LS_FIXED_HALF * 3 / 4;
        char *text = shapes->texts[shapes->count];
        snprintf(text, LUA_SHAPE_TEXT_BYTES, "%.60s", failure + at);
        line.text = text;
        shapes->shapes[shapes->count++] = line;
    }
}

static bool reserve_shapes(lua_shapes *shapes)
{
    if (!shapes->shapes) {
        shapes->shapes = lua_memory_make(LUA_SHAPES_MAX * sizeof shapes->shapes[0]);
    }
    if (!shapes->texts) {
        shapes->texts = lua_memory_make(LUA_SHAPES_MAX * sizeof shapes->texts[0]);
    }
    return shapes->shapes && shapes->texts;
}

static void draw_image(lua_engine *engine, const lua_bytes *image, uint64_t hash,
                       lua_shapes *shapes)
{
    shapes->count = 0;
    shapes->image_hash = hash;
    shapes->is_drawn = reserve_shapes(shapes);
    shapes->view_min = (ls_vec2){LS_FIXED_INT(-16), LS_FIXED_INT(-9)};
    shapes->view_max = (ls_vec2){LS_FIXED_INT(16), LS_FIXED_INT(9)};
    if (!shapes->is_drawn) {
        return;
    }
    lua_engine *view = view_at(engine, image);
    ls_text why = {{0}};
    if (!view) {
        show_failure(shapes, engine->failure[0] ? engine->failure : "no copy to draw");
        return;
    }
    view->drawing = shapes;
    if (!lua_engine_play(view, run_draw, NULL, image, &why)) {
        show_failure(shapes, why.bytes);
    }
    view->drawing = NULL;
}

/* The shapes of the newest state, and those of the one before, drawn once each. */
static void draw_newest(lua_engine *engine)
{
    if (engine->shown.is_drawn && engine->shown.image_hash == engine->image_hash) {
        return;
    }
    lua_shapes old = engine->shown_before;
    engine->shown_before = engine->shown;
    engine->shown = old;
    draw_image(engine, &engine->image, engine->image_hash, &engine->shown);
}

static void draw_one_before(lua_engine *engine)
{
    lua_shapes *shapes = &engine->shown_before;
    if (engine->image_before.size > 0 &&
        (!shapes->is_drawn || shapes->image_hash != engine->image_before_hash)) {
        draw_image(engine, &engine->image_before, engine->image_before_hash, shapes);
    }
}

static const ls_draw_shape *same_shape(const lua_shapes *shapes, const ls_draw_shape *shape,
                                       uint32_t likely)
{
    for (uint32_t i = 0; i < shapes->count; i++) {
        const ls_draw_shape *other = &shapes->shapes[(likely + i) % shapes->count];
        if (other->id == shape->id && other->kind == shape->kind) {
            return other;
        }
    }
    return NULL;
}

void lua_view_draw(lua_engine *before, lua_engine *now, ls_fixed alpha, ls_draw_list *list)
{
    draw_newest(now);
    if (before == now) {
        draw_one_before(now);
    } else {
        draw_newest(before);
    }
    const lua_shapes *past = before == now ? &now->shown_before : &before->shown;
    list->view_min = now->shown.view_min;
    list->view_max = now->shown.view_max;
    for (uint32_t i = 0; i < now->shown.count; i++) {
        ls_draw_shape shape = now->shown.shapes[i];
        const ls_draw_shape *from = shape.id ? same_shape(past, &shape, i) : NULL;
        if (from) {
            ls_vec2 at =
                ls_lerp_vec2((ls_vec2){from->x, from->y}, (ls_vec2){shape.x, shape.y}, alpha);
            shape.x = at.x;
            shape.y = at.y;
            shape.angle = ls_lerp_angle(from->angle, shape.angle, alpha);
        }
        ls_draw_push(list, shape);
    }
}

/* ---- what is asked of a script ---- */

/* A function that fails is told of once, and not called again: it may have used up its budget. */
static bool ask_script(lua_engine *engine, const char *function, lua_CFunction run, void *argument,
                       bool *has_failed)
{
    ls_text why = {{0}};
    lua_engine *view = *has_failed ? NULL : view_at(engine, &engine->image);
    if (view && !lua_engine_play(view, run, argument, &engine->image, &why)) {
        *has_failed = true;
        ls_text_make_printable(why.bytes, strlen(why.bytes));
        lua_say("'%s' has failed, and is not called again: %s\n", function, why.bytes);
    }
    return view && !*has_failed;
}

/* ---- status ---- */

/* seat(slot, text, colour), and the others with text and colour alone */
static int push_status(lua_State *L)
{
    lua_status_lines *status = lua_touserdata(L, lua_upvalueindex(1));
    ls_status_line line = {.kind = (uint32_t)lua_tointeger(L, lua_upvalueindex(2))};
    int text = line.kind == LS_STATUS_SEAT ? 2 : 1;
    line.owner = text == 2 ? (uint32_t)luaL_checkinteger(L, 1) + 1 : 0;
    ls_text_set(&line.text, "%s", luaL_checkstring(L, text));
    ls_text_make_printable(line.text.bytes, strlen(line.text.bytes));
    line.colour = (uint32_t)luaL_optinteger(L, text + 1, 0);
    ls_status_push(&status->list, line);
    return 0;
}

static int run_status(lua_State *L)
{
    static const char *const names[] = {[LS_STATUS_SEAT] = "seat",
                                        [LS_STATUS_MATCH] = "match",
                                        [LS_STATUS_PERSON] = "person",
                                        [LS_STATUS_KEYS] = "keys"};
    lua_status_lines *status = lua_touserdata(L, 1);
    if (lua_getglobal(L, "status") != LUA_TFUNCTION) {
        return 0;
    }
    lua_newtable(L);
    for (lua_Integer kind = 0; kind < (lua_Integer)(sizeof names / sizeof names[0]); kind++) {
        lua_pushlightuserdata(L, status);
        lua_pushinteger(L, kind);
        lua_pushcclosure(L, push_status, 2);
        lua_setfield(L, -2, names[kind]);
    }
    if (status->slot < lua_engine_of(L)->config->players) {
        lua_pushinteger(L, status->slot);
    } else {
        lua_pushnil(L);
    }
    lua_call(L, 2, 0);
    return 0;
}

/* Asked for every picture, the script is called once for a state. */
void lua_view_status(lua_engine *engine, uint32_t slot, ls_status_list *list)
{
    lua_status_lines *status = &engine->status;
    bool is_new = !status->is_made || status->image_hash != engine->image_hash;
    if (is_new || status->slot != slot) {
        status->is_made = true;
        status->slot = slot;
        status->image_hash = engine->image_hash;
        status->list = (ls_status_list){.lines = status->lines,
                                        .capacity = sizeof status->lines / sizeof status->lines[0]};
        if (!ask_script(engine, "status", run_status, status, &engine->has_no_status)) {
            status->list.count = 0;
        }
    }
    for (uint32_t i = 0; i < status->list.count; i++) {
        ls_status_push(list, status->lines[i]);
    }
}

/* ---- bot and hands ---- */

typedef struct hand_call {
    const char *function;
    uint32_t slot;
    const ls_controls *controls; /* NULL: the bot */
    ls_rng rng;                  /* the bot's */
    uint8_t *bytes;
    uint32_t size;
    bool has_run;
} hand_call;

static void set_flag(lua_State *L, const char *name, uint32_t bits, uint32_t bit)
{
    lua_pushboolean(L, (bits & bit) != 0);
    lua_setfield(L, -2, name);
}

static void set_fixed(lua_State *L, const char *name, ls_fixed value)
{
    lua_pushnumber(L, (lua_Number)value / (lua_Number)LS_FIXED_ONE);
    lua_setfield(L, -2, name);
}

static void set_keys(lua_State *L, const char *name, const uint64_t *keys)
{
    lua_newtable(L);
    for (uint32_t key = 0; key < LS_KEYS; key++) {
        if (ls_key_is_in(keys, key)) {
            lua_pushboolean(L, 1);
            lua_rawseti(L, -2, key);
        }
    }
    lua_setfield(L, -2, name);
}

static void push_controls(lua_State *L, const ls_controls *controls)
{
    uint32_t down = controls->held | controls->pressed;
    lua_newtable(L);
    set_flag(L, "up", down, LS_CONTROL_UP);
    set_flag(L, "down", down, LS_CONTROL_DOWN);
    set_flag(L, "left", down, LS_CONTROL_LEFT);
    set_flag(L, "right", down, LS_CONTROL_RIGHT);
    set_flag(L, "first", down, LS_CONTROL_FIRST);
    set_flag(L, "second", down, LS_CONTROL_SECOND);
    set_flag(L, "third", down, LS_CONTROL_THIRD);
    set_flag(L, "pointer_held", controls->is_pointer_held, 1);
    set_fixed(L, "stick_x", controls->stick.x);
    set_fixed(L, "stick_y", controls->stick.y);
    set_fixed(L, "right_stick_x", controls->right_stick.x);
    set_fixed(L, "right_stick_y", controls->right_stick.y);
    set_fixed(L, "left_trigger", controls->left_trigger);
    set_fixed(L, "right_trigger", controls->right_trigger);
    set_fixed(L, "pointer_x", controls->pointer.x);
    set_fixed(L, "pointer_y", controls->pointer.y);
    lua_pushinteger(L, controls->pad_held);
    lua_setfield(L, -2, "pad_held");
    lua_pushinteger(L, controls->pad_pressed);
    lua_setfield(L, -2, "pad_pressed");
    set_keys(L, "keys_held", controls->keys_held);
    set_keys(L, "keys_pressed", controls->keys_pressed);
    lua_pushstring(L, controls->text);
    lua_setfield(L, -2, "text");
}

static int run_hand(lua_State *L)
{
    hand_call *call = lua_touserdata(L, 1);
    if (!call->controls) {
        lua_engine_of(L)->rng = call->rng;
    }
    if (lua_getglobal(L, call->function) != LUA_TFUNCTION) {
        return 0;
    }
    lua_pushinteger(L, call->slot);
    if (call->controls) {
        push_controls(L, call->controls);
    }
    lua_call(L, call->controls ? 2 : 1, 1);
    size_t size = 0;
    if (lua_type(L, -1) != LUA_TSTRING && !lua_isnil(L, -1)) {
        return luaL_error(L, "script: %s returns a %s, which is no string", call->function,
                          luaL_typename(L, -1));
    }
    const char *bytes = luaL_optlstring(L, -1, "", &size);
    if (size > LUA_INPUT_BYTES_MAX) {
        return luaL_error(L, "script: %s returns %d bytes; an input has up to %d", call->function,
                          (int)size, (int)LUA_INPUT_BYTES_MAX);
    }
    call->size = (uint32_t)size;
    memcpy(call->bytes, bytes, size);
    call->has_run = true;
    return 0;
}

static bool ask_hand(lua_engine *engine, hand_call *call, bool *has_failed)
{
    return ask_script(engine, call->function, run_hand, call, has_failed) && call->has_run;
}

/* A string of the script, byte by byte. */
static void copy_mask(lua_State *L, const char *name, uint8_t *mask)
{
    size_t size = 0;
    if (lua_getglobal(L, name) == LUA_TSTRING) {
        const char *bytes = lua_tolstring(L, -1, &size);
        memcpy(mask, bytes, LS_MIN(size, LUA_INPUT_BYTES_MAX));
    } else if (!lua_isnil(L, -1)) {
        luaL_error(L, "script: %s is a %s, and not a string of the bits", name,
                   luaL_typename(L, -1));
    }
    lua_pop(L, 1);
}

static int run_input_bits(lua_State *L)
{
    const ls_input_bits *bits = lua_touserdata(L, 1);
    if (lua_getglobal(L, "control") != LUA_TFUNCTION) {
        bits->buttons[0] = 0xFF;
    }
    copy_mask(L, "input_edges", bits->edges);
    copy_mask(L, "input_buttons", bits->buttons);
    return 0;
}

/* A script that says nothing of its inputs and leaves hands to us has a byte of buttons. */
void lua_view_input_bits(lua_engine *engine, const ls_input_bits *bits)
{
    ls_text why = {{0}};
    ls_input_bits masks = *bits;
    lua_engine *view = view_at(engine, &engine->image);
    if (view && !lua_engine_play(view, run_input_bits, &masks, &engine->image, &why)) {
        ls_text_make_printable(why.bytes, strlen(why.bytes));
        lua_say("the bits of inputs are not known: %s\n", why.bytes);
    }
}

/* A script that says nothing of bots has ones that press buttons as they come. */
uint32_t lua_view_bot(lua_engine *engine, uint32_t slot, ls_rng *rng, uint8_t *bytes)
{
    hand_call call = {.function = "bot", .slot = slot, .bytes = bytes};
    uint8_t any = (uint8_t)ls_rng_next(rng);
    call.rng = ls_rng_make((uint64_t)ls_rng_next(rng), slot);
    if (ask_hand(engine, &call, &engine->has_no_bot)) {
        return call.size;
    }
    bytes[0] = any;
    return 1;
}

/* A script that says nothing of hands is sent one byte of LS_CONTROL_* bits. */
uint32_t lua_view_control(lua_engine *engine, uint32_t slot, const ls_controls *controls,
                          uint8_t *bytes)
{
    hand_call call = {.function = "control", .slot = slot, .controls = controls, .bytes = bytes};
    if (ask_hand(engine, &call, &engine->has_no_control)) {
        return call.size;
    }
    bytes[0] = (uint8_t)(controls->held | controls->pressed);
    return 1;
}
