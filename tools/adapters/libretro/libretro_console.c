#include "lockstep/tools/adapters/libretro/libretro_console.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/hash.h"
#include "lockstep/common/base/text.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"
#include "lockstep/tools/adapters/libretro/libretro_surroundings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- picture ---- */

/* Makes room for the largest frame that the core will show. */
static ls_status picture_resize(libretro_picture *picture, const libretro_geometry *geometry)
{
    bool is_sane = geometry->aspect > 0.1f && geometry->aspect < 10.0f;
    picture->aspect = is_sane ? (double)geometry->aspect : 0;
    unsigned columns = geometry->columns_max, rows = geometry->rows_max;
    if (columns < 1 || columns > LS_DRAW_SIDE_MAX || rows < 1 || rows > LS_DRAW_SIDE_MAX) {
        return LS_UNSUPPORTED;
    }
    size_t capacity = (size_t)columns * rows;
    if (capacity <= picture->capacity) {
        return LS_OK;
    }
    ls_release(ls_allocator_heap(), picture->pixels);
    picture->columns = 0;
    picture->capacity = 0;
    picture->pixels = ls_allocate_array(ls_allocator_heap(), capacity, sizeof *picture->pixels);
    if (!picture->pixels) {
        return LS_NO_MEMORY;
    }
    picture->capacity = capacity;
    return LS_OK;
}

static void picture_deinit(libretro_picture *picture)
{
    ls_release(ls_allocator_heap(), picture->pixels);
    *picture = (libretro_picture){.pixels = NULL};
}

/* ---- 0xRRGGBBAA of each format ---- */

/* The full range of 8 bits from the full range of fewer. */
static uint32_t from_5_bits(uint32_t value)
{
    return (value & 0x1fu) << 3 | (value & 0x1fu) >> 2;
}

static uint32_t from_6_bits(uint32_t value)
{
    return (value & 0x3fu) << 2 | (value & 0x3fu) >> 4;
}

static uint32_t colour_of(uint32_t red, uint32_t green, uint32_t blue)
{
    return red << 24 | green << 16 | blue << 8 | 0xffu;
}

static uint32_t read_colour(libretro_pixel_format format, const uint8_t *row, unsigned column)
{
    uint16_t narrow = 0;
    uint32_t wide = 0;
    if (format == LIBRETRO_PIXELS_XRGB8888) {
        memcpy(&wide, row + column * sizeof wide, sizeof wide);
        return wide << 8 | 0xffu;
    }
    memcpy(&narrow, row + column * sizeof narrow, sizeof narrow);
    uint32_t blue = from_5_bits(narrow);
    return format == LIBRETRO_PIXELS_RGB565
               ? colour_of(from_5_bits(narrow >> 11u), from_6_bits(narrow >> 5u), blue)
               : colour_of(from_5_bits(narrow >> 10u), from_5_bits(narrow >> 5u), blue);
}

/* A frame that there is no room for is left out. */
static void picture_show(libretro_picture *picture, const void *frame, unsigned columns,
                         unsigned rows, size_t pitch)
{
    if (columns < 1 || columns > LS_DRAW_SIDE_MAX || rows < 1 || rows > LS_DRAW_SIDE_MAX ||
        (size_t)columns * rows > picture->capacity) {
        return;
    }
    picture->columns = columns;
    picture->rows = rows;
    uint32_t *out = picture->pixels;
    for (unsigned y = 0; y < rows; y++) {
        const uint8_t *row = (const uint8_t *)frame + y * pitch;
        for (unsigned x = 0; x < columns; x++) {
            *out++ = read_colour(picture->format, row, x);
        }
    }
}

/* A metre a row. */
void libretro_picture_draw(const libretro_picture *picture, ls_draw_list *list)
{
    double columns = picture->columns > 0 ? picture->columns : 4;
    double rows = picture->rows > 0 ? picture->rows : 3;
    double aspect = picture->aspect > 0 ? picture->aspect : columns / rows;
    ls_draw_shape screen = {
        .kind = LS_DRAW_BITMAP,
        .colour = 0x000000ffu,
        .half_width = ls_fixed_from_double(rows * aspect / 2),
        .half_height = ls_fixed_from_double(rows / 2),
        .columns = picture->columns,
        .rows = picture->rows,
        .pixels = picture->pixels,
    };
    list->view_min = (ls_vec2){-screen.half_width, -screen.half_height};
    list->view_max = (ls_vec2){screen.half_width, screen.half_height};
    if (picture->columns > 0) {
        ls_draw_push(list, screen);
    }
}

