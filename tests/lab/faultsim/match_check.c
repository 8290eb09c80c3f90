#include "lockstep/tests/lab/faultsim/match_check.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/tests/lab/faultsim/check_bounds.h"
#include "lockstep/tests/lab/faultsim/match_check_parts.h"
#include "lockstep/tests/lab/faultsim/step_observer.h"

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
