#include "lockstep/server/journal/resume.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/server/match/match_config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_TICK UINT32_MAX

enum {
    FORGETTING_SERVERS_MAX = 32,
};

struct ls_resume {
    const ls_allocator *allocator;
    ls_journal *journal;
    uint64_t bytes;     /* of the file, of which the journal may be the beginning */
    bool is_cut_at_gap; /* it is */
    ls_tick ticks;      /* after which the match ends; 0: open end */
    ls_tick whole_from; /* from here on no tick is missing */
    ls_tick gap_tick;   /* the first that is, before there; NO_TICK: none */
    ls_tick end_tick;   /* behind the last recorded one */
    ls_text loss;
    bool has_started;
    bool has_ended;
    ls_resume_seat seats[LS_PLAYERS_MAX];
    ls_resume_seat past[LS_PLAYERS_MAX]; /* seats before somebody was seated there last */
};

/* ---- what the journal says ---- */

/* A server came back here, from what was kept of the journal. However often: a secret that is none
 * is compared with all that may be forgotten. */
static void forget_generations(ls_resume *resume)
{
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        uint32_t *forgotten = &resume->seats[slot].generations.forgotten;
        bool is_full = *forgotten >= FORGETTING_SERVERS_MAX * LS_FORGOTTEN_GENERATIONS_MAX;
        *forgotten += is_full ? 0 : LS_FORGOTTEN_GENERATIONS_MAX;
    }
}

static void restore_event(ls_resume *resume, const ls_journal_event *event)
{
    uint32_t players = ls_journal_header_of(resume->journal)->config.players;
    ls_resume_seat *seat = event->slot < players ? &resume->seats[event->slot] : NULL;
    bool is_seating =
        event->kind == LS_JOURNAL_EVENT_SEATED || event->kind == LS_JOURNAL_EVENT_RETURNED;
    if (seat && is_seating) {
        bool is_new = event->kind == LS_JOURNAL_EVENT_SEATED;
        resume->past[event->slot] = *seat;
        if (is_new) {
            ls_seat_generations_next(&seat->generations);
            seat->seated_tick = event->tick;
        }
        ls_name_copy(seat->name, sizeof seat->name, event->text.bytes);
        seat->has_left = false;
    } else if (seat && event->kind == LS_JOURNAL_EVENT_LEFT) {
        seat->has_left = true;
    } else if (seat && event->kind == LS_JOURNAL_EVENT_SECRET_PROVEN) {
        seat->generations.secret = (uint32_t)strtoul(event->text.bytes, NULL, 10);
    } else if (event->kind == LS_JOURNAL_EVENT_RESTORED) {
        forget_generations(resume);
    } else if (seat && event->kind == LS_JOURNAL_EVENT_TURNED_AWAY) {
        ls_seat_generations generations = seat->generations;
        *seat = resume->past[event->slot];
        ls_seat_generations_revert(&generations, seat->generations);
        seat->generations = generations;
        seat->has_left = true;
    } else if (event->kind == LS_JOURNAL_EVENT_STARTED) {
        resume->has_started = true;
    } else if (event->kind == LS_JOURNAL_EVENT_ENDED) {
        resume->has_ended = true;
        resume->ticks = event->tick;
    }
}

static void read_events(ls_resume *resume)
{
    ls_journal_event event;
    uint64_t offset = 0;
    while (ls_journal_next_event(resume->journal, &offset, &event) == LS_OK) {
        restore_event(resume, &event);
    }
}

/* Where the ticks begin of which none is missing. */
static ls_status find_whole_ticks(ls_resume *resume)
{
    const ls_journal_info *info = ls_journal_info_of(resume->journal);
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_tick next = 0;
    ls_status status = LS_OK;
    resume->end_tick = info->end_tick;
    if (info->ticks_missing == 0) {
        return LS_OK;
    }
    resume->gap_tick = info->gap_tick;
    ls_journal_seek(resume->journal, 0);
    while ((status = ls_journal_next_tick(resume->journal, slots, &inputs, &state_hash)) == LS_OK) {
        resume->whole_from = inputs.tick == next ? resume->whole_from : inputs.tick;
        next = inputs.tick + 1;
    }
    return status == LS_NOT_FOUND ? LS_OK : status;
}

/* The ticks before the newest snapshot may be lost although it is not itself. */
static void look_behind_the_ticks(ls_resume *resume)
{
    ls_journal_snapshot snapshot;
    if (ls_journal_find_snapshot(resume->journal, UINT32_MAX - 1, &snapshot) == LS_OK &&
        snapshot.tick > resume->end_tick) {
        resume->gap_tick = resume->gap_tick == NO_TICK ? resume->end_tick : resume->gap_tick;
        resume->whole_from = snapshot.tick;
        resume->end_tick = snapshot.tick;
    }
}

