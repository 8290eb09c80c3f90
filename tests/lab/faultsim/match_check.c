#include "lockstep/tests/lab/faultsim/match_check.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/faultsim/check_bounds.h"
#include "lockstep/tests/lab/faultsim/step_observer.h"

#include <inttypes.h>

/* ---- the server ---- */

static const ls_simulation *simulation_for(void *user, const ls_simulation *simulation)
{
    (void)user;
    return step_observer_simulation(simulation);
}

static void on_server_created(void *user, virtual_match *run)
{
    match_check *check = user;
    check->run = run;
    if (!check->bounds) {
        check->bounds = check_bounds_create(check);
    }
    match_check_observe_steps(check);
}

static void on_server_unscheduled(void *user, uint64_t until_ns)
{
    match_check *check = user;
    check->unscheduled_until_ns = until_ns;
}

static void on_server_turned(void *user, virtual_match *run)
{
    match_check *check = user;
    if (run->server_due_ns <= run->now_ns) {
        match_check_note(check, CHECK_I4, check->tick_count,
                         "the match asks to be called again at once");
    }
    match_check_silence(check);
    check_bounds_memory(check->bounds);
    check_bounds_newcomers(check->bounds);
}

static void on_match_sends(void *user, ls_peer_id peer, ls_channel channel, const uint8_t *bytes,
                           size_t size)
{
    const match_check *check = user;
    check_bounds_sends(check->bounds, peer, channel, bytes, size);
}

static void on_match_receives(void *user, const ls_transport_event *event)
{
    const match_check *check = user;
    check_bounds_receives(check->bounds, event);
    match_check_receives(user, event);
}

static void on_server_died(void *user, virtual_match *run)
{
    const match_check *check = user;
    check_bounds_forget(check->bounds);
    match_check_server_died(user, run);
}

static void on_match_event(void *user, const ls_match_event *event)
{
    match_check *check = user;
    check_bounds_event(check->bounds, event);
    match_check_event(user, event);
    match_check_leaving(user, event);
}

/* ---- clients ---- */

static void *reserve(match_check *check, size_t count, size_t bytes)
{
    void *memory = ls_allocate_array(check->run->setup.storage, count, bytes);
    LS_ASSERT(memory != NULL);
    return memory;
}

static client_check *of(void *user, const virtual_client *client)
{
    match_check *check = user;
    return check->clients[client->index];
}

static void on_client_came(void *user, virtual_client *client)
{
    client_check *its = of(user, client);
    its->since_ns = client->run->now_ns;
    its->life = its->check->life;
}

static void on_client_added(void *user, virtual_client *client)
{
    match_check *check = user;
    client_check *its = reserve(check, 1, sizeof *its);
    its->check = check;
    its->core = client;
    its->made = reserve(check, check->tick_capacity, sizeof *its->made);
    its->made_size = reserve(check, check->tick_capacity, sizeof *its->made_size);
    its->held =
        reserve(check, CHECK_INPUTS_HELD, check->run->setup.match.simulation->input_bytes_max + 1u);
    its->arrived = reserve(check, check->tick_capacity, sizeof *its->arrived);
    its->made_at = reserve(check, check->tick_capacity, sizeof *its->made_at);
    its->made_in = reserve(check, check->tick_capacity, sizeof *its->made_in);
    if (client->predict_ticks > 0) {
        its->stepped = reserve(check, CHECK_STEPPED_TICKS, sizeof *its->stepped);
    }
    check->clients[client->index] = its;
    on_client_came(check, client);
}

static void on_client_turns(void *user, virtual_client *client)
{
    match_check *check = user;
    check->allocations_before = check->allocations ? *check->allocations : 0;
    check->was_settled = of(user, client)->is_settled;
}

/* A client that is let in takes memory for that; one that plays does not. */
static void on_client_turned(void *user, virtual_client *client)
{
    match_check *check = user;
    if (check->allocations && !(check->was_settled && of(user, client)->is_settled)) {
        check->start_allocations += *check->allocations - check->allocations_before;
    }
}

static void on_frame_drawn(void *user, virtual_client *client)
{
    client_check_frame(of(user, client));
}

static void on_input_made(void *user, virtual_client *client, ls_tick tick, const uint8_t *bytes,
                          uint32_t size)
{
    client_check_input(of(user, client), tick, bytes, size);
}

static void on_session_event(void *user, virtual_client *client, const ls_session_event *event)
{
    client_check *its = of(user, client);
    if (event->kind == LS_SESSION_EVENT_SEATED && !its->is_observed) {
        client_check_observe_steps(its);
    }
    client_check_event(its, event);
    client_check_over(its, event);
}

static void on_session_receives(void *user, virtual_client *client, const ls_transport_event *event)
{
    client_check_receives(of(user, client), event);
}

static void on_session_received(void *user, virtual_client *client, const ls_transport_event *event)
{
    (void)event;
    client_check_received(of(user, client));
}

/* ---- life ---- */

