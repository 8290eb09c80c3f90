#include "lockstep/common/journal/desync_bundle.h"
#include "lockstep/tests/loopback/hosted.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    BOB = 1, /* the client with the fault */
    BUNDLE_BYTES_MAX = 1 << 20,
};

TestSuite(programs_desync, .init = hosted_open, .fini = hosted_close);

/* So many states are kept whatever the tick rate (LS_REPLAY_LATE_TICKS_MIN). In a match that is no
 * longer, a busy machine may find a difference and run ticks again as late as it likes. */
#define ALL_KEPT "144"

/* Three players; bob's state gets a flipped bit after the step to tick 40. */
static void join_three(const char *simulation, const char *rule, const char *interval,
                       const char *ticks)
{
    hosted_serve("--sim", simulation, "--players", "3", "--ticks", ticks, "--tick-rate", "60",
                 "--on-desync", rule, "--hash-interval", interval);
    hosted_join("--bot", "1", "--name", "ann", "--fps", "144");
    hosted_join("--bot", "2", "--name", "bob", "--flip-bit", "40:20000");
    hosted_join("--bot", "3", "--name", "cy", "--fps", "20");
}

static void expect_end_of_three(void)
{
    hosted_expect_exits(3, 0, 3, 0);
    hosted_expect_agreement(0);
    hosted_expect_agreement(2);
}

static void play(const char *simulation, const char *rule, const char *interval, const char *ticks)
{
    join_three(simulation, rule, interval, ticks);
    expect_end_of_three();
}

/* "differs from tick T on: server S, client C", the same everywhere, and as the JSON has it. */
static void expect_reported(uint32_t tick)
{
    const cJSON *summary = hosted_server_summary();
    cr_assert_eq(hosted_count(summary, "desyncs"), 1);
    const cJSON *desync = hosted_item(summary, "desyncs.0");
    uint32_t slot = (uint32_t)hosted_number(hosted_player("bob"), "slot");
    cr_expect_eq(hosted_number(desync, "tick"), tick);
    cr_expect_eq(hosted_number(desync, "slot"), slot);
    const char *server_hash = hosted_word(desync, "server_hash");
    const char *client_hash = hosted_word(desync, "client_hash");
    cr_expect_str_neq(server_hash, client_hash);
    cr_expect_eq(strlen(server_hash), 16);
    cr_expect_eq(strlen(client_hash), 16);

    const char *values = hosted_text("differs from tick %u on: server %s, client %s", tick,
                                     server_hash, client_hash);
    const char *bob = hosted_text("DESYNC: bob (slot %u)", slot);
    hosted_expect_all(&hosted.server, hosted_text("error: %s", bob), values);
    hosted_expect_all(&hosted.clients[BOB], "as asked", hosted_text("%s, this client,", bob),
                      values);
    hosted_expect_all(&hosted.clients[0], hosted_text("%s differs", bob), values);
    hosted_expect_all(&hosted.clients[2], hosted_text("%s differs", bob), values);

    const cJSON *own = hosted_item(hosted_client_summary(BOB), "desyncs.0");
    cr_expect_eq(hosted_number(own, "tick"), tick);
    cr_expect_eq(hosted_number(own, "slot"), slot);
    cr_expect_str_eq(hosted_word(own, "client_hash"), client_hash);
}

Test(programs_desync, a_flipped_bit_is_reported_and_the_match_goes_on)
{
    play("arena", "report", "1", "90");
    expect_reported(40);
    const cJSON *server = hosted_server_summary();
    const cJSON *bob = hosted_client_summary(BOB);
    cr_expect_eq(hosted_number(server, "final_tick"), 90);
    cr_expect_eq(hosted_number(bob, "final_tick"), 90);
    cr_expect_str_neq(hosted_word(bob, "final_hash"), hosted_word(server, "final_hash"));
    cr_expect_str_eq(hosted_word(hosted_player("bob"), "status"), "OK");
    hosted_expect_all(&hosted.server, "90 ticks, ", ", 1 difference, final hash");
}

Test(programs_desync, a_flipped_bit_of_units_is_reported)
{
    play("units", "report", "1", "90");
    expect_reported(40);
}

Test(programs_desync, a_client_that_differs_is_dropped_on_request)
{
    join_three("arena", "drop", "1", "0");
    hosted_expect_words(&hosted.server, "(DESYNCED)");
    hosted_end_match();
    expect_end_of_three();
    expect_reported(40);
    const cJSON *bob = hosted_client_summary(BOB);
    cr_expect_str_eq(hosted_word(bob, "status"), "DESYNCED");
    cr_expect_lt(hosted_number(bob, "final_tick"),
                 hosted_number(hosted_server_summary(), "final_tick"));
    hosted_expect_left("bob", "DESYNCED", "(DESYNCED)");
}

