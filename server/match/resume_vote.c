#include "lockstep/server/match/resume_vote.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/fault.h"
#include "lockstep/common/simulation/state_hash.h"

#include <inttypes.h>
#include <string.h>

#define TOLD_NS MATCH_HEARTBEAT_NS                 /* between two RESUMING */
#define ANSWER_NS (UINT64_C(5) * LS_NS_PER_SECOND) /* for the next tick that was asked for */

enum {
    ASKED_ANEW_MAX = 3,
};

struct ls_resume_vote {
    const ls_match *match;

    uint64_t until_ns;  /* players are waited for */
    uint64_t told_ns;   /* when RESUMING last went out */
    ls_slot_set waited; /* slots that played */
    uint32_t recovered; /* ticks that came from clients */

    /* Asking clients for the ticks that the journal does not have. */
    bool is_asking;
    ls_slot_set asked;                  /* slots that have been asked */
    uint8_t asked_anew[LS_PLAYERS_MAX]; /* how often, since they had lost their link meanwhile */
    uint32_t asked_slot;                /* which one is asked now; MATCH_NO_SLOT */
    ls_tick asked_end;                  /* behind the last tick of the newest request */
    ls_tick next;                       /* the first tick that has not come from that slot */
    uint64_t chain;                     /* tick chain before that one */
    uint32_t part;                      /* of it, that comes next */
    uint64_t progress_ns;
    uint32_t agreeing;      /* claims of the players who are back that what came so far bears out */
    uint32_t contradicting; /* claims that it does not bear out */
    bool is_disputed;       /* somebody's ticks have contradicted somebody's claim */
    bool is_settling;       /* the slot that is asked now is the one that most agree with */
    uint32_t support[LS_PLAYERS_MAX]; /* claims that bear out a slot's ticks; 0: not to be asked */
    ls_tick proven_end;               /* before it ticks were in the journal, or bear a seal */
    ls_tick borne_end;                /* another claim says the same up to there */
    ls_tick decided_end;              /* before it candidates are what was closed */
    ls_input_buffer *candidates;     /* the ticks that came, from the first that is not closed on */
    uint8_t tick[LS_TICK_BYTES_MAX]; /* the tick that comes in parts */
};

/* ---- life ---- */

ls_status ls_resume_vote_create(const ls_match *match, ls_resume_vote **out)
{
    ls_resume_vote *vote = ls_allocate(match->allocator, sizeof *vote);
    if (!vote) {
        return LS_NO_MEMORY;
    }
    vote->match = match;
    vote->asked_slot = MATCH_NO_SLOT;
    ls_input_buffer_config room = {.slots = match->config.sim.players,
                                   .input_bytes_max = match->config.simulation->input_bytes_max,
                                   .window_ticks = LS_WINDOW_TICKS};
    *out = vote;
    return ls_input_buffer_create(&room, match->allocator, &vote->candidates);
}

void ls_resume_vote_destroy(ls_resume_vote *vote)
{
    if (vote) {
        ls_input_buffer_destroy(vote->candidates);
        ls_release(vote->match->allocator, vote);
    }
}

void ls_resume_vote_begin(ls_resume_vote *vote, ls_slot_set waited)
{
    vote->until_ns = vote->match->now_ns + vote->match->config.resume_wait_ms * LS_NS_PER_MS;
    vote->waited = waited;
    vote->proven_end = vote->match->log->next;
}

ls_slot_set ls_resume_vote_waited(const ls_resume_vote *vote)
{
    return vote->waited;
}

/* ---- who is back ---- */

static ls_slot_set missing_slots(const ls_resume_vote *vote)
{
    ls_slot_set missing = vote->waited;
    LS_EACH_SLOT (slot, vote->waited) {
        bool is_ready = vote->match->seats->rows[slot].state == LS_SEAT_READY;
        ls_slot_set_put(&missing, slot, !is_ready);
    }
    return missing;
}

static bool is_waiting(const ls_resume_vote *vote)
{
    return !ls_slot_set_is_empty(missing_slots(vote)) && vote->match->now_ns < vote->until_ns;
}

void ls_resume_vote_renotify(ls_resume_vote *vote)
{
    vote->told_ns = 0;
}

