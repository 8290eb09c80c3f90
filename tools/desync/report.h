/* Report: evidence as text for a terminal, as one JSON object for programs and as a page for a
 * browser. Reads evidence, decides nothing. Texts that came with a bundle are escaped: they are
 * another machine's. Called by explain. */
#ifndef LOCKSTEP_TOOLS_DESYNC_REPORT_H
#define LOCKSTEP_TOOLS_DESYNC_REPORT_H

#include "lockstep/tools/desync/code_place.h"
#include "lockstep/tools/desync/evidence.h"

#include <stdio.h>

typedef struct ls_report {
    const ls_evidence *evidence;
    const char *bundle_path;
    const ls_code_places *places; /* NULL: instructions are shown as addresses */
} ls_report;

void ls_report_write_text(FILE *file, const ls_report *report);
void ls_report_write_html(FILE *file, const ls_report *report);

/* To a file, or standard output for "-". IO or NO_MEMORY. */
ls_status ls_report_write_json(const ls_report *report, const char *path, ls_text *why);

/* ---- what the three share ---- */

/* An input's bytes in hexadecimal, cut with "..." when they are too many; "empty" for none. */
#define LS_REPORT_INPUT_BYTES 32u
#define LS_REPORT_INPUT_TEXT_BYTES (2u * LS_REPORT_INPUT_BYTES + 8u)
void ls_report_input_text(const ls_slot_input *input, char text[LS_REPORT_INPUT_TEXT_BYTES]);

/* "joined", "left", both or "". */
const char *ls_report_events_text(uint32_t events);

/* Every slot's input at the bad tick; false when the bundle has none. */
bool ls_report_inputs(const ls_evidence *evidence, ls_slot_input slots[LS_PLAYERS_MAX]);

/* "1 of 1,200 elements ..." how many elements differ, in how many fields. */
void ls_report_count_text(const ls_evidence *evidence, ls_text *out);

#endif
