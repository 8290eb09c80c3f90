/* Libretro: a plug-in over machines that are not ours. A core of libretro plays its content, two
 * players or more hold the pads, and a tick is a frame. The core and the content are files of the
 * match: their digests are compared before anybody plays, and every machine loads the core that its
 * own player has named, never one that came over the network. */
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/strict_double.h"
#include "lockstep/common/simulations/player_view.h"
#include "lockstep/tools/adapters/libretro/libretro_console.h"

#include <string.h>

enum {
    PARAM_CORE,
    PARAM_CONTENT,
    PARAM_OPTIONS,
    PARAM_DEVICE,
    PARAM_CLOCK,
    PARAM_COUNT,
};

enum {
    DEVICE_MAX = 0xffff,
    STICKS_BYTES = 8,
    INPUT_BYTES = 2 + STICKS_BYTES,
    BOT_HOLDS_FRAMES = 20,
};

#define CLOCK_MAX 4102444799 /* the end of 2099 */

static const ls_param params[PARAM_COUNT] = {
    [PARAM_CORE] =
        LS_PARAM_CODE_OF("core", "the libretro core that plays the content", 1, LS_FILE_BYTES_MAX),
    [PARAM_CONTENT] = LS_PARAM_FILE_OF("content",
                                       "what the core plays, such as the image of a "
                                       "cartridge",
                                       0, LS_FILE_BYTES_MAX),
    [PARAM_OPTIONS] = LS_PARAM_STRING_OF("options", "of the core: key=value,key=value", "", 0,
                                         LS_STRING_BYTES_MAX - 1),
    [PARAM_DEVICE] = LS_PARAM_INTEGER_OF("device", "", "in each player's port; 1 is a pad",
                                         LIBRETRO_DEVICE_JOYPAD, 0, DEVICE_MAX),
    [PARAM_CLOCK] = LS_PARAM_INTEGER_OF("clock", "s",
                                        "since 1970, of a clock in the cartridge at "
                                        "the start",
                                        946684800, 0, CLOCK_MAX),
};

typedef struct game_state {
    libretro_console *console;
} game_state;

static size_t state_bytes(const ls_sim_config *config)
{
    (void)config;
    return sizeof(game_state);
}

static ls_status open_console(const ls_sim_config *config, libretro_console **out, ls_text *why)
{
    const libretro_setup setup = {
        .core = ls_sim_config_file(config, PARAM_CORE),
        .content = ls_sim_config_file(config, PARAM_CONTENT),
        .options = ls_sim_config_string(config, PARAM_OPTIONS),
        .players = config->players,
        .device = (uint32_t)config->params[PARAM_DEVICE],
        .rate = ls_sim_config_rate(config),
        .start_s = config->params[PARAM_CLOCK],
        .seed = config->seed,
    };
    return libretro_console_create(&setup, out, why);
}

static ls_status build(const ls_sim_config *config, void *state, ls_text *why)
{
    game_state *game = state;
    ls_status status = open_console(config, &game->console, why);
    size_t size = 0;
    if (status == LS_OK && !libretro_console_save(game->console, &size)) {
        libretro_console_destroy(game->console);
        return ls_fail(LS_UNSUPPORTED, why, "core: it cannot save its state");
    }
    return status;
}

static ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    return ls_strict_double_init(build, config, state, why);
}

static void deinit(const ls_sim_config *config, void *state)
{
    (void)config;
    libretro_console_destroy(((game_state *)state)->console);
}

/* ---- the step ---- */

/* Two bytes of buttons, then x and y of the left and of the right stick in two bytes each; what is
 * missing is not touched. */