/* ---- sound ---- */

enum {
    CHANNELS = 2,
    TICKS_PER_S_MIN = 5,
};

/* The rate of a core, with room for as many ticks as there are in a fifth of a second. Silent for a
 * rate that cannot be played. */
static ls_status speaker_init(libretro_speaker *speaker, double rate_hz)
{
    *speaker = (libretro_speaker){.rate_hz = 0};
    if (!(rate_hz >= LS_SOUND_RATE_MIN_HZ && rate_hz <= LS_SOUND_RATE_MAX_HZ)) {
        return LS_OK;
    }
    speaker->rate_hz = (uint32_t)(rate_hz + 0.5);
    speaker->capacity = speaker->rate_hz / TICKS_PER_S_MIN;
    speaker->samples = ls_allocate_array(ls_allocator_heap(), (size_t)speaker->capacity * CHANNELS,
                                         sizeof *speaker->samples);
    return speaker->samples ? LS_OK : LS_NO_MEMORY;
}

static void speaker_deinit(libretro_speaker *speaker)
{
    ls_release(ls_allocator_heap(), speaker->samples);
    *speaker = (libretro_speaker){.rate_hz = 0};
}

static void speaker_begin_tick(libretro_speaker *speaker)
{
    speaker->frames = 0;
}

/* Samples that there is no room for are left out. */
static void speaker_play(libretro_speaker *speaker, const int16_t *samples, size_t frames)
{
    size_t room = speaker->capacity - speaker->frames;
    size_t taken = frames < room ? frames : room;
    if (taken > 0) {
        memcpy(speaker->samples + (size_t)speaker->frames * CHANNELS, samples,
               taken * CHANNELS * sizeof *samples);
        speaker->frames += (uint32_t)taken;
    }
}

void libretro_speaker_sound(const libretro_speaker *speaker, ls_sound_list *list)
{
    if (speaker->frames > 0) {
        ls_sound_push(list, (ls_sound){.kind = LS_SOUND_SAMPLES,
                                       .frames = speaker->frames,
                                       .rate_hz = speaker->rate_hz,
                                       .samples = speaker->samples});
    }
}

/* ---- console ---- */

#define LIBRETRO_OPTIONS_MAX 256u /* a core's further ones keep what the core makes of it */
#define LIBRETRO_OPTION_KEY_BYTES_MAX 64u
#define LIBRETRO_OPTION_VALUE_BYTES_MAX 128u

typedef struct libretro_option {
    char key[LIBRETRO_OPTION_KEY_BYTES_MAX];
    char value[LIBRETRO_OPTION_VALUE_BYTES_MAX];
} libretro_option;

/* The settings that a core has declared, with the values that the match gives them: the parameter
 * `options` is "key=value,key=value", all others keep their defaults. Texts are copied. */
typedef struct libretro_options {
    const char *wanted; /* the parameter, borrowed */
    libretro_option list[LIBRETRO_OPTIONS_MAX];
    uint32_t count;
    ls_text fault; /* of a value that an option cannot have; "" */
} libretro_options;

struct libretro_console {
    libretro_setup setup;
    libretro_core core;
    libretro_surroundings around;
    libretro_options options;
    libretro_picture picture;
    libretro_speaker speaker;
    libretro_pad pads[LIBRETRO_PORTS_MAX];
    ls_status picture_status; /* of the newest size that the core has asked for */
    libretro_quirks quirks;
    bool is_empty; /* the run under way has neither shown nor sounded anything yet */
    bool runs_without_content;
    bool wants_card; /* to draw with a graphics card */
    bool is_started; /* init was called, so deinit is owed */
    bool is_loaded;  /* content is loaded, so unloading is owed */
    bool is_saved;   /* `save` is of what is now */
    uint8_t *save;
    size_t save_bytes;
    size_t save_capacity;
    ls_text said; /* by the core, the newest line, until it has started */
};

/* Below a file there is no folder: nothing can be read from there or written to it, on any machine.
 * Cores that are given none at all look in the current one. */
enum {
    SETTLED_TIMES_MAX = 4,
};

