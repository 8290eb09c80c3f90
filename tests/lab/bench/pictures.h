/* Pictures: how costs grow with players, state and rooms, as SVG files, drawn from what a run of
 * lockstep-bench wrote as JSON: the same file gives the same pictures. Measures nothing. Called by
 * main. */
#ifndef LOCKSTEP_TESTS_LAB_BENCH_PICTURES_H
#define LOCKSTEP_TESTS_LAB_BENCH_PICTURES_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"

/* From NAME.json writes NAME-players.svg, NAME-state.svg and NAME-rooms.svg. IO; MALFORMED: a
 * figure of a picture is not there. */
ls_status bench_pictures_draw(const char *json_path, ls_text *why);

#endif
