/* Stage: a simulation of which every pixel can be told beforehand. A red disc goes right by a
 * quarter of a metre a tick; a green needle swings across angle 0, ten degrees to one side and the
 * other; a blue disc goes where the arrow keys push it, and no farther than the walls; a yellow one
 * lies where the last click with the right button was, at (4, 5) when a question mark was typed and
 * at (-4, 5) when F2 was pressed; and a violet one where the last selection ended. Each time the
 * red disc has gone a metre there is a cue where it is. */
#include "lockstep/common/maths/interpolate.h"
#include "lockstep/common/simulation/simulation.h"

#define RED 0xFF0000FFu
#define GREEN 0x00FF00FFu
#define BLUE 0x0000FFFFu
#define YELLOW 0xFFFF00FFu
#define VIOLET 0xFF00FFFFu

#define VIEW_X LS_FIXED_INT(16)
#define VIEW_Y LS_FIXED_INT(9)
#define WALL_X LS_FIXED_INT(14)
#define SWING (UINT32_MAX / 36)

#define COORDINATE_UNIT (LS_FIXED_ONE / 1024)

enum {
    INPUT_BYTES = 6
};

typedef struct stage {
    ls_vec2 red;
    ls_vec2 blue;
    ls_vec2 yellow;
    ls_vec2 violet;
    ls_angle needle;
    uint32_t padding;
} stage;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(stage);
}

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    const ls_field all[] = {
        LS_FIELD_OF(stage, red.x, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, red.y, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, blue.x, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, blue.y, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, yellow.x, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, yellow.y, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, violet.x, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, violet.y, LS_FIELD_FIXED, "m"),
        LS_FIELD_OF(stage, needle, LS_FIELD_ANGLE, ""),
        LS_FIELD_OF(stage, padding, LS_FIELD_PADDING, ""),
    };
    uint32_t count = sizeof all / sizeof all[0];
    (void)config;
    for (uint32_t i = 0; i < count && i < capacity; i++) {
        out[i] = all[i];
        out[i].length = all[i].type == LS_FIELD_PADDING ? 4 : 1;
    }
    return count;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    stage *shown = state;
    (void)config;
    shown->red = (ls_vec2){LS_FIXED_INT(-14), LS_FIXED_INT(-2)};
    shown->blue = (ls_vec2){0, LS_FIXED_INT(3)};
    shown->yellow = (ls_vec2){LS_FIXED_INT(-14), LS_FIXED_INT(-6)};
    shown->violet = (ls_vec2){LS_FIXED_INT(-12), LS_FIXED_INT(-6)};
    shown->needle = SWING;
    return LS_OK;
}

/* A coordinate of an input: 16 bits in 1/1024 m. */
static ls_fixed coordinate(const uint8_t *bytes)
{
    int32_t value = bytes[0] | bytes[1] << 8;
    return (value < 0x8000 ? value : value - 0x10000) * COORDINATE_UNIT;
}

static void run(const ls_step *step)
{
    stage *shown = step->state;
    const ls_slot_input *input = &step->inputs->slots[0];
    if (shown->red.x < WALL_X) {
        shown->red.x += LS_FIXED_ONE / 4;
    }
    shown->needle = 0u - shown->needle;
    if (input->size != INPUT_BYTES) {
        return;
    }
    ls_fixed push = (input->bytes[0] & LS_CONTROL_RIGHT ? LS_FIXED_HALF : 0) -
                    (input->bytes[0] & LS_CONTROL_LEFT ? LS_FIXED_HALF : 0);
    shown->blue.x = LS_MAX(-WALL_X, LS_MIN(shown->blue.x + push, WALL_X));
    ls_vec2 place = {coordinate(input->bytes + 2), coordinate(input->bytes + 4)};
    if (input->bytes[1] == LS_GESTURE_ORDER) {
        shown->yellow = place;
    } else if (input->bytes[1] == LS_GESTURE_SELECT) {
        shown->violet = place;
    }
}