Test(programs_desync, a_difference_ends_the_match_on_request)
{
    play("arena", "stop", "1", "90");
    expect_reported(40);
    double final_tick = hosted_number(hosted_server_summary(), "final_tick");
    cr_expect_geq(final_tick, 40);
    cr_expect_lt(final_tick, 90);
}

/* States 0, 16, 32, 48: the fault of tick 40 shows in the last. */
Test(programs_desync, between_compared_states_the_next_one_tells)
{
    play("arena", "report", "16", "90");
    expect_reported(48);
}

Test(programs_desync, a_fault_in_the_last_state_is_found)
{
    hosted_serve(ARENA("1", "30"), "--hash-interval", "1024");
    hosted_join("--bot", "1", "--flip-bit", "30:64");
    hosted_expect_exits(3, 3);
    cr_expect_eq(hosted_number(hosted_server_summary(), "desyncs.0.tick"), 30);
}

/* Without a look for causes: helpers that run ticks again for two cases at a time have the lowest
 * priority, and on a busy machine they take as long as they may. */
Test(programs_desync, two_faulty_clients_are_told_apart)
{
    hosted_serve(ARENA("3", "60"), "--find-causes", "off");
    hosted_join("--name", "early", "--flip-bit", "20:64");
    hosted_join("--name", "late", "--flip-bit", "40:64");
    hosted_join("--name", "right");
    hosted_expect_exits(3, 3, 3, 0);
    hosted_expect_agreement(2);
    hosted_expect_all(&hosted.server, "DESYNC: early (slot ", " differs from tick 20 on",
                      "DESYNC: late (slot ", " differs from tick 40 on", ", 2 differences");
    hosted_expect_none(&hosted.server, "DESYNC: right", "DESYNC of right");
}

/* Both clients have the same flipped bit: two machines agree against the server. */
Test(programs_desync, a_server_that_differs_is_named_by_its_clients_too)
{
    hosted_serve(ARENA("2", "90"));
    hosted_join("--bot", "1", "--name", "ann", "--flip-bit", "40:2000");
    hosted_join("--bot", "2", "--name", "bob", "--flip-bit", "40:2000");
    hosted_expect_exits(3, 0, 0);
    hosted_expect_all(&hosted.server, "DESYNC: this server differs from tick 40 on",
                      "DESYNC of this server against ");
    for (uint32_t i = 0; i < 2; i++) {
        hosted_expect_all(&hosted.clients[i], "DESYNC: the server differs from tick 40 on from 2",
                          "DESYNC of the server at tick 40: ", "at fault: server");
        hosted_expect_none(&hosted.clients[i], "this client", "DESYNC of ann", "DESYNC of bob");
    }
}

/* Clients are told the names of those who are there when they come. */
Test(programs_desync, a_late_player_without_a_name_here_is_told_by_its_slot)
{
    hosted_serve(ARENA("2", "0"), "--start-players", "1");
    hosted_join("--bot", "1", "--name", "ann");
    hosted_expect_words(&hosted.server, "the match starts");
    hosted_pause_ms(300);
    hosted_join("--bot", "2", "--name", "bob", "--flip-bit", "100:2000");
    hosted_expect_words(&hosted.clients[0], "DESYNC of slot 1 at tick ");
    hosted_end_match();
    hosted_expect_exits(3, 0, 3);
    hosted_expect_all(&hosted.clients[0], "DESYNC: slot 1 differs from tick ");
}

/* The finding is worth more than the file that could not be written. */
Test(programs_desync, a_summary_that_cannot_be_written_hides_no_desync)
{
    hosted_serve(ARENA("1", "20"), "--json", "/dev/full");
    hosted_join("--flip-bit", "10:64", "--json", "/dev/full");
    hosted_expect_exits(3, 3);
    hosted_expect_all(&hosted.server, "cannot write the summary to /dev/full: No space left");
}

Test(programs_desync, a_folder_that_takes_no_bundles_is_told_before_the_match)
{
    hosted_serve(ARENA("1", "20"), "--bundle-dir", "/none");
    hosted_join("--bot", "1");
    hosted_expect_exit(&hosted.server, 0);
    hosted_expect_all(&hosted.server,
                      "warning: cannot write bundles of desyncs to /none: No such file");
}

/* ---- more than one ---- */