#define NO_FOLDER "/dev/null/lockstep"

/* ---- options ---- */

/* A piece of a longer text. */
typedef struct piece {
    const char *start;
    size_t size;
} piece;

static piece piece_until(const char *text, const char *ends)
{
    return (piece){text, strcspn(text, ends)};
}

static bool is_text(piece p, const char *text)
{
    return strlen(text) == p.size && memcmp(text, p.start, p.size) == 0;
}

/* Returns what stands behind the assignment; *is_good: there is a '=' in it. */
static const char *read_assignment(const char *text, piece *key, piece *value)
{
    *key = piece_until(text, "=,");
    const char *rest = text + key->size;
    *value = (piece){rest, 0};
    if (*rest == '=') {
        *value = piece_until(rest + 1, ",");
        rest = value->start + value->size;
    }
    return *rest == ',' ? rest + 1 : rest;
}

static bool find_wanted(const libretro_options *options, const char *key, piece *value)
{
    bool is_found = false;
    for (const char *rest = options->wanted; *rest;) {
        piece name, wanted;
        rest = read_assignment(rest, &name, &wanted);
        if (is_text(name, key)) {
            *value = wanted;
            is_found = true;
        }
    }
    return is_found;
}

/* "Description; default|another": where the values begin. */
static const char *values_of(const char *declared)
{
    const char *end = declared ? strchr(declared, ';') : NULL;
    if (!end) {
        return "";
    }
    end++;
    return end + strspn(end, " ");
}

static bool is_among(const char *values, piece wanted)
{
    for (;;) {
        piece value = piece_until(values, "|");
        if (value.size == wanted.size && memcmp(value.start, wanted.start, value.size) == 0) {
            return true;
        }
        if (value.start[value.size] == '\0') {
            return false;
        }
        values = value.start + value.size + 1;
    }
}

static void declare(libretro_options *options, const libretro_variable *variable)
{
    const char *values = values_of(variable->value);
    piece value = piece_until(values, "|"), wanted;
    if (find_wanted(options, variable->key, &wanted)) {
        if (is_among(values, wanted)) {
            value = wanted;
        } else {
            ls_text_set(&options->fault, "options: %s cannot be '%.*s'; it can be %s",
                        variable->key, (int)wanted.size, wanted.start, values);
        }
    }
    libretro_option *option = &options->list[options->count];
    if (strlen(variable->key) < sizeof option->key && value.size < sizeof option->value) {
        memset(option, 0, sizeof *option);
        memcpy(option->key, variable->key, strlen(variable->key));
        memcpy(option->value, value.start, value.size);
        options->count++;
    }
}

/* A core may declare its options more than once: the last list counts. */
static void libretro_options_declare(libretro_options *options, const libretro_variable *variables)
{
    options->count = 0;
    options->fault.bytes[0] = '\0';
    for (; variables && variables->key && options->count < LIBRETRO_OPTIONS_MAX; variables++) {
        declare(options, variables);
    }
}

/* NULL: there is no such option. */
static const char *libretro_options_value(const libretro_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (strcmp(options->list[i].key, key) == 0) {
            return options->list[i].value;
        }
    }
    return NULL;
}

static bool has(const libretro_options *options, piece key)
{
    for (uint32_t i = 0; i < options->count; i++) {
        if (is_text(key, options->list[i].key)) {
            return true;
        }
    }
    return false;
}

/* BAD_ARGUMENT when something is wanted that the core does not have, with what it has. */
static ls_status libretro_options_check(const libretro_options *options, ls_text *why)
{
    for (const char *rest = options->wanted; *rest;) {
        piece key, value;
        rest = read_assignment(rest, &key, &value);
        if (has(options, key)) {
            continue;
        }
        ls_text_set(why, "options: the core has no '%.*s'; it has", (int)key.size, key.start);
        for (uint32_t i = 0; i < options->count; i++) {
            ls_text_add(why, "%s %s", i > 0 ? "," : "", options->list[i].key);
        }
        return LS_BAD_ARGUMENT;
    }
    return options->fault.bytes[0] ? ls_fail(LS_BAD_ARGUMENT, why, "%s", options->fault.bytes)
                                   : LS_OK;
}

/* ---- calls into the core ---- */

/* A core's calls do not say whose they are: the console that is in use in this thread, only during
 * a call into its core. NULL in a thread of the core's own. */
