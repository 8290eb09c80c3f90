/* Lua engine: one script that runs, with all that belongs to it: its Lua state, its generator of
 * random numbers, its budgets, and the image of its global `storage`, which is what is saved and
 * hashed. Everything else that the script reaches is fixed once it is loaded. The host sets
 * arithmetic and locale as a program starts with them while Lua runs. Called by the plug-in's
 * contract (lua_game.c) and by its parts. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_ENGINE_H
#define LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_ENGINE_H

#include "lockstep/common/simulation/simulation.h"

#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>

enum {
    LUA_PARAM_SCRIPT,
    LUA_PARAM_OPTIONS,
    LUA_PARAM_INSTRUCTIONS,
    LUA_PARAM_STATE,
    LUA_PARAM_MEMORY,
    LUA_PARAM_COUNT,
};

#define LUA_INPUT_BYTES_MAX 64u
#define LUA_SHAPES_MAX 2048u
#define LUA_CUES_MAX 64u

/* Instructions between two looks at the budget. */
#define LUA_HOOK_INSTRUCTIONS 1000

typedef struct lua_bytes {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
} lua_bytes;

/* A key of a table, to put the keys in order. */
typedef struct lua_key {
    uint8_t type; /* lua_type */
    bool is_float;
    bool flag; /* of a boolean */
    lua_Integer integer;
    lua_Number number;
    const char *text;
    size_t text_bytes;
} lua_key;

typedef struct lua_keys {
    lua_key *keys;
    lua_key *scratch;
    size_t count;
    size_t capacity;
} lua_keys;

/* A value in `storage` that stands at a fixed place of every image, so that a desync is told by its
 * name. */
typedef struct lua_watch {
    char path[LS_NAME_BYTES_MAX];
    char part[3][24]; /* keys from `storage` on: a name, or digits of an index */
    uint32_t part_count;
    ls_field_type type; /* F64, I64, or U64: the hash of all that belongs to an entry of storage */
    uint64_t bits;      /* of the newest image */
} lua_watch;

#define LUA_WATCHES_MAX 256u

/* Tables and functions in the order in which a walk meets them, from 1 on; the objects themselves
 * are in two tables of Lua: [number] = object, and [object] = number. */
typedef struct lua_graph {
    uint32_t *parents; /* of object number i + 1: the one that it was met in */
    uint32_t count;
    uint32_t capacity;
} lua_graph;

typedef struct lua_engine lua_engine;

/* The search for the line that breaks a rule: the step runs once more, and is checked at each line.
 */
typedef struct lua_trace {
    void (*look)(lua_engine *engine, lua_State *L, lua_Debug *where); /* NULL: there is none */
    bool is_broken;
    uint32_t checks_left;
    int line;        /* that runs now */
    int broken_line; /* that broke the rule last */
    ls_text why;
} lua_trace;

#define LUA_SHAPE_TEXT_BYTES 128u

/* The shapes that `draw` made of one image. */
typedef struct lua_shapes {
    ls_draw_shape *shapes;
    uint32_t count;
    char (*texts)[LUA_SHAPE_TEXT_BYTES]; /* of the shape of the same place */
    ls_vec2 view_min;
    ls_vec2 view_max;
    uint64_t image_hash;
    bool is_drawn;
} lua_shapes;

/* The lines that `status` made of one image for one slot. */
typedef struct lua_status_lines {
    ls_status_line lines[LS_PLAYERS_MAX + 8];
    ls_status_list list;
    uint32_t slot;
    uint64_t image_hash;
    bool is_made;
} lua_status_lines;

struct lua_engine {
    lua_State *L;
    const ls_sim_config *config;
    size_t used_bytes;
    uint64_t instructions_left;
    bool is_budget_used;
    bool is_view; /* runs draw, status, bot and control on a copy */
    bool has_reported;
    uint32_t log_level;
    ls_tick tick;
    ls_rng rng;
    char failure[LS_TEXT_BYTES_MAX]; /* "" while the script runs */

