/* Simulation: the contract between Lockstep and a game. A game is one ls_simulation, built in or
 * exported by a .so plug-in; the server and every client run it and must compute the same bits.
 *
 * A step depends on the old state, this tick's inputs and the configuration alone: no clock, file,
 * environment, locale, thread or mutable static. The state is one flat block without pointers; a
 * schema names its every byte. Called by the instance (sim_instance.h), never directly by a
 * core. */
#ifndef LOCKSTEP_COMMON_SIMULATION_SIMULATION_H
#define LOCKSTEP_COMMON_SIMULATION_SIMULATION_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/rate.h"
#include "lockstep/common/base/slot_set.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/maths/fixed.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/control_keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* A plug-in built for another number is refused when it is loaded. Under one number structs only
 * change as follows, so that a plug-in need not be built again:
 * - ls_simulation grows at its end. Its `size` says how far the plug-in's reaches; a host takes the
 *   members beyond for absent (zero). A plug-in that is newer than its host is refused when it uses
 *   a member that the host does not know.
 * - What a plug-in is handed a pointer to grows at its end: ls_sim_config, ls_tick_inputs, ls_step,
 *   ls_sim_tuning, ls_draw_list, ls_sound_list, ls_controls, ls_input_bits, ls_status_list. A
 *   plug-in never makes one or asks for its size.
 * - What stands in arrays stays as it is: ls_param, ls_pass, ls_field, ls_slot_input, ls_sim_file,
 *   ls_draw_shape, ls_sound, ls_status_line. */
#define LS_SIMULATION_ABI 5u

/* Steps since the start. Tick t's inputs take state t to state t + 1; state 0 is what init made. */
typedef uint32_t ls_tick;

/* ---- configuration: equal on every machine of a match, fixed for its whole life ---- */

typedef enum ls_param_kind {
    LS_PARAM_INTEGER,
    LS_PARAM_STRING, /* UTF-8 that can be seen: no control characters */
    LS_PARAM_FILE,   /* any bytes, by each machine's own path; a plug-in opens no other file */
    LS_PARAM_KIND_COUNT,
} ls_param_kind;

/* A file's content is part of the match as its size and digest: a client that has no file of that
 * content is refused before it plays. Up to LS_STRING_PARAMS_MAX are strings, which take up to
 * LS_STRINGS_BYTES_MAX bytes together, and up to LS_FILE_PARAMS_MAX are files. */
typedef struct ls_param {
    const char *name;         /* as in --param name=value or, for a file, --param name=PATH */
    const char *unit;         /* "" for a plain number; of a file LS_PARAM_UNIT_CODE or "" */
    const char *help;         /* one line */
    int64_t default_value;    /* of an integer; a file's default is none, of 0 bytes */
    int64_t min;              /* of an integer its value; else its bytes: a file of min 1 must be */
    int64_t max;              /* given; up to LS_STRING_BYTES_MAX-1 or LS_FILE_BYTES_MAX */
    uint32_t kind;            /* ls_param_kind */
    const char *default_text; /* of a string; NULL for "" */
} ls_param;

/* Elements of an array of ls_param. */
#define LS_PARAM_INTEGER_OF(name, unit, help, default_value, min, max)                             \
    {                                                                                              \
        name, unit, help, default_value, min, max, LS_PARAM_INTEGER, NULL                          \
    }
#define LS_PARAM_STRING_OF(name, help, default_text, bytes_min, bytes_max)                         \
    {                                                                                              \
        name, "", help, 0, bytes_min, bytes_max, LS_PARAM_STRING, default_text                     \
    }
#define LS_PARAM_FILE_OF(name, help, bytes_min, bytes_max)                                         \
    {                                                                                              \
        name, "", help, 0, bytes_min, bytes_max, LS_PARAM_FILE, NULL                               \
    }
/* A file whose bytes the processor runs: a service takes only those its operator has listed. */
#define LS_PARAM_UNIT_CODE "code"
#define LS_PARAM_CODE_OF(name, help, bytes_min, bytes_max)                                         \
    {                                                                                              \
        name, LS_PARAM_UNIT_CODE, help, 0, bytes_min, bytes_max, LS_PARAM_FILE, NULL               \
    }