static ls_status check_can_go_on(const ls_resume *resume, ls_text *why)
{
    const ls_journal_info *info = ls_journal_info_of(resume->journal);
    if (info->is_complete || (resume->has_ended && resume->ticks == 0)) {
        return ls_fail(LS_ALREADY_OVER, why,
                       "the match of this journal is over: it ended at tick %" PRIu32,
                       info->is_complete ? info->end.final_tick : resume->ticks);
    }
    if (info->first_tick > 0) {
        return ls_fail(LS_UNSUPPORTED, why,
                       "this journal was cut out of another one: it begins at tick %" PRIu32,
                       info->first_tick);
    }
    return LS_OK;
}

static ls_status read_journal(ls_resume *resume, const uint8_t *bytes, size_t size, ls_text *why)
{
    ls_status status = ls_journal_open(bytes, size, LS_JOURNAL_CHECK_ALL, resume->allocator,
                                       &resume->journal, why);
    if (status != LS_OK) {
        return status;
    }
    if (ls_journal_info_of(resume->journal)->lost_bytes > 0) {
        resume->loss = *why;
    }
    why->bytes[0] = '\0';
    resume->ticks = ls_journal_header_of(resume->journal)->ticks;
    read_events(resume);
    forget_generations(resume);
    status = find_whole_ticks(resume);
    if (status == LS_OK) {
        look_behind_the_ticks(resume);
    }
    return status;
}

static bool is_stuck(ls_resume *resume)
{
    ls_journal_snapshot snapshot;
    return resume->whole_from > 0 &&
           (ls_journal_next_snapshot(resume->journal, resume->whole_from, &snapshot) != LS_OK ||
            snapshot.tick > resume->end_tick);
}

/* No state is known behind the missing ticks: what those who played still hold leads further than
 * what stands there. Only where the match ends is kept of it: its players were told. */
static ls_status cut_at_gap(ls_resume *resume, const uint8_t *bytes, ls_text *why)
{
    uint64_t size = ls_journal_info_of(resume->journal)->gap_offset;
    ls_resume whole = *resume;
    *resume = (ls_resume){.allocator = whole.allocator,
                          .bytes = whole.bytes,
                          .is_cut_at_gap = true,
                          .gap_tick = NO_TICK};
    ls_status status = read_journal(resume, bytes, (size_t)size, why);
    resume->loss = whole.loss;
    resume->has_ended = whole.has_ended;
    resume->ticks = whole.ticks;
    if (status == LS_OK && resume->end_tick == 0 && !resume->has_started) {
        ls_text_set(why,
                    "ticks are missing in the journal from tick %" PRIu32
                    " on, and no snapshot stands behind the last of them, tick %" PRIu32,
                    whole.gap_tick, whole.whole_from - 1);
        status = LS_NOT_FOUND;
    }
    ls_journal_close(whole.journal);
    return status;
}

static ls_status read_all(ls_resume *resume, const uint8_t *bytes, size_t size, ls_text *why)
{
    ls_status status = read_journal(resume, bytes, size, why);
    LS_THEN(status, check_can_go_on(resume, why));
    return status == LS_OK && is_stuck(resume) ? cut_at_gap(resume, bytes, why) : status;
}

ls_status ls_resume_open(const uint8_t *bytes, size_t size, const ls_allocator *allocator,
                         ls_resume **out, ls_text *why)
{
    ls_resume *resume = ls_allocate(allocator, sizeof *resume);
    ls_text reason = {{0}};
    if (!resume) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    resume->allocator = allocator;
    resume->bytes = size;
    resume->gap_tick = NO_TICK;
    ls_status status = read_all(resume, bytes, size, &reason);
    if (status != LS_OK) {
        ls_text_set(why, "%s", reason.bytes[0] ? reason.bytes : ls_status_text(status));
        ls_resume_close(resume);
        return status;
    }
    *out = resume;
    return LS_OK;
}

void ls_resume_close(ls_resume *resume)
{
    if (!resume) {
        return;
    }
    ls_journal_close(resume->journal);
    ls_release(resume->allocator, resume);
}

ls_journal *ls_resume_journal(ls_resume *resume)
{
    return resume->journal;
}

const char *ls_resume_simulation(const ls_resume *resume)
{
    return ls_journal_header_of(resume->journal)->simulation;
}