    lua_CFunction format; /* Lua's own string.format and string.pack */
    lua_CFunction pack;

    lua_graph outside; /* all that is reached from the globals but `storage` */
    uint64_t *prints;  /* fingerprint of each: it stays the same */
    bool is_spoilt;    /* the outside may have changed: the next load begins anew */
    lua_trace trace;

    lua_watch *watches;
    uint32_t watch_count;

    lua_bytes image; /* of the state that the newest step made */
    uint64_t image_hash;
    lua_bytes image_before;
    uint64_t image_before_hash;
    lua_bytes written; /* while one is made */
    lua_graph graph;   /* of `storage`, likewise */
    lua_keys keys;
    lua_keys entries; /* of `storage` itself */
    lua_keys inner[2];

    ls_sound cues[LUA_CUES_MAX]; /* of the newest step */
    uint32_t cue_count;

    lua_engine *view;
    bool has_no_bot; /* `bot`, `control` or `status` has failed: it is not called again */
    bool has_no_control;
    bool has_no_status;
    lua_status_lines status;
    lua_shapes *drawing; /* while `draw` runs */
    lua_shapes shown;
    lua_shapes shown_before;
};

/* The engine that a Lua state belongs to. */
static inline lua_engine *lua_engine_of(lua_State *L)
{
    lua_engine *engine = NULL;
    void *space = lua_getextraspace(L);
    __builtin_memcpy(&engine, space, sizeof engine);
    return engine;
}

/* Compiles the script and opens its libraries; state 0 is not made yet. */
ls_status lua_engine_create(const ls_sim_config *config, lua_engine **out, ls_text *why);
void lua_engine_destroy(lua_engine *engine);

/* Runs the script's text and its `init`, and makes the image of state 0. */
ls_status lua_engine_start(lua_engine *engine, ls_text *why);

/* An error of the script is no error of the step: it is in the state from then on. */
void lua_engine_step(lua_engine *engine, const ls_step *step);

/* Replaces the state, or fails and leaves it. */
ls_status lua_engine_load(lua_engine *engine, const uint8_t *bytes, size_t size);

/* Calls `run` with `argument` as its only argument, protected and within the budget, from the state
 * of this image. False: the error is in `why`, and so it is when the script breaks a rule: with the
 * line that breaks it. */
bool lua_engine_call(lua_engine *engine, lua_CFunction run, void *argument, uint64_t instructions,
                     ls_text *why);
bool lua_engine_play(lua_engine *engine, lua_CFunction run, void *argument, const lua_bytes *from,
                     ls_text *why);

/* Writes a line to standard error, where there is room for it: a log that nobody reads must not
 * keep a tick waiting (lua_platform.c). */
void lua_say(const char *format, ...);

/* Raises an error that names no line: the search for the line that broke a rule finds it. */
int lua_refuse(lua_State *L, const char *format, ...);

/* Takes instructions from the budget; an error when none are left. */
void lua_engine_charge(lua_engine *engine, lua_State *L, uint64_t instructions);

/* ---- memory (lua_memory.c): the one place that asks the C heap ---- */

/* Zeroed; NULL: there is none. */
void *lua_memory_make(size_t bytes);
/* Keeps the content; NULL leaves the block as it was. `bytes` > 0. */
void *lua_memory_resize(void *block, size_t bytes);
void lua_memory_free(void *block);

/* ---- library (lua_library.c) ---- */

/* Opens all that a script may use. */
void lua_library_open(lua_engine *engine);

/* ---- graphs (lua_graph.c) ---- */

/* The number of the object at the top of the stack, which is popped; a new one is added as met in
 * `parent`. `objects` and `numbers` are places in the stack. */
uint32_t lua_graph_add(lua_State *L, lua_graph *graph, int objects, int numbers, uint32_t parent);
void lua_graph_free(lua_graph *graph);

#define LUA_PATH_BYTES 160u

