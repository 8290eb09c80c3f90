/* Lua engine: one script that runs, with all that belongs to it: its Lua state, its generator of
 * random numbers, its budgets, and the image of its state, which is what is saved and hashed. The
 * host sets arithmetic and locale as a program starts with them while Lua runs. Called by the
 * plug-in's contract (lua_game.c) and by its parts. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_ENGINE_H
#define LOCKSTEP_TOOLS_ADAPTERS_LUA_LUA_ENGINE_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/lua/lua_internals.h"
#include "lockstep/tools/adapters/lua/lua_memory.h"

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
#define LUA_LIBRARY_COUNT 7
#define LUA_C_FUNCTIONS_MAX 160u

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

/* A global, or a value in it, whose worth stands at a fixed place of every image, so that a desync
 * is told by its name. */
typedef struct lua_watch {
    char path[LS_NAME_BYTES_MAX];
    char part[3][24]; /* keys from the globals on: a name, or digits of an index */
    uint32_t part_count;
    ls_field_type type; /* F64, I64, or U64: the hash of what belongs to the global */
    uint64_t bits;      /* of the newest image */
} lua_watch;

#define LUA_WATCHES_MAX 256u

typedef struct lua_object {
    const void *address;
    uint32_t number;
} lua_object;

/* Objects by their address, for one walk. */
typedef struct lua_object_map {
    lua_object *places; /* a power of two */
    uint32_t capacity;
    uint32_t count;
} lua_object_map;

/* Upvalue `index` of a closure, by numbers of an image. */
typedef struct lua_upvalue_use {
    uint32_t object;
    uint32_t index;
    uint32_t upvalue;
    uint32_t next;  /* use of the same upvalue; 0: none */
    uint32_t first; /* of upvalue n, in element n: its first and newest use */
    uint32_t newest;
    bool is_linked; /* of upvalue n, in element n */
} lua_upvalue_use;

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

typedef struct lua_engine lua_engine;
struct lua_engine {
    lua_State *L;
    const ls_sim_config *config;
    size_t used_bytes;
    uint64_t instructions_left;
    bool is_budget_used;
    bool is_view; /* runs draw, bot and control on a copy */
    bool has_reported;
    uint32_t log_level;
    ls_tick tick;
    ls_rng rng;
    char failure[LS_TEXT_BYTES_MAX]; /* "" while the script runs */

    lua_proto **protos; /* of the script, in the order of its text */
    uint32_t proto_count;
    const char *c_names[LUA_C_FUNCTIONS_MAX];
    lua_CFunction c_functions[LUA_C_FUNCTIONS_MAX];
    uint32_t c_function_count;
    lua_CFunction format; /* Lua's own string.format and string.pack */
    lua_CFunction pack;
    lua_CFunction yield; /* coroutine.yield */

    lua_watch *watches;
    uint32_t watch_count;

    lua_bytes image; /* of the state that the newest step made */
    uint64_t image_hash;
    lua_bytes image_before;
    uint64_t image_before_hash;
    lua_bytes written; /* while one is made */
    lua_keys keys;
    lua_keys changes;
    lua_keys inner[2];
    lua_object_map objects;
    lua_object_map upvalues;
    lua_upvalue_use *uses; /* while an image is read */
    uint32_t use_count;
    uint32_t use_capacity;

    ls_sound cues[LUA_CUES_MAX]; /* of the newest step */
    uint32_t cue_count;