Test(programs_desync, a_bundle_never_replaces_another)
{
    FILE *older = fopen(hosted_path("desync-arena-tick10-slot0.bundle"), "w");
    cr_assert_not_null(older);
    fputs("older", older);
    fclose(older);
    hosted_serve(ARENA("1", "60"));
    hosted_join("--flip-bit", "10:64");
    hosted_expect_exits(3, 3);
    const char *bundle = hosted_word(hosted_server_summary(), "desyncs.0.bundle");
    cr_expect_not_null(strstr(bundle, "desync-arena-tick10-slot0-2.bundle"), "%s", bundle);
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle);
    char text[8] = {0};
    older = fopen(hosted_path("desync-arena-tick10-slot0.bundle"), "r");
    cr_expect_eq(fread(text, 1, sizeof text, older), 5);
    fclose(older);
}

static uint32_t count_bundles(void)
{
    uint32_t count = 0;
    DIR *folder = opendir(hosted.folder);
    cr_assert_not_null(folder);
    for (const struct dirent *entry = NULL; (entry = readdir(folder)) != NULL;) {
        count += strstr(entry->d_name, ".bundle") != NULL;
    }
    closedir(folder);
    return count;
}

/* Each player who takes the seat differs and is dropped. The log may leave out what it says of the
 * last one, since they all come from one place. */
Test(programs_desync, a_slot_gets_eight_bundles_whoever_sits_there)
{
    hosted_serve("--sim", LS_PLUGIN("fault_none"), "--players", "2", "--start-players", "1",
                 "--ticks", "0", "--on-desync", "drop");
    hosted_join("--sim", LS_PLUGIN("fault_none"), "--name", "ann");
    hosted_expect_words(&hosted.server, "the match starts");
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t bob = hosted_join("--sim", LS_PLUGIN("fault_build"), "--name", "bob");
        hosted_expect_exit(&hosted.clients[bob], 3);
    }
    hosted_end_match();
    hosted_expect_exit(&hosted.server, 3);
    hosted_expect_exit(&hosted.clients[0], 0);
    uint32_t count = count_bundles(); /* of nine; a slow re-run may leave one without its ticks */
    cr_expect(count > 0 && count <= 8, "%u", count);
}

static uint64_t bundle_bytes(void)
{
    uint64_t bytes = 0;
    DIR *folder = opendir(hosted.folder);
    cr_assert_not_null(folder);
    for (const struct dirent *entry = NULL; (entry = readdir(folder)) != NULL;) {
        struct stat status;
        if (strstr(entry->d_name, ".bundle") && stat(hosted_path(entry->d_name), &status) == 0) {
            bytes += (uint64_t)status.st_size;
        }
    }
    closedir(folder);
    return bytes;
}

/* Two bundles of 700 KiB, which are written at the same time. */
Test(programs_desync, bundles_that_are_written_at_once_take_no_more_than_is_allowed)
{
    hosted_serve("--sim", "arena", "--param", "bodies=4000", "--players", "2", "--ticks", "60",
                 "--bundle-limit", "1", "--tick-rate", "40");
    hosted_join("--flip-bit", "10:64");
    hosted_join("--flip-bit", "10:128");
    hosted_expect_exits(3, 3, 3);
    uint64_t bytes = bundle_bytes();
    cr_expect(bytes > 0 && bytes <= 1 << 20, "%llu", (unsigned long long)bytes);
    if (count_bundles() < 2) { /* both fit where slow re-runs leave them without their ticks */
        hosted_expect_all(&hosted.server, "it would be more than --bundle-limit allows");
    }
}

/* Another build differs again and again however often it is healed. The match waits for it: its
 * first difference is found while the states before it are kept. */
Test(programs_desync, the_first_of_many_is_kept_beside_the_newest)
{
    hosted_serve("--sim", LS_PLUGIN("fault_none"), "--players", "1", "--ticks", "600",
                 "--on-desync", "heal", "--late", "wait", "--wait-limit", "30000", "--wait-budget",
                 "0");
    hosted_join("--sim", LS_PLUGIN("fault_build"), "--name", "bob");
    hosted_expect_exit(&hosted.server, 3);
    hosted_expect_exit(&hosted.clients[0], 3);
    const cJSON *summaries[] = {hosted_server_summary(), hosted_client_summary(0)};
    for (size_t i = 0; i < 2; i++) {
        const cJSON *newest = hosted_item(summaries[i], "desyncs.0");
        cr_assert_gt(hosted_number(newest, "times"), 1);
        cr_expect_gt(hosted_number(newest, "tick"), hosted_number(newest, "first.tick"));
        cr_expect_str_eq(hosted_word(newest, "first.class"), "build");
        cr_expect_str_eq(hosted_word(newest, "first.field"), "wrong");
        cr_expect_eq(hosted_number(newest, "first.slot"), 0);
    }
    const cJSON *server = hosted_item(summaries[0], "desyncs.0");
    const char *first = hosted_word(server, "first.bundle");
    cr_expect_str_neq(first, hosted_word(server, "bundle"));
    hosted_run(3, LS_TEST_DESYNC, "explain", first);
    cr_expect_str_eq(hosted_word(server, "next"),
                     hosted_text("lockstep-desync explain %s --sim %s",
                                 hosted_word(server, "bundle"), LS_PLUGIN("fault_none")));
    hosted_expect_all(&hosted.server, hosted_text("  next: %s", hosted_word(server, "next")),
                      "  then: give both sides the same file");
    hosted_expect_all(&hosted.clients[0], "  next: lockstep-desync explain desync-",
                      "  then: give both sides the same file");
}

