/* Libretro options: the settings that a core has declared, with the values that the match gives
 * them: the parameter `options` is "key=value,key=value", all others keep their defaults. Texts are
 * copied. Called by libretro_console. */
#ifndef LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_OPTIONS_H
#define LOCKSTEP_TOOLS_ADAPTERS_LIBRETRO_LIBRETRO_OPTIONS_H

#include "lockstep/common/base/text.h"
#include "lockstep/tools/adapters/libretro/libretro_api.h"

#define LIBRETRO_OPTIONS_MAX 256u /* a core's further ones keep what the core makes of it */
#define LIBRETRO_OPTION_KEY_BYTES_MAX 64u
#define LIBRETRO_OPTION_VALUE_BYTES_MAX 128u

typedef struct libretro_option {
    char key[LIBRETRO_OPTION_KEY_BYTES_MAX];
    char value[LIBRETRO_OPTION_VALUE_BYTES_MAX];
} libretro_option;

typedef struct libretro_options {
    const char *wanted; /* the parameter, borrowed */
    libretro_option list[LIBRETRO_OPTIONS_MAX];
    uint32_t count;
    ls_text fault; /* of a value that an option cannot have; "" */
} libretro_options;

/* A core may declare its options more than once: the last list counts. */
void libretro_options_declare(libretro_options *options, const libretro_variable *variables);

/* NULL: there is no such option. */
const char *libretro_options_value(const libretro_options *options, const char *key);

/* BAD_ARGUMENT when something is wanted that the core does not have, with what it has. */
ls_status libretro_options_check(const libretro_options *options, ls_text *why);

#endif
