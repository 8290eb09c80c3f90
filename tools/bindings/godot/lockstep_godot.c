/* liblockstep for Godot 3.2 and later 3.x: a GDNative library, which lockstep.gd calls. Godot hands
 * over its functions in a table whose order never changes; the few that are used are named here by
 * their places in it (gdnative_api.json of Godot). */
#include <lockstep.h>

#include <stdio.h>
#include <string.h>

typedef struct variant {
    int64_t opaque[3];
} variant;
typedef struct opaque {
    void *pointer;
} opaque; /* a string, or an array: it has to be destroyed */
typedef struct api {
    unsigned type, version[2];
    const void *next;
    unsigned extension_count;
    const void *extensions;
    void (*functions[744])(void);
} api;
typedef struct init_options {
    uint8_t in_editor;
    uint64_t hashes[3];
    void (*reports[2])(void);
    void *library;
    const api *api;
} init_options;

static const api *godot;

#define CALL(place, result, ...) ((result(*)(__VA_ARGS__))godot->functions[place])
#define ARRAY_GET CALL(333, variant, const void *, int)
#define BYTES_GET CALL(168, uint8_t, const opaque *, int)
#define BYTES_SIZE CALL(169, int, const opaque *)
#define BYTES_DESTROY CALL(170, void, opaque *)
#define NEW_NIL CALL(509, void, variant *)
#define NEW_INT CALL(512, void, variant *, int64_t)
#define NEW_REAL CALL(513, void, variant *, double)
#define NEW_STRING CALL(514, void, variant *, const opaque *)
#define AS_INT CALL(539, int64_t, const variant *)
#define AS_STRING CALL(541, opaque, const variant *)
#define AS_BYTES CALL(557, opaque, const variant *)
#define VARIANT_DESTROY CALL(570, void, variant *)
#define UTF8_TEXT CALL(572, const char *, const opaque *)
#define UTF8_DESTROY CALL(573, void, opaque *)
#define STRING_UTF8 CALL(678, opaque, const opaque *)
#define STRING_OF CALL(681, opaque, const char *)
#define STRING_DESTROY CALL(721, void, opaque *)

void godot_gdnative_init(const init_options *options);
void godot_gdnative_terminate(const void *options);

void godot_gdnative_init(const init_options *options)
{
    godot = options->api;
}

void godot_gdnative_terminate(const void *options)
{
    (void)options;
}

/* ---- arguments and results ---- */

static int64_t int_of(const void *arguments, int place)
{
    variant given = ARRAY_GET(arguments, place);
    int64_t value = AS_INT(&given);
    VARIANT_DESTROY(&given);
    return value;
}

static lockstep *handle_of(const void *arguments)
{
    return (lockstep *)(intptr_t)int_of(arguments, 0);
}

static void text_of(const void *arguments, int place, char *out, size_t capacity)
{
    variant given = ARRAY_GET(arguments, place);
    opaque string = AS_STRING(&given);
    opaque utf8 = STRING_UTF8(&string);
    snprintf(out, capacity, "%s", UTF8_TEXT(&utf8));
    UTF8_DESTROY(&utf8);
    STRING_DESTROY(&string);
    VARIANT_DESTROY(&given);
}

/* Returns how many there are; those beyond the capacity are not copied. */
static uint32_t bytes_of(const void *arguments, int place, uint8_t *out, uint32_t capacity)
{
    variant given = ARRAY_GET(arguments, place);
    opaque bytes = AS_BYTES(&given);
    uint32_t size = (uint32_t)BYTES_SIZE(&bytes);
    for (uint32_t i = 0; i < size && i < capacity; i++) {
        out[i] = BYTES_GET(&bytes, (int)i);
    }
    BYTES_DESTROY(&bytes);
    VARIANT_DESTROY(&given);
    return size;
}

static variant an_int(int64_t value)
{
    variant made;
    NEW_INT(&made, value);
    return made;
}

static variant a_text(const char *text)
{
    variant made;
    opaque string = STRING_OF(text);
    NEW_STRING(&made, &string);
    STRING_DESTROY(&string);
    return made;
}

/* ---- what lockstep.gd calls: each with an array of its arguments ---- */

#define PROCEDURE(name)                                                                            \
    LOCKSTEP_API variant name(const void *arguments);                                              \
    variant name(const void *arguments)

/* kind, simulation, settings as lines "name=value" -> handle; lockstep_gd_error tells of a failure
 */
