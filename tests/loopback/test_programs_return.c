/* Real programs: players who come late, who lose their link and come back, and who watch. */
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <string.h>

static ls_hosted hosted;

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    ls_hosted_close(&hosted);
}

TestSuite(programs_return, .init = open_hosted, .fini = close_hosted);

/* The server ends the match; then everybody agrees about it, and nobody differed. */
static void end_and_agree(void)
{
    ls_process_signal(&hosted.server, SIGINT);
    ls_hosted_expect_clean_exits(&hosted);
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        ls_hosted_expect_agreement(&hosted, i);
    }
    cr_expect_eq(ls_hosted_count(ls_hosted_server_summary(&hosted), "desyncs"), 0);
}

Test(programs_return, who_loses_the_link_comes_back)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--timeout", "4000"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--name", "anna"));
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--partition", "1500:2500"));
    uint32_t bert = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--name", "bert"));
    ls_process *client = &hosted.clients[bert];
    ls_hosted_expect_words(client, "the match starts");
    ls_hosted_expect_words(client, "lost the link");
    ls_hosted_expect_words(client, "back in the match after");
    ls_hosted_expect_words(client, "playing from tick");
    ls_hosted_expect_words(&hosted.server, "plays from tick");
    end_and_agree();
    ls_hosted_expect_none(&hosted.clients[0], (const char *const[]){"lost the link", NULL});
}

Test(programs_return, who_does_not_want_to_return_ends_with_the_link)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--timeout", "1500"));
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--partition", "1500:60000"));
    uint32_t index = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--reconnect", "0"));
    ls_hosted_expect_exit(&hosted.clients[index], 1);
    ls_hosted_expect_all(&hosted.clients[index], (const char *const[]){"TIMED_OUT", NULL});
    ls_hosted_expect_none(&hosted.clients[index], (const char *const[]){"lost the link", NULL});
    ls_process_signal(&hosted.server, SIGINT);
    ls_hosted_expect_exit(&hosted.server, 0);
}

Test(programs_return, who_cannot_return_gives_up_in_time)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--timeout", "4000"));
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--partition", "1500:60000"));
    uint32_t index = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--reconnect", "2"));
    ls_hosted_expect_exit(&hosted.clients[index], 1);
    ls_hosted_expect_all(
        &hosted.clients[index],
        (const char *const[]){"lost the link", "could not be made again within 2 s", NULL});
    ls_process_signal(&hosted.server, SIGINT);
    ls_hosted_expect_exit(&hosted.server, 0);
}

Test(programs_return, who_comes_late_plays_with_the_others)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "units", "--players", "2"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    uint32_t first = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--ticks", "60"));
    ls_hosted_expect_exit(&hosted.clients[first], 0);
    uint32_t late = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "3", "--predict", "6"));
    ls_hosted_expect_words(&hosted.clients[late], " with a snapshot of");
    ls_hosted_expect_words(&hosted.clients[late], "playing from tick");
    ls_hosted_expect_words(&hosted.server, "plays from tick");
    ls_process_signal(&hosted.server, SIGINT);
    ls_hosted_expect_clean_exits(&hosted);
    ls_hosted_expect_agreement(&hosted, 0);
    ls_hosted_expect_agreement(&hosted, late);
}

Test(programs_return, who_watches_sees_what_is_played)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--spectators", "2",
                                          "--spectator-delay", "10"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_expect_words(&hosted.clients[0], "the match starts");
    uint32_t spectator = ls_hosted_join(&hosted, LS_ARGUMENTS("--spectate"));
    ls_hosted_expect_words(&hosted.clients[spectator], "as a spectator: arena");
    ls_hosted_expect_words(&hosted.clients[spectator], "watching from tick");
    end_and_agree();
}
