/* Libretro api: what a host and a core of the libretro interface (version 1) say to each other, as
 * far as this host uses it: numbers, layouts and functions as the interface's own pages have them.
 * A core is a shared library with the functions below; it keeps its state in its own variables, and
 * calls back the functions that it has been set. Included by the libretro plug-in alone.
 */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_API_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIBRETRO_API_VERSION 1u

/* A core asks its host these, or says them to it; behind each is the type of `data`. */
enum {
    LIBRETRO_GET_CAN_DUPE = 3,               /* bool *: may a frame come as NULL for "as before"? */
    LIBRETRO_GET_SYSTEM_DIRECTORY = 9,       /* const char ** */
    LIBRETRO_SET_PIXEL_FORMAT = 10,          /* const unsigned *: libretro_pixel_format */
    LIBRETRO_SET_INPUT_DESCRIPTORS = 11,     /* names of buttons, for a menu */
    LIBRETRO_SET_HW_RENDER = 14,             /* draws with the graphics card */
    LIBRETRO_GET_VARIABLE = 15,              /* libretro_variable *: the value of an option */
    LIBRETRO_SET_VARIABLES = 16,             /* const libretro_variable *, to a NULL key */
    LIBRETRO_GET_VARIABLE_UPDATE = 17,       /* bool *: has an option changed? */
    LIBRETRO_SET_SUPPORT_NO_GAME = 18,       /* const bool * */
    LIBRETRO_GET_LOG_INTERFACE = 27,         /* libretro_log * */
    LIBRETRO_GET_CORE_ASSETS_DIRECTORY = 30, /* const char ** */
    LIBRETRO_GET_SAVE_DIRECTORY = 31,        /* const char ** */
    LIBRETRO_SET_SYSTEM_AV_INFO = 32,        /* const libretro_av_info * */
    LIBRETRO_SET_CONTROLLER_INFO = 35,       /* names of controllers, for a menu */
    LIBRETRO_SET_GEOMETRY = 37,              /* const libretro_geometry * */
    LIBRETRO_GET_CORE_OPTIONS_VERSION = 52,  /* unsigned *: 0 for SET_VARIABLES alone */
    LIBRETRO_GET_INPUT_MAX_USERS = 61,       /* unsigned * */
    LIBRETRO_GET_INPUT_BITMASKS = 0x10000 + 51 /* are all buttons of a pad given at once? */
};

typedef enum libretro_pixel_format {
    LIBRETRO_PIXELS_0RGB1555, /* what a core uses that has not said anything */
    LIBRETRO_PIXELS_XRGB8888,
    LIBRETRO_PIXELS_RGB565,
    LIBRETRO_PIXELS_COUNT,
} libretro_pixel_format;

/* Kinds of controllers, in the low byte of a device. */
enum {
    LIBRETRO_DEVICE_JOYPAD = 1,
    LIBRETRO_DEVICE_ANALOG = 5,
    LIBRETRO_DEVICE_KIND_MASK = 0xff,
};

/* Buttons of a pad, named as they lie on a Super Nintendo's. */
enum {
    LIBRETRO_PAD_B,
    LIBRETRO_PAD_Y,
    LIBRETRO_PAD_SELECT,
    LIBRETRO_PAD_START,
    LIBRETRO_PAD_UP,
    LIBRETRO_PAD_DOWN,
    LIBRETRO_PAD_LEFT,
    LIBRETRO_PAD_RIGHT,
    LIBRETRO_PAD_A,
    LIBRETRO_PAD_X,
    LIBRETRO_PAD_L,
    LIBRETRO_PAD_R,
    LIBRETRO_PAD_L2,
    LIBRETRO_PAD_R2,
    LIBRETRO_PAD_L3,
    LIBRETRO_PAD_R3,
    LIBRETRO_PAD_BUTTONS,
    LIBRETRO_PAD_ALL = 256, /* asks for all of them as bits */
};