/* ---- the cause ---- */

/* The field that bit 20000 of arena's state belongs to, in words, in the summary, on the client,
 * and a bundle that lockstep-desync opens. */
Test(programs_desync, the_field_and_the_class_are_named_and_a_bundle_is_written)
{
    play("arena", "report", "1", "150");
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    const char *field = hosted_word(desync, "field");
    const char *server_value = hosted_word(desync, "server_value");
    const char *client_value = hosted_word(desync, "client_value");
    cr_expect_str_neq(server_value, client_value);
    cr_expect_eq(strncmp(field, hosted_word(desync, "part"), strlen(hosted_word(desync, "part"))),
                 0);
    cr_expect_eq(hosted_number(desync, "differing"), 1);
    cr_expect_eq(hosted_count(desync, "fields"), 1);
    cr_expect_str_eq(hosted_word(desync, "class"), "one-off");
    cr_expect_str_eq(hosted_word(desync, "culprit"), "client");
    const char *inputs = hosted_word(desync, "inputs");
    cr_expect(strstr(inputs, "slot 0: 2 bytes ") && strstr(inputs, "slot 1: 2 bytes "), "%s",
              inputs);
    const char *bundle = hosted_word(desync, "bundle");
    const char *line = hosted_text("%s: server %s, client %s", field, server_value, client_value);
    hosted_expect_all(&hosted.server, line, "class one-off", inputs, bundle);
    hosted_expect_all(&hosted.clients[BOB], line, "class one-off");
    const cJSON *own = hosted_item(hosted_client_summary(BOB), "desyncs.0");
    cr_expect_str_eq(hosted_word(own, "field"), field);
    cr_expect_str_eq(hosted_word(own, "class"), "one-off");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle);
}

Test(programs_desync, a_difference_is_healed_on_request)
{
    hosted_serve(ARENA("2", "0"), "--on-desync", "heal", "--bundle-dir", "none");
    hosted_join("--bot", "1");
    /* A moment of inertia: nothing spreads from it to more than can be healed. */
    hosted_join("--bot", "2", "--name", "bob", "--flip-bit", "40:2000");
    hosted_expect_words(&hosted.server, ") was healed and agrees from tick");
    hosted_end_match();
    hosted_expect_exits(3, 0, 3);
    hosted_expect_all_agree();
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    cr_expect_eq(hosted_number(desync, "healed"), 1);
    cr_expect_eq(hosted_number(desync, "times"), 1);
    cr_expect(hosted_is_null(desync, "first"));
    cr_expect(hosted_is_null(desync, "bundle"));
}

/* The late joiner's static and thread-local begin anew: it differs. To find out why, both sides run
 * ticks again; nothing of that may reach the plug-in of a live match. */
Test(programs_desync, innocent_players_of_a_plug_in_with_statics_stay_clean)
{
    const char *const file = LS_PLUGIN("memory");
    hosted_serve("--sim", file, "--players", "3", "--start-players", "2", "--ticks", "0");
    hosted_join("--sim", file, "--bot", "1", "--name", "ann");
    hosted_join("--sim", file, "--bot", "2", "--name", "bob", "--predict", "0");
    hosted_expect_words(&hosted.server, "the match starts");
    hosted_pause_ms(500);
    hosted_join("--sim", file, "--bot", "3", "--name", "cy");
    hosted_expect_words(&hosted.server, "DESYNC: cy (slot ");
    hosted_end_when_playing(2);
    hosted_expect_exits(3, 0, 0, 3);
    hosted_expect_agreement(0);
    hosted_expect_agreement(1);
    const cJSON *server = hosted_server_summary();
    cr_expect_eq(hosted_count(server, "desyncs"), 1);
    cr_expect_eq(hosted_number(server, "desyncs.0.slot"), 2);
}

