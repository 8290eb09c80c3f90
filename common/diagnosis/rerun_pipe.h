/* Rerun pipe: what a live process and its rerun helper send each other: which simulation to load
 * and the stretch to run, and the outcome. Both ends are one build of one program, so the format
 * has no versions; whatever comes out of a helper is checked all the same, since a plug-in may have
 * written over its memory. Only bytes in memory: the pipe is its caller's. */
#ifndef LOCKSTEP_COMMON_DIAGNOSIS_RERUN_PIPE_H
#define LOCKSTEP_COMMON_DIAGNOSIS_RERUN_PIPE_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/diagnosis/rerun_host.h"

LS_C_BEGIN

#define LS_RERUN_NAME_BYTES_MAX 4096u /* of the built-in's name or the plug-in's path */

/* Bits of ls_rerun_match.surroundings. */
#define LS_RERUN_WITH_FLUSH_TO_ZERO 0x01u   /* denormal numbers count as zero, where the CPU can */
#define LS_RERUN_WITH_ROUNDING_DOWN 0x02u   /* the rounding mode */
#define LS_RERUN_WITH_ONE_CORE 0x04u        /* the helper may use one processor */
#define LS_RERUN_WITH_ROOT_DIRECTORY 0x08u  /* its working directory is / */
#define LS_RERUN_WITH_OTHER_ADDRESSES 0x10u /* its heap begins elsewhere */
#define LS_RERUN_WITH_FIRST_RUN_ALONE 0x20u /* see ls_rerun_request: is_single */
#define LS_RERUN_WITHOUT_STATE 0x40u        /* likewise: is_state_had */

/* Of a larger state a helper makes fewer runs, and other processes make one of it alone. */
#define LS_RERUN_PIPE_SMALL_BYTES LS_REPLAY_MEDIUM_STATE_BYTES

/* Whether a helper leaves the states of its outcome in the file that held its request. Writers are
 * read byte by byte. */
bool ls_rerun_pipe_leaves_states(size_t state_bytes, uint32_t pass);

/* The match that a helper runs parts of. */
typedef struct ls_rerun_match {
    char simulation[LS_RERUN_NAME_BYTES_MAX];
    ls_sim_config config;
    uint32_t input_bytes_max;
    uint32_t state_bytes;
    uint32_t surroundings; /* LS_RERUN_WITH_*: what the helper changes before it loads it */
    uint32_t workers;      /* that its steps may use; 0 as 1 */
    uint32_t noise;        /* 0: the usual bytes in memory that is not set; else others */
} ls_rerun_match;

#define LS_RERUN_PIPE_HEAD_BYTES 8u /* a u64: how many bytes of the request follow */

/* A block from the allocator with the whole request and its head, for the caller to release. The
 * helper stops after `time_max_ms`. NO_MEMORY; NOT_FOUND: the inputs have left the window. */
ls_status ls_rerun_pipe_write_request(const ls_rerun_match *match, const ls_rerun_request *request,
                                      const ls_allocator *allocator, uint8_t **bytes, size_t *size);

/* The same but for its end, which is the snapshot as it stands in the stretch. */
ls_status ls_rerun_pipe_write_request_head(const ls_rerun_match *match,
                                           const ls_rerun_request *request,
                                           const ls_allocator *allocator, uint8_t **bytes,
                                           size_t *size);

/* Puts other surroundings into a request, which begins with its head. */
void ls_rerun_pipe_set_surroundings(uint8_t *bytes, uint32_t surroundings);

/* A request as it was read; owns what `stretch` borrows, but for the snapshot. */
typedef struct ls_rerun_order {
    ls_rerun_match match;
    ls_replay_stretch stretch;
    uint32_t pass;
    uint32_t time_max_ms;
    uint64_t *state_hashes;
    ls_input_buffer *inputs;
} ls_rerun_order;

/* The bytes, without the head, stay while the order is used. MALFORMED, NO_MEMORY. */
ls_status ls_rerun_pipe_read_request(const uint8_t *bytes, size_t size,
                                     const ls_allocator *allocator, ls_rerun_order *out);

/* How a helper's process came to its end before the outcome. */
typedef struct ls_rerun_crash {
    uint32_t signal; /* 0: it did not crash */
    uint32_t is_in_init;
    ls_tick tick;
} ls_rerun_crash;

/* A crash as a handler of signals can write it: without a heap and without formatting. */
#define LS_RERUN_CRASH_BYTES 13u
void ls_rerun_pipe_write_crash(const ls_rerun_crash *crash, uint8_t bytes[LS_RERUN_CRASH_BYTES]);

/* The bytes that an outcome takes at most. */
size_t ls_rerun_pipe_outcome_bytes(uint32_t state_bytes);

/* Writes the beginning of an outcome and returns its size. Behind it stand the states that it has,
 * `state` before `pass_state`; those that are left stand in the file that held the request: the
 * first in the place of the snapshot, the other one behind it. */
#define LS_RERUN_PIPE_OUTCOME_HEAD_BYTES_MAX 4096u
size_t ls_rerun_pipe_write_outcome_head(const ls_rerun_outcome *outcome,
                                        uint8_t bytes[LS_RERUN_PIPE_OUTCOME_HEAD_BYTES_MAX]);

/* Reads the output of a helper: an outcome, or a crash, which is told by crash->signal. The
 * outcome's states are borrowed from the bytes. MALFORMED. */
ls_status ls_rerun_pipe_read(const uint8_t *bytes, size_t size, uint32_t state_bytes,
                             ls_rerun_outcome *outcome, ls_rerun_crash *crash);

LS_C_END

#endif
