/* Playback: a journal's file and, if it is wanted, the match in it run again: opened, set to any
 * tick from the nearest snapshot, and stepped tick by tick with the recorded inputs. Prints nothing
 * and compares nothing. Called by the commands of lockstep-replay, and of the page's module, which
 * has neither files nor a loader: what needs one is in playback_file.c. */
#ifndef LOCKSTEP_TOOLS_REPLAY_PLAYBACK_H
#define LOCKSTEP_TOOLS_REPLAY_PLAYBACK_H

#include "lockstep/common/base/log.h"
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/system/file.h"

#include <stddef.h>
#include <stdint.h>

/* Others only read it. */
typedef struct replay_playback {
    ls_mapped_file file;
    ls_journal *journal;
    ls_text loss; /* of a part of the file, as a sentence; empty when all of it is there */
    ls_loaded_simulation loaded;
    ls_sim_config config;      /* the journal's, with its files */
    ls_sim_instance *instance; /* the match as it stands: its tick is that of the state */
    uint8_t *state;            /* a snapshot, canonical */
    size_t state_capacity;

    /* As the journal has them for the state that it stands at. */
    uint64_t state_hash; /* 0: it was not hashed */
    uint64_t tick_chain; /* of all ticks before */
    uint64_t hash_chain; /* of the state hashes up to the newest hashed state, whose tick this is */
    ls_tick hash_chain_tick;

    /* The tick that was read last: stepped, or not yet. */
    bool has_next;
    ls_tick_inputs inputs;
    uint64_t next_hash;
    ls_slot_input slots[LS_PLAYERS_MAX];
} replay_playback;

/* Opens the file. IO, MALFORMED or NO_MEMORY, with the path and the reason in `why`. */
ls_status replay_playback_open(const char *path, ls_journal_trust trust, replay_playback *out,
                               ls_text *why);

/* The same of the bytes of a file, which stay borrowed; `out` comes zeroed. */
ls_status replay_playback_read(const uint8_t *bytes, size_t size, ls_journal_trust trust,
                               replay_playback *out, ls_text *why);

/* The journal has grown: `bytes` begin with those that were read, and stay borrowed in their place.
 * The match stands where it stood. The errors of replay_playback_read. */
ls_status replay_playback_read_on(replay_playback *playback, const uint8_t *bytes, size_t size,
                                  ls_text *why);

/* Also after a failure, and of zeroes. */
void replay_playback_close(replay_playback *playback);

/* Finds the simulation (NULL: the built-in that the journal names), gives it the files that the
 * match needs, and checks that it is the one that was recorded. The functions below need it.
 * BAD_ARGUMENT, PLUGIN, SIMULATION_MISMATCH, SIMULATION_VERSION_MISMATCH or NO_MEMORY, explained.
 */
ls_status replay_playback_load(replay_playback *playback, const char *simulation,
                               const ls_sim_files *files, ls_text *why);

/* The same with a simulation that the caller has found, and keeps. */
ls_status replay_playback_begin(replay_playback *playback, const ls_simulation *simulation,
                                const ls_sim_files *files, ls_text *why);

/* Stands at state `tick`: from the nearest snapshot, or from where it stands already if that is
 * nearer. NOT_FOUND when ticks on the way are missing, or when it is outside of the journal. */
ls_status replay_playback_seek(replay_playback *playback, ls_tick tick, ls_text *why);

/* The first part of it: stands where steps lead to state `tick`: at the nearest snapshot, or where
 * it stands already. */
ls_status replay_playback_approach(replay_playback *playback, ls_tick tick, ls_text *why);

/* Steps on with the inputs of the tick it stands at. NOT_FOUND at the end; STALE when that tick is
 * missing and later ones are there. */
ls_status replay_playback_step(replay_playback *playback);

/* ---- Verification: a playback simulated from its first tick to its last, in as many parts as
 * wanted, and compared with all that the journal says: state hashes, the chain of the inputs, the
 * end. Prints nothing. Called by the command verify, and by the page's module ---- */

/* Others only read it. */
typedef struct replay_verification {
    replay_playback *playback; /* loaded; borrowed, and nobody else moves it */
    const ls_log *log;         /* of ticks that are missing */
    uint64_t ticks;
    uint64_t state_hashes;
    uint64_t ticks_skipped;
    uint64_t chains; /* of ticks, at the ends of blocks */
    bool is_done;

    /* After DESYNCED: the first state that differs. */
    ls_tick differing_tick;
    uint64_t recorded;
    uint64_t here;
} replay_verification;

/* Stands at the first tick, and compares it. DESYNCED, or the errors of replay_playback_seek. */
ls_status replay_verification_begin(replay_playback *playback, const ls_log *log,
                                    replay_verification *out, ls_text *why);

/* Goes on for so many ticks, or until all is done. DESYNCED: a state differs. MALFORMED: the inputs
 * are not those that were recorded. */
ls_status replay_verification_go_on(replay_verification *work, uint32_t ticks, ls_text *why);

/* The journal has grown, and there may be more to do. */
void replay_verification_read_on(replay_verification *work);

/* Everything that could be compared was right; MALFORMED, and what is missing, when it was not
 * everything. */
ls_status replay_verification_judge(const replay_verification *work, ls_text *why);

/* ---- Broadcast segment: a piece of a match that a server shows to everybody: a journal of its
 * own, of bytes that nobody vouches for. Pure. Called by broadcast_reader and by the page of
 * recorded matches ---- */

/* Where the records behind the head of a segment begin; 0: this is no segment. */
size_t replay_broadcast_segment_head(const uint8_t *bytes, size_t size);

#endif