static libretro_pad read_pad(const ls_slot_input *input)
{
    uint8_t bytes[INPUT_BYTES] = {0};
    libretro_pad pad = {.buttons = 0};
    for (uint32_t i = 0; i < input->size && i < INPUT_BYTES; i++) {
        bytes[i] = input->bytes[i];
    }
    pad.buttons = ls_load_u16(bytes);
    for (uint32_t i = 0; i < 4; i++) {
        pad.sticks[i] = (int16_t)ls_load_u16(bytes + 2 + i * 2);
    }
    return pad;
}

static void run_frame(const ls_step *step)
{
    game_state *game = step->state;
    libretro_pad pads[LIBRETRO_PORTS_MAX];
    for (uint32_t slot = 0; slot < step->config->players; slot++) {
        pads[slot] = read_pad(&step->inputs->slots[slot]);
    }
    libretro_console_run(game->console, pads, step->config->players);
}

static void pass_frame(const ls_step *step)
{
    ls_strict_double_pass(run_frame, step);
}

static const ls_pass passes[] = {{"frame", pass_frame}};

/* ---- saves ---- */

static uint64_t hash(const ls_sim_config *config, const void *state)
{
    (void)config;
    const game_state *game = state;
    size_t size = 0;
    const uint8_t *bytes = libretro_console_save(game->console, &size);
    return ls_hash_bytes(bytes, size, 0);
}

static size_t save(const ls_sim_config *config, const void *state, uint8_t *bytes, size_t capacity)
{
    (void)config;
    const game_state *game = state;
    size_t size = 0;
    const uint8_t *saved = libretro_console_save(game->console, &size);
    if (capacity >= size && size > 0) {
        memcpy(bytes, saved, size);
    }
    return size;
}

static ls_status load(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size)
{
    (void)config;
    return libretro_console_load(((game_state *)state)->console, bytes, size);
}

/* ---- where memory lies in a save ---- */

static const struct {
    unsigned id;
    const char *path;
} regions[] = {
    {LIBRETRO_MEMORY_SYSTEM_RAM, "system_ram"},
    {LIBRETRO_MEMORY_SAVE_RAM, "save_ram"},
    {LIBRETRO_MEMORY_VIDEO_RAM, "video_ram"},
};

enum {
    REGIONS = sizeof regions / sizeof regions[0],
    REGION_BYTES_MIN = 64, /* fewer may be found where they are not */
};

/* Writes a mark all over the memory, and looks where it is in a save. */
static bool find_region(libretro_console *console, unsigned id, ls_field *field)
{
    size_t size = 0, save_size = 0;
    uint8_t *memory = libretro_console_memory(console, id, &size);
    if (!memory || size < REGION_BYTES_MIN || size > LS_STATE_BYTES_MAX) {
        return false;
    }
    ls_rng rng = ls_rng_make(id, 1);
    for (size_t i = 0; i < size; i++) {
        memory[i] = (uint8_t)ls_rng_next(&rng);
    }
    const uint8_t *bytes = libretro_console_save(console, &save_size);
    for (size_t at = 0; bytes && at + size <= save_size; at++) {
        if (memcmp(bytes + at, memory, size) == 0) {
            field->offset = at;
            field->length = (uint32_t)size;
            return true;
        }
    }
    return false;
}

static bool is_apart(const ls_field *field, const ls_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (field->offset < fields[i].offset + fields[i].length &&
            fields[i].offset < field->offset + field->length) {
            return false;
        }
    }
    return true;
}

/* A core of its own is asked, since the search writes to its memory. */
static uint32_t save_fields(const ls_sim_config *config, ls_field *fields, uint32_t capacity)
{
    ls_field found[2 + REGIONS] = {
        {"frames", "", LS_FIELD_U32, 1, 1, 0, 0},
        {"random", "", LS_FIELD_U64, 1, 1, 4, 0},
    };
    uint32_t count = 2;
    libretro_console *console = NULL;
    if (open_console(config, &console, NULL) == LS_OK) {
        for (uint32_t i = 0; i < REGIONS; i++) {
            ls_field field = {regions[i].path, "", LS_FIELD_U8, 1, 1, 0, 0};
            if (find_region(console, regions[i].id, &field) && is_apart(&field, found, count)) {
                found[count++] = field;
            }
        }
        libretro_console_destroy(console);
    }
    return ls_fields_copy(found, count, fields, capacity);
}