/* Of an analog device: index 0 and 1 are the sticks, with id 0 for x and 1 for y, which go right
 * and down; index 2 are the buttons, by how far they are pressed. */
enum {
    LIBRETRO_ANALOG_BUTTONS = 2,
    LIBRETRO_ANALOG_FULL = 0x7fff,
};

/* Regions of memory. */
enum {
    LIBRETRO_MEMORY_SAVE_RAM,
    LIBRETRO_MEMORY_CLOCK,
    LIBRETRO_MEMORY_SYSTEM_RAM,
    LIBRETRO_MEMORY_VIDEO_RAM,
};

typedef struct libretro_variable {
    const char *key;
    const char *value; /* declared as "Description; default|another|..." */
} libretro_variable;

typedef struct libretro_log {
    void (*write)(int level, const char *format, ...);
} libretro_log;

typedef struct libretro_system {
    const char *name;
    const char *version;
    const char *extensions; /* "nes|fds" */
    bool needs_path;        /* reads its content from a file itself */
    bool keeps_archives;
} libretro_system;

typedef struct libretro_geometry {
    unsigned columns;
    unsigned rows;
    unsigned columns_max;
    unsigned rows_max;
    float aspect; /* width by height as seen; 0 or less: that of columns and rows */
} libretro_geometry;

typedef struct libretro_av_info {
    libretro_geometry geometry;
    double frames_per_second;
    double samples_per_second;
} libretro_av_info;

typedef struct libretro_content {
    const char *path;
    const void *bytes;
    size_t size;
    const char *meta;
} libretro_content;

/* A host sets these functions for a core to call. A frame's `pitch` is the bytes from row to row;
 * NULL is the frame before once more, and LIBRETRO_FRAME_OF_CARD one that only the graphics card
 * has. */
#define LIBRETRO_FRAME_OF_CARD ((const void *)(intptr_t)-1)

typedef bool libretro_environment(unsigned what, void *data);
typedef void libretro_show_frame(const void *pixels, unsigned columns, unsigned rows, size_t pitch);
typedef void libretro_play_sample(int16_t left, int16_t right);
typedef size_t libretro_play_samples(const int16_t *samples, size_t pairs);
typedef void libretro_poll_inputs(void);
typedef int16_t libretro_read_input(unsigned port, unsigned device, unsigned index, unsigned id);

/* X(result, name, arguments): a core has each of them as retro_NAME. */
#define LIBRETRO_FUNCTIONS(X)                                                                      \
    X(unsigned, api_version, (void))                                                               \
    X(void, set_environment, (libretro_environment *))                                             \
    X(void, set_video_refresh, (libretro_show_frame *))                                            \
    X(void, set_audio_sample, (libretro_play_sample *))                                            \
    X(void, set_audio_sample_batch, (libretro_play_samples *))                                     \
    X(void, set_input_poll, (libretro_poll_inputs *))                                              \
    X(void, set_input_state, (libretro_read_input *))                                              \
    X(void, init, (void))                                                                          \
    X(void, deinit, (void))                                                                        \
    X(void, get_system_info, (libretro_system *))                                                  \
    X(void, get_system_av_info, (libretro_av_info *))                                              \
    X(void, set_controller_port_device, (unsigned port, unsigned device))                          \
    X(bool, load_game, (const libretro_content *))                                                 \
    X(void, unload_game, (void))                                                                   \
    X(void, run, (void))                                                                           \
    X(size_t, serialize_size, (void))                                                              \
    X(bool, serialize, (void *bytes, size_t size))                                                 \
    X(bool, unserialize, (const void *bytes, size_t size))                                         \
    X(void *, get_memory_data, (unsigned id))                                                      \
    X(size_t, get_memory_size, (unsigned id))

typedef struct libretro_functions {
#define LIBRETRO_POINTER(result, name, arguments) result(*name) arguments;
    LIBRETRO_FUNCTIONS(LIBRETRO_POINTER)
#undef LIBRETRO_POINTER
} libretro_functions;

#endif
