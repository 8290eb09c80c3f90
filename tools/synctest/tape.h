/* Tape: the reference run of a match: the inputs of every tick and the state hash of every state,
 * in one file of memory. One process records it, all others read it. Never looks into a state.
 * Below: one tick of two runs, and where they differ. */
#ifndef LOCKSTEP_TOOLS_SYNCTEST_TAPE_H
#define LOCKSTEP_TOOLS_SYNCTEST_TAPE_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/common/simulation/state_schema.h"

#include <stddef.h>
#include <stdint.h>

/* The file: state hashes u64[ticks+1], starts u64[ticks+1], then for each tick and slot: events u8,
 * size u16, bytes. In this machine's byte order: it never leaves the machine. */
typedef struct synctest_tape {
    int file;
    uint32_t ticks;
    uint32_t players;
    uint8_t *bytes; /* the file in memory: whole for a reader, up to the inputs for a recorder */
    size_t byte_count;
    uint64_t end; /* where a recorder goes on */
} synctest_tape;

/* Makes the file a tape without inputs. IO. */
ls_status synctest_tape_create(int file, uint32_t ticks, uint32_t players, synctest_tape *out);

/* Adds tick `tick`: every one, in order from 0. IO. */
ls_status synctest_tape_add(synctest_tape *tape, ls_tick tick, const ls_slot_input *slots);
void synctest_tape_set_hash(synctest_tape *tape, ls_tick tick, uint64_t state_hash);

/* A recorded tape, for reading. IO. */
ls_status synctest_tape_open(int file, uint32_t ticks, uint32_t players, synctest_tape *out);

/* The inputs of a tick below `ticks`; the bytes are borrowed until the process ends. */
void synctest_tape_inputs(const synctest_tape *tape, ls_tick tick,
                          ls_slot_input slots[LS_PLAYERS_MAX]);
uint64_t synctest_tape_hash(const synctest_tape *tape, ls_tick tick); /* 0 .. ticks */

/* ---- Trace: one tick, pass by pass: the state before it and after each of its passes, in a
 * file of memory. Two of them, of two perturbations, show in which pass the runs first
 * differ. Of a state behind a callback it keeps the hashes, and one image of a save after
 * the tick. Keeps bytes, whose meaning the comparison below knows ---- */

/* A place is a moment of the tick: 0 before it, p + 1 after pass p. */
typedef struct synctest_trace {
    uint8_t *bytes;
    size_t byte_count;
    uint32_t places;    /* passes + 1 */
    size_t state_bytes; /* as they lie in memory; 0 when the state is behind a callback */
    size_t image_bytes; /* 0: no image is kept */
} synctest_trace;

typedef struct synctest_trace_shape {
    uint32_t pass_count;
    size_t state_bytes;
    size_t image_bytes;
} synctest_trace_shape;

/* Maps the file until the process ends; it is made big enough and keeps what it holds. IO. */
ls_status synctest_trace_open(int file, synctest_trace_shape shape, synctest_trace *out);

void synctest_trace_set(synctest_trace *trace, uint32_t place, uint64_t state_hash,
                        const void *state);
uint64_t synctest_trace_hash(const synctest_trace *trace, uint32_t place);
const uint8_t *synctest_trace_state(const synctest_trace *trace, uint32_t place);

/* Where the image is to be written, and then noted; and the image, NULL where none was noted. */
uint8_t *synctest_trace_image_room(const synctest_trace *trace);
void synctest_trace_note_image(synctest_trace *trace);
const uint8_t *synctest_trace_image(const synctest_trace *trace);

/* ---- Comparison: finds where two traces of one tick part, and how a value looks. Pure. Called by
 * the process that explains a difference ---- */

typedef struct synctest_difference {
    uint32_t place;        /* the first place at which the traces differ */
    ls_schema_place first; /* the first element that differs there; with a schema only */
    uint64_t elements;     /* how many do; 0 without a schema */
} synctest_difference;

/* False when the traces are equal. `schema` is NULL when the state is behind a callback: then state
 * hashes are compared and `first` stays as it was. */
bool synctest_compare_traces(const ls_schema *schema, const synctest_trace *a,
                             const synctest_trace *b, synctest_difference *out);

/* The first element in which the images of two saves differ, and how many do; `place` stays as it
 * was. False when they are equal, or a trace has none. */
bool synctest_compare_images(const ls_schema *schema, const synctest_trace *a,
                             const synctest_trace *b, synctest_difference *out);

/* Elements of two states that differ. */
uint64_t synctest_compare_count(const ls_schema *schema, const uint8_t *a, const uint8_t *b);

/* Values of a floating-point element that a person should hear of. */
typedef enum synctest_oddity {
    SYNCTEST_ODDITY_NONE,
    SYNCTEST_ODDITY_NAN,
    SYNCTEST_ODDITY_NEGATIVE_ZERO,
} synctest_oddity;

/* NONE for an element of another type. */
synctest_oddity synctest_compare_oddity(const ls_schema_place *place, const uint8_t *state);

/* The first element of a state that is not a number, or false. */
bool synctest_compare_find_nan(const ls_schema *schema, const uint8_t *state, ls_schema_place *out);

#endif