typedef struct ls_sim_file {
    const uint8_t *bytes; /* NULL: there is none, or (never in a plug-in) it is not here */
    uint64_t size;
    uint64_t digest; /* XXH3-64 of the bytes; 0 of a file of 0 bytes */
} ls_sim_file;

/* A host copies it; what the files point to is borrowed. A plug-in's functions are handed one
 * config for the whole life of a block: it and the bytes of its files stay where they are until
 * deinit. */
typedef struct ls_sim_config {
    uint64_t seed;
    uint32_t tick_rate_hz; /* for a person: the nearest whole number, at least 1 */
    uint32_t players;      /* slots 0 .. players-1, taken or not */
    uint32_t param_count;
    uint32_t string_count;
    uint32_t file_count;
    /* In the order of ls_simulation.params; a string's place in `strings`, a file's in `files`. */
    int64_t params[LS_PARAMS_MAX];
    char strings[LS_STRING_PARAMS_MAX][LS_STRING_BYTES_MAX];
    ls_sim_file files[LS_FILE_PARAMS_MAX];
    ls_rate tick_rate; /* where it is no whole number, in lowest terms; else {0, 0} */
    void *user;        /* of the simulation; of no meaning for another machine */
} ls_sim_config;

/* Exactly: a step takes denominator/numerator seconds. */
static inline ls_rate ls_sim_config_rate(const ls_sim_config *config)
{
    ls_rate rate = config->tick_rate;
    if (rate.denominator == 0) {
        rate.numerator = config->tick_rate_hz;
        rate.denominator = 1;
    }
    return rate;
}

/* The values of string and file parameters, by their places in ls_simulation.params. */
static inline const char *ls_sim_config_string(const ls_sim_config *config, uint32_t param)
{
    return config->strings[config->params[param]];
}
static inline const ls_sim_file *ls_sim_config_file(const ls_sim_config *config, uint32_t param)
{
    return &config->files[config->params[param]];
}

/* ---- schema: what each byte of the state is ---- */

/* X(NAME, bytes of one element, how a person reads it) */
#define LS_FIELD_TYPE_MAP(X)                                                                       \
    X(PADDING, 1, "padding") /* must stay zero */                                                  \
    X(U8, 1, "u8")                                                                                 \
    X(U16, 2, "u16")                                                                               \
    X(U32, 4, "u32")                                                                               \
    X(U64, 8, "u64")                                                                               \
    X(I8, 1, "i8")                                                                                 \
    X(I16, 2, "i16")                                                                               \
    X(I32, 4, "i32")                                                                               \
    X(I64, 8, "i64")                                                                               \
    X(FIXED, 8, "fixed") /* ls_fixed */                                                            \
    X(ANGLE, 4, "angle") /* ls_angle */                                                            \
    X(F32, 4, "f32")                                                                               \
    X(F64, 8, "f64")

typedef enum ls_field_type {
#define LS_FIELD_TYPE_ENUM(name, bytes, text) LS_FIELD_##name,
    LS_FIELD_TYPE_MAP(LS_FIELD_TYPE_ENUM)
#undef LS_FIELD_TYPE_ENUM
    LS_FIELD_TYPE_COUNT,
    LS_FIELD_TYPE_WIDEST = 0x7fffffff, /* no type, as LS_STATUS_WIDEST is no status */
} ls_field_type;

/* Stands in a path where a report writes the item's index, when that is not behind the part:
 * "fleet.ships[].speed" reads fleet.ships[2].speed. */
#define LS_FIELD_ITEM_MARK "[]"

/* `count` items, `stride` bytes apart, each with `length` neighbouring elements of `type`.
 * The element with item i and place j lies at offset + i*stride + j*(bytes of type). */
typedef struct ls_field {
    const char *path;   /* "ships.position.x"; the part is what stands before the first dot */
    const char *unit;   /* "m", "m/s", "ticks"; "" for none; "text": u8s that are shown as a text */
    ls_field_type type; /* fixes the size and the byte order of an element */
    uint32_t length;    /* >= 1 */
    uint32_t count;     /* >= 1 */
    size_t offset;      /* bytes from the start of the state */
    size_t stride;      /* bytes; at least the item's own when count > 1, else ignored */
} ls_field;