/* The block of a wrapped engine holds pointers: a bit of those would be a crash and no desync. */
Test(programs_desync, a_bit_of_an_engine_is_flipped_in_its_save)
{
    const char *const file = LS_PLUGIN("handle");
    for (uint32_t bit = 0; bit < 4; bit++) {
        hosted_serve("--sim", file, "--players", "1", "--ticks", "60");
        hosted_join("--sim", file, "--bot", "1", "--flip-bit", hosted_text("20:%u", bit * 100));
        hosted_expect_exits(3, 3);
        hosted_expect_all(&hosted.server, "simulation 'handle' has no schema: a desync will be "
                                          "told by the bytes of its save");
        hosted_expect_all(&hosted.clients[0], "flipped bit", "DESYNC: ");
        cr_expect_eq(hosted_number(hosted_server_summary(), "desyncs.0.tick"), 20);
        hosted_reopen();
    }
}

/* ---- engines without a schema ---- */

static void expect_engine_report(const char *class, const char *what)
{
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    cr_expect_str_eq(hosted_word(desync, "class"), class);
    cr_expect_not_null(strstr(hosted_word(desync, "why"), what), "%s", hosted_word(desync, "why"));
    hosted_expect_all(&hosted.clients[0], class, what);
}

static cJSON *explain(const char *bundle, const char *simulation)
{
    const char *json = hosted_path("explained.json");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", simulation, "--json", json);
    return hosted_read_json(json);
}

/* A flipped bit of the save, in the server's and client's report, and in the bundle. */
Test(programs_desync, a_bit_of_an_engines_save_is_named_with_its_byte_and_class)
{
    const char *const file = LS_PLUGIN("handle");
    hosted_serve("--sim", file, "--players", "1", "--ticks", "90");
    hosted_join("--sim", file, "--bot", "1", "--flip-bit", "60:100");
    hosted_expect_exits(3, 3);
    expect_engine_report("one-off", "of the save differ");
    const char *bundle = hosted_word(hosted_server_summary(), "desyncs.0.bundle");
    const char *page = hosted_path("page.html");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", file, "--html", page);
    cJSON *report = explain(bundle, file);
    cr_expect_str_eq(hosted_word(report, "class"), "one-off");
    cr_expect_str_eq(hosted_word(report, "agrees_with"), "server");
    cr_expect_str_eq(hosted_word(report, "differences.0.field"), "save[12]");
    cJSON_Delete(report);
}

typedef struct engine_case {
    const char *right;
    const char *wrong;
    const char *class;
    const char *place; /* of the first byte that differs, or how that begins */
    const char *pass;  /* NULL: none */
} engine_case;

static void expect_engine_case(const engine_case *with)
{
    hosted_serve("--sim", with->right, "--players", "1", "--ticks", "120");
    hosted_join("--sim", with->wrong, "--bot", "1");
    hosted_expect_exits(3, 3);
    expect_engine_report(with->class, "of the save differ");
    hosted_expect_all(&hosted.server, with->place);
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    cr_expect_eq(hosted_number(desync, "tick"), 101);
    if (with->pass) {
        cr_expect_str_eq(hosted_word(desync, "pass"), with->pass);
    }
    const char *bundle = hosted_word(hosted_server_summary(), "desyncs.0.bundle");
    cJSON *report = explain(bundle, with->right);
    cr_expect_str_eq(hosted_word(report, "class"), with->class);
    cr_expect_str_eq(hosted_word(report, "agrees_with"), "server");
    const char *field = hosted_word(report, "differences.0.field");
    cr_expect_eq(strncmp(field, with->place, strlen(with->place)), 0, "%s", field);
    cJSON_Delete(report);
    hosted_reopen();
}

