/* Spectators: the real programs, over UDP. */
#include "lockstep/tests/loopback/hosted.h"

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

TestSuite(programs_watch, .init = open_hosted, .fini = close_hosted);

Test(programs_watch, spectators_from_the_start_and_from_the_middle_agree_with_the_server)
{
    ls_hosted_serve(&hosted,
                    LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "360", "--seed",
                                 "5", "--spectators", "8", "--spectator-delay", "20"));
    uint32_t early = ls_hosted_join(&hosted, LS_ARGUMENTS("--spectate", "--name", "early"));
    uint32_t brief =
        ls_hosted_join(&hosted, LS_ARGUMENTS("--spectate", "--name", "brief", "--ticks", "120"));
    uint32_t players[2] = {ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--name", "one")),
                           ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--name", "two"))};
    ls_hosted_expect_words(&hosted.server, "spectator early");
    /* By now the match is two seconds old. */
    ls_hosted_expect_exit(&hosted.clients[brief], 0);
    uint32_t late = ls_hosted_join(&hosted, LS_ARGUMENTS("--spectate", "--name", "late"));
    ls_hosted_expect_clean_exits(&hosted);
    ls_hosted_expect_agreement(&hosted, early);
    ls_hosted_expect_agreement(&hosted, late);
    ls_hosted_expect_agreement(&hosted, players[0]);
    ls_hosted_expect_agreement(&hosted, players[1]);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    cr_expect_eq(ls_hosted_number(server, "spectators"), 3);
    cr_expect_eq(ls_hosted_number(server, "final_tick"), 360);
    cr_expect_eq(ls_hosted_number(server, "hashes_compared"), 2 * 361, "those of the players");
    cr_expect_eq(ls_hosted_count(server, "players"), 2);
    cr_expect_eq(ls_hosted_count(server, "desyncs"), 0);
    ls_hosted_expect_all(&hosted.server, LS_ARGUMENTS("spectator late, with a snapshot of",
                                                      "spectator late: watched to the end",
                                                      "spectator early: watched to the end"));
    ls_hosted_expect_none(&hosted.server, LS_ARGUMENTS("DESYNC", "early joined", "late joined"));
}

Test(programs_watch, who_finds_no_place_to_watch_from_is_told_so)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "60",
                                          "--spectators", "0"));
    uint32_t spectator = ls_hosted_join(&hosted, LS_ARGUMENTS("--spectate"));
    ls_hosted_expect_exit(&hosted.clients[spectator], 1);
    ls_hosted_expect_all(&hosted.clients[spectator], LS_ARGUMENTS("places for spectators"));
    uint32_t player = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_expect_exit(&hosted.clients[player], 0);
    ls_hosted_expect_exit(&hosted.server, 0);
    cr_expect_eq(ls_hosted_number(ls_hosted_server_summary(&hosted), "spectators"), 0);
}
