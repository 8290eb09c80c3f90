/* Real programs: late players, lost links and spectators. */
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>

TestSuite(programs_return, .init = hosted_open, .fini = hosted_close);

/* The server ends the match; then everybody agrees about it, and nobody differed. */
static void end_and_agree(void)
{
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}

Test(programs_return, a_client_that_loses_its_link_comes_back)
{
    hosted_serve("--sim", "arena", "--players", "2", "--timeout", "4000");
    hosted_join("--bot", "1", "--name", "anna");
    hosted_condition("--partition", "1500:2500");
    uint32_t bert = hosted_join("--bot", "2", "--name", "bert");
    ls_process *client = &hosted.clients[bert];
    hosted_expect_words(client, "the match starts");
    hosted_expect_words(client, "lost the link");
    hosted_expect_words(client, "back in the match after");
    hosted_expect_words(client, "playing from tick");
    hosted_expect_words(&hosted.server, "plays from tick");
    end_and_agree();
    hosted_expect_none(&hosted.clients[0], "lost the link");
}

/* A client whose link is gone for good, and that ends with it in these words, after some seconds of
 * trying. */
static void lose_for_good(const char *timeout_ms, const char *seconds, const char *words)
{
    hosted_serve("--sim", "arena", "--players", "1", "--timeout", timeout_ms);
    hosted_condition("--partition", "1500:60000");
    hosted_join("--bot", "1", "--reconnect", seconds);
    hosted_expect_exit(&hosted.clients[0], 1);
    hosted_expect_all(&hosted.clients[0], words);
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exit(&hosted.server, 0);
}

Test(programs_return, a_client_that_does_not_want_to_return_ends_with_the_link)
{
    lose_for_good("1500", "0", "TIMED_OUT");
    hosted_expect_none(&hosted.clients[0], "lost the link");
}

Test(programs_return, a_client_that_cannot_return_gives_up_in_time)
{
    lose_for_good("4000", "2", "could not be made again within 2 s");
    hosted_expect_all(&hosted.clients[0], "lost the link");
}

Test(programs_return, a_late_player_plays_with_the_others)
{
    hosted_serve("--sim", "units", "--players", "2");
    hosted_join("--bot", "1");
    uint32_t first = hosted_join("--bot", "2", "--ticks", "60");
    hosted_expect_exit(&hosted.clients[first], 0);
    uint32_t late = hosted_join("--bot", "3", "--predict", "6");
    hosted_expect_words(&hosted.clients[late], " with a snapshot of");
    hosted_expect_words(&hosted.clients[late], "playing from tick");
    hosted_expect_words(&hosted.server, "plays from tick");
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_clean_exits();
    hosted_expect_agreement(0);
    hosted_expect_agreement(late);
}

Test(programs_return, a_spectator_sees_the_gameplay)
{
    hosted_serve("--sim", "arena", "--players", "1", "--spectators", "2", "--spectator-delay",
                 "10");
    hosted_join("--bot", "1");
    hosted_expect_words(&hosted.clients[0], "the match starts");
    uint32_t spectator = hosted_join("--spectate");
    hosted_expect_words(&hosted.clients[spectator], "as a spectator: arena");
    hosted_expect_words(&hosted.clients[spectator], "watching from tick");
    end_and_agree();
}
