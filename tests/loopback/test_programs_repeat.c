/* Whole matches of real processes that can be repeated: bots that answer the state of 60 ticks ago
 * under the rule wait. The result depends neither on frame rates nor on the compiler: every
 * build of every preset has to end in the states pinned here. */
#include "lockstep/tests/loopback/hosted.h"

TestSuite(programs_repeat, .init = hosted_open, .fini = hosted_close);

/* Slots are given in the order of joining, and each bot has a seed of its own. */
static void join(const char *seed, const char *rate, const char *predict)
{
    uint32_t index =
        hosted_join("--bot", seed, "--bot-delay", "60", "--fps", rate, "--predict", predict);
    hosted_expect_words(&hosted.clients[index], "joined");
}

static void serve(const char *simulation, const char *ticks)
{
    hosted_serve("--sim", simulation, "--players", "2", "--ticks", ticks, "--late", "wait",
                 "--wait-limit", "30000");
}

static void expect_final_hash(const char *hash, const char *rate)
{
    hosted_expect_clean_exits();
    cr_expect_str_eq(hosted_word(hosted_server_summary(), "final_hash"), hash, "at %s", rate);
    hosted_expect_all_agree();
}

static const char arena_hash[] = "00b67620dd778d71";
static const char units_hash[] = "4f3da6e8b94b18b9";

static void play(const char *simulation, const char *ticks, const char *hash)
{
    static const char *const rates[] = {"20", "60", "240"};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        hosted_reopen();
        serve(simulation, ticks);
        join("1", rates[i], "0");
        join("2", rates[i], "0");
        expect_final_hash(hash, rates[i]);
    }
}

Test(programs_repeat, arena_at_20_60_and_240_frames_a_second_ends_as_always)
{
    play("arena", "300", arena_hash);
}

Test(programs_repeat, units_at_20_60_and_240_frames_a_second_ends_as_always)
{
    play("units", "180", units_hash);
}

/* ---- with prediction: guesses change nothing in the match ---- */

static double rollbacks_of(uint32_t index)
{
    return hosted_number(hosted_client_summary(index), "players.0.prediction.rollbacks");
}

static void play_predicted(const char *simulation, const char *ticks, const char *hash)
{
    serve(simulation, ticks);
    hosted_condition("--delay", "30");
    join("1", "60", "8");
    join("2", "144", "0");
    expect_final_hash(hash, "60 and 144");
    cr_expect_gt(rollbacks_of(0), 0);
}

Test(programs_repeat, arena_with_prediction_ends_as_always)
{
    play_predicted("arena", "300", arena_hash);
}

Test(programs_repeat, units_with_prediction_ends_as_always)
{
    play_predicted("units", "180", units_hash);
}

Test(programs_repeat, arena_predicted_by_both_ends_as_always)
{
    serve("arena", "300");
    hosted_condition("--delay", "20");
    join("1", "20", "32");
    join("2", "240", "3");
    expect_final_hash(arena_hash, "20 and 240");
    cr_expect_gt(rollbacks_of(0), 0);
    cr_expect_gt(rollbacks_of(1), 0);
}
