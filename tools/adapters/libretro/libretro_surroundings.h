/* Libretro surroundings: what a core finds around it, the same on every machine: memory that comes
 * zeroed, a clock that counts frames, random numbers that are saved with the state, strict maths,
 * no environment. A core calls these functions in place of those of the C library. Called by
 * libretro_console; and by cores, only during a call that stands between enter and leave. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_SURROUNDINGS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_SURROUNDINGS_H

#include "lockstep/common/simulation/simulation.h"
#include "lockstep/tools/adapters/libretro/libretro_imports.h"

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

#endif