/* ---- the picture and the sound ---- */

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)previous;
    (void)alpha;
    const game_state *game = current;
    libretro_picture_draw(libretro_console_picture(game->console), list);
}

static void sounds(const ls_sim_config *config, const void *previous, const void *current,
                   ls_sound_list *list)
{
    (void)config;
    (void)previous;
    const game_state *game = current;
    libretro_speaker_sound(libretro_console_speaker(game->console), list);
}

static void status(const ls_sim_config *config, const void *state, uint32_t slot,
                   ls_status_list *list)
{
    (void)state;
    if (slot < config->players) {
        ls_status_push(
            list,
            (ls_status_line){.kind = LS_STATUS_KEYS,
                             .text = {"arrows or WASD   A: space   B: left control   Y: Z   "
                                      "X: X   L: Q   R: E   start: enter   select: backspace"}});
    }
}

/* ---- who plays ---- */

static uint32_t bit(unsigned button)
{
    return 1u << button;
}

/* Holds a direction and some buttons for a while. The generator is not used up: what it would give
 * next names this player's bot, and the frame says which while it is. */
static uint32_t bot(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes)
{
    (void)config;
    static const uint16_t ways[9] = {
        0,
        1u << LIBRETRO_PAD_UP,
        1u << LIBRETRO_PAD_DOWN,
        1u << LIBRETRO_PAD_LEFT,
        1u << LIBRETRO_PAD_RIGHT,
        1u << LIBRETRO_PAD_UP | 1u << LIBRETRO_PAD_LEFT,
        1u << LIBRETRO_PAD_UP | 1u << LIBRETRO_PAD_RIGHT,
        1u << LIBRETRO_PAD_DOWN | 1u << LIBRETRO_PAD_LEFT,
        1u << LIBRETRO_PAD_DOWN | 1u << LIBRETRO_PAD_RIGHT,
    };
    const game_state *game = state;
    ls_rng copy = *rng;
    uint64_t name =
        ls_hash_pair(ls_rng_next(&copy), libretro_console_frames(game->console) / BOT_HOLDS_FRAMES);
    ls_rng own = ls_rng_make(name, slot);
    uint32_t buttons = ways[ls_rng_below(&own, 9)];
    uint32_t presses = ls_rng_next(&own);
    buttons |= presses & 1 ? bit(LIBRETRO_PAD_A) : 0;
    buttons |= presses & 2 ? bit(LIBRETRO_PAD_B) : 0;
    buttons |= (presses & 0x1c) == 0 ? bit(LIBRETRO_PAD_X) | bit(LIBRETRO_PAD_Y) : 0;
    buttons |= (presses & 0xe0) == 0 ? bit(LIBRETRO_PAD_START) : 0;
    ls_store_u16(bytes, (uint16_t)buttons);
    return 2;
}

/* The cores' pad is that of the Super Nintendo: B is the lowest button, A the one on the right. */
static const struct {
    uint32_t pad; /* LS_PAD_*; 0: none */
    uint32_t key; /* LS_KEY_*; 0: none. W, A, S and D are directions */
    unsigned button;
} hands[] = {
    {LS_PAD_SOUTH, LS_KEY_LEFT_CONTROL, LIBRETRO_PAD_B},
    {LS_PAD_EAST, LS_KEY_SPACE, LIBRETRO_PAD_A},
    {LS_PAD_WEST, LS_KEY_Z, LIBRETRO_PAD_Y},
    {LS_PAD_NORTH, LS_KEY_X, LIBRETRO_PAD_X},
    {LS_PAD_BACK, LS_KEY_BACKSPACE, LIBRETRO_PAD_SELECT},
    {LS_PAD_START, LS_KEY_ENTER, LIBRETRO_PAD_START},
    {LS_PAD_LEFT_SHOULDER, LS_KEY_Q, LIBRETRO_PAD_L},
    {LS_PAD_RIGHT_SHOULDER, LS_KEY_E, LIBRETRO_PAD_R},
    {LS_PAD_LEFT_STICK, 0, LIBRETRO_PAD_L3},
    {LS_PAD_RIGHT_STICK, 0, LIBRETRO_PAD_R3},
};