static void on_run_destroyed(void *user, virtual_match *run)
{
    match_check *check = user;
    const ls_allocator *storage = run->setup.storage;
    step_observer_detach_all();
    for (uint32_t i = 0; i < run->client_count; i++) {
        client_check *client = check->clients[i];
        ls_release(storage, client->made);
        ls_release(storage, client->made_size);
        ls_release(storage, client->held);
        ls_release(storage, client->arrived);
        ls_release(storage, client->made_at);
        ls_release(storage, client->made_in);
        ls_release(storage, client->stepped);
        ls_release(storage, client);
    }
    for (uint32_t i = 0; i < check->life; i++) {
        ls_release(storage, check->lives[i].ticks);
    }
    check_bounds_destroy(check->bounds);
    ls_release(storage, check->cursor);
    ls_release(storage, check->ticks);
    ls_release(storage, check);
}

virtual_match *checked_match_create(const virtual_setup *setup)
{
    virtual_setup checked = *setup;
    match_check *check = ls_allocate(setup->storage, sizeof *check);
    LS_ASSERT(check != NULL);
    /* Inputs are made for ticks beyond the last one. */
    uint32_t ticks = setup->match.ticks;
    check->tick_capacity = ticks > 0 ? ticks + LS_WINDOW_TICKS : CHECK_TICKS_MAX;
    check->ticks = ls_allocate_array(setup->storage, check->tick_capacity, sizeof *check->ticks);
    check->cursor = ls_allocate(setup->storage, sizeof *check->cursor);
    LS_ASSERT(check->ticks != NULL && check->cursor != NULL);
    checked.observer = (virtual_observer){.user = check,
                                          .simulation_for = simulation_for,
                                          .server_created = on_server_created,
                                          .server_died = on_server_died,
                                          .server_restored = match_check_server_restored,
                                          .server_lost = match_check_server_lost,
                                          .server_unscheduled = on_server_unscheduled,
                                          .server_turned = on_server_turned,
                                          .match_event = on_match_event,
                                          .client_added = on_client_added,
                                          .client_came = on_client_came,
                                          .client_turns = on_client_turns,
                                          .client_turned = on_client_turned,
                                          .frame_drawn = on_frame_drawn,
                                          .input_made = on_input_made,
                                          .session_event = on_session_event,
                                          .match_receives = on_match_receives,
                                          .match_received = match_check_received,
                                          .match_sends = on_match_sends,
                                          .session_receives = on_session_receives,
                                          .session_received = on_session_received,
                                          .run_destroyed = on_run_destroyed};
    return virtual_match_create(&checked);
}

match_check *check_of(const virtual_match *run)
{
    LS_ASSERT(run->setup.observer.run_destroyed == on_run_destroyed);
    return run->setup.observer.user;
}

client_check *client_check_of(const virtual_client *client)
{
    return of(check_of(client->run), client);
}

/* ---- the end ---- */

/* Checks at the end of a virtual match. I2: every tick of a slot is counted as on time or
 * substituted, every late input as late. I3: states differ where they were made to differ, and that
 * is reported with the right tick; nothing else is. I4: every client that plays by the rules has
 * finished. */

/* How often this server has reported the slot as different. */
static uint32_t reports_of(const match_check *check, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t i = check->first_event; i < check->run->event_count; i++) {
        const ls_match_event *event = &check->run->events[i].event;
        count += event->kind == LS_MATCH_DESYNC && event->slot == slot;
    }
    return count;
}

static void check_desync(client_check *client, uint32_t slot, const ls_match_slot *report)
{
    match_check *check = client->check;
    uint32_t told = reports_of(check, slot);
    bool is_old = client->has_hashed_difference && client->difference_life != check->life;
    if (check->differed_before[slot]) {
        return; /* what the report tells of the slot is not this client's */
    }
    if (is_old && client->life != check->life) {
        return; /* the server that was told of it is dead, and it never came back */
    }
    if (is_old && client->is_mended && !report->is_desynced) {
        return; /* that server was told of it and sent it another state; this one knows of nothing
                 */
    }
    bool may_be_again = client->entries > 0; /* another one, or with another state */
    bool is_told = report->is_desynced ? told == 1 || (told > 1 && may_be_again) : told == 0;
    if (!is_told) {
        match_check_note(check, CHECK_I3, report->desync_tick,
                         "slot %u was told of %u times as a desync", slot, told);
    }
    if (!client->has_hashed_difference) {
        /* A client counts as different when its chain was altered and it left before it could
         * explain, and when it left before its next hashed state was seen here. */
        bool is_different =
            client->is_fed_wrong ||
            (client->has_state_difference && client->state_difference_tick <= report->desync_tick);
        bool is_unexplained =
            is_different && report->desync_client_hash == 0 && !report->has_finished;
        if (report->is_desynced && !is_unexplained && !client->has_run_ahead) {
            match_check_note(check, CHECK_I3, report->desync_tick,
                             "slot %u is called different and is not", slot);
        }
        return;
    }
    if (!report->is_desynced) {
        if (report->has_finished) {
            match_check_note(check, CHECK_I3, client->hashed_difference_tick,
                             "slot %u differs and is not reported", slot);
        }
        return;
    }
    /* A client that leaves, or loses its link, before it has answered is called different for the
     * state that it was asked about: the newest that it had reported, not before the difference. */
    bool has_been_away = client->core->reconnects || !report->has_finished;
    bool is_unanswered = report->desync_client_hash == 0 && has_been_away &&
                         report->desync_tick >= client->hashed_difference_tick;
    bool is_exact = report->desync_tick == client->hashed_difference_tick ||
                    client->has_run_ahead || is_unanswered || told > 1;
    if (!is_exact || report->desync_server_hash == report->desync_client_hash) {
        match_check_note(check, CHECK_I3, client->hashed_difference_tick,
                         "slot %u is called different from tick %u on", slot, report->desync_tick);
    }
}

