#include "lockstep/tests/loopback/hosted.h"

#include <stdio.h>
#include <string.h>

enum {
    BOB = 1 /* the client with the fault */
};

static ls_hosted hosted;

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    ls_hosted_close(&hosted);
}

TestSuite(programs_desync, .init = open_hosted, .fini = close_hosted);

/* Three players; bob's state gets a flipped bit after the step to tick 40. */
static void play_ticks(const char *simulation, const char *rule, const char *interval,
                       const char *ticks)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", simulation, "--players", "3", "--ticks", ticks,
                                          "--tick-rate", "60", "--on-desync", rule,
                                          "--hash-interval", interval));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--name", "ann", "--fps", "144"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--name", "bob", "--flip-bit", "40:20000"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "3", "--name", "cy", "--fps", "20"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 0);
    ls_hosted_expect_exit(&hosted.clients[BOB], 3);
    ls_hosted_expect_exit(&hosted.clients[2], 0);
    ls_hosted_expect_agreement(&hosted, 0);
    ls_hosted_expect_agreement(&hosted, 2);
}

static void play(const char *simulation, const char *rule, const char *interval)
{
    play_ticks(simulation, rule, interval, "90");
}

/* "differs from tick T on: server S, client C", the same everywhere, and as the JSON has it. */
static void expect_reported(uint32_t tick)
{
    const cJSON *summary = ls_hosted_server_summary(&hosted);
    cr_assert_eq(ls_hosted_count(summary, "desyncs"), 1);
    const cJSON *desync = ls_hosted_item(summary, "desyncs", 0);
    uint32_t slot = (uint32_t)ls_hosted_number(ls_hosted_player(&hosted, "bob"), "slot");
    cr_expect_eq(ls_hosted_number(desync, "tick"), tick);
    cr_expect_eq(ls_hosted_number(desync, "slot"), slot);
    const char *server_hash = ls_hosted_word(desync, "server_hash");
    const char *client_hash = ls_hosted_word(desync, "client_hash");
    cr_expect_str_neq(server_hash, client_hash);
    cr_expect_eq(strlen(server_hash), 16);
    cr_expect_eq(strlen(client_hash), 16);

    char values[128];
    char who[64];
    snprintf(values, sizeof values, "differs from tick %u on: server %s, client %s", tick,
             server_hash, client_hash);
    snprintf(who, sizeof who, "error: DESYNC: bob (slot %u)", slot);
    ls_hosted_expect_all(&hosted.server, LS_ARGUMENTS(who, values));
    snprintf(who, sizeof who, "DESYNC: bob (slot %u), this client,", slot);
    ls_hosted_expect_all(&hosted.clients[BOB], LS_ARGUMENTS("as asked", who, values));
    snprintf(who, sizeof who, "DESYNC: bob (slot %u) differs", slot);
    ls_hosted_expect_all(&hosted.clients[0], LS_ARGUMENTS(who, values));
    ls_hosted_expect_all(&hosted.clients[2], LS_ARGUMENTS(who, values));

    const cJSON *own = ls_hosted_item(ls_hosted_client_summary(&hosted, BOB), "desyncs", 0);
    cr_expect_eq(ls_hosted_number(own, "tick"), tick);
    cr_expect_eq(ls_hosted_number(own, "slot"), slot);
    cr_expect_str_eq(ls_hosted_word(own, "client_hash"), client_hash);
}

Test(programs_desync, a_flipped_bit_is_reported_and_the_match_goes_on)
{
    play("arena", "report", "1");
    expect_reported(40);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    const cJSON *bob = ls_hosted_client_summary(&hosted, BOB);
    cr_expect_eq(ls_hosted_number(server, "final_tick"), 90);
    cr_expect_eq(ls_hosted_number(bob, "final_tick"), 90);
    cr_expect_str_neq(ls_hosted_word(bob, "final_hash"), ls_hosted_word(server, "final_hash"));
    cr_expect_str_eq(ls_hosted_word(ls_hosted_player(&hosted, "bob"), "status"), "OK");
    ls_hosted_expect_all(&hosted.server, LS_ARGUMENTS("90 ticks, ", ", 1 difference, final hash"));
}

Test(programs_desync, a_flipped_bit_of_units_is_reported)
{
    play("units", "report", "1");
    expect_reported(40);
}

Test(programs_desync, a_client_that_differs_is_dropped_on_request)
{
    play_ticks("arena", "drop", "1", "300");
    expect_reported(40);
    cr_expect_eq(ls_hosted_number(ls_hosted_server_summary(&hosted), "final_tick"), 300);
    const cJSON *bob = ls_hosted_client_summary(&hosted, BOB);
    cr_expect_str_eq(ls_hosted_word(bob, "status"), "DESYNCED");
    cr_expect_lt(ls_hosted_number(bob, "final_tick"), 300);
    ls_hosted_expect_left(&hosted, "bob", "DESYNCED", "(DESYNCED)");
}

Test(programs_desync, a_difference_ends_the_match_on_request)
{
    play("arena", "stop", "1");
    expect_reported(40);
    double final_tick = ls_hosted_number(ls_hosted_server_summary(&hosted), "final_tick");
    cr_expect_geq(final_tick, 40);
    cr_expect_lt(final_tick, 90);
}