static uint32_t buttons_of(const ls_controls *controls)
{
    uint32_t pad = controls->pad_held | controls->pad_pressed;
    ls_vec2 way = ls_controls_direction(controls);
    uint32_t buttons = way.x < -LS_FIXED_HALF ? bit(LIBRETRO_PAD_LEFT) : 0;
    buttons |= way.x > LS_FIXED_HALF ? bit(LIBRETRO_PAD_RIGHT) : 0;
    buttons |= way.y < -LS_FIXED_HALF ? bit(LIBRETRO_PAD_DOWN) : 0;
    buttons |= way.y > LS_FIXED_HALF ? bit(LIBRETRO_PAD_UP) : 0;
    buttons |= controls->left_trigger > LS_FIXED_HALF ? bit(LIBRETRO_PAD_L2) : 0;
    buttons |= controls->right_trigger > LS_FIXED_HALF ? bit(LIBRETRO_PAD_R2) : 0;
    for (size_t i = 0; i < sizeof hands / sizeof hands[0]; i++) {
        bool is_key = hands[i].key != 0 && (ls_key_is_in(controls->keys_held, hands[i].key) ||
                                            ls_key_is_in(controls->keys_pressed, hands[i].key));
        buttons |= pad & hands[i].pad || is_key ? bit(hands[i].button) : 0;
    }
    return buttons;
}

/* As a core counts: down is positive. */
static void store_stick(ls_vec2 stick, uint8_t *bytes)
{
    ls_store_u16(bytes, (uint16_t)(int16_t)(stick.x * INT16_MAX / LS_FIXED_ONE));
    ls_store_u16(bytes + 2, (uint16_t)(int16_t)(-stick.y * INT16_MAX / LS_FIXED_ONE));
}

static uint32_t control(const ls_sim_config *config, const void *state, uint32_t slot,
                        const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    ls_store_u16(bytes, (uint16_t)buttons_of(controls));
    store_stick(controls->stick, bytes + 2);
    store_stick(controls->right_stick, bytes + 6);
    bool has_sticks = controls->stick.x || controls->stick.y || controls->right_stick.x ||
                      controls->right_stick.y;
    return has_sticks ? INPUT_BYTES : 2;
}

static void input_bits(const ls_sim_config *config, const void *state, const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    bits->buttons[0] = 0xFF;
    bits->buttons[1] = 0xFF;
}

static const ls_simulation simulation = {
    .abi = LS_SIMULATION_ABI,
    .size = sizeof(ls_simulation),
    .version = 1,
    .name = "libretro",
    .summary = "a console or computer of yore, by a core of libretro",
    .default_tick_rate_hz = 60,
    .default_players = 2,
    .players_max = LIBRETRO_PORTS_MAX,
    .input_bytes_max = INPUT_BYTES,
    .params = params,
    .param_count = PARAM_COUNT,
    .passes = passes,
    .pass_count = sizeof passes / sizeof passes[0],
    .state_bytes = state_bytes,
    .init = init,
    .draw = draw,
    .sounds = sounds,
    .bot = bot,
    .control = control,
    .hash = hash,
    .save = save,
    .load = load,
    .deinit = deinit,
    .save_fields = save_fields,
    .input_bits = input_bits,
    .status = status,
};

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void);
const ls_simulation *lockstep_simulation(void)
{
    return &simulation;
}