static void notify(ls_resume_vote *vote)
{
    uint64_t now_ns = vote->match->now_ns;
    uint64_t left_ns = vote->until_ns > now_ns ? vote->until_ns - now_ns : 0;
    vote->told_ns = now_ns;
    ls_outbox_message(vote->match->outbox, LS_MESSAGE_RESUMING)->body.resuming =
        (ls_resuming){.slots = missing_slots(vote), .left_ms = (uint32_t)(left_ns / LS_NS_PER_MS)};
    for (uint32_t slot = 0; slot < vote->match->config.sim.players; slot++) {
        if (vote->match->seats->rows[slot].state == LS_SEAT_READY) {
            ls_outbox_send(vote->match->outbox, vote->match->seats->peers[slot]);
        }
    }
}

/* ---- which player is asked ---- */

/* The ticks that a player who is back says it holds; NULL: it says nothing. */
static const ls_return *claim_of(const ls_resume_vote *vote, uint32_t slot)
{
    const ls_return *back = &vote->match->seats->rows[slot].back;
    bool has_claim = vote->match->seats->rows[slot].state == LS_SEAT_READY && back->match_id != 0;
    return has_claim ? back : NULL;
}

/* The player says that it holds the next tick, and how it goes on to where it got. */
static bool is_possible(const ls_return *claim, ls_tick next)
{
    return claim->confirmed > next && claim->confirmed - next < LS_WINDOW_TICKS &&
           claim->confirmed - claim->held <= next;
}

/* Of the players who have not been asked the one that says it has got furthest. */
static uint32_t furthest(const ls_resume_vote *vote)
{
    uint32_t best = MATCH_NO_SLOT;
    ls_tick next = vote->match->log->next;
    ls_tick end = next;
    uint32_t players = LS_FAULT(CLOSED_TICK_LOST_ON_RESUME) ? 0 : vote->match->config.sim.players;
    for (uint32_t slot = 0; slot < players; slot++) {
        const ls_return *claim = claim_of(vote, slot);
        bool is_asked = ls_slot_set_has(&vote->asked, slot);
        if (claim && !is_asked && claim->confirmed > end && is_possible(claim, next)) {
            best = slot;
            end = claim->confirmed;
        }
    }
    return best;
}

/* The first claim is rather right than the other. */
static bool is_rather(const ls_return *claim, const ls_return *other)
{
    if (claim->is_desynced != other->is_desynced) {
        return other->is_desynced;
    }
    return claim->confirmed < other->confirmed;
}

/* Where the players who are back contradict each other: the one that most agree with, and of
 * several that one that was not told that it differs, and that says least. */
static uint32_t most_believed(const ls_resume_vote *vote)
{
    uint32_t best = MATCH_NO_SLOT;
    for (uint32_t slot = 0; slot < vote->match->config.sim.players; slot++) {
        const ls_return *claim = claim_of(vote, slot);
        if (!claim || vote->support[slot] == 0) {
            continue;
        }
        bool is_better = best == MATCH_NO_SLOT || vote->support[slot] > vote->support[best] ||
                         (vote->support[slot] == vote->support[best] &&
                          is_rather(claim, &vote->match->seats->rows[best].back));
        best = is_better ? slot : best;
    }
    return best;
}

static void ask(ls_resume_vote *vote)
{
    const ls_return *claim = &vote->match->seats->rows[vote->asked_slot].back;
    uint32_t left = claim->confirmed - vote->next;
    uint32_t count = LS_MIN(left, LS_TICKS_PER_REQUEST);
    vote->asked_end = vote->next + count;
    vote->progress_ns = vote->match->now_ns;
    ls_outbox_message(vote->match->outbox, LS_MESSAGE_TICKS_REQUEST)->body.ticks_request =
        (ls_ticks_request){.first = vote->next, .count = count};
    ls_outbox_send(vote->match->outbox, vote->match->seats->peers[vote->asked_slot]);
}

/* False when there is nobody left to ask. */
static bool ask_next(ls_resume_vote *vote)
{
    uint32_t slot = furthest(vote);
    if (slot == MATCH_NO_SLOT) {
        slot = most_believed(vote);
        vote->is_settling = slot != MATCH_NO_SLOT;
    }
    vote->asked_slot = slot;
    if (slot == MATCH_NO_SLOT) {
        return false;
    }
    vote->support[slot] = 0; /* this is the last time */
    ls_slot_set_add(&vote->asked, slot);
    vote->next = vote->match->log->next;
    vote->chain = ls_tick_log_chain(vote->match->log, vote->next);
    vote->part = 0;
    vote->agreeing = 0;
    vote->contradicting = 0;
    vote->borne_end = vote->next;
    ls_input_buffer_restart(vote->candidates, vote->next);
    ask(vote);
    return true;
}

/* ---- what comes ---- */

