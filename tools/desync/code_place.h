/* Code place: function, file and line of an instruction in this process, as far as symbols and
 * debug information tell. The only place that names libdw. Called by reports of write traces. */
#ifndef LOCKSTEP_TOOLS_DESYNC_CODE_PLACE_H
#define LOCKSTEP_TOOLS_DESYNC_CODE_PLACE_H

#include <stddef.h>
#include <stdint.h>

typedef struct explain_code_places explain_code_places;

/* Of what is loaded now; NULL when nothing can be told. */
explain_code_places *explain_code_places_open(void);
void explain_code_places_close(explain_code_places *places);

/* "move (game.c:41)", "move+0x12" or "0x7f..."; always ends with NUL. */
void explain_code_places_name(const explain_code_places *places, uint64_t instruction, char *text,
                              size_t capacity);

#endif
