/* Desync bundle: all that is known of one desync, as one file: written before anything is healed,
 * explained anywhere. Reads and writes memory; files are the programs' business. A cut or damaged
 * bundle is opened as far as its intact sections go, and says what is missing.
 * Allocates for reading and writing; belongs to no step.
 *
 * The file is a record file (common/journal/JOURNAL.md). */
#ifndef LOCKSTEP_COMMON_JOURNAL_DESYNC_BUNDLE_H
#define LOCKSTEP_COMMON_JOURNAL_DESYNC_BUNDLE_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/desync_class.h"
#include "lockstep/common/diagnosis/state_difference.h"
#include "lockstep/common/simulation/sim_files.h"

LS_C_BEGIN

#define LS_BUNDLE_VERSION 1u
#define LS_BUNDLE_HASHES_MAX LS_WINDOW_TICKS
#define LS_BUNDLE_LATER_MAX 24u /* ticks after the bad one whose inputs are kept */

/* The knowledge of one machine. */
typedef struct ls_bundle_side {
    ls_build_fingerprint print;
    ls_rerun_figures figures;
    ls_pass_trace passes;         /* pass_count 0: not known */
    ls_tick hashes_first;         /* tick of state hashes[0] */
    uint32_t hash_count;          /* 0 .. LS_BUNDLE_HASHES_MAX */
    const uint64_t *state_hashes; /* as the match had them, up to the bad tick or beyond */
    const uint8_t *state;         /* canonical, at the bad tick; NULL: not known */
} ls_bundle_side;

/* The values that differ after the first pass that did other work, as both sides got them when they
 * simulated the step again. */
typedef struct ls_bundle_pass_places {
    uint32_t pass; /* 0 .. LS_PASSES_MAX - 1 */
    uint64_t elements;
    uint32_t fields;
    uint8_t is_lower_bound;
    uint32_t count;                                /* 0: not known */
    ls_difference_text places[LS_DIFFERENCES_MAX]; /* a: the server's value, b: the client's */
} ls_bundle_pass_places;

/* Pointers are borrowed for writing, and owned by the reading. */
typedef struct ls_desync_bundle {
    char simulation[LS_NAME_BYTES_MAX];
    uint32_t simulation_version;
    ls_sim_config config;
    ls_sim_digests digests;
    uint32_t input_bytes_max;

    ls_tick tick;  /* of the first state that differs: its bad step was tick - 1; 0: the client was
                      refused, by its first state or, without the server's, by its arithmetic */
    uint32_t slot; /* behind the players: a spectator */
    char player[LS_PLAYER_NAME_BYTES_MAX];
    uint64_t server_hash; /* of state `tick`, or of the arithmetic check */
    uint64_t client_hash;
    ls_desync_verdict verdict;

    uint32_t field_count;
    const ls_field *fields;
    size_t state_bytes;

    uint32_t pass_count;
    char passes[LS_PASSES_MAX][LS_NAME_BYTES_MAX];

    ls_tick snapshot_tick; /* the last state that was agreed on and kept */
    uint64_t snapshot_hash;
    const uint8_t *snapshot;       /* canonical; NULL: not known */
    const ls_input_buffer *inputs; /* of ticks snapshot_tick .. tick - 1; NULL: not known */
    uint32_t later_ticks;          /* when read: from `tick` on, whose inputs are there as well */

    ls_bundle_side server;
    ls_bundle_side client;

    /* How the client's state was learnt: what it differs in may be more than it shows. */
    bool client_state_is_partial;
    uint64_t elements_differing; /* at least so many when partial */

    ls_bundle_pass_places after_pass;
} ls_desync_bundle;

/* Fills in what the instance of a match knows: simulation, configuration, digests, fields and
 * passes. `fields` has room for LS_FIELDS_MAX and must live as long as the bundle. */
void ls_desync_bundle_describe(ls_desync_bundle *bundle, const ls_sim_instance *instance,
                               ls_field fields[LS_FIELDS_MAX]);

/* The states are what an engine without a schema saves (save_image.h), whose hash is the engine's
 * own. */
bool ls_desync_bundle_is_of_saves(const ls_desync_bundle *bundle);

/* A bundle before it is compressed: of what the bundle has borrowed nothing is needed any more, and
 * another thread may make the file of it. */
typedef struct ls_bundle_draft {
    uint8_t *bytes; /* from the allocator, for the caller to release */
    size_t size;
} ls_bundle_draft;

/* NO_MEMORY. */
ls_status ls_bundle_draft_make(const ls_desync_bundle *bundle, const ls_allocator *allocator,
                               ls_bundle_draft *out);

/* The bytes of the file, in memory from the allocator, which the caller releases. NO_MEMORY. */
ls_status ls_bundle_draft_pack(const ls_bundle_draft *draft, const ls_allocator *allocator,
                               uint8_t **out, size_t *out_size);

/* Both at once. */
ls_status ls_desync_bundle_write(const ls_desync_bundle *bundle, const ls_allocator *allocator,
                                 uint8_t **out, size_t *out_size);

typedef struct ls_bundle_reading ls_bundle_reading;

/* MALFORMED when this is no bundle, another version's, or when not even the match and the verdict
 * are intact: `why` says which. OK otherwise; `why` is empty when everything was there, else it
 * says what is missing. NO_MEMORY. */
ls_status ls_bundle_reading_open(const uint8_t *bytes, size_t size, const ls_allocator *allocator,
                                 ls_bundle_reading **out, ls_text *why);
void ls_bundle_reading_close(ls_bundle_reading *reading);
const ls_desync_bundle *ls_bundle_reading_bundle(const ls_bundle_reading *reading);

/* Gives the bundle's configuration the content of its files, of which it holds sizes and digests
 * alone. The errors of ls_sim_files_provide. */
ls_status ls_bundle_reading_provide(ls_bundle_reading *reading, const ls_sim_files *files,
                                    const ls_simulation *simulation, ls_text *why);

/* The schema of the bundle's own fields; NULL when they are missing. */
const ls_schema *ls_bundle_reading_schema(const ls_bundle_reading *reading);

/* The piece of the match that the bundle holds, with the server's state hashes. NOT_FOUND when
 * snapshot or inputs are missing. Borrowed until close. */
ls_status ls_bundle_reading_stretch(const ls_bundle_reading *reading, ls_replay_stretch *out);

/* Sets what libraries the build fingerprint names: those that this room uses. */
void ls_bundle_print_libraries(ls_build_fingerprint *print);

LS_C_END

#endif
