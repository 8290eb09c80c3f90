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