const ls_resume_seat *ls_resume_seat_of(const ls_resume *resume, uint32_t slot)
{
    return &resume->seats[slot];
}

/* ---- settings ---- */

ls_status ls_resume_configure(const ls_resume *resume, const ls_simulation *simulation,
                              ls_match_config *out, ls_text *why)
{
    const ls_journal_header *header = ls_journal_header_of(resume->journal);
    ls_status status = ls_journal_header_check_simulation(header, simulation, why);
    if (status != LS_OK) {
        return status;
    }
    *out = ls_match_config_default(simulation);
    ls_match_config_recall(out, header);
    out->ticks = resume->ticks;
    return LS_OK;
}

ls_status ls_resume_check(const ls_resume *resume, const ls_match_config *config, ls_text *why)
{
    ls_match_config recorded;
    ls_status status = ls_resume_configure(resume, config->simulation, &recorded, why);
    return status == LS_OK ? ls_match_config_compare(config, &recorded, why) : status;
}

/* ---- the match ---- */

typedef struct restoring {
    ls_resume *resume;
    ls_match *match;
    ls_text *why;
    ls_resume_report *report;
    bool has_snapshot; /* it begins at one; otherwise at state 0 */
    ls_journal_snapshot snapshot;
    ls_slot_set in_band;                  /* before the tick that is read next */
    ls_tick joined_ticks[LS_PLAYERS_MAX]; /* of who sits there last; NO_TICK: not told yet */
} restoring;

/* A snapshot so old that every ring is filled by the ticks behind it, if one is; else state 0, if
 * nothing is missing since; else the oldest one behind what is missing. */
static ls_status choose_start(restoring *work)
{
    ls_journal *journal = work->resume->journal;
    ls_tick whole_from = work->resume->whole_from;
    ls_tick end = work->resume->end_tick;
    ls_tick wanted = end > LS_WINDOW_TICKS ? end - LS_WINDOW_TICKS : 0;
    work->has_snapshot = ls_journal_find_snapshot(journal, wanted, &work->snapshot) == LS_OK &&
                         work->snapshot.tick >= whole_from && work->snapshot.tick > 0;
    if (work->has_snapshot || whole_from == 0) {
        return LS_OK;
    }
    work->has_snapshot = ls_journal_next_snapshot(journal, whole_from, &work->snapshot) == LS_OK &&
                         work->snapshot.tick <= end;
    return work->has_snapshot ? LS_OK : LS_NOT_FOUND;
}

/* A seat that changes hands in a tick has both events: LEFT is the former player's. */
static void restore_tick_events(restoring *work, const ls_tick_inputs *inputs)
{
    for (uint32_t slot = 0; slot < inputs->slot_count; slot++) {
        uint32_t events = inputs->slots[slot].events;
        if (events & (LS_EVENT_LEFT | LS_EVENT_JOINED)) {
            ls_slot_set_put(&work->in_band, slot, (events & LS_EVENT_JOINED) != 0);
        }
        bool is_first = work->joined_ticks[slot] == NO_TICK &&
                        inputs->tick >= work->resume->seats[slot].seated_tick;
        if (events & LS_EVENT_JOINED && is_first) {
            work->joined_ticks[slot] = inputs->tick;
        }
    }
}

static ls_status start_at_snapshot(restoring *work, const ls_tick_inputs *before)
{
    const ls_journal_snapshot *snapshot = &work->snapshot;
    const ls_allocator *allocator = work->resume->allocator;
    uint8_t *state = ls_allocate(allocator, (size_t)snapshot->state_bytes);
    if (!state) {
        return LS_NO_MEMORY;
    }
    ls_status status = ls_journal_read_snapshot(work->resume->journal, snapshot, state);
    if (status == LS_OK) {
        ls_match_restore from = {.tick = snapshot->tick,
                                 .state = state,
                                 .state_bytes = (size_t)snapshot->state_bytes,
                                 .state_hash = snapshot->state_hash,
                                 .hash_chain_tick = snapshot->hash_chain_tick,
                                 .hash_chain = snapshot->hash_chain,
                                 .tick_chain = snapshot->tick_chain,
                                 .in_band = work->in_band,
                                 .before = before};
        work->report->state_hashes++;
        status = ls_match_restore_start(work->match, &from, work->why);
    }
    ls_release(allocator, state);
    return status;
}