Test(programs_desync, planted_faults_of_engines_are_classified)
{
    const engine_case cases[] = {
        {LS_PLUGIN("objects"), LS_PLUGIN("objects_build"), "build", "save[156]", "move"},
        {LS_PLUGIN("objects"), LS_PLUGIN("objects_static"), "outside-state", "save[156]", NULL},
        {LS_PLUGIN("objects"), LS_PLUGIN("objects_unset"), "run-to-run", "save[15", "move"},
        {LS_PLUGIN("emulator"), LS_PLUGIN("emulator_build"), "build", "cpu.accumulator",
         "whole step"},
        {LS_PLUGIN("emulator"), LS_PLUGIN("emulator_static"), "outside-state", "cpu.accumulator",
         NULL},
        {LS_PLUGIN("emulator"), LS_PLUGIN("emulator_unset"), "run-to-run", "cpu.accumulator",
         "whole step"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_engine_case(&cases[i]);
    }
}

/* ---- healing with the whole state ---- */

static void expect_healed_with_snapshot(void)
{
    hosted_expect_words(&hosted.server, "bob (slot 0) was healed and agrees from tick ");
    hosted_end_match();
    hosted_expect_exits(3, 3, 0);
    hosted_expect_all(&hosted.server, "bob (slot 0) is healed with a snapshot of ");
    hosted_expect_all(&hosted.clients[0], "this client was healed and agrees from tick ");
    cr_expect_eq(hosted_number(hosted_server_summary(), "desyncs.0.times"), 1);
    hosted_expect_agreement(0);
    hosted_expect_agreement(1);
}

Test(programs_desync, who_differs_in_thousands_of_values_is_healed_with_a_snapshot)
{
    hosted_serve("--sim", LS_PLUGIN("unspoilt"), "--players", "2", "--ticks", "0", "--on-desync",
                 "heal", "--bundle-dir", "none");
    hosted_join("--sim", LS_PLUGIN("spoilt"), "--name", "bob", "--bot", "1");
    hosted_expect_words(&hosted.server, "bob (slot 0) joined");
    hosted_join("--sim", LS_PLUGIN("unspoilt"), "--name", "ann", "--bot", "2");
    expect_healed_with_snapshot();
    cr_expect_eq(hosted_number(hosted_server_summary(), "desyncs.0.healed"), 1);
}

Test(programs_desync, an_engine_is_healed_with_a_snapshot)
{
    const char *const file = LS_PLUGIN("handle");
    hosted_serve("--sim", file, "--players", "2", "--ticks", "0", "--on-desync", "heal");
    hosted_join("--sim", file, "--name", "bob", "--bot", "1", "--flip-bit", "30:100");
    hosted_expect_words(&hosted.server, "bob (slot 0) joined");
    hosted_join("--sim", file, "--name", "ann", "--bot", "2");
    expect_healed_with_snapshot();
}

Test(programs_desync, an_engine_that_cannot_save_is_left_alone)
{
    const char *const file = LS_PLUGIN("mute_handle");
    hosted_serve("--sim", file, "--players", "1", "--ticks", "60");
    hosted_join("--sim", file, "--bot", "1", "--flip-bit", "20:64");
    hosted_expect_perfect(60);
    hosted_expect_all(&hosted.clients[0], "--flip-bit: the simulation cannot save its state");
    hosted_expect_all(&hosted.server, "a desync will be told with its tick and both hashes alone",
                      "its ticks cannot be run again (no class, no pass)");
}

Test(programs_desync, a_server_that_does_not_look_says_so)
{
    hosted_serve(ARENA("1", "30"), "--find-causes", "off");
    hosted_join("--flip-bit", "10:64");
    hosted_expect_exits(3, 3);
    hosted_expect_all(&hosted.server, "nothing more is known of 'arena': the server was told not");
    cr_expect_str_eq(hosted_word(hosted_server_summary(), "desyncs.0.why"),
                     "the server was told not to look: --find-causes off");
}

/* The client's build adds to a field what the server's does not. */
Test(programs_desync, explain_names_the_write_in_which_two_builds_differ)
{
    const char *const ours = LS_PLUGIN("fault_none");
    const char *const theirs = LS_PLUGIN("fault_build");
    hosted_serve("--sim", ours, "--players", "1", "--ticks", ALL_KEPT, "--bundle-dir",
                 hosted_path(""));
    hosted_join("--sim", theirs, "--bot", "1");
    hosted_expect_exits(3, 3);
    const char *bundle = hosted_word(hosted_server_summary(), "desyncs.0.bundle");
    const char *json = hosted_path("explained.json");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", ours, "--against", theirs, "--json",
               json);
    cJSON *report = hosted_read_json(json);
    int last = hosted_count(report, "under_changes") - 1;
    cr_expect_str_eq(hosted_word(report, "under_changes.0.agrees_with"), "server");
    cr_expect_str_eq(hosted_word(hosted_item(report, "under_changes.%d", last), "change"),
                     "other-build");
    cr_expect_str_eq(hosted_word(hosted_item(report, "under_changes.%d", last), "agrees_with"),
                     "client");
    const cJSON *write = hosted_item(report, "first_differing_write");
    cr_expect_str_eq(hosted_word(write, "sim.field"), hosted_word(write, "against.field"));
    cr_expect_str_neq(hosted_word(write, "sim.after"), hosted_word(write, "against.after"));
    cr_expect_str_eq(hosted_word(write, "sim.pass"), hosted_word(report, "pass"));
    cJSON_Delete(report);
}

/* The other build computes the share otherwise. At the end of the tick it is 0 in both, and what
 * was made of it differs, in fields that stand before it. */