static _Thread_local libretro_console *active;

static void enter(libretro_console *console)
{
    active = console;
    libretro_surroundings_enter(&console->around);
    libretro_surroundings_clear_stack();
}

static void leave(void)
{
    active = NULL;
    libretro_surroundings_leave();
}

/* ---- what a core asks ---- */

static void note_line(int level, const char *format, ...) LS_PRINTF(2, 3);
static void note_line(int level, const char *format, ...)
{
    (void)level;
    if (!active || active->is_loaded) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(active->said.bytes, sizeof active->said.bytes, format, arguments);
    va_end(arguments);
    active->said.bytes[strcspn(active->said.bytes, "\r\n")] = '\0';
}

static bool set_format(unsigned format)
{
    if (format < LIBRETRO_PIXELS_COUNT) {
        active->picture.format = (libretro_pixel_format)format;
    }
    return format < LIBRETRO_PIXELS_COUNT;
}

static bool get_variable(libretro_variable *variable)
{
    variable->value = libretro_options_value(&active->options, variable->key);
    return variable->value != NULL;
}

static bool set_geometry(const libretro_geometry *geometry, bool has_limits)
{
    libretro_geometry made = *geometry;
    if (!has_limits) { /* a change of the picture's shape only */
        made.columns_max = made.columns;
        made.rows_max = made.rows;
    }
    active->picture_status = picture_resize(&active->picture, &made);
    return active->picture_status == LS_OK;
}

static bool answer_with_data(unsigned what, void *data)
{
    switch (what) {
    case LIBRETRO_GET_CAN_DUPE:
        *(bool *)data = true;
        return true;
    case LIBRETRO_GET_SYSTEM_DIRECTORY:
    case LIBRETRO_GET_CORE_ASSETS_DIRECTORY:
    case LIBRETRO_GET_SAVE_DIRECTORY:
        *(const char **)data = NO_FOLDER;
        return true;
    case LIBRETRO_SET_PIXEL_FORMAT:
        return set_format(*(const unsigned *)data);
    case LIBRETRO_GET_VARIABLE:
        return get_variable(data);
    case LIBRETRO_GET_VARIABLE_UPDATE:
        *(bool *)data = false;
        return true;
    case LIBRETRO_SET_SUPPORT_NO_GAME:
        active->runs_without_content = *(const bool *)data;
        return true;
    case LIBRETRO_GET_LOG_INTERFACE:
        ((libretro_log *)data)->write = note_line;
        return true;
    case LIBRETRO_SET_SYSTEM_AV_INFO:
        return set_geometry(&((const libretro_av_info *)data)->geometry, true);
    case LIBRETRO_SET_GEOMETRY:
        return set_geometry(data, false);
    case LIBRETRO_GET_CORE_OPTIONS_VERSION:
        *(unsigned *)data = 0;
        return true;
    case LIBRETRO_GET_INPUT_MAX_USERS:
        *(unsigned *)data = active->setup.players;
        return true;
    default:
        return false;
    }
}

/* A question without an answer is about something that does not exist here: clocks, counters,
 * files, cards, rumble, language. */
static bool answer(unsigned what, void *data)
{
    if (!active) {
        return false;
    }
    switch (what) {
    case LIBRETRO_SET_VARIABLES:
        libretro_options_declare(&active->options, data);
        return true;
    case LIBRETRO_SET_HW_RENDER:
        active->wants_card = true;
        return false;
    case LIBRETRO_SET_INPUT_DESCRIPTORS:
    case LIBRETRO_SET_CONTROLLER_INFO:
    case LIBRETRO_GET_INPUT_BITMASKS:
        return true;
    default:
        return data && answer_with_data(what, data);
    }
}

static void show_frame(const void *pixels, unsigned columns, unsigned rows, size_t pitch)
{
    if (active && pixels && pixels != LIBRETRO_FRAME_OF_CARD) {
        active->is_empty = false;
        picture_show(&active->picture, pixels, columns, rows, pitch);
    }
}

static size_t play_samples(const int16_t *samples, size_t pairs)
{
    if (active && samples && pairs > 0) {
        active->is_empty = false;
        speaker_play(&active->speaker, samples, pairs);
    }
    return pairs;
}

