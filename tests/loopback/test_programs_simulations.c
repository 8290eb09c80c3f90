/* Every simulation in a match of the real programs: two bots, every hash compared. */
#include "lockstep/tests/loopback/hosted.h"

TestSuite(programs_simulations, .init = hosted_open, .fini = hosted_close);

static void play(const char *simulation, const char *ticks_text, uint32_t ticks)
{
    hosted_serve("--sim", simulation, "--players", "2", "--ticks", ticks_text);
    hosted_join("--sim", simulation, "--bot", "1");
    hosted_join("--sim", simulation, "--bot", "2");
    hosted_expect_perfect(ticks);
}

Test(programs_simulations, rope_plays_at_a_thousand_ticks_a_second)
{
    play("rope", "2000", 2000);
}

Test(programs_simulations, spring_plays)
{
    play("spring", "120", 120);
}

Test(programs_simulations, tumble_plays)
{
    play("tumble", "150", 150);
}

#if defined(LS_TEST_BOX2D)
Test(programs_simulations, an_engine_that_is_not_ours_plays_from_its_plug_in)
{
    play(LS_TEST_BOX2D, "150", 150);
}
#endif

#if defined(LS_TEST_CHIPMUNK)
/* The late one gets a state in which everything moves and touches. */
Test(programs_simulations, an_engine_under_a_flat_state_is_joined_late_and_predicted)
{
    hosted_serve("--sim", LS_TEST_CHIPMUNK, "--players", "3", "--start-players", "2", "--ticks",
                 "0");
    hosted_join("--sim", LS_TEST_CHIPMUNK, "--bot", "1", "--predict", "8");
    uint32_t other = hosted_join("--sim", LS_TEST_CHIPMUNK, "--bot", "2");
    hosted_expect_words(&hosted.clients[other], "the match starts");
    hosted_pause_ms(500); /* so that something has happened */
    uint32_t late = hosted_join("--sim", LS_TEST_CHIPMUNK, "--bot", "3", "--predict", "8");
    hosted_expect_words(&hosted.clients[late], " with a snapshot of");
    hosted_end_when_playing(late);
    hosted_expect_clean_exits();
    hosted_expect_agreement(0);
    hosted_expect_agreement(late);
}
#endif

#if defined(LS_TEST_LUA)
/* A state of tables and coroutines is predicted, and loaded by the one who comes late. */
Test(programs_simulations, a_script_is_predicted_and_joined_in_mid_match)
{
#define PONG "--sim", LS_TEST_LUA, "--param", "script=" LS_TEST_PONG
    hosted_serve(PONG, "--players", "3", "--start-players", "2", "--ticks", "0");
    hosted_join(PONG, "--bot", "1", "--predict", "8");
    hosted_join(PONG, "--bot", "2");
    hosted_expect_words(&hosted.server, "the match starts");
    hosted_pause_ms(500);
    uint32_t late = hosted_join(PONG, "--bot", "3");
    hosted_end_when_playing(late);
    hosted_expect_exits(0, 0, 0, 0);
    for (uint32_t i = 0; i < 3; i++) {
        hosted_expect_agreement(i);
    }
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}
#endif
