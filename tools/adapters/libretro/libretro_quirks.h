/* Libretro quirks: what cores do that a match cannot do with, and what is done about it. Found by
 * lockstep-synctest, which finds the like in other cores: docs/libretro.md says how to read it. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_QUIRKS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_QUIRKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