static void expect_share(const char *theirs)
{
    const char *const ours = LS_PLUGIN("relay");
    hosted_serve("--sim", ours, "--players", "1", "--ticks", ALL_KEPT, "--bundle-dir",
                 hosted_path(""));
    hosted_join("--sim", theirs, "--bot", "1");
    hosted_expect_exits(3, 3);
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    cr_expect_str_eq(hosted_word(desync, "pass"), "divide");
    cr_expect_str_eq(hosted_word(desync, "values_after_pass"), "divide");
    cr_expect_str_eq(hosted_word(desync, "field"), "share");
    cr_expect_eq(hosted_number(desync, "differing"), 1);
    cr_expect_str_eq(hosted_word(hosted_client_summary(0), "desyncs.0.field"), "share");
    cr_expect_str_eq(hosted_word(hosted_client_summary(0), "desyncs.0.values_after_pass"),
                     "divide");
    hosted_expect_all(&hosted.server, ": divide; the values are those after it\n");
    hosted_expect_all(&hosted.clients[0], ": divide; the value is the one after it\n");
    const char *json = hosted_path("explained.json");
    hosted_run(3, LS_TEST_DESYNC, "explain", hosted_word(desync, "bundle"), "--sim", ours,
               "--against", theirs, "--json", json);
    cJSON *report = hosted_read_json(json);
    cr_expect_str_eq(hosted_word(report, "after_pass.pass"), "divide");
    cr_expect_eq(hosted_number(report, "after_pass.elements"), 1);
    cr_expect_str_eq(hosted_word(report, "after_pass.differences.0.field"), "share");
    cr_expect_str_eq(hosted_word(report, "after_pass.differences.0.client"),
                     hosted_word(desync, "client_value"));
    cr_expect_str_eq(hosted_word(report, "differences.0.field"), "newest");
    cr_expect_str_eq(hosted_word(report, "first_differing_write.sim.field"), "share");
    cr_expect_str_eq(hosted_word(report, "first_differing_write.sim.pass"), "divide");
    cJSON_Delete(report);
}

Test(programs_desync, the_field_is_one_that_the_named_pass_wrote_in_a_fast_math_build)
{
    expect_share(LS_PLUGIN("relay_fast"));
}

Test(programs_desync, the_field_is_one_that_the_named_pass_wrote_in_a_fused_build)
{
    expect_share(LS_PLUGIN("relay_fused"));
}

/* ---- the bundle is about the exact tick ---- */

static cJSON *explain_own(const char *bundle, const char *simulation)
{
    const char *json = hosted_path("explained.json");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", simulation, "--json", json);
    return hosted_read_json(json);
}

/* All states are kept of ALL_KEPT ticks and those from one comparison to the next. */
Test(programs_desync, the_bundle_is_about_the_first_tick_where_hashes_are_compared_seldom)
{
    const char *const ours = LS_PLUGIN("relay");
    hosted_serve("--sim", ours, "--players", "1", "--ticks", "174", "--hash-interval", "30",
                 "--bundle-dir", hosted_path(""));
    hosted_join("--sim", LS_PLUGIN("relay_fast"), "--bot", "1");
    hosted_expect_exits(3, 3);
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    double first_tick = hosted_number(desync, "first_tick");
    double tick = hosted_number(desync, "tick");
    cr_assert(first_tick > tick - 30 && first_tick < tick, "%g of %g", first_tick, tick);
    cr_expect_eq(hosted_number(desync, "first_tick_min"), first_tick);
    cr_expect_eq(hosted_number(desync, "first_tick_max"), first_tick);
    cr_expect_str_eq(hosted_word(desync, "field"), "share");
    cr_expect_str_eq(hosted_word(desync, "values_after_pass"), "divide");
    cJSON *report = explain_own(hosted_word(desync, "bundle"), ours);
    cr_expect_eq(hosted_number(report, "tick"), first_tick);
    cr_expect_str_eq(hosted_word(report, "missing"), "");
    cr_expect_str_eq(hosted_word(report, "agrees_with"), "server");
    cr_expect_str_eq(hosted_word(report, "pass"), "divide");
    cr_expect_str_eq(hosted_word(report, "after_pass.differences.0.field"), "share");
    cr_expect_str_eq(hosted_word(report, "differences.0.field"), "newest");
    cr_expect_str_eq(hosted_word(report, "reruns.server.match"),
                     hosted_word(report, "server_hash"));
    cr_expect_str_eq(hosted_word(report, "reruns.client.match"),
                     hosted_word(report, "client_hash"));
    cJSON_Delete(report);
}

