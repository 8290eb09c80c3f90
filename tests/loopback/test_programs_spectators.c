/* Spectators: the real programs, over UDP. */
#include "lockstep/tests/loopback/hosted.h"

#include <string.h>

TestSuite(programs_watch, .init = hosted_open, .fini = hosted_close);

Test(programs_watch, spectators_from_the_start_and_from_the_middle_agree_with_the_server)
{
    hosted_serve(ARENA("2", "360"), "--seed", "5", "--spectators", "8", "--spectator-delay", "20");
    uint32_t early = hosted_join("--spectate", "--name", "early");
    uint32_t brief = hosted_join("--spectate", "--name", "brief", "--ticks", "120");
    hosted_join("--bot", "1", "--name", "one");
    hosted_join("--bot", "2", "--name", "two");
    hosted_expect_words(&hosted.server, "spectator early");
    /* By now the match is two seconds old. */
    hosted_expect_exit(&hosted.clients[brief], 0);
    uint32_t late = hosted_join("--spectate", "--name", "late");
    hosted_expect_clean_exits();
    hosted_expect_agreement(early);
    hosted_expect_agreement(late);
    cr_expect(hosted_is_null(hosted_client_summary(late), "players.0.slot"));
    hosted_expect_agreement(brief + 1);
    hosted_expect_agreement(brief + 2);
    const cJSON *server = hosted_server_summary();
    cr_expect_eq(hosted_number(server, "spectators"), 3);
    cr_expect_eq(hosted_number(server, "final_tick"), 360);
    cr_expect_eq(hosted_number(server, "hashes_compared"), 2 * 361, "those of the players");
    cr_expect_eq(hosted_count(server, "players"), 2);
    cr_expect_eq(hosted_count(server, "desyncs"), 0);
    hosted_expect_all(&hosted.server, "spectator late, with a snapshot of",
                      "spectator late: watched to the end", "spectator early: watched to the end");
    hosted_expect_none(&hosted.server, "DESYNC", "early joined", "late joined");
}

Test(programs_watch, a_spectator_without_a_place_is_told_so)
{
    hosted_serve(ARENA("1", "60"), "--spectators", "0");
    uint32_t spectator = hosted_join("--spectate");
    hosted_expect_exit(&hosted.clients[spectator], 1);
    hosted_expect_all(&hosted.clients[spectator], "places for spectators");
    uint32_t player = hosted_join("--bot", "1");
    hosted_expect_exit(&hosted.clients[player], 0);
    hosted_expect_exit(&hosted.server, 0);
    cr_expect_eq(hosted_number(hosted_server_summary(), "spectators"), 0);
}

Test(programs_watch, a_view_says_that_it_is_a_spectators)
{
    hosted_serve(ARENA("1", "120"), "--spectators", "1");
    uint32_t player = hosted_join("--bot", "1");
    hosted_run(0, LS_TEST_CLIENT, hosted_address(), "--spectate", "--view=text");
    const char *pictures = ls_process_output(&hosted.other);
    cr_expect(strstr(pictures, "arena, spectator of 1 players, 60 Hz, watching"), "%s", pictures);
    hosted_expect_exit(&hosted.clients[player], 0);
}

Test(programs_watch, a_view_without_a_picture_says_why)
{
    hosted_serve("--sim", LS_PLUGIN("good"), "--players", "1", "--ticks", "60");
    hosted_run(0, LS_TEST_CLIENT, "--sim", LS_PLUGIN("good"), hosted_address(), "--view=text");
    hosted_expect_all(&hosted.other, "simulation counter has no draw function");
}