static void check_counts(match_check *check, uint32_t slot, const ls_match_slot *report)
{
    uint64_t closed = report->inputs_on_time + report->inputs_substituted;
    bool is_from_start = report->has_finished && check->by_slot[slot]->entries == 0;
    bool is_whole = is_from_start ? closed == check->tick_count : closed <= check->tick_count;
    /* A returned client may be late with what it makes before it plays again. */
    bool is_return = check->by_slot[slot]->entries > 0;
    bool is_late = !is_return && report->inputs_late > report->inputs_substituted;
    if (!is_whole || is_late) {
        match_check_note(check, CHECK_I2, check->tick_count,
                         "slot %u: %" PRIu64 " on time, %" PRIu64 " substituted, %" PRIu64
                         " late in %u ticks",
                         slot, report->inputs_on_time, report->inputs_substituted,
                         report->inputs_late, check->tick_count);
    }
}

/* Inputs that came late were counted as such. */
static void check_late(match_check *check, uint32_t slot, const ls_match_slot *report)
{
    const client_check *client = check->by_slot[slot];
    bool is_from_start = client->entries == 0 && check->life == 0;
    if (is_from_start && !client->is_fed_wrong && report->inputs_late != client->late) {
        match_check_note(check, CHECK_I2, check->tick_count,
                         "slot %u: %" PRIu64 " inputs came late, %" PRIu64 " are reported", slot,
                         client->late, report->inputs_late);
    }
}

/* A strict run has ended, and with it every client's part in it. */
static void check_completion(match_check *check)
{
    if (!check->is_strict) {
        return;
    }
    if (!virtual_match_is_over(check->run)) {
        match_check_note(check, CHECK_I4, check->tick_count, "the match never ends");
        return;
    }
    for (uint32_t i = 0; i < check->run->client_count; i++) {
        const client_check *client = check->clients[i];
        ls_tick end = client_check_life_of(client).tick_count; /* it may have outlived it */
        bool is_awaited = !client->may_leave && !client->core->is_absent;
        if (is_awaited && (client->has_left || client->tick != end)) {
            match_check_note(check, CHECK_I4, check->tick_count, "client %u ends at tick %u",
                             client->core->index, client->tick);
        }
    }
}

/* A spectator is told itself. */
static void check_spectator(match_check *check, const client_check *client)
{
    ls_session_report report = ls_session_report_of(client->core->session);
    bool is_blamed = client->core->is_over && report.status == LS_DESYNCED;
    bool is_whole = client->core->is_over && report.status == LS_OK;
    bool is_different = client->has_hashed_difference;
    if (is_blamed && !client->core->flip.is_done && !client->is_fed_wrong) {
        match_check_note(check, CHECK_I3, client->tick, "spectator %u is called different",
                         client->core->index);
    } else if (is_whole && is_different && client->tick == check->tick_count) {
        match_check_note(check, CHECK_I3, client->hashed_difference_tick,
                         "spectator %u differs and is not told", client->core->index);
    }
}

static void check_slot(match_check *check, uint32_t slot)
{
    client_check *client = check->by_slot[slot];
    ls_match_slot report = ls_match_slot_of(check->run->match, slot);
    if (!client || !report.has_played) {
        return;
    }
    client_check_last_state(client);
    check_counts(check, slot, &report);
    check_late(check, slot, &report);
    if (client->is_hostile) {
        return;
    }
    check_desync(client, slot, &report);
    uint32_t interval = check->run->setup.match.hash_interval_ticks;
    uint64_t states = check->tick_count / interval + 1;
    bool is_from_start = report.has_finished && client->entries == 0;
    if (is_from_start && !report.is_desynced && report.hashes_compared != states) {
        match_check_note(check, CHECK_I3, check->tick_count,
                         "slot %u: %" PRIu64 " states compared, not %" PRIu64, slot,
                         report.hashes_compared, states);
    }
}

bool match_check_is_sound(match_check *check)
{
    if (check->run->is_server_lost) {
        return check->fault_count == 0; /* no server is left to report anything */
    }
    for (uint32_t slot = 0; slot < ls_match_players(check->run->match); slot++) {
        check_slot(check, slot);
    }
    for (uint32_t i = 0; i < check->run->client_count; i++) {
        if (check->clients[i]->core->is_spectator) {
            check_spectator(check, check->clients[i]);
        }
    }
    check_completion(check);
    return check->fault_count == 0;
}
