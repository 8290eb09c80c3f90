/* Every simulation in a match of the real programs: two bots, every hash compared. */
#include "lockstep/tests/loopback/hosted.h"

static ls_hosted hosted;

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    ls_hosted_close(&hosted);
}

TestSuite(programs_simulations, .init = open_hosted, .fini = close_hosted);

static void play(const char *simulation, const char *ticks_text, uint32_t ticks)
{
    ls_hosted_serve(&hosted,
                    LS_ARGUMENTS("--sim", simulation, "--players", "2", "--ticks", ticks_text));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--sim", simulation, "--bot", "1"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--sim", simulation, "--bot", "2"));
    ls_hosted_expect_perfect(&hosted, ticks);
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