static void play_sample(int16_t left, int16_t right)
{
    const int16_t pair[2] = {left, right};
    play_samples(pair, 1);
}

static void poll_inputs(void)
{
}

static int16_t button_of(const libretro_pad *pad, unsigned id)
{
    return id < LIBRETRO_PAD_BUTTONS ? (int16_t)(pad->buttons >> id & 1) : 0;
}

static int16_t analog_of(const libretro_pad *pad, unsigned index, unsigned id)
{
    if (index == LIBRETRO_ANALOG_BUTTONS) {
        return (int16_t)(button_of(pad, id) * LIBRETRO_ANALOG_FULL);
    }
    return index < LIBRETRO_ANALOG_BUTTONS && id < 2 ? pad->sticks[index * 2 + id] : 0;
}

static int16_t read_input(unsigned port, unsigned device, unsigned index, unsigned id)
{
    if (!active || port >= LIBRETRO_PORTS_MAX) {
        return 0;
    }
    const libretro_pad *pad = &active->pads[port];
    switch (device & LIBRETRO_DEVICE_KIND_MASK) {
    case LIBRETRO_DEVICE_JOYPAD:
        return id == LIBRETRO_PAD_ALL ? (int16_t)pad->buttons : button_of(pad, id);
    case LIBRETRO_DEVICE_ANALOG:
        return analog_of(pad, index, id);
    default:
        return 0;
    }
}

/* ---- start ---- */

static void start(libretro_console *console)
{
    const libretro_functions *call = &console->core.call;
    call->set_environment(answer);
    call->set_video_refresh(show_frame);
    call->set_audio_sample(play_sample);
    call->set_audio_sample_batch(play_samples);
    call->set_input_poll(poll_inputs);
    call->set_input_state(read_input);
    console->is_started = true;
    call->init();
}

/* A path tells cores that look at its end what they are given; the end is the core's first. */
static bool load_content(libretro_console *console, const libretro_system *system)
{
    const ls_sim_file *content = console->setup.content;
    if (content->size == 0) {
        return console->core.call.load_game(NULL);
    }
    const char *ends = system->extensions ? system->extensions : "";
    char path[LS_NAME_BYTES_MAX];
    snprintf(path, sizeof path, NO_FOLDER "/content.%.*s", (int)(strcspn(ends, "|") % 16), ends);
    const libretro_content info = {path, content->bytes, (size_t)content->size, NULL};
    return console->core.call.load_game(&info);
}

static ls_status fail_to_load(const libretro_console *console, const libretro_system *system,
                              ls_text *why)
{
    if (console->wants_card) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "core: %s draws with the graphics card, whose results differ from machine "
                       "to machine; try an option of it that draws in software",
                       system->name);
    }
    ls_text_set(why, "content: %s %s does not take it; it takes: %s", system->name, system->version,
                system->extensions ? system->extensions : "");
    if (console->said.bytes[0]) {
        ls_text_add(why, "; it says: %s", console->said.bytes);
    }
    return LS_BAD_ARGUMENT;
}

static ls_status load_game(libretro_console *console, ls_text *why)
{
    libretro_system system = {.name = NULL};
    console->core.call.get_system_info(&system);
    console->quirks = libretro_quirks_of(system.name);
    if (system.needs_path) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "core: %s reads its content from a path of this machine itself, so that "
                       "nothing tells whether machines have the same",
                       system.name);
    }
    if (console->setup.content->size == 0 && !console->runs_without_content) {
        return ls_fail(LS_BAD_ARGUMENT, why, "content: %s needs one; it takes: %s", system.name,
                       system.extensions ? system.extensions : "");
    }
    ls_status status = libretro_options_check(&console->options, why);
    if (status != LS_OK) {
        return status;
    }
    console->is_loaded = load_content(console, &system);
    return console->is_loaded && !console->wants_card ? LS_OK : fail_to_load(console, &system, why);
}

/* ---- the rate ---- */

/* The fraction of the smallest denominator that is the rate for all that a player can notice: the
 * clocks of two machines differ by a thousand times more. */
static ls_rate rate_near(double hz)
{
    ls_rate rate = {0, 0};
    for (uint32_t denominator = 1; denominator <= 65536; denominator++) {
        double exact = hz * denominator;
        uint32_t numerator = (uint32_t)(exact + 0.5);
        double miss = exact - numerator;
        if ((miss < 0 ? -miss : miss) < exact * 1e-8) {
            return (ls_rate){numerator, denominator};
        }
    }
    rate.numerator = (uint32_t)(hz + 0.5);
    rate.denominator = 1;
    return rate;
}

