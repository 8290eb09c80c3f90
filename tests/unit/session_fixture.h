/* Session fixture: a session against a fake server, `here`, and what its tests do with the two.
 * Owns the server of the test that runs; a suite ends each test with `shut`. Called by the tests of
 * the session. */
#ifndef LOCKSTEP_TESTS_UNIT_SESSION_FIXTURE_H
#define LOCKSTEP_TESTS_UNIT_SESSION_FIXTURE_H

#include "lockstep/tests/support/fake_server.h"

#include <criterion/criterion.h>
#include <string.h>

static fake_server here;

static inline void shut(void)
{
    fake_server_close(&here);
    here = (fake_server){0};
}

static inline void connect_and_offer(void)
{
    fake_server_connect(&here);
    fake_server_send_offer(&here);
}

/* Both hand back the JOIN; `join_with_blob` sends what it tells of, too, and draws a frame. */
static inline ls_join join_by(ls_join_source source)
{
    ls_join join = fake_server_make_join(&here, source);
    fake_server_send_join(&here, &join);
    return join;
}

static inline void send_blob_and_frame(const ls_join *join)
{
    fake_server_send_blob(&here, join);
    fake_server_frame(&here);
}

static inline ls_join join_with_blob(ls_join_source source)
{
    ls_join join = join_by(source);
    send_blob_and_frame(&join);
    return join;
}

/* Frames without a closed tick. */
static inline void wait_frames(uint32_t frames)
{
    for (; frames > 0; frames--) {
        fake_server_frame(&here);
    }
}

static inline void refuse(ls_status status)
{
    ls_message message = {.kind = LS_MESSAGE_REFUSE};
    message.body.close_reason.negated_status = (uint32_t)-status;
    ls_text_set(&message.body.close_reason.text, "no");
    fake_server_send(&here, &message);
}

static inline void say_end(ls_tick tick)
{
    ls_message message = {.kind = LS_MESSAGE_END, .body.end.final_tick = tick};
    message.body.end.final_hash = here.state_hashes[tick];
    fake_server_send(&here, &message);
}

static inline void check_state(ls_session_state state)
{
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.state, state, "state %d, %s", (int)report.state,
                 ls_status_name(report.status));
}

static inline void check_over(ls_status status)
{
    check_state(LS_SESSION_OVER);
    cr_assert_eq(fake_server_report(&here).status, status);
}

/* It plays, and agrees about every state from here on. */
static inline void check_plays_on(uint32_t rejoins)
{
    check_state(LS_SESSION_PLAYING);
    fake_server_frame_on(&here, 100);
    ls_session_report report = fake_server_report(&here);
    cr_assert_eq(report.state, LS_SESSION_PLAYING);
    cr_assert_geq(report.tick + 10, here.closed);
    cr_assert_eq(here.inputs.chain, (uint32_t)here.chains[here.inputs.chain_tick]);
    cr_assert_geq(here.inputs.chain_tick + 10, here.closed);
    cr_assert_eq(report.rejoins, rejoins);
    cr_assert_eq(report.packets_rejected, 0);
}

#endif