/* Names a place in an object, the last part given as its name: "ball.x". The root's own name comes
 * first: "" is none. A variable of a function is named without the way to the function. */
void lua_graph_path(lua_State *L, const lua_graph *graph, int objects, uint32_t object,
                    const char *part, const char *root, char path[LUA_PATH_BYTES]);

/* ---- outside (lua_outside.c) ---- */

/* Notes all that the globals reach, `storage` left out; an error where it holds what may change by
 * itself, as a coroutine. */
void lua_outside_record(lua_engine *engine, lua_State *L);

/* An error when something has changed. */
void lua_outside_check(lua_engine *engine, lua_State *L);

/* Whether the table at the top of the stack is outside. */
bool lua_outside_has(lua_State *L);

/* ---- keys (lua_keys.c) ---- */

/* Puts the keys of the table in order: numbers, strings, booleans. False: there are other keys. */
bool lua_keys_collect(lua_State *L, int table, lua_keys *keys);
/* Raises that as an error; `where` comes first. */
int lua_keys_refuse(lua_State *L, const char *where);
/* As it stands in a path: ".x", "[3]", "[true]". */
void lua_key_name(const lua_key *key, char name[48]);
/* A text that needs no quotes, of fewer bytes. */
bool lua_key_is_name(const lua_key *key, size_t bytes_max);
void lua_key_push(lua_State *L, const lua_key *key);
void lua_keys_free(lua_keys *keys);
int lua_script_pairs(lua_State *L);
int lua_script_next(lua_State *L);

/* ---- images (lua_storage.c) ---- */

/* Writes the image of the table at this place of the stack to engine->written. An error with the
 * path of what cannot be kept. */
void lua_storage_write(lua_engine *engine, lua_State *L, int storage);
/* That of a script that has failed. */
bool lua_storage_write_failed(lua_engine *engine);
/* Pushes the table of an image: an error where the bytes make no sense. Bytes that this program
 * would not have written are found by writing the table again. */
void lua_storage_read(lua_engine *engine, lua_State *L, const uint8_t *bytes, size_t size);

/* An image begins with u64 state and increment of the generator, u32 format, u32 bytes of the
 * failure's sentence (which ends the image), and u64 of each watch, which are told and not loaded.
 * Then come the entries of `storage` in the order of their keys, each followed by the tables that
 * are met in it for the first time; of a table u32 entries, key and value of each. */
#define LUA_IMAGE_FORMAT_AT 16u
#define LUA_IMAGE_FAILURE_AT 20u
#define LUA_IMAGE_WATCHES_AT 24u
#define LUA_IMAGE_FORMAT 2u
uint32_t lua_storage_head_bytes(const lua_engine *engine);

/* Tags of values in an image. */
enum {
    LUA_TAG_FALSE,
    LUA_TAG_TRUE,
    LUA_TAG_INTEGER, /* i64 */
    LUA_TAG_FLOAT,   /* f64; every NaN is the same one */
    LUA_TAG_STRING,  /* u32 bytes, bytes */
    LUA_TAG_TABLE,   /* u32 number: 1 is `storage`; one more than there were is a new one */
};

/* ---- watches (lua_storage.c) ---- */

/* Finds out what to watch in `storage`, at this place of the stack. */
void lua_watch_choose(lua_engine *engine, lua_State *L, int storage);

/* ---- picture and hands (lua_view.c) ---- */

void lua_view_draw(lua_engine *before, lua_engine *now, ls_fixed alpha, ls_draw_list *list);
void lua_view_status(lua_engine *engine, uint32_t slot, ls_status_list *list);
uint32_t lua_view_bot(lua_engine *engine, uint32_t slot, ls_rng *rng, uint8_t *bytes);
void lua_view_input_bits(lua_engine *engine, const ls_input_bits *bits);
uint32_t lua_view_control(lua_engine *engine, uint32_t slot, const ls_controls *controls,
                          uint8_t *bytes);
void lua_view_free(lua_engine *engine);

#endif