static uint32_t control(const ls_sim_config *config, const void *state, uint32_t slot,
                        const ls_controls *controls, uint8_t *bytes)
{
    bool is_typed = controls->text[0] == '?';
    bool is_key = ls_key_is_in(controls->keys_pressed, LS_KEY_F2);
    ls_vec2 typed = {LS_FIXED_INT(is_typed ? 4 : -4), LS_FIXED_INT(5)};
    ls_vec2 to = is_typed || is_key ? typed : controls->gesture_to;
    uint32_t x = (uint32_t)(to.x / COORDINATE_UNIT);
    uint32_t y = (uint32_t)(to.y / COORDINATE_UNIT);
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = (uint8_t)controls->held;
    bytes[1] = is_typed || is_key ? LS_GESTURE_ORDER : (uint8_t)controls->gesture;
    bytes[2] = (uint8_t)x;
    bytes[3] = (uint8_t)(x >> 8);
    bytes[4] = (uint8_t)y;
    bytes[5] = (uint8_t)(y >> 8);
    return INPUT_BYTES;
}

static void push_disc(ls_draw_list *list, uint32_t id, uint32_t colour, ls_vec2 at)
{
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_DISC,
                                       .id = id,
                                       .colour = colour,
                                       .x = at.x,
                                       .y = at.y,
                                       .half_width = LS_FIXED_HALF,
                                       .half_height = LS_FIXED_HALF,
                                       .owner = id == 1});
}

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    const stage *from = previous;
    const stage *to = current;
    (void)config;
    list->view_min = (ls_vec2){-VIEW_X, -VIEW_Y};
    list->view_max = (ls_vec2){VIEW_X, VIEW_Y};
    push_disc(list, 0, RED, ls_lerp_vec2(from->red, to->red, alpha));
    push_disc(list, 1, BLUE, ls_lerp_vec2(from->blue, to->blue, alpha));
    push_disc(list, 2, YELLOW, to->yellow);
    push_disc(list, 3, VIOLET, to->violet);
    ls_draw_push(list, (ls_draw_shape){.kind = LS_DRAW_LINE,
                                       .id = 4,
                                       .colour = GREEN,
                                       .angle = ls_lerp_angle(from->needle, to->needle, alpha),
                                       .x = 0,
                                       .y = LS_FIXED_INT(-6),
                                       .half_width = LS_FIXED_INT(6),
                                       .half_height = LS_FIXED_ONE / 8});
}

/* The view draws boxes for simulations that show what is selected. */
static void draw_control(const ls_sim_config *config, const void *state, uint32_t slot,
                         const ls_controls *controls, ls_draw_list *list)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)controls;
    (void)list;
}

static void sounds(const ls_sim_config *config, const void *previous, const void *current,
                   ls_sound_list *list)
{
    const stage *before = previous;
    const stage *now = current;
    (void)config;
    if (now->red.x != before->red.x && now->red.x % LS_FIXED_ONE == 0) {
        ls_sound_push(list, (ls_sound){.kind = LS_SOUND_CUE,
                                       .id = 1,
                                       .volume = LS_FIXED_ONE,
                                       .has_place = true,
                                       .x = now->red.x,
                                       .y = now->red.y});
    }
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);

const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass pass = {"run", run};
    static const ls_simulation simulation = {
        .abi = LS_SIMULATION_ABI,
        .size = sizeof(ls_simulation),
        .version = 1,
        .name = "stage",
        .summary = "shapes whose every place is known",
        .default_tick_rate_hz = 10,
        .default_players = 1,
        .players_max = 1,
        .input_bytes_max = INPUT_BYTES,
        .passes = &pass,
        .pass_count = 1,
        .state_bytes = state_bytes,
        .fields = fields,
        .init = init,
        .draw = draw,
        .control = control,
        .draw_control = draw_control,
        .sounds = sounds,
    };
    return &simulation;
}
