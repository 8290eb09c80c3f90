/* How a session begins to play: what it takes the way to the server for. */
#include "lockstep/tests/unit/session_fixture.h"

#define MS LS_NS_PER_MS

TestSuite(session_start, .fini = shut);

/* The answers come after so long: whatever was lost on the way is sent again, after seconds. */
static void come(uint64_t connect_rtt_ns, uint64_t offer_ns, uint64_t start_ns)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
    here.offer.is_running = false;
    here.connect_rtt_ns = connect_rtt_ns;
    fake_server_connect(&here);
    here.now_ns += offer_ns;
    fake_server_send_offer(&here);
    here.now_ns += start_ns;
    fake_server_send_start(&here);
}

static uint64_t rtt_ns(void)
{
    return fake_server_report(&here).rtt_ns;
}

Test(session_start, an_offer_that_was_lost_is_no_long_way)
{
    come(60 * MS, 3500 * MS, 5000 * MS);
    cr_assert_eq(rtt_ns(), 60 * MS);
    fake_server_frame(&here);
    cr_assert_leq(here.inputs_carried, 2, "%u inputs were made at once", here.inputs_carried);
}

Test(session_start, the_shortest_answer_counts)
{
    come(0, 3500 * MS, 70 * MS);
    cr_assert_eq(rtt_ns(), 70 * MS);
}

Test(session_start, a_long_way_is_taken_for_one)
{
    come(600 * MS, 640 * MS, 700 * MS);
    cr_assert_eq(rtt_ns(), 600 * MS);
}

Test(session_start, an_offer_may_be_all_there_is)
{
    come(0, 90 * MS, 5000 * MS);
    cr_assert_eq(rtt_ns(), 90 * MS);
}