/* A frame is a tick, so that a wrong rate is a wrong speed. Two hundredths are for whole numbers:
 * 60 in place of a Game Boy's 59.7275. */
static ls_status check_rate(const libretro_console *console, double hz, ls_text *why)
{
    double rate = ls_rate_hz(console->setup.rate);
    if (!(hz >= LS_TICK_RATE_MIN_HZ && hz <= LS_TICK_RATE_MAX_HZ)) {
        return LS_OK; /* there is no telling */
    }
    double ratio = rate / hz;
    if (ratio > 0.98 && ratio < 1.02) {
        return LS_OK;
    }
    ls_fail(LS_BAD_ARGUMENT, why,
            "core: it shows %.4f frames a second and the match has %.4f ticks; host with "
            "--tick-rate ",
            hz, rate);
    if (why) {
        ls_rate_add_text(rate_near(hz), why);
    }
    return LS_BAD_ARGUMENT;
}

static ls_status set_up_ports(libretro_console *console, ls_text *why)
{
    libretro_av_info info = {.frames_per_second = 0};
    console->core.call.get_system_av_info(&info);
    set_geometry(&info.geometry, true);
    if (speaker_init(&console->speaker, info.samples_per_second) != LS_OK) {
        return ls_fail(LS_NO_MEMORY, why, "core: there is no room for its sound");
    }
    if (console->picture_status != LS_OK) {
        return ls_fail(console->picture_status, why, "core: there is no room for its picture");
    }
    for (uint32_t port = 0; port < console->setup.players; port++) {
        console->core.call.set_controller_port_device(port, console->setup.device);
    }
    return check_rate(console, info.frames_per_second, why);
}

static ls_status build(libretro_console *console, ls_text *why)
{
    ls_status status = libretro_core_open(console->setup.core, libretro_surroundings_function,
                                          &console->around.originals, &console->core, why);
    if (status != LS_OK) {
        return status;
    }
    start(console);
    status = load_game(console, why);
    return status == LS_OK ? set_up_ports(console, why) : status;
}

/* ---- saves ---- */

static bool make_room(libretro_console *console, size_t size)
{
    if (size <= console->save_capacity) {
        return true;
    }
    ls_release(ls_allocator_heap(), console->save);
    console->save = ls_allocate(ls_allocator_heap(), size);
    console->save_capacity = console->save ? size : 0;
    return console->save != NULL;
}

static bool serialize(libretro_console *console)
{
    size_t size = console->core.call.serialize_size();
    if (size == 0 || size > LS_STATE_BYTES_MAX ||
        !make_room(console, LIBRETRO_SAVE_HEAD_BYTES + size)) {
        return false;
    }
    uint8_t *bytes = console->save + LIBRETRO_SAVE_HEAD_BYTES;
    memset(bytes, 0, size);
    ls_store_u32(console->save, console->around.frames);
    ls_store_u64(console->save + 4, console->around.random);
    console->save_bytes = LIBRETRO_SAVE_HEAD_BYTES + size;
    bool is_good = console->core.call.serialize(bytes, size);
    if (is_good && console->quirks.clean) {
        console->quirks.clean(bytes, size);
    }
    return is_good;
}

static bool unserialize(libretro_console *console, const uint8_t *bytes, size_t size)
{
    console->around.frames = ls_load_u32(bytes);
    console->around.random = ls_load_u64(bytes + 4);
    return console->core.call.unserialize(bytes + LIBRETRO_SAVE_HEAD_BYTES,
                                          size - LIBRETRO_SAVE_HEAD_BYTES);
}

/* The parts that a save leaves out become as a load makes them; the next save may show that. */
static void settle(libretro_console *console)
{
    uint64_t before = 0, now = 0;
    for (int i = 0; i < SETTLED_TIMES_MAX; i++) {
        libretro_surroundings_clear_stack();
        if (!serialize(console)) {
            return;
        }
        now = ls_hash_bytes(console->save, console->save_bytes, 0);
        if (i > 0 && now == before) {
            console->is_saved = true;
            return;
        }
        before = now;
        unserialize(console, console->save, console->save_bytes);
    }
}

