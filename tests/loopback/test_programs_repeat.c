/* Whole matches of real processes that can be repeated: bots that answer the state of 60 ticks ago
 * under the rule wait. The result depends neither on frame rates nor on the compiler: every
 * build of every preset has to end in the states pinned here. */
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

TestSuite(programs_repeat, .init = open_hosted, .fini = close_hosted);

/* Slots are given in the order of joining, and each bot has a seed of its own. */
static void join(const char *seed, const char *rate, const char *predict)
{
    uint32_t index = ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", seed, "--bot-delay", "60",
                                                          "--fps", rate, "--predict", predict));
    ls_hosted_expect_words(&hosted.clients[index], "joined");
}

static void serve(const char *simulation, const char *ticks)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", simulation, "--players", "2", "--ticks", ticks,
                                          "--late", "wait", "--wait-limit", "30000"));
}

static void play(const char *simulation, const char *ticks, const char *rate)
{
    serve(simulation, ticks);
    join("1", rate, "0");
    join("2", rate, "0");
}

static void expect_final_hash(const char *hash)
{
    ls_hosted_expect_clean_exits(&hosted);
    cr_expect_str_eq(ls_hosted_word(ls_hosted_server_summary(&hosted), "final_hash"), hash);
    ls_hosted_expect_agreement(&hosted, 0);
    ls_hosted_expect_agreement(&hosted, 1);
}

static const char arena_hash[] = "fe767a36918f4e92";
static const char units_hash[] = "4f3da6e8b94b18b9";

Test(programs_repeat, arena_at_20_frames_a_second_ends_as_always)
{
    play("arena", "300", "20");
    expect_final_hash(arena_hash);
}

Test(programs_repeat, arena_at_60_frames_a_second_ends_as_always)
{
    play("arena", "300", "60");
    expect_final_hash(arena_hash);
}

Test(programs_repeat, arena_at_240_frames_a_second_ends_as_always)
{
    play("arena", "300", "240");
    expect_final_hash(arena_hash);
}

Test(programs_repeat, units_at_20_frames_a_second_ends_as_always)
{
    play("units", "180", "20");
    expect_final_hash(units_hash);
}

Test(programs_repeat, units_at_60_frames_a_second_ends_as_always)
{
    play("units", "180", "60");
    expect_final_hash(units_hash);
}

Test(programs_repeat, units_at_240_frames_a_second_ends_as_always)
{
    play("units", "180", "240");
    expect_final_hash(units_hash);
}

/* ---- with prediction: what is guessed changes nothing of what is played ---- */

static double rollbacks_of(uint32_t index)
{
    const cJSON *player = ls_hosted_item(ls_hosted_client_summary(&hosted, index), "players", 0);
    return ls_hosted_number(ls_hosted_object(player, "prediction"), "rollbacks");
}

static void play_predicted(const char *simulation, const char *ticks, const char *hash)
{
    serve(simulation, ticks);
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--delay", "30"));
    join("1", "60", "8");
    join("2", "144", "0");
    expect_final_hash(hash);
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
    ls_hosted_condition(&hosted, LS_ARGUMENTS("--delay", "20"));
    join("1", "20", "32");
    join("2", "240", "3");
    expect_final_hash(arena_hash);
    cr_expect_gt(rollbacks_of(0), 0);
    cr_expect_gt(rollbacks_of(1), 0);
}