PROCEDURE(lockstep_gd_open)
{
    char sim[4096], settings[8192];
    text_of(arguments, 1, sim, sizeof sim);
    text_of(arguments, 2, settings, sizeof settings);
    lockstep *handle = lockstep_create((int)int_of(arguments, 0), NULL);
    int result = sim[0] != '\0' ? lockstep_set(handle, "sim", sim) : 0;
    for (char *line = settings, *end; *line != '\0' && result == 0; line = end) {
        end = line + strcspn(line, "\n");
        if (*end == '\n') {
            *end++ = '\0';
        }
        char *value = strchr(line, '=');
        if (value) {
            *value++ = '\0';
        }
        result = lockstep_set(handle, line, value ? value : "on");
    }
    if (result == 0) {
        lockstep_start(handle);
    }
    return an_int((intptr_t)handle);
}

PROCEDURE(lockstep_gd_frame)
{
    int64_t wait_ms = int_of(arguments, 1);
    wait_ms = wait_ms < 0 ? 0 : wait_ms > INT32_MAX ? INT32_MAX : wait_ms;
    return an_int(lockstep_frame(handle_of(arguments), (uint32_t)wait_ms));
}

/* handle, PoolByteArray, once */
PROCEDURE(lockstep_gd_input)
{
    uint8_t bytes[LOCKSTEP_INPUT_BYTES_MAX];
    uint32_t size = bytes_of(arguments, 1, bytes, sizeof bytes);
    return an_int(
        lockstep_input(handle_of(arguments), bytes, size, int_of(arguments, 2) != 0 ? 1 : 0));
}

/* -> the text of the oldest event; nil: there is none */
PROCEDURE(lockstep_gd_poll)
{
    lockstep_event event = {.size = sizeof event};
    variant nothing;
    if (lockstep_poll(handle_of(arguments), &event) > 0) {
        return a_text(event.text);
    }
    NEW_NIL(&nothing);
    return nothing;
}

PROCEDURE(lockstep_gd_tick)
{
    lockstep_view view = {.size = sizeof view};
    return an_int(lockstep_get_view(handle_of(arguments), &view) == 0 ? (int64_t)view.tick : -1);
}

PROCEDURE(lockstep_gd_invite)
{
    lockstep_info info = {.size = sizeof info};
    return a_text(lockstep_get_info(handle_of(arguments), &info) == 0 ? info.invite : "");
}

PROCEDURE(lockstep_gd_hash)
{
    return an_int((int64_t)lockstep_hash(handle_of(arguments)));
}

PROCEDURE(lockstep_gd_error)
{
    return a_text(lockstep_error(handle_of(arguments)));
}

PROCEDURE(lockstep_gd_close)
{
    lockstep_close(handle_of(arguments));
    return an_int(0);
}

/* Bytes of each type, by lockstep_type. */
static const uint8_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 4, 4, 8};

static variant number_at(const uint8_t *at, uint32_t type)
{
    int is_signed = type >= LOCKSTEP_I8 && type <= LOCKSTEP_FIXED;
    float single;
    double real = 0;
    uint64_t bits = 0;
    variant made;
    memcpy(&bits, at, sizes[type]); /* little-endian, as all machines that Godot 3 runs on */
    if (type == LOCKSTEP_F32 || type == LOCKSTEP_F64) {
        memcpy(&single, at, sizeof single);
        memcpy(&real, at, type == LOCKSTEP_F64 ? sizeof real : 0);
        NEW_REAL(&made, type == LOCKSTEP_F32 ? (double)single : real);
        return made;
    }
    uint32_t unused = 64 - 8u * sizes[type];
    return an_int(is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits);
}

/* handle, path, number of the element -> what the newest state has there; nil: there is no such */
PROCEDURE(lockstep_gd_field)
{
    char path[256];
    lockstep *handle = handle_of(arguments);
    lockstep_view view = {.size = sizeof view};
    lockstep_field field;
    variant made;
    int64_t element = int_of(arguments, 2);
    text_of(arguments, 1, path, sizeof path);
    if (lockstep_get_view(handle, &view) < 0 || lockstep_find_field(handle, path, 0, &field) < 0 ||
        element < 0 || element >= (int64_t)field.count * field.length) {
        NEW_NIL(&made);
        return made;
    }
    size_t item = (size_t)element / field.length, place = (size_t)element % field.length;
    return number_at((const uint8_t *)view.state + field.offset + item * field.stride +
                         place * sizes[field.type],
                     field.type);
}