/* One member of the state struct, and an array member of it. */
#define LS_FIELD_OF(state_type, member, field_type, field_unit)                                    \
    (LS_LITERAL(ls_field){#member, field_unit, field_type, 1, 1, offsetof(state_type, member), 0})
#define LS_FIELD_ARRAY_OF(state_type, member, array_length, field_type, field_unit)                \
    (LS_LITERAL(ls_field){#member, field_unit, field_type, array_length, 1,                        \
                          offsetof(state_type, member), 0})
/* `member` of every item in an array of `item_type` that starts `array_offset` bytes into the
 * state; the path becomes "array.member". */
#define LS_FIELD_EACH(array, array_offset, item_count, item_type, member, field_type, field_unit)  \
    (LS_LITERAL(ls_field){array "." #member, field_unit, field_type, 1, item_count,                \
                          (array_offset) + offsetof(item_type, member), sizeof(item_type)})

/* The field with `length` neighbouring elements an item. */
static inline ls_field ls_field_long(ls_field field, uint32_t length)
{
    field.length = length;
    return field;
}

/* As ls_simulation.fields has to return: copies as many as there is room for. */
static inline uint32_t ls_fields_copy(const ls_field *fields, uint32_t count, ls_field *out,
                                      uint32_t capacity)
{
    for (uint32_t i = 0; i < count && i < capacity; i++) {
        out[i] = fields[i];
    }
    return count;
}

/* ---- inputs ---- */

/* Bits of ls_slot_input.events: a seat's first tick has JOINED, its first without a player LEFT. */
#define LS_EVENT_JOINED 0x01u
#define LS_EVENT_LEFT 0x02u

/* One slot's part of a tick. The bytes come from another machine: any content and any size up to
 * input_bytes_max must be safe; what makes no sense is ignored, never asserted. */
typedef struct ls_slot_input {
    const uint8_t *bytes; /* borrowed for the step; not aligned */
    uint32_t size;        /* 0 .. input_bytes_max */
    uint32_t events;
} ls_slot_input;

typedef struct ls_tick_inputs {
    ls_tick tick;
    uint32_t slot_count; /* = ls_sim_config.players */
    const ls_slot_input *slots;
} ls_tick_inputs;

/* A simulation says here what its inputs' bits mean when inputs come too late. Two masks of
 * input_bytes_max bytes, zeroed at first; a bit is of one, of the other or of none. Under the rule
 * `repeat` a slot whose input has not come when its tick is closed has its input of the tick before
 * once more: a bit of no mask stays as it was, as that of a stick or a number should.
 * - An edge acts whenever it is set: a move, a jump, an order. It is left out of what is repeated.
 *   An input of edges alone is left out, or acts, as a whole.
 * - A button is down as long as its bit is set. It stays down in what is repeated.
 * So that a tap is one tap, a client that sees ticks closed without an edge that it sent, or
 * without a button that it sent down and up again, sends it again with a later input, for up to a
 * second: edges in the order in which they were made, a button down for one tick. */
typedef struct ls_input_bits {
    uint8_t *edges;
    uint8_t *buttons;
} ls_input_bits;

/* ---- the step ---- */

/* How this machine runs the simulation. Machines of one match differ in it, so every state must
 * come out the same with any: lockstep-synctest tries them. */
typedef struct ls_sim_tuning {
    uint32_t workers;   /* threads that a step may use: 1 .. ls_simulation.workers_max */
    uint32_t log_level; /* what the simulation may print of its own, as ls_log_level counts */
} ls_sim_tuning;

/* Which chunks of LS_WRITE_CHUNK_BYTES of the state a step has written to. */
#define LS_WRITE_CHUNK_BYTES 4096u
typedef struct ls_written {
    uint8_t *chunks; /* 1: written to */
    size_t count;
} ls_written;

typedef struct ls_step {
    const ls_sim_config *config;
    const ls_tick_inputs *inputs;
    void *state;
    /* scratch_bytes of working memory, aligned for any type. Its content at the start of a step is
     * anything at all: what a step reads there it has written in the same step. NULL when the
     * simulation asks for none. */
    void *scratch;
    const ls_sim_tuning *tuning;
    const ls_written *written; /* for ls_step_wrote; NULL: nothing has to be named */
} ls_step;

/* Names bytes of the state that this step writes to, before or after it does: see
 * ls_simulation.names_writes. To be called by the thread that runs the pass. */
static inline void ls_step_wrote(const ls_step *step, size_t offset, size_t bytes)
{
    if (step->written && bytes > 0) {
        size_t last = (offset + bytes - 1) / LS_WRITE_CHUNK_BYTES;
        for (size_t i = offset / LS_WRITE_CHUNK_BYTES; i <= last && i < step->written->count; i++) {
            step->written->chunks[i] = 1;
        }
    }
}

/* Passes run in order; a desync report says after which one the states first differed. */
typedef struct ls_pass {
    const char *name;
    void (*run)(const ls_step *step);
} ls_pass;

/* ---- drawing: never saved, never hashed ---- */

typedef enum ls_draw_kind {
    LS_DRAW_DISC,     /* half_width is the radius */
    LS_DRAW_BOX,      /* half_width and half_height, turned by angle */
    LS_DRAW_LINE,     /* from (x, y), half_width long, along angle, half_height thick */
    LS_DRAW_TRIANGLE, /* corners; (x, y) is what a camera that follows it looks at */
    LS_DRAW_BITMAP,   /* pixels, stretched to half_width and half_height about (x, y), upright */
    LS_DRAW_TEXT,     /* one line of text to the right of (x, y), the middle of its left end;
                         half_height is half of the line's height; upright */
    LS_DRAW_WHEEL,    /* a disc on which a mark shows the angle */
} ls_draw_kind;

#define LS_DRAW_SIDE_MAX 4096u

typedef struct ls_draw_shape {
    uint32_t kind;   /* ls_draw_kind */
    uint32_t id;     /* the same thing keeps its id from tick to tick */
    uint32_t colour; /* 0xRRGGBBAA */
    ls_angle angle;
    ls_fixed x;
    ls_fixed y;
    ls_fixed half_width;
    ls_fixed half_height;
    ls_vec2 corners[3]; /* of a triangle; otherwise nothing */
    uint32_t owner;     /* slot + 1; 0: no player's */

    /* Of a bitmap: 0xRRGGBBAA each, the top row first, from the left; 1 .. LS_DRAW_SIDE_MAX columns
     * and rows. Of a text: UTF-8 with its final NUL; what is beyond LS_TEXT_BYTES_MAX is left out,
     * and a view that has no letters for a character shows '?'. Both are borrowed until the block
     * is used again: stepped, loaded, drawn or ended. A host copies what it wants to keep. */
    uint32_t columns;
    uint32_t rows;
    const uint32_t *pixels;
    const char *text;
} ls_draw_shape;

/* Whether a shape has a picture of a size that there can be: a host looks before it reads one. */
static inline bool ls_draw_is_bitmap(const ls_draw_shape *shape)
{
    return shape->kind == LS_DRAW_BITMAP && shape->pixels && shape->columns > 0 &&
           shape->columns <= LS_DRAW_SIDE_MAX && shape->rows > 0 && shape->rows <= LS_DRAW_SIDE_MAX;
}

/* Later shapes lie on top of earlier ones. */
typedef struct ls_draw_list {
    ls_draw_shape *shapes; /* the caller's memory */
    uint32_t capacity;
    uint32_t count;
    ls_vec2 view_min; /* the part of the world worth showing */
    ls_vec2 view_max;
} ls_draw_list;

/* Shapes beyond the capacity are left out. */
static inline void ls_draw_push(ls_draw_list *list, ls_draw_shape shape)
{
    if (list->count < list->capacity) {
        list->shapes[list->count++] = shape;
    }
}

/* ---- status: text beside the picture; never saved, never hashed ---- */

typedef enum ls_status_kind {
    LS_STATUS_SEAT,   /* behind the name of the player `owner` - 1: a score */
    LS_STATUS_MATCH,  /* for everybody: the time that is left */
    LS_STATUS_PERSON, /* for the person alone: "you are back in 2 s" */
    LS_STATUS_KEYS,   /* for the person: "arrows turn and drive, space fires" */
} ls_status_kind;

typedef struct ls_status_line {
    uint32_t kind;   /* ls_status_kind; of MATCH, PERSON and KEYS the first line counts */
    uint32_t owner;  /* of SEAT: slot + 1 */
    uint32_t colour; /* 0xRRGGBBAA; of SEAT the player's; 0: the view's own */
    ls_text text;    /* a short one */
} ls_status_line;

typedef struct ls_status_list {
    ls_status_line *lines; /* the caller's memory */
    uint32_t capacity;     /* a line for each seat and eight more */
    uint32_t count;
} ls_status_list;

static inline void ls_status_push(ls_status_list *list, ls_status_line line)
{
    if (list->count < list->capacity) {
        list->lines[list->count++] = line;
    }
}

/* ---- sound: never saved, never hashed ---- */

typedef enum ls_sound_kind {
    LS_SOUND_CUE,     /* something happened that has a sound of its own: a shot, a goal */
    LS_SOUND_SAMPLES, /* what the game itself plays during this tick, as an emulator does */
} ls_sound_kind;

/* A cue is known by its tick, its id, its owner and how many of these stand before it: a host that
 * makes a tick again, because it had guessed wrong what others do, gives out what is new. */
typedef struct ls_sound {
    uint32_t kind;  /* ls_sound_kind */
    uint32_t id;    /* of a cue: which sound, in numbers of the game's own */
    uint32_t owner; /* slot + 1; 0: no player's */

    /* Of a cue: */
    ls_fixed volume; /* 0 .. LS_FIXED_ONE */
    bool has_place;  /* it is heard from (x, y) in the world; else from everywhere */
    ls_fixed x;
    ls_fixed y;

    /* Of samples: pairs of left and right, `frames` of them, 1 .. LS_SOUND_FRAMES_MAX, at rate_hz
     * (LS_SOUND_RATE_MIN_HZ .. LS_SOUND_RATE_MAX_HZ). Borrowed as a bitmap is. */
    uint32_t frames;
    uint32_t rate_hz;
    const int16_t *samples;
} ls_sound;

/* Whether it is samples that there can be: a host looks before it reads one. */
static inline bool ls_sound_is_samples(const ls_sound *sound)
{
    return sound->kind == LS_SOUND_SAMPLES && sound->samples && sound->frames > 0 &&
           sound->frames <= LS_SOUND_FRAMES_MAX && sound->rate_hz >= LS_SOUND_RATE_MIN_HZ &&
           sound->rate_hz <= LS_SOUND_RATE_MAX_HZ;
}

typedef struct ls_sound_list {
    ls_sound *sounds; /* the caller's memory */
    uint32_t capacity;
    uint32_t count;
} ls_sound_list;

/* Sounds beyond the capacity, which is LS_SOUNDS_MAX or more, are left out. */
static inline void ls_sound_push(ls_sound_list *list, ls_sound sound)
{
    if (list->count < list->capacity) {
        list->sounds[list->count++] = sound;
    }
}

/* ---- a person's hands: how a viewer hands them to `control`; never saved, never hashed ---- */

/* Bits of ls_controls.held and pressed. A viewer maps keys and pad buttons to them. */
#define LS_CONTROL_UP 0x01u
#define LS_CONTROL_DOWN 0x02u
#define LS_CONTROL_LEFT 0x04u
#define LS_CONTROL_RIGHT 0x08u
#define LS_CONTROL_FIRST 0x10u  /* space, pad's A: fire, jump, drag */
#define LS_CONTROL_SECOND 0x20u /* left control, pad's B */
#define LS_CONTROL_THIRD 0x40u  /* left shift, pad's X */

#define LS_CONTROL_MEMORY_BYTES 8192u
#define LS_CONTROL_TEXT_BYTES_MAX 64u /* with its final NUL */

typedef enum ls_gesture {
    LS_GESTURE_NONE,
    LS_GESTURE_SELECT, /* a box drawn with the left button; a click when its corners are one */
    LS_GESTURE_ORDER,  /* a click with the right button at gesture_to */
    LS_GESTURE_WIDEST = 0x7fffffff, /* as LS_STATUS_WIDEST */
} ls_gesture;

typedef struct ls_controls {
    uint32_t held;         /* down now */
    uint32_t pressed;      /* went down since the input before, even if up again */
    ls_vec2 stick;         /* of a pad, y up; -LS_FIXED_ONE .. LS_FIXED_ONE; 0 without one */
    ls_vec2 pointer;       /* where it is in the world */
    bool is_pointer_held;  /* the left button, whatever becomes of it */
    ls_gesture gesture;    /* that ended since the input before */
    bool is_gesture_added; /* shift was held: adds to what is selected or ordered */
    ls_vec2 gesture_from;
    ls_vec2 gesture_to;
    uint8_t *memory; /* LS_CONTROL_MEMORY_BYTES that live as long as the view, zeroed at first and
                        aligned for any type: what is selected, say */

    /* A whole pad: `stick` is its left stick. */
    uint32_t pad_held;     /* LS_PAD_*: down now */
    uint32_t pad_pressed;  /* went down since the input before, even if up again */
    ls_vec2 right_stick;   /* as `stick` */
    ls_fixed left_trigger; /* 0 .. LS_FIXED_ONE */
    ls_fixed right_trigger;

    /* A whole keyboard: key k of LS_KEY_* is bit k % 64 of element k / 64. Keys that the viewer
     * itself makes something of are here all the same. */
    uint64_t keys_held[LS_KEYS / 64];
    uint64_t keys_pressed[LS_KEYS / 64];

    /* Text that was typed since the input before: UTF-8 without control characters, as keyboard
     * layout and input method make it. Text without room here comes with the next input. */
    char text[LS_CONTROL_TEXT_BYTES_MAX];
} ls_controls;

/* A `control` for a game whose input is one byte: the controls that are held or were pressed, as
 * LS_CONTROL_* bits. */
static inline uint32_t ls_control_as_byte(const ls_sim_config *config, const void *state,
                                          uint32_t slot, const ls_controls *controls,
                                          uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    bytes[0] = (uint8_t)(controls->held | controls->pressed);
    return 1;
}
/* An `input_bits` for it, and for every input whose first byte is buttons: not where a press is a
 * move, for that is an edge. */
static inline void ls_buttons_in_first_byte(const ls_sim_config *config, const void *state,
                                            const ls_input_bits *bits)
{
    (void)config;
    (void)state;
    bits->buttons[0] = 0xFF;
}

/* Whether a key is in a set: ls_key_is_in(controls->keys_held, LS_KEY_SPACE). */
static inline bool ls_key_is_in(const uint64_t *keys, uint32_t key)
{
    return key < LS_KEYS && (keys[key / 64] >> key % 64 & 1u) != 0;
}

/* ---- the simulation ---- */

typedef struct ls_simulation {
    uint32_t abi;     /* LS_SIMULATION_ABI */
    uint32_t size;    /* sizeof(ls_simulation), as the plug-in was built */
    uint32_t version; /* the game's own; machines with different ones never share a match */
    const char *name; /* 1 .. LS_NAME_BYTES_MAX-1 bytes of a-z 0-9 - _ */
    const char *summary;

    uint32_t default_tick_rate_hz;
    uint32_t default_players; /* 1 .. players_max */
    uint32_t players_max;     /* 1 .. LS_PLAYERS_MAX */
    uint32_t input_bytes_max; /* 0 .. LS_INPUT_BYTES_MAX; times players_max LS_INPUTS_BYTES_MAX */

    const ls_param *params;
    uint32_t param_count; /* 0 .. LS_PARAMS_MAX */
    const ls_pass *passes;
    uint32_t pass_count; /* 1 .. LS_PASSES_MAX */

    /* Values that cannot go together; NULL when every value in range can. This, state_bytes and
     * all other functions are handed the files' bytes as well. */
    ls_status (*check)(const ls_sim_config *config, ls_text *why);

    /* Digest of data files and rules that are not in the code; NULL when there are none. */
    uint64_t (*content_digest)(const ls_sim_config *config);

    size_t (*state_bytes)(const ls_sim_config *config);   /* 1 .. LS_STATE_BYTES_MAX */
    size_t (*scratch_bytes)(const ls_sim_config *config); /* NULL for none */

    /* Writes up to `capacity` fields and returns how many there are (<= LS_FIELDS_MAX). Together
     * they cover every byte of the state exactly once. NULL when `hash` is given: a state has one
     * or the other. */
    uint32_t (*fields)(const ls_sim_config *config, ls_field *fields, uint32_t capacity);

    /* Makes state 0. The block comes zeroed. A failure says in `why` what is wrong, in words for
     * the person who started the match: which byte of the map is bad, and what it should be. */
    ls_status (*init)(const ls_sim_config *config, void *state, ls_text *why);

    /* Appends the picture that lies `alpha` (0 .. LS_FIXED_ONE) of the way from `previous` to
     * `current`. Reads only. NULL when there is nothing to see. A host cannot keep the block of an
     * engine that hashes by callback: it hands the same one twice, and the engine knows itself
     * where things were before its newest step. */
    void (*draw)(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list);

    /* Plays for `slot` as a person would: writes one input of at most input_bytes_max bytes and
     * returns its size. Reads only; draws only from `rng`. NULL: bots send random bytes. */
    uint32_t (*bot)(const ls_sim_config *config, const void *state, uint32_t slot, ls_rng *rng,
                    uint8_t *bytes);

    /* Makes a person's input out of what their hands do: as `bot`, and may write to
     * controls->memory. NULL: a viewer can only watch, or let a bot play. */
    uint32_t (*control)(const ls_sim_config *config, const void *state, uint32_t slot,
                        const ls_controls *controls, uint8_t *bytes);

    /* Appends what only this person sees: what is selected, say. NULL for nothing. */
    void (*draw_control)(const ls_sim_config *config, const void *state, uint32_t slot,
                         const ls_controls *controls, ls_draw_list *list);

    /* For a wrapped third-party engine, whose block holds a handle instead of the state itself;
     * all NULL for everybody else. With `hash` alone a match can be hosted and verified, with
     * `save` and `load` it can be snapshot as well.
     *
     * `save` works at every tick, 0 included. `load` gets a block that `init` has made and that may
     * have been stepped and loaded before; it replaces the whole state. A save right after a load
     * has the bytes that were loaded. A load that fails leaves the state as it was.
     * `deinit` follows an `init` that succeeded; an `init` that fails frees what it has made.
     * A process may hold several blocks at once, of one config or of several: a server of several
     * matches does, and so does a process that runs ticks again. Each is used by one thread at a
     * time; nothing but `config` may be shared between them. */
    uint64_t (*hash)(const ls_sim_config *config, const void *state);
    size_t (*save)(const ls_sim_config *config, const void *state, uint8_t *bytes,
                   size_t capacity); /* returns the size needed; writes when it fits */
    ls_status (*load)(const ls_sim_config *config, void *state, const uint8_t *bytes, size_t size);
    void (*deinit)(const ls_sim_config *config, void *state);

    /* Threads that a step can make use of, 0 .. LS_WORKERS_MAX; up to 1 is the caller's alone. */
    uint32_t workers_max;

    /* Of an engine with `save` and `load`, whose desyncs are told by what it saves; both NULL for
     * everybody else. The most bytes that a save of this match takes; NULL: unknown, and a save of
     * more than a quarter beyond that of state 0 may not be compared. */
    size_t (*save_bytes_max)(const ls_sim_config *config);

    /* Names what lies where in a save, as `fields` does in a state: offsets count from the save's
     * first byte. Need not cover every byte; what is left out is told by its place. NULL: nothing
     * has a name. */
    uint32_t (*save_fields)(const ls_sim_config *config, ls_field *fields, uint32_t capacity);

    /* Where default_tick_rate_hz is only the nearest whole number, in lowest terms; else {0, 0}. */
    ls_rate default_tick_rate;

    /* Appends what is heard because of the step that led from `previous` to `current`, which may be
     * told by comparing the two. Reads only. NULL: the game makes no sound. Called after a step,
     * before the block is used again, and not at all where nobody listens. An engine that hashes by
     * callback is handed the same block twice, and knows itself what its newest step did. */
    void (*sounds)(const ls_sim_config *config, const void *previous, const void *current,
                   ls_sound_list *list);

    /* In place of save_fields, where what lies where in a save follows from state 0: it gets the
     * block of state 0, and paths stay until its deinit. Equal on all machines of a match. */
    uint32_t (*save_fields_of)(const ls_sim_config *config, const void *state, ls_field *fields,
                               uint32_t capacity);

    /* Says of inputs which bits are edges and which are buttons. Called once a match. The server
     * decides what a late input becomes, and tells everybody with the closed ticks. NULL: the whole
     * input is repeated, and what comes too late is lost. */
    void (*input_bits)(const ls_sim_config *config, const void *state, const ls_input_bits *bits);

    /* Appends what a view shows beside the picture to the person in `slot`; beyond the last slot:
     * to a spectator. Reads only. NULL: nothing. */
    void (*status)(const ls_sim_config *config, const void *state, uint32_t slot,
                   ls_status_list *list);

    /* Says why two content digests differ, for the refusal of a client. NULL: in their digits. */
    void (*explain_content)(uint64_t client, uint64_t server, ls_text *out);

    void *user; /* of one that the host itself has made: its functions get it in the config */

    /* 1: its passes name all that they write to, by ls_step_wrote. Only then, and where the match
     * says that it trusts in that, the rest of a state is taken for unchanged between two hashes
     * of all of it, which are a second apart. With `fields` alone. */
    uint32_t names_writes;
} ls_simulation;

/* Whether it names what lies where in its saves. */
static inline bool ls_simulation_names_saves(const ls_simulation *simulation)
{
    return simulation->save_fields || simulation->save_fields_of;
}

/* A plug-in exports this one symbol. The struct and all it points to live as long as the .so. */
#define LS_SIMULATION_SYMBOL "lockstep_simulation"
#if defined(__GNUC__)
#define LS_SIMULATION_VISIBLE __attribute__((visibility("default")))
#else
#define LS_SIMULATION_VISIBLE
#endif
#ifdef __cplusplus
#define LS_SIMULATION_EXPORT extern "C" LS_SIMULATION_VISIBLE
#else
#define LS_SIMULATION_EXPORT LS_SIMULATION_VISIBLE
#endif
typedef const ls_simulation *(*ls_simulation_entry)(void);

/* ---- what hosts call ---- */

/* Reads what a plug-in exports into a struct of this program's size: PLUGIN for another abi, or for
 * members in use that this program does not know. */
ls_status ls_simulation_read(const ls_simulation *exported, ls_simulation *out, ls_text *why);

/* A simulation that hashes by callback and cannot be saved: its states are never seen. */
static inline bool ls_simulation_only_hashes(const ls_simulation *simulation)
{
    return simulation->hash && (!simulation->save || !simulation->load);
}

/* Checks everything in the struct that can be checked without running it; BAD_ARGUMENT or PLUGIN
 * with the field named in `why`. */
ls_status ls_simulation_check(const ls_simulation *simulation, ls_text *why);

/* The defaults of the simulation with seed 1. */
ls_sim_config ls_sim_config_default(const ls_simulation *simulation);

/* The parameter of this name; NULL: there is none. */
const ls_param *ls_simulation_param(const ls_simulation *simulation, const char *name,
                                    size_t name_bytes);

/* Reads "name=value" into the config. NOT_FOUND (the names that exist in `why`), BAD_ARGUMENT (the
 * range in `why`, or that this is a file: sim_files.h sets those). */
ls_status ls_sim_config_set(const ls_simulation *simulation, ls_sim_config *config,
                            const char *assignment, ls_text *why);

/* Equal in everything that decides the match; where files lie does not. */
bool ls_sim_config_is_equal(const ls_sim_config *a, const ls_sim_config *b);

/* Every range, that every file is here, then the simulation's own check. */
ls_status ls_sim_config_check(const ls_simulation *simulation, const ls_sim_config *config,
                              ls_text *why);

LS_C_END

#endif
