/* Libretro surroundings: what a core finds around it, the same on every machine: memory that comes
 * zeroed, a clock that counts frames, random numbers that are saved with the state, strict maths,
 * no environment. A core calls these functions in place of those of the C library. Called by
 * libretro_console; and by cores, only during a call that stands between enter and leave. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_SURROUNDINGS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_SURROUNDINGS_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/libretro/libretro_imports.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct libretro_surroundings {
    int64_t start_s;              /* what the clock shows at frame 0, in seconds since 1970 */
    ls_rate rate;                 /* frames a second */
    uint32_t frames;              /* that were played */
    uint64_t random;              /* the state of the generator */
    libretro_originals originals; /* what `new` was in this core before it was replaced */
} libretro_surroundings;

/* From here on this thread's core is in these surroundings, which are borrowed until leave. */
void libretro_surroundings_enter(libretro_surroundings *surroundings);
void libretro_surroundings_leave(void);

/* Zeroes what earlier calls have left on the stack below: cores save structs of which they have not
 * set every member. */
void libretro_surroundings_clear_stack(void);

/* A core calls this in place of the function of that name; NULL: that function itself. */
void *libretro_surroundings_function(const char *name);

/* ---- Libretro quirks: what cores do that a match cannot do with, and what is done about it.
 * Found by lockstep-synctest, which finds the like in other cores: docs/libretro.md says
 * how to read it ---- */

typedef struct libretro_quirks {
    uint16_t buttons; /* that it gets to see */

    /* A load makes something else of what was saved: each frame ends with a save that is loaded. */
    bool is_settled;

    /* By a count that is in no save, it may do nothing when it runs: then it runs again. */
    bool may_pass_over_frames;

    /* Zeroes what is left in a save of things that are over, and that no load takes back. NULL:
     * there are none. */
    void (*clean)(uint8_t *save, size_t size);

    /* Whether bytes from another machine may be loaded: a load would crash over some. `own` is a
     * save of the core's, of as many bytes. NULL: the core looks itself. */
    bool (*is_safe)(const uint8_t *save, const uint8_t *own, size_t size);
} libretro_quirks;

/* Of a core of this name; NULL: unknown. */
libretro_quirks libretro_quirks_of(const char *name);

#endif
