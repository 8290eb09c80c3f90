/* The machine that a session takes a desync to be about, against a server that a test plays. */
#include "lockstep/tests/unit/session_fixture.h"

enum {
    OWN_SLOT = 1,
    PLAYED_TICKS = 60,
    OWN_TICK = 20,
    SERVER_TICK = 40,
};

static void play(void)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.offer.is_running = false;
    here.offer.slot = OWN_SLOT;
    connect_and_offer();
    fake_server_send_start(&here);
    here.offer.is_running = true;
    fake_server_frame_on(&here, PLAYED_TICKS);
    check_state(LS_SESSION_PLAYING);
}

TestSuite(session_desync, .init = play, .fini = shut);

static ls_desync_subject subject_of_notice(uint32_t slot, ls_tick tick, uint32_t clients)
{
    ls_session_event event;
    const ls_message message = {.kind = LS_MESSAGE_DESYNC,
                                .body.desync = {.slot = slot, .tick = tick, .clients = clients}};
    fake_server_send(&here, &message);
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_DESYNC, &event));
    cr_assert_eq(event.desync.tick, tick);
    return event.subject;
}

static ls_desync_subject subject_of_cause(uint32_t slot, ls_tick tick)
{
    ls_session_event event;
    const ls_message message = {.kind = LS_MESSAGE_DESYNC_CAUSE,
                                .body.cause = {.slot = slot, .tick = tick}};
    fake_server_send(&here, &message);
    cr_assert(fake_server_find_event(&here, LS_SESSION_EVENT_CAUSE, &event));
    cr_assert_eq(event.cause.tick, tick);
    return event.subject;
}

Test(session_desync, is_of_this_client_by_its_slot)
{
    cr_assert_eq(subject_of_notice(OWN_SLOT, OWN_TICK, 0), LS_DESYNC_OF_THIS_CLIENT);
    cr_assert_eq(subject_of_cause(OWN_SLOT, OWN_TICK), LS_DESYNC_OF_THIS_CLIENT);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.own_desyncs, 1);
    cr_assert(report.has_own_cause);
    cr_assert_eq(report.own_cause.tick, OWN_TICK);
}

Test(session_desync, is_of_another_by_its_slot)
{
    cr_assert_eq(subject_of_notice(0, OWN_TICK, 0), LS_DESYNC_OF_ANOTHER);
    cr_assert_eq(subject_of_cause(0, OWN_TICK), LS_DESYNC_OF_ANOTHER);
    cr_assert_not(fake_server_report(&here).is_desynced);
    cr_assert_not(fake_server_report(&here).has_own_cause);
}

/* The server names a slot that it was compared with: here this client's. */
Test(session_desync, is_of_the_server_where_clients_agree_against_it)
{
    cr_assert_eq(subject_of_notice(OWN_SLOT, SERVER_TICK, 2), LS_DESYNC_OF_SERVER);
    cr_assert_eq(subject_of_cause(OWN_SLOT, SERVER_TICK), LS_DESYNC_OF_SERVER);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.server_desyncs, 1);
    cr_assert_not(report.is_desynced);
    cr_assert_not(report.has_own_cause);
}

Test(session_desync, of_the_server_leaves_the_cause_of_one_of_this_client)
{
    cr_assert_eq(subject_of_notice(OWN_SLOT, OWN_TICK, 0), LS_DESYNC_OF_THIS_CLIENT);
    cr_assert_eq(subject_of_notice(OWN_SLOT, SERVER_TICK, 2), LS_DESYNC_OF_SERVER);
    cr_assert_eq(subject_of_cause(OWN_SLOT, OWN_TICK), LS_DESYNC_OF_THIS_CLIENT);
    cr_assert_eq(subject_of_cause(OWN_SLOT, SERVER_TICK), LS_DESYNC_OF_SERVER);
    cr_assert_eq(fake_server_report(&here).own_cause.tick, OWN_TICK);
    cr_assert_eq(fake_server_report(&here).own_desyncs, 1);
}
