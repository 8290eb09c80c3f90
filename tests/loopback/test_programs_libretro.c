/* Machines of libretro cores in matches of the real programs: late players, guessed ticks, a server
 * that comes back, and a difference with its name. */
#include "lockstep/tests/loopback/hosted.h"

#include <string.h>

TestSuite(programs_libretro, .init = hosted_open, .fini = hosted_close);

#define GAME(core, cartridge)                                                                      \
    "--sim", LS_TEST_LIBRETRO, "--param", "core=" core, "--param",                                 \
        "content=" LS_TEST_CARTRIDGES "/" cartridge
#define NES GAME(LS_TEST_NESTOPIA, "paint.nes")
#define GAME_BOY GAME(LS_TEST_GAMBATTE, "paint.gb")

static void play_with_late_player(void)
{
    hosted_serve(NES, "--start-players", "1", "--ticks", "0");
    hosted_condition("--delay", "40", "--loss", "5");
    hosted_join(NES, "--bot", "1", "--predict", "8");
    hosted_expect_words(&hosted.server, "starts");
    hosted_pause_ms(500);
    uint32_t late = hosted_join(NES, "--bot", "2", "--predict", "8");
    hosted_end_when_playing(late);
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_count(hosted_server_summary(), "desyncs"), 0);
}

Test(programs_libretro, a_late_player_and_one_who_guesses_see_the_same_console)
{
    HOSTED_REPEAT_UNTIL(hosted_rollbacks_of(0) > 0, play_with_late_player());
}

Test(programs_libretro, a_game_boy_plays_at_its_own_rate)
{
    hosted_serve(GAME_BOY, "--players", "1", "--ticks", "120", "--tick-rate", "59.7275");
    hosted_join(GAME_BOY, "--bot", "1");
    hosted_expect_perfect(120);
}

Test(programs_libretro, a_flipped_bit_has_the_name_of_the_memory_that_it_is_in)
{
    hosted_serve(NES, "--players", "1", "--ticks", "120", "--bundle-dir", "none");
    hosted_join(NES, "--bot", "1", "--name", "bob", "--flip-bit", "40:1600");
    hosted_expect_exits(3, 3);
    hosted_expect_all(&hosted.server, "bob (slot 0)", "system_ram[");
}

Test(programs_libretro, a_client_without_the_core_is_refused)
{
    hosted_serve(NES, "--players", "1", "--ticks", "30");
    hosted_join("--sim", LS_TEST_LIBRETRO, "--bot", "1");
    hosted_expect_exit(&hosted.clients[0], 1);
    hosted_expect_all(&hosted.clients[0], "'core'");
}