/* ---- what others call ---- */

ls_status libretro_console_create(const libretro_setup *setup, libretro_console **out, ls_text *why)
{
    libretro_console *console = ls_allocate(ls_allocator_heap(), sizeof *console);
    if (!console) {
        return LS_NO_MEMORY;
    }
    console->setup = *setup;
    console->options.wanted = setup->options;
    console->around = (libretro_surroundings){
        .start_s = setup->start_s, .rate = setup->rate, .random = setup->seed};
    console->core.file = -1;
    enter(console);
    ls_status status = build(console, why);
    if (status == LS_OK && console->quirks.is_settled) {
        settle(console);
    }
    leave();
    if (status != LS_OK) {
        libretro_console_destroy(console);
        return status;
    }
    *out = console;
    return LS_OK;
}

void libretro_console_destroy(libretro_console *console)
{
    if (!console) {
        return;
    }
    enter(console);
    if (console->is_loaded) {
        console->core.call.unload_game();
    }
    if (console->is_started) {
        console->core.call.deinit();
    }
    libretro_core_close(&console->core);
    leave();
    picture_deinit(&console->picture);
    speaker_deinit(&console->speaker);
    ls_release(ls_allocator_heap(), console->save);
    ls_release(ls_allocator_heap(), console);
}

void libretro_console_run(libretro_console *console, const libretro_pad *pads, uint32_t count)
{
    for (uint32_t port = 0; port < count; port++) {
        console->pads[port] = pads[port];
        console->pads[port].buttons &= console->quirks.buttons;
    }
    console->is_saved = false;
    console->is_empty = true;
    speaker_begin_tick(&console->speaker);
    enter(console);
    console->core.call.run();
    if (console->is_empty && console->quirks.may_pass_over_frames) {
        console->core.call.run();
    }
    console->around.frames++;
    if (console->quirks.is_settled) {
        settle(console);
    }
    leave();
}

uint32_t libretro_console_frames(const libretro_console *console)
{
    return console->around.frames;
}

const uint8_t *libretro_console_save(libretro_console *console, size_t *size)
{
    if (!console->is_saved) {
        enter(console);
        console->is_saved = serialize(console);
        leave();
    }
    *size = console->is_saved ? console->save_bytes : 0;
    return console->is_saved ? console->save : NULL;
}

ls_status libretro_console_load(libretro_console *console, const uint8_t *bytes, size_t size)
{
    size_t kept = 0;
    if (size <= LIBRETRO_SAVE_HEAD_BYTES) {
        return LS_MALFORMED;
    }
    if (!libretro_console_save(console, &kept)) {
        return LS_UNSUPPORTED;
    }
    const libretro_quirks *quirks = &console->quirks;
    if (quirks->is_safe &&
        (size != kept || !quirks->is_safe(bytes + LIBRETRO_SAVE_HEAD_BYTES,
                                          console->save + LIBRETRO_SAVE_HEAD_BYTES,
                                          size - LIBRETRO_SAVE_HEAD_BYTES))) {
        return LS_MALFORMED;
    }
    uint8_t *padded = size < kept ? ls_allocate(ls_allocator_heap(), kept) : NULL;
    if (size < kept && !padded) {
        return LS_NO_MEMORY;
    }
    if (padded) { /* there are cores that read as many bytes as their own saves have */
        memcpy(padded, bytes, size);
        bytes = padded;
    }
    enter(console);
    bool is_loaded = unserialize(console, bytes, size);
    if (!is_loaded) {
        unserialize(console, console->save, kept);
    }
    leave();
    ls_release(ls_allocator_heap(), padded);
    console->is_saved = !is_loaded;
    return is_loaded ? LS_OK : LS_MALFORMED;
}

uint8_t *libretro_console_memory(libretro_console *console, unsigned id, size_t *size)
{
    enter(console);
    *size = console->core.call.get_memory_size(id);
    uint8_t *bytes = *size > 0 ? console->core.call.get_memory_data(id) : NULL;
    leave();
    console->is_saved = false;
    return bytes;
}

const libretro_picture *libretro_console_picture(const libretro_console *console)
{
    return &console->picture;
}

const libretro_speaker *libretro_console_speaker(const libretro_console *console)
{
    return &console->speaker;
}