/* The ticks before tell which slots are in the match: all of them are read. */
static ls_status start(restoring *work)
{
    ls_match_restore from_state_0 = {0};
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs = {0};
    uint64_t state_hash = 0;
    bool has_before = false;
    if (!work->has_snapshot) {
        return ls_match_restore_start(work->match, &from_state_0, work->why);
    }
    ls_journal_seek(work->resume->journal, 0);
    while (!has_before &&
           ls_journal_next_tick(work->resume->journal, slots, &inputs, &state_hash) == LS_OK &&
           inputs.tick < work->snapshot.tick) {
        restore_tick_events(work, &inputs);
        has_before = inputs.tick + 1 == work->snapshot.tick;
    }
    return start_at_snapshot(work, has_before ? &inputs : NULL);
}

static ls_status play(restoring *work)
{
    ls_journal *journal = work->resume->journal;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_status status = LS_OK;
    ls_journal_seek(journal, ls_match_tick(work->match));
    while ((status = ls_journal_next_tick(journal, slots, &inputs, &state_hash)) == LS_OK) {
        restore_tick_events(work, &inputs);
        work->report->state_hashes += state_hash != 0 ? 1 : 0;
        status = ls_match_restore_tick(work->match, &inputs, state_hash, work->why);
        if (status != LS_OK) {
            return status;
        }
    }
    return status == LS_NOT_FOUND ? LS_OK : status;
}

/* A seat whose event was lost to damage is known by the ticks. */
static void restore_seats(restoring *work)
{
    for (uint32_t slot = 0; slot < ls_match_players(work->match); slot++) {
        ls_resume_seat *seat = &work->resume->seats[slot];
        bool is_in_band = ls_slot_set_has(&work->in_band, slot);
        seat->generations.newest += is_in_band && seat->generations.newest == 0 ? 1 : 0;
        bool is_known = seat->generations.newest > 0;
        ls_restored_seat restored = {.name = seat->name,
                                     .generations = seat->generations,
                                     .joined_tick = is_known ? work->joined_ticks[slot] : 0,
                                     .has_left = seat->has_left};
        ls_match_restore_seat(work->match, slot, &restored);
    }
}

static void restore_lobby(const restoring *work)
{
    ls_seat_generations generations[LS_PLAYERS_MAX];
    for (uint32_t slot = 0; slot < LS_PLAYERS_MAX; slot++) {
        generations[slot] = work->resume->seats[slot].generations;
    }
    ls_match_restore_lobby(work->match, generations);
}

static ls_status check_end(const restoring *work)
{
    const ls_journal_info *info = ls_journal_info_of(work->resume->journal);
    ls_tick tick = ls_match_tick(work->match);
    LS_ASSERT(tick == work->resume->end_tick);
    if (tick == info->end_tick && tick > 0 &&
        ls_match_tick_chain(work->match, tick) != info->tick_chain) {
        return ls_fail(LS_MALFORMED, work->why,
                       "the inputs before tick %" PRIu32 " are not those that were recorded", tick);
    }
    return LS_OK;
}

static ls_status restore(restoring *work)
{
    ls_sim_digests here = ls_sim_instance_digests(ls_match_instance(work->match));
    const ls_journal_header *header = ls_journal_header_of(work->resume->journal);
    ls_status status = ls_sim_digests_check(&here, &header->digests, work->why);
    LS_THEN(status, choose_start(work));
    LS_THEN(status, start(work));
    LS_THEN(status, play(work));
    return status == LS_OK ? check_end(work) : status;
}

ls_status ls_resume_restore(ls_resume *resume, ls_match *match, uint64_t now_ns,
                            ls_resume_report *report, ls_text *why)
{
    const ls_journal_info *info = ls_journal_info_of(resume->journal);
    ls_text reason = {{0}};
    ls_resume_report told = {.loss = resume->loss,
                             .cut_bytes = resume->bytes - info->append_offset,
                             .is_cut_at_gap = resume->is_cut_at_gap,
                             .missing_tick = resume->gap_tick};
    restoring work = {.resume = resume, .match = match, .why = &reason, .report = &told};
    memset(work.joined_ticks, 0xff, sizeof work.joined_ticks); /* NO_TICK */
    ls_status status = restore(&work);
    if (status != LS_OK) {
        ls_text_set(why, "%s", reason.bytes[0] ? reason.bytes : ls_status_text(status));
        return status;
    }
    told.has_begun = resume->has_started || resume->end_tick > 0;
    if (told.has_begun) {
        restore_seats(&work);
        ls_match_restore_end(match, now_ns);
    } else {
        restore_lobby(&work);
    }
    told.from_tick = work.has_snapshot ? work.snapshot.tick : 0;
    told.tick = resume->end_tick;
    told.in_band = work.in_band;
    *report = told;
    return LS_OK;
}