/* Players who are back and know the chain before this tick say the same, or do not. */
static void count_claims(ls_resume_vote *vote, ls_tick tick, uint64_t chain)
{
    for (uint32_t slot = 0; slot < vote->match->config.sim.players; slot++) {
        const ls_return *claim = claim_of(vote, slot);
        if (claim && claim->confirmed == tick) {
            bool is_same = claim->tick_chain == chain;
            vote->agreeing += is_same ? 1 : 0;
            vote->contradicting += is_same ? 0 : 1;
            vote->borne_end = is_same && slot != vote->asked_slot ? tick : vote->borne_end;
        }
    }
}

/* Somebody brought the seal of a tick before which this is the chain: the server itself closed what
 * leads there, and who says otherwise of it does not count. */
static void look_for_seal(ls_resume_vote *vote, ls_tick tick, uint64_t chain)
{
    const ls_match_config *config = &vote->match->config;
    for (uint32_t slot = 0; slot < config->sim.players; slot++) {
        const ls_return *claim = claim_of(vote, slot);
        if (claim && claim->has_seal && claim->sealed_tick == tick &&
            claim->seal == ls_secret_seal(&config->key, config->match_id, tick, chain)) {
            vote->contradicting = 0;
            vote->proven_end = tick;
            vote->decided_end = tick;
        }
    }
}

/* vote->tick is whole. */
static ls_status receive_tick(ls_resume_vote *vote, uint32_t size, ls_tick_cursor *cursor)
{
    const ls_match_config *config = &vote->match->config;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_bit_stream stream = ls_bit_reader(vote->tick, size);
    ls_tick_cursor_start(cursor, config->sim.players, config->simulation->input_bytes_max, NULL);
    if (!ls_ticks_read_tick(&stream, cursor) || !ls_bits_is_complete(&stream)) {
        return LS_MALFORMED;
    }
    ls_tick_cursor_inputs(cursor, slots);
    ls_tick_inputs inputs = {.tick = vote->next, .slot_count = config->sim.players, .slots = slots};
    vote->chain = ls_tick_chain_next(vote->chain, &inputs);
    const ls_return *own = &vote->match->seats->rows[vote->asked_slot].back;
    if (own->confirmed == vote->next + 1 && own->tick_chain != vote->chain) {
        return LS_MALFORMED; /* the player itself said something else */
    }
    count_claims(vote, vote->next + 1, vote->chain);
    look_for_seal(vote, vote->next + 1, vote->chain);
    ls_status stored = ls_input_buffer_put_tick(vote->candidates, &inputs);
    LS_ASSERT(stored == LS_OK);
    vote->next++;
    return LS_OK;
}

static ls_status add_part(ls_resume_vote *vote, const ls_tick_part *part, ls_tick_cursor *cursor)
{
    if (part->tick != vote->next || part->tick >= vote->asked_end || part->index != vote->part) {
        return LS_MALFORMED;
    }
    memcpy(vote->tick + part->index * LS_TICK_PART_BYTES, part->bytes, part->size);
    vote->part++;
    if (vote->part < ls_tick_part_count(part->total_bytes)) {
        return LS_OK;
    }
    vote->part = 0;
    return receive_tick(vote, part->index * LS_TICK_PART_BYTES + part->size, cursor);
}

/* Behind the newest seal a client may hold so many ticks, and have made them up. Seals go out four
 * times in that, so that nobody has honestly more; of one that says more the part is taken that
 * another one bears out, but no more than of anybody: two may have agreed to invent. */
static ls_tick believed_end(const ls_resume_vote *vote)
{
    ls_tick second_ticks = (ls_tick)(LS_NS_PER_SECOND / vote->match->dt_ns);
    ls_tick limit = vote->proven_end + LS_MAX(second_ticks, 1);
    ls_tick borne_end = LS_MAX(vote->borne_end, vote->proven_end);
    return LS_MIN(vote->next <= limit ? vote->next : borne_end, limit);
}

/* All that the slot was asked for is there. */
static ls_status decide(ls_resume_vote *vote, uint32_t slot)
{
    vote->asked_slot = MATCH_NO_SLOT;
    vote->is_disputed = vote->is_disputed || vote->contradicting > 0;
    vote->support[slot] = vote->agreeing;
    bool is_decided = !vote->is_disputed || vote->is_settling ||
                      (furthest(vote) == MATCH_NO_SLOT && most_believed(vote) == slot);
    if (!is_decided) {
        return LS_STALE; /* perhaps it is asked again */
    }
    vote->decided_end = believed_end(vote);
    memset(vote->support, 0, sizeof vote->support);
    return LS_OK;
}