    lua_engine *view;
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

/* Calls `run` with `argument` as its only argument, protected and within the budget. False: the
 * error is in `why`. */
bool lua_engine_call(lua_engine *engine, lua_CFunction run, void *argument, uint64_t instructions,
                     ls_text *why);

/* Takes the hook, and what is left of the budget, to a thread. */
void lua_engine_watch(lua_engine *engine, lua_State *L);
/* Takes instructions from the budget; an error when none are left. */
void lua_engine_charge(lua_engine *engine, lua_State *L, uint64_t instructions);

/* ---- library (lua_library.c) ---- */

/* Opens what a script may use, and remembers it as the base that images leave out. */
void lua_library_open(lua_engine *engine);
/* Pushes the table of the libraries in use ([1] is the globals), and that of their bases. */
void lua_library_push(lua_State *L);
void lua_library_push_bases(lua_State *L);
/* Pushes a table of the first ones, which the bases name. */
void lua_library_push_originals(lua_State *L, int bases);
/* Pushes a table of new ones, as after opening; lua_library_use makes the table on the top of the
 * stack the one in use, and pops it. */
void lua_library_push_new(lua_State *L);
void lua_library_use(lua_State *L);
/* 1 .. LUA_LIBRARY_COUNT, where the value is entry `n` of the libraries at `libraries`; else 0. */
int lua_library_number(lua_State *L, int libraries, int value);

int lua_pcall_continue(lua_State *L, int status, lua_KContext context);
int lua_script_pcall(lua_State *L);
int lua_script_wrapped(lua_State *L); /* what coroutine.wrap returns: its upvalue is the thread */

/* ---- keys (lua_keys.c) ---- */

/* Puts the keys of the table in order: numbers, strings, booleans. An error for other keys. */
void lua_keys_collect(lua_State *L, int table, lua_keys *keys);
void lua_keys_add(lua_State *L, int key, lua_keys *keys);
void lua_keys_sort(lua_keys *keys);
void lua_key_push(lua_State *L, const lua_key *key);
void lua_keys_free(lua_keys *keys);
int lua_script_pairs(lua_State *L);
int lua_script_pairs_next(lua_State *L);
int lua_script_next(lua_State *L);

/* ---- images (lua_save.c, lua_load.c) ---- */

/* Writes the image of the libraries on the top of the stack to engine->written; pops nothing. */
void lua_image_write(lua_engine *engine, lua_State *L);
/* That of a script that has failed. */
bool lua_image_write_failed(lua_engine *engine);
/* Finds out what to watch, of state 0. */
void lua_image_choose_watches(lua_engine *engine, lua_State *L);
uint32_t lua_image_head_bytes(const lua_engine *engine);
/* An image begins with u64 state and increment of the generator, u32 format, u32 bytes of the
 * failure's sentence (which ends the image), and u64 of each watch, which are told and not loaded.
 */
#define LUA_IMAGE_FORMAT_AT 16u
#define LUA_IMAGE_FAILURE_AT 20u
#define LUA_IMAGE_WATCHES_AT 24u
#define LUA_IMAGE_FORMAT 1u

/* Tags of values in an image. */
enum {
    LUA_TAG_NIL,
    LUA_TAG_FALSE,
    LUA_TAG_TRUE,
    LUA_TAG_INTEGER,  /* i64 */
    LUA_TAG_FLOAT,    /* f64; every NaN is the same one */
    LUA_TAG_STRING,   /* u32 bytes, bytes */
    LUA_TAG_C,        /* u32 number of a function of the libraries */
    LUA_TAG_LIBRARY,  /* u32 1 .. LUA_LIBRARY_COUNT */
    LUA_TAG_TABLE,    /* u32 object */
    LUA_TAG_FUNCTION, /* u32 object; when it is a new one: u32 number of its text in the script */
    LUA_TAG_WRAPPED,  /* u32 object: what coroutine.wrap returns */
    LUA_TAG_THREAD,   /* u32 object */
};

/* Of a coroutine, and of a frame of its stack, whose first number is its function's place. */
enum {
    LUA_THREAD_DEAD,
    LUA_THREAD_NEW,       /* value: its function */
    LUA_THREAD_SUSPENDED, /* u32 values, values, u32 frames, frames */
};
enum {
    LUA_FRAME_LUA,   /* u32 place, u32 next instruction, u32 extra arguments, u8 is a tail call */
    LUA_FRAME_PCALL, /* u32 place */
    LUA_FRAME_YIELD, /* u32 place; the last one */
};

/* lua_load.c: leaves the libraries that an image describes on the top of the stack. */
void lua_image_read(lua_engine *engine, lua_State *L, const uint8_t *bytes, size_t size);

/* ---- picture and hands (lua_view.c) ---- */

void lua_view_draw(lua_engine *before, lua_engine *now, ls_fixed alpha, ls_draw_list *list);
uint32_t lua_view_bot(lua_engine *engine, uint32_t slot, ls_rng *rng, uint8_t *bytes);
uint32_t lua_view_control(lua_engine *engine, uint32_t slot, const ls_controls *controls,
                          uint8_t *bytes);
void lua_view_free(lua_engine *engine);

#endif