Test(programs_desync, a_flipped_bit_between_compared_states_has_its_tick_and_its_bundle)
{
    /* Of 200 bodies a client that runs ahead holds a hundred states, and the search finds none. */
    hosted_serve("--sim", "arena", "--param", "bodies=20", "--players", "2", "--ticks", ALL_KEPT,
                 "--hash-interval", "30", "--bundle-dir", hosted_path(""));
    hosted_join("--name", "ann", "--bot", "1");
    hosted_join("--name", "bob", "--bot", "2", "--flip-bit", "70:2000");
    hosted_expect_exits(3, 0, 3);
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    cr_expect_eq(hosted_number(desync, "tick"), 90);
    cr_expect_eq(hosted_number(desync, "first_tick"), 70);
    cr_expect_eq(hosted_number(desync, "differing"), 1);
    cr_expect_str_eq(hosted_word(desync, "class"), "one-off");
    cJSON *report = explain_own(hosted_word(desync, "bundle"), "arena");
    cr_expect_eq(hosted_number(report, "tick"), 70);
    cr_expect_eq(hosted_number(report, "elements"), 1);
    cr_expect_str_eq(hosted_word(report, "agrees_with"), "server");
    cr_expect_str_eq(hosted_word(report, "differences.0.field"), hosted_word(desync, "field"));
    cJSON_Delete(report);
}

/* More states lie before the bad one than a bundle has room for hashes. */
Test(programs_desync, the_bundle_of_a_fast_match_has_the_hash_of_the_bad_tick)
{
    hosted_serve("--sim", "arena", "--players", "1", "--ticks", "2000", "--tick-rate", "300",
                 "--bundle-dir", hosted_path(""));
    hosted_join("--name", "bob", "--bot", "2", "--flip-bit", "1500:2000");
    hosted_expect_exits(3, 3);
    const cJSON *desync = hosted_item(hosted_server_summary(), "desyncs.0");
    cr_expect_eq(hosted_number(desync, "tick"), 1500);
    uint8_t *bytes = malloc(BUNDLE_BYTES_MAX);
    FILE *file = fopen(hosted_word(desync, "bundle"), "rb");
    cr_assert(bytes && file);
    size_t size = fread(bytes, 1, BUNDLE_BYTES_MAX, file);
    fclose(file);
    ls_bundle_reading *reading = NULL;
    ls_text why = {{0}};
    cr_assert_eq(ls_bundle_reading_open(bytes, size, ls_allocator_heap(), &reading, &why), LS_OK,
                 "%s", why.bytes);
    const ls_desync_bundle *bundle = ls_bundle_reading_bundle(reading);
    const ls_bundle_side *server = &bundle->server;
    cr_expect_str_eq(why.bytes, "");
    cr_assert_leq(server->hashes_first, bundle->tick);
    cr_assert_gt(server->hashes_first + server->hash_count, bundle->tick);
    cr_expect_eq(server->state_hashes[bundle->tick - server->hashes_first], bundle->server_hash);
    ls_bundle_reading_close(reading);
    free(bytes);
}

#if defined(__SSE2__)
/* A library of the client sets flush-to-zero when the game calls it, after the handshake, which
 * would have found it: the bundle's ticks give its result when they are run again that way, and no
 * other change does. */
Test(programs_desync, explain_names_the_change_that_gets_the_clients_result)
{
    const char *const file = LS_PLUGIN("denormal");
    hosted_serve("--sim", file, "--players", "1", "--ticks", "90", "--bundle-dir", hosted_path(""));
    hosted.preload = LS_TEST_FLUSH_TO_ZERO;
    hosted_join("--sim", file, "--bot", "1");
    hosted.preload = NULL;
    hosted_expect_exits(3, 3);
    const char *bundle = hosted_word(hosted_server_summary(), "desyncs.0.bundle");
    const char *json = hosted_path("explained.json");
    hosted_run(3, LS_TEST_DESYNC, "explain", bundle, "--sim", file, "--json", json);
    cJSON *report = hosted_read_json(json);
    cr_expect_str_eq(hosted_word(report, "under_changes.0.change"), "nothing");
    cr_expect_str_eq(hosted_word(report, "under_changes.0.agrees_with"), "server");
    for (int i = 1; i < hosted_count(report, "under_changes"); i++) {
        const cJSON *run = hosted_item(report, "under_changes.%d", i);
        bool is_cause = strcmp(hosted_word(run, "change"), "flush-to-zero") == 0;
        cr_expect_str_eq(hosted_word(run, "agrees_with"), is_cause ? "client" : "server", "%s",
                         hosted_word(run, "change"));
    }
    cr_expect(strstr(hosted_word(report, "under_changes_text"), "sets flush-to-zero"), "%s",
              hosted_word(report, "under_changes_text"));
    cJSON_Delete(report);
}
#endif