/* States 0, 16, 32, 48: the fault of tick 40 shows in the last. */
Test(programs_desync, between_compared_states_the_next_one_tells)
{
    play("arena", "report", "16");
    expect_reported(48);
}

Test(programs_desync, a_fault_in_the_last_state_is_found)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "30",
                                          "--hash-interval", "1024"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1", "--flip-bit", "30:64"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 3);
    const cJSON *summary = ls_hosted_server_summary(&hosted);
    cr_expect_eq(ls_hosted_number(ls_hosted_item(summary, "desyncs", 0), "tick"), 30);
}

Test(programs_desync, two_faulty_clients_are_told_apart)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "3", "--ticks", "60"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--name", "early", "--flip-bit", "20:64"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--name", "late", "--flip-bit", "40:64"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--name", "right"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 3);
    ls_hosted_expect_exit(&hosted.clients[1], 3);
    ls_hosted_expect_exit(&hosted.clients[2], 0);
    ls_hosted_expect_agreement(&hosted, 2);
    ls_hosted_expect_all(&hosted.server,
                         LS_ARGUMENTS("DESYNC: early (slot ", " differs from tick 20 on",
                                      "DESYNC: late (slot ", " differs from tick 40 on",
                                      ", 2 differences"));
    ls_hosted_expect_none(&hosted.server, LS_ARGUMENTS("DESYNC: right", "DESYNC of right"));
}

/* The finding is worth more than the file that could not be written. */
Test(programs_desync, a_summary_that_cannot_be_written_hides_no_desync)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "20",
                                          "--json", "/dev/full"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--flip-bit", "10:64", "--json", "/dev/full"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 3);
    ls_hosted_expect_all(&hosted.server,
                         LS_ARGUMENTS("cannot write the summary to /dev/full: No space left"));
}

Test(programs_desync, a_folder_that_takes_no_bundles_is_told_before_the_match)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "1", "--ticks", "20",
                                          "--bundle-dir", "/none"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_expect_exit(&hosted.server, 0);
    ls_hosted_expect_all(
        &hosted.server,
        LS_ARGUMENTS("warning: cannot write bundles of desyncs to /none: No such file"));
}

/* ---- the cause ---- */

/* The field that bit 20000 of arena's state belongs to, in words, in the summary, on the client,
 * and a bundle that lockstep-desync opens. */
Test(programs_desync, the_field_and_the_class_are_named_and_a_bundle_is_written)
{
    play_ticks("arena", "report", "1", "150");
    const cJSON *desync = ls_hosted_item(ls_hosted_server_summary(&hosted), "desyncs", 0);
    const char *field = ls_hosted_word(desync, "field");
    const char *server_value = ls_hosted_word(desync, "server_value");
    const char *client_value = ls_hosted_word(desync, "client_value");
    cr_expect_str_neq(server_value, client_value);
    cr_expect_eq(
        strncmp(field, ls_hosted_word(desync, "part"), strlen(ls_hosted_word(desync, "part"))), 0);
    cr_expect_eq(ls_hosted_number(desync, "differing"), 1);
    cr_expect_eq(ls_hosted_count(desync, "fields"), 1);
    cr_expect_str_eq(ls_hosted_word(desync, "class"), "one-off");
    cr_expect_str_eq(ls_hosted_word(desync, "culprit"), "client");
    const char *inputs = ls_hosted_word(desync, "inputs");
    cr_expect(strstr(inputs, "slot 0: 2 bytes ") && strstr(inputs, "slot 1: 2 bytes "), "%s",
              inputs);
    const char *bundle = ls_hosted_word(desync, "bundle");
    char line[256];
    snprintf(line, sizeof line, "%s: server %s, client %s", field, server_value, client_value);
    ls_hosted_expect_all(&hosted.server, LS_ARGUMENTS(line, "class one-off", inputs, bundle));
    ls_hosted_expect_all(&hosted.clients[BOB], LS_ARGUMENTS(line, "class one-off"));
    const cJSON *own = ls_hosted_item(ls_hosted_client_summary(&hosted, BOB), "desyncs", 0);
    cr_expect_str_eq(ls_hosted_word(own, "field"), field);
    cr_expect_str_eq(ls_hosted_word(own, "class"), "one-off");
    ls_hosted_run(&hosted, LS_TEST_DESYNC, LS_ARGUMENTS("explain", bundle), 3);
}

Test(programs_desync, what_differs_is_healed_on_request)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--ticks", "300",
                                          "--on-desync", "heal", "--bundle-dir", "none"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    /* A moment of inertia: nothing spreads from it to more than can be healed. */
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2", "--name", "bob", "--flip-bit", "40:2000"));
    ls_hosted_expect_exit(&hosted.server, 3);
    ls_hosted_expect_exit(&hosted.clients[0], 0);
    ls_hosted_expect_exit(&hosted.clients[BOB], 3);
    ls_hosted_expect_agreement(&hosted, 0);
    ls_hosted_expect_agreement(&hosted, BOB);
    ls_hosted_expect_all(&hosted.server,
                         LS_ARGUMENTS("bob (slot ", ") was healed and agrees from tick"));
    const cJSON *desync = ls_hosted_item(ls_hosted_server_summary(&hosted), "desyncs", 0);
    cr_expect_eq(ls_hosted_number(desync, "healed"), 1);
    cr_expect(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(desync, "bundle")));
}
