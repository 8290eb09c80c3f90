/* Desync bundle format: the sections of a bundle, each as one list of fields that measures, writes
 * and reads. Never allocates and never looks outside its stream. */
#ifndef LOCKSTEP_COMMON_JOURNAL_DESYNC_BUNDLE_FORMAT_H
#define LOCKSTEP_COMMON_JOURNAL_DESYNC_BUNDLE_FORMAT_H

#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/common/journal/record_file.h"

extern const ls_record_format ls_bundle_format; /* a section is a record */

/* X(NAME, number, what a person reads). Numbers never change their meaning. */
#define LS_BUNDLE_SECTION_MAP(X)                                                                   \
    X(END, 0, "end")                                                                               \
    X(MATCH, 1, "match")                                                                           \
    X(VERDICT, 2, "verdict")                                                                       \
    X(FIELDS, 3, "schema")                                                                         \
    X(PASSES, 4, "names of passes")                                                                \
    X(SNAPSHOT, 5, "snapshot")                                                                     \
    X(INPUTS, 6, "inputs")                                                                         \
    X(SERVER, 7, "server's prints")                                                                \
    X(CLIENT, 8, "client's prints")                                                                \
    X(SERVER_HASHES, 9, "server's hashes")                                                         \
    X(CLIENT_HASHES, 10, "client's hashes")                                                        \
    X(SERVER_STATE, 11, "server's state")                                                          \
    X(CLIENT_STATE, 12, "client's state")                                                          \
    X(AFTER_PASS, 13, "values after the pass")                                                     \
    X(LATER_INPUTS, 14, "inputs after the bad tick")

typedef enum ls_bundle_section {
#define LS_BUNDLE_SECTION_ENUM(name, number, text) LS_BUNDLE_##name = (number),
    LS_BUNDLE_SECTION_MAP(LS_BUNDLE_SECTION_ENUM)
#undef LS_BUNDLE_SECTION_ENUM
    LS_BUNDLE_SECTION_COUNT,
} ls_bundle_section;

const char *ls_bundle_section_name(ls_bundle_section section);

void ls_bundle_match_stream(ls_byte_stream *stream, ls_desync_bundle *bundle);
void ls_bundle_verdict_stream(ls_byte_stream *stream, ls_desync_bundle *bundle);
void ls_bundle_passes_stream(ls_byte_stream *stream, ls_desync_bundle *bundle);
void ls_bundle_pass_places_stream(ls_byte_stream *stream, ls_bundle_pass_places *after);
void ls_bundle_side_stream(ls_byte_stream *stream, ls_bundle_side *side);

/* One field; `path` and `unit` have LS_NAME_BYTES_MAX bytes each. */
void ls_bundle_field_stream(ls_byte_stream *stream, ls_field *field, char *path, char *unit);

/* How one input of a slot begins; its bytes follow. */
void ls_bundle_input_stream(ls_byte_stream *stream, uint32_t input_bytes_max, uint32_t *size,
                            uint32_t *events);

#endif