ls_status ls_resume_vote_receive_part(ls_resume_vote *vote, uint32_t slot, const ls_tick_part *part,
                                      ls_peer_link *link, ls_tick_cursor *cursor)
{
    if (vote->match->state != LS_MATCH_RESUMING || vote->asked_slot != slot) {
        bool was_asked = ls_slot_set_has(&vote->asked, slot);
        return was_asked ? LS_STALE : LS_MISBEHAVED;
    }
    ls_status status = add_part(vote, part, cursor);
    if (status != LS_OK) {
        vote->asked_slot = MATCH_NO_SLOT;
        return status;
    }
    vote->progress_ns = vote->match->now_ns;
    link->packets = 0; /* the player was asked for them */
    if (vote->next == vote->match->seats->rows[slot].back.confirmed) {
        return decide(vote, slot);
    }
    if (vote->next == vote->asked_end) {
        ask(vote);
    }
    return LS_OK;
}

bool ls_resume_vote_next_tick(ls_resume_vote *vote, ls_slot_input slots[LS_PLAYERS_MAX],
                              ls_tick_inputs *out)
{
    ls_tick tick = vote->match->log->next;
    if (tick >= vote->decided_end) {
        return false;
    }
    ls_status held = ls_input_buffer_tick(vote->candidates, tick, slots);
    LS_ASSERT(held == LS_OK);
    *out = (ls_tick_inputs){
        .tick = tick, .slot_count = vote->match->config.sim.players, .slots = slots};
    vote->recovered++;
    return true;
}

/* A player who comes back can be asked again, though not for ever. */
void ls_resume_vote_leave(ls_resume_vote *vote, uint32_t slot, bool is_kept)
{
    if (vote->asked_slot == slot) {
        vote->asked_slot = MATCH_NO_SLOT;
    }
    if (!is_kept) {
        ls_slot_set_remove(&vote->waited, slot);
    } else if (ls_slot_set_has(&vote->asked, slot) && vote->asked_anew[slot] < ASKED_ANEW_MAX) {
        vote->asked_anew[slot]++;
        ls_slot_set_remove(&vote->asked, slot);
        vote->support[slot] = 0;
    }
}

/* ---- going on ---- */

/* Ticks that a player who is back saw confirmed, and that no player could give. */
static uint32_t lost_ticks(const ls_resume_vote *vote)
{
    uint32_t lost = 0;
    ls_tick next = vote->match->log->next;
    for (uint32_t slot = 0; slot < vote->match->config.sim.players; slot++) {
        const ls_return *claim = claim_of(vote, slot);
        lost = claim && claim->confirmed > next + lost ? claim->confirmed - next : lost;
    }
    return lost;
}

void ls_resume_vote_describe(const ls_resume_vote *vote, uint32_t back, ls_text *text)
{
    uint32_t players = ls_slot_set_count(vote->waited);
    ls_text_set(text,
                "%" PRIu32 " of %" PRIu32 " players are back, %" PRIu32
                " ticks that the journal had not came from them",
                back, players, vote->recovered);
    uint32_t lost = lost_ticks(vote);
    if (lost > 0) {
        ls_text_add(text,
                    "; up to %" PRIu32
                    " more, which they say they saw and cannot give or prove, are lost",
                    lost);
    }
}

bool ls_resume_vote_advance(ls_resume_vote *vote)
{
    uint64_t now_ns = vote->match->now_ns;
    if (now_ns - vote->told_ns >= TOLD_NS) {
        notify(vote);
    }
    if (!vote->is_asking && is_waiting(vote)) {
        return false;
    }
    vote->is_asking = true;
    bool is_late = now_ns - vote->progress_ns >= ANSWER_NS;
    bool is_to_ask = vote->asked_slot == MATCH_NO_SLOT || is_late;
    return is_to_ask && !ask_next(vote) && !is_waiting(vote);
}

uint64_t ls_resume_vote_next_ns(const ls_resume_vote *vote)
{
    uint64_t now_ns = vote->match->now_ns;
    uint64_t told_ns = vote->told_ns + TOLD_NS;
    uint64_t next_ns = is_waiting(vote) ? vote->until_ns : now_ns;
    if (vote->asked_slot != MATCH_NO_SLOT) {
        next_ns = vote->progress_ns + ANSWER_NS;
    } else if (vote->is_asking &&
               (furthest(vote) != MATCH_NO_SLOT || most_believed(vote) != MATCH_NO_SLOT)) {
        next_ns = now_ns;
    }
    return LS_MIN(told_ns, next_ns);
}
