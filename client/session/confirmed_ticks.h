/* Confirmed ticks: the closed ticks that have come from the server, one after another without a
 * gap, and what their packets tell about the way down. Checks a packet to its end before it stores
 * anything. Never steps a tick, and never looks at what a packet says about this player's
 * inputs. */
#ifndef LOCKSTEP_CLIENT_SESSION_CONFIRMED_TICKS_H
#define LOCKSTEP_CLIENT_SESSION_CONFIRMED_TICKS_H

#include "lockstep/client/session/session_context.h"
#include "lockstep/client/session/session_outbox.h"
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/input_buffer.h"
#include "lockstep/common/simulation/simulation.h"
#include "lockstep/protocol/wire/link_meter.h"

/* ---- backlog: closed ticks that have come and wait to be stepped, because the state that they
 * follow is still on its way. First in, first out, coded as tick blocks (tick_block.h) in chained
 * chunks of 64 KiB: a quiet tick takes a byte. Grows up to a stated limit and gives back what was
 * taken out ---- */

#define LS_TICK_BACKLOG_CHUNK_BYTES 65536u

typedef struct ls_tick_backlog_config {
    uint32_t slot_count;      /* 1 .. LS_PLAYERS_MAX */
    uint32_t input_bytes_max; /* 0 .. LS_INPUT_BYTES_MAX */
    uint32_t bytes_max;       /* of chunks: LS_TICK_BACKLOG_CHUNK_BYTES .. */
} ls_tick_backlog_config;

typedef struct ls_tick_backlog ls_tick_backlog;

ls_status ls_tick_backlog_create(const ls_tick_backlog_config *config,
                                 const ls_allocator *allocator, ls_tick_backlog **out);
/* NULL is allowed. */
void ls_tick_backlog_destroy(ls_tick_backlog *backlog);

/* Copies the tick behind the others; while there are others, it is the one after them. FULL beyond
 * the limit, NO_MEMORY; then nothing has changed. */
ls_status ls_tick_backlog_add(ls_tick_backlog *backlog, const ls_tick_inputs *inputs);

/* Takes out the oldest tick; its inputs are in slots[], borrowed until the next call of take.
 * NOT_FOUND when there is none. */
ls_status ls_tick_backlog_pop(ls_tick_backlog *backlog, ls_slot_input slots[LS_PLAYERS_MAX],
                              ls_tick_inputs *out);

/* Ticks held, and bytes of the chunks that they lie in. */
uint32_t ls_tick_backlog_count(const ls_tick_backlog *backlog);
uint32_t ls_tick_backlog_bytes(const ls_tick_backlog *backlog);

/* ---- ticks that come in parts ---- */

/* A tick as far as it has come. */
typedef struct ls_tick_whole {
    ls_tick tick;
    uint32_t total_bytes; /* 0: nothing yet */
    uint32_t received;    /* bit p: part p is there */
} ls_tick_whole;

typedef struct ls_tick_parts {
    const ls_allocator *allocator;
    uint32_t capacity_bytes; /* of one tick */
    uint8_t *bytes;          /* [LS_TICK_PARTS_AHEAD][capacity_bytes] */
    ls_tick_whole ticks[LS_TICK_PARTS_AHEAD];
} ls_tick_parts;

/* Room for ticks of so many slots and bytes of input. `parts` comes zeroed. NO_MEMORY. */
ls_status ls_tick_parts_init(ls_tick_parts *parts, uint32_t slot_count, uint32_t input_bytes_max,
                             const ls_allocator *allocator);
void ls_tick_parts_deinit(ls_tick_parts *parts);

/* Takes a part of a tick that is one of the LS_TICK_PARTS_AHEAD from `next` on; others are ignored.
 * MALFORMED when the tick would be larger than any can be. */
ls_status ls_tick_parts_add(ls_tick_parts *parts, const ls_tick_part *part, ls_tick next);

/* The bytes of a tick that is whole, borrowed until the next part is added, and gone from then on;
 * or NULL. */
const uint8_t *ls_tick_parts_pop(ls_tick_parts *parts, ls_tick tick, uint32_t *size);

/* ---- closed ticks ---- */

enum {
    LS_BASE_TICKS = 256 /* newest ticks, and newest own inputs, that may still serve as a base */
};

typedef struct ls_confirmed_ticks ls_confirmed_ticks;

