/* Real programs: late players, lost links and spectators. */
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>

TestSuite(programs_return, .init = hosted_open, .fini = hosted_close);

enum {
    SOME_PACKETS = 60 /* a client has sent them when it has played for a while */
};

static ls_relay relay;

/* Everybody agrees about the match that was ended, and nobody differed. */
static void expect_agreement(void)
{
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}

/* A client that has played for a while when its link ends. */
static ls_process *play_and_lose(const char *const *arguments)
{
    relay = ls_relay_open(hosted.port);
    hosted.port = relay.port;
    ls_process *client = &hosted.clients[hosted_join_with(arguments)];
    hosted_relay_until(&relay, client, "the match starts");
    for (uint64_t end = relay.up_packets + SOME_PACKETS; relay.up_packets < end;) {
        cr_assert(!ls_process_has_ended(client), "%s", ls_process_errors(client));
        ls_relay_turn(&relay);
        ls_process_pause();
    }
    return client;
}

Test(programs_return, a_client_that_loses_its_link_comes_back)
{
    hosted_serve("--sim", "arena", "--players", "2", "--timeout", "4000");
    hosted_join("--bot", "1", "--name", "anna");
    ls_process *client = play_and_lose(LS_ARGUMENTS("--bot", "2", "--name", "bert"));
    hosted_expect_words(client, "lost the link");
    hosted_relay_until(&relay, client, "back in the match after");
    hosted_relay_until(&relay, client, "playing from tick");
    hosted_relay_until(&relay, &hosted.server, "plays from tick");
    hosted_end_match();
    hosted_relay(&relay);
    expect_agreement();
    ls_relay_close(&relay);
    hosted_expect_none(&hosted.clients[0], "lost the link");
}

/* A client whose link is gone for good, and that ends with it in these words, after some seconds of
 * trying. */
static void lose_for_good(const char *seconds, const char *words)
{
    hosted_serve("--sim", "arena", "--players", "1", "--timeout", "4000");
    play_and_lose(LS_ARGUMENTS("--bot", "1", "--reconnect", seconds));
    hosted_expect_exit(&hosted.clients[0], 1);
    ls_relay_close(&relay);
    hosted_expect_all(&hosted.clients[0], words);
    ls_process_signal(&hosted.server, SIGINT);
    hosted_expect_exit(&hosted.server, 0);
}

Test(programs_return, a_client_that_does_not_want_to_return_ends_with_the_link)
{
    lose_for_good("0", "TIMED_OUT");
    hosted_expect_none(&hosted.clients[0], "lost the link");
}

Test(programs_return, a_client_that_cannot_return_gives_up_in_time)
{
    lose_for_good("2", "could not be made again within 2 s");
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
    hosted_end_match();
    expect_agreement();
}