/* NO_MEMORY. */
ls_status ls_confirmed_ticks_create(const ls_session *context, ls_confirmed_ticks **out);
void ls_confirmed_ticks_destroy(ls_confirmed_ticks *ticks);

/* A new connection: its packets are counted anew. */
void ls_confirmed_ticks_connect(ls_confirmed_ticks *ticks);

/* The connection is lost. A server that is resumed from its journal may close the ticks that were
 * on their way with other inputs: parts of them are forgotten. */
void ls_confirmed_ticks_disconnect(ls_confirmed_ticks *ticks);

/* Goes on at `tick`, holding none before it; the ticks before it have this chain. The first tick is
 * coded against nothing. */
void ls_confirmed_ticks_restart(ls_confirmed_ticks *ticks, ls_tick tick, uint64_t chain);

/* From now on every tick that comes is added to the backlog, where it waits until it is stepped,
 * and only the newest ones are held here. NULL: all are held here until they are stepped. */
void ls_confirmed_ticks_set_backlog(ls_confirmed_ticks *ticks, ls_tick_backlog *backlog);

/* From now on every tick from `first` on is added to the backlog as well, the held ones at once;
 * all are held here until they are stepped, as ever. STALE: `first` is not held any more; FULL,
 * NO_MEMORY. */
ls_status ls_confirmed_ticks_copy_to_backlog(ls_confirmed_ticks *ticks, ls_tick first,
                                             ls_tick_backlog *backlog);

/* Why the backlog did not take a tick, which then counts as not come; or OK. */
ls_status ls_confirmed_ticks_backlog_status(const ls_confirmed_ticks *ticks);

/* ---- receiving ---- */

/* The content of one packet. */
typedef struct ls_confirmed_packet {
    ls_tick first; /* ticks first .. end-1 are new; none when they are equal */
    ls_tick end;
    bool has_header; /* the next three are there */
    ls_ticks_header header;
    ls_link_arrival arrival;
    ls_tick carried_end; /* one past the newest tick that the packet carried */
    ls_tick_seal seal;
} ls_confirmed_packet;

/* A packet of this kind, TICKS or TICK_PART. MALFORMED; STALE for ticks that say nothing
 * new. `out` is filled in whatever the result is. */
ls_status ls_confirmed_ticks_receive(ls_confirmed_ticks *ticks, uint32_t kind, const uint8_t *bytes,
                                     size_t size, ls_confirmed_packet *out);

/* ---- reading ---- */

/* The first tick that has not come, and the chain over those before it. */
ls_tick ls_confirmed_ticks_end(const ls_confirmed_ticks *ticks);
uint64_t ls_confirmed_ticks_chain(const ls_confirmed_ticks *ticks);

/* The newest seal whose ticks have all come; false: there is none. */
bool ls_confirmed_ticks_seal(const ls_confirmed_ticks *ticks, ls_tick *tick, uint32_t *seal);

/* How many ticks before that one are held. */
uint32_t ls_confirmed_ticks_held(const ls_confirmed_ticks *ticks);

/* A state was sent and no tick after it has come yet: the inputs before it, against which the next
 * tick would be coded, are not here. */
bool ls_confirmed_ticks_lack_base(const ls_confirmed_ticks *ticks);

/* Every slot's inputs, borrowed. */
const ls_input_buffer *ls_confirmed_ticks_inputs(const ls_confirmed_ticks *ticks);

/* The inputs of a tick that is held, in slots[]. */
ls_tick_inputs ls_confirmed_ticks_get(const ls_confirmed_ticks *ticks, ls_tick tick,
                                      ls_slot_input slots[LS_PLAYERS_MAX]);

/* Empty until a packet has come over this connection. */
const ls_link_meter *ls_confirmed_ticks_downlink(const ls_confirmed_ticks *ticks);

/* How long the newest tick has been here, in the unit of the INPUTS header; LS_HOLD_NONE when it is
 * not known or was asked for before. */
uint32_t ls_confirmed_ticks_pop_hold(ls_confirmed_ticks *ticks);

/* State `tick` has been reached for good: what led to the states long before it is forgotten. */
void ls_confirmed_ticks_forget_before_state(ls_confirmed_ticks *ticks, ls_tick tick);

/* Sends those of the ticks that a resumed server asks for which are held. */
void ls_confirmed_ticks_send(const ls_confirmed_ticks *ticks, const ls_ticks_request *request);

#endif
