/* The server's journal and what lockstep-replay makes of it. */
#define _GNU_SOURCE
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/system/file.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    TICKS = 600,
};

static cJSON *answer; /* of the last command */

static void close_journal(void)
{
    cJSON_Delete(answer);
    hosted_close();
}

TestSuite(programs_journal, .init = hosted_open, .fini = close_journal);

/* ---- the match ---- */

static void serve(const char *ticks, const char *bots)
{
    hosted_serve("--sim", "arena", "--players", "2", "--tick-rate", "200", "--ticks", ticks,
                 "--journal", hosted.folder);
    for (; *bots; bots++) {
        hosted_join("--bot", hosted_text("%c", *bots), "--name", hosted_text("%c", *bots));
    }
}

/* Plays a whole match; gives the path of its journal. */
static const char *play(const char *bots)
{
    serve("600", bots);
    hosted_expect_perfect(TICKS);
    return hosted_word(hosted_server_summary(), "journal.file");
}

/* ---- the program ---- */

/* Runs a command and gives its JSON. */
static const cJSON *replay_with(int exit_code, const char *const *arguments)
{
    const char *json = hosted_path("replay.json");
    const char *list[16] = {"--json", json};
    for (size_t count = 2; *arguments; arguments++) {
        list[count++] = *arguments;
    }
    hosted_run_with(exit_code, LS_TEST_REPLAY, list);
    cJSON_Delete(answer);
    answer = hosted_read_json(json);
    return answer;
}
#define replay(exit_code, ...) replay_with(exit_code, LS_ARGUMENTS(__VA_ARGS__))

static uint64_t size_of(const char *path)
{
    struct stat info;
    cr_assert_eq(stat(path, &info), 0, "no %s", path);
    return (uint64_t)info.st_size;
}

/* ---- a match without accidents ---- */

Test(programs_journal, a_match_is_written_down_and_found_right)
{
    const char *path = play("12");
    const cJSON *server = hosted_server_summary();
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_mode & 0777u, 0600u);
    cr_expect_eq(hosted_number(server, "journal.bytes"), (double)info.st_size);
    cr_expect_gt(hosted_number(server, "journal.records"), 10);
    cr_expect_eq(hosted_number(server, "journal.failures"), 0);
    cr_expect_eq(hosted_number(server, "journal.ticks_missing"), 0);
    cr_expect(hosted_is_null(hosted_client_summary(0), "journal"));

    const cJSON *found = replay(0, "info", path);
    cr_expect_str_eq(hosted_word(found, "final_hash"), hosted_word(server, "final_hash"));
    cr_expect_eq(hosted_number(found, "end_tick"), TICKS);
    cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(found, "is_complete")));
    found = replay(0, "verify", path);
    cr_expect_eq(hosted_number(found, "ticks"), TICKS);
    cr_expect_eq(hosted_number(found, "state_hashes"), TICKS + 2);
    found = replay(0, "seek", path, "600", "--fields=ships[1].health");
    cr_expect_str_eq(hosted_word(found, "state_hash"), hosted_word(server, "final_hash"));
    cr_expect_not_null(cJSON_GetObjectItem(hosted_item(found, "fields"), "ships[1].health"));
    replay(2, "seek", path, "601");
}

Test(programs_journal, a_cut_is_a_journal_of_its_own)
{
    const char *path = play("12");
    const char *cut = hosted_path("cut.journal");
    const char *again = hosted_path("again.journal");
    replay(0, "cut", path, "200", "500", "--output", cut);
    const cJSON *found = replay(0, "verify", cut);
    cr_expect_eq(hosted_number(found, "ticks"), 300);
    replay(0, "seek", cut, "350");
    replay(2, "seek", cut, "199");
    found = replay(0, "diff", path, cut);
    cr_expect_eq(hosted_number(found, "ticks"), 300);
    replay(0, "cut", cut, "300", "400", "--output", again);
    replay(0, "verify", again);
    replay(2, "cut", path, "0", "700", "--output", hosted_path("no"));
    replay(1, "cut", path, "0", "100", "--output", cut);
}

Test(programs_journal, a_cut_that_finds_no_room_leaves_nothing)
{
    struct stat info;
    const char *path = play("12");
    const char *cut = hosted_path("cut.journal");
    static const char line[] =
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" cut \"$1\" 200 500 --output \"$2\"";
    hosted_expect_refusal(1, "/bin/sh", "cannot write to", "-c", line, LS_TEST_REPLAY, path, cut);
    cr_expect_neq(stat(cut, &info), 0);
}

Test(programs_journal, an_answer_is_not_written_over_the_journal_it_is_about)
{
    const char *path = play("12");
    uint64_t size = size_of(path);
    const char *const lines[][6] = {{"export", path, "--output", path, NULL},
                                    {"verify", path, "--json", path, NULL}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        hosted_expect_refusal_with(2, LS_TEST_REPLAY, "is the journal itself", lines[i]);
    }
    cr_expect_eq(size_of(path), size);
    replay(0, "verify", path);
}

Test(programs_journal, fields_that_are_not_there_are_told)
{
    replay(0, "seek", play("12"), "5", "--fields=sails");
    hosted_expect_all(&hosted.other, "no value begins with 'sails'");
}

Test(programs_journal, an_export_has_a_line_for_each_tick)
{
    const char *path = play("12");
    const char *lines = hosted_path("lines");
    const cJSON *found = replay(0, "export", path, "--output", lines);
    cr_expect_eq(hosted_number(found, "ticks"), TICKS);
    static char line[1 << 16];
    FILE *file = fopen(lines, "r");
    cr_assert_not_null(file);
    double next = 0;
    while (fgets(line, sizeof line, file)) {
        cJSON *json = cJSON_Parse(line);
        cr_assert_not_null(json, "%s", line);
        if (strcmp(hosted_word(json, "record"), "tick") == 0) {
            cr_assert_eq(hosted_number(json, "tick"), next);
            cr_assert_eq(hosted_count(json, "slots"), 2);
            next++;
        }
        cr_assert_null(cJSON_GetObjectItem(json, "key"), "the key is handed on to nobody");
        cJSON_Delete(json);
    }
    fclose(file);
    cr_expect_eq(next, TICKS);
}

/* ---- differences ---- */

/* Writes the journal anew with one bit of a state hash changed, of the state that the tick makes.
 */
static void falsify_hash(const char *from, const char *to, ls_tick tick)
{
    ls_mapped_file map;
    ls_journal *journal = NULL;
    ls_journal_writer *writer = NULL;
    ls_journal_record record;
    uint64_t offset = 0;
    uint32_t changed = 0;
    FILE *file = fopen(to, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(ls_mapped_file_open(from, &map, NULL), LS_OK);
    cr_assert_eq(ls_journal_open(map.bytes, map.size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(),
                                 &journal, NULL),
                 LS_OK);
    cr_assert_eq(
        ls_journal_writer_create(LS_JOURNAL_RAW_BYTES_MAX, NULL, ls_allocator_heap(), &writer),
        LS_OK);
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        static uint8_t raw_bytes[LS_JOURNAL_RAW_BYTES_MAX];
        static ls_tick_block_reader block;
        memcpy(raw_bytes, record.raw, record.raw_bytes);
        ls_journal_raw raw = {
            .kind = (ls_journal_kind)record.kind, .bytes = raw_bytes, .size = record.raw_bytes};
        if (record.kind == LS_JOURNAL_TICKS) {
            cr_assert_eq(ls_tick_block_open(&block, raw_bytes, raw.size, 2, LS_INPUT_BYTES_MAX),
                         LS_OK);
            raw.tick = block.head.first;
            if (tick >= raw.tick && tick - raw.tick < block.head.count) {
                raw_bytes[block.state_hashes - raw_bytes + (ptrdiff_t)(tick - raw.tick) * 8] ^= 1;
                changed++;
            }
        }
        if (record.kind == LS_JOURNAL_INDEX || record.kind == LS_JOURNAL_END) {
            continue;
        }
        ls_journal_framed framed = ls_journal_writer_frame(writer, &raw);
        cr_assert_eq(fwrite(framed.bytes, 1, framed.size, file), framed.size);
        ls_journal_writer_keep(writer);
    }
    cr_assert_eq(changed, 1u);
    fclose(file);
    ls_journal_writer_destroy(writer);
    ls_journal_close(journal);
    ls_mapped_file_close(&map);
}

Test(programs_journal, a_hash_that_is_not_reproduced_is_named_with_both_values)
{
    const char *path = play("12");
    const char *wrong = hosted_path("wrong.journal");
    falsify_hash(path, wrong, 432);
    const cJSON *found = replay(3, "verify", wrong);
    const cJSON *difference = hosted_item(found, "difference");
    cr_expect_eq(hosted_number(difference, "tick"), 433);
    cr_expect_str_neq(hosted_word(difference, "journal_root"),
                      hosted_word(difference, "root_here"));
    found = replay(3, "diff", wrong, path);
    cr_expect_eq(hosted_number(found, "first_state.tick"), 433);
    cr_expect(hosted_is_null(found, "first_input"));
    cr_expect_str_eq(hosted_word(found, "agrees_with"), "b");
}

static void copy_to(const char *from, const char *to)
{
    char bytes[4096];
    size_t size = 0;
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "wb");
    cr_assert(in && out, "%s to %s", from, to);
    while ((size = fread(bytes, 1, sizeof bytes, in)) > 0) {
        cr_assert_eq(fwrite(bytes, 1, size, out), size);
    }
    fclose(in);
    cr_assert_eq(fclose(out), 0);
}

static void expect_in_file(const char *path, const char *words)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    cr_expect(strstr(text, words), "no '%s' in %s", words, text);
}

/* The journals of a tournament, one of them falsified and one damaged: each is looked at, and a
 * report says which. */
Test(programs_journal, a_folder_is_verified_journal_by_journal)
{
    char folder[512];
    char junit[512];
    const char *path = play("12");
    snprintf(folder, sizeof folder, "%s", hosted_path("tournament"));
    snprintf(junit, sizeof junit, "%s", hosted_path("junit.xml"));
    cr_assert_eq(mkdir(folder, 0700), 0);
    cr_assert_eq(mkdir(hosted_text("%s/semi & \"final\"", folder), 0700), 0);
    replay(1, "verify", folder);
    hosted_expect_all(&hosted.other, "there is no journal (*.journal) in");
    copy_to(path, hosted_text("%s/a.journal", folder));
    copy_to(path, hosted_text("%s/semi & \"final\"/b<1>.journal", folder));
    const cJSON *found = replay(0, "verify", folder, "--junit", junit, "--jobs", "2");
    cr_expect_eq(hosted_number(hosted_item(found, "journals.0"), "ticks"),
                 hosted_number(hosted_server_summary(), "final_tick"));
    expect_in_file(junit, "tests=\"2\" failures=\"0\" errors=\"0\"");
    expect_in_file(junit, "semi &amp; &quot;final&quot;/b&lt;1&gt;.journal\"");

    copy_to(path, hosted_text("%s/c.journal", folder));
    hosted_flip_bits(hosted_text("%s/c.journal", folder), (long)size_of(path) / 2, 0x20);
    found = replay(1, "verify", folder, "--junit", junit);
    cr_expect_str_eq(hosted_word(hosted_item(found, "journals.1"), "verdict"), "unverified");
    expect_in_file(junit, "errors=\"1\"");
    expect_in_file(junit, "<error type=\"MALFORMED\" message=\"what is left");

    falsify_hash(path, hosted_text("%s/d.journal", folder), 432);
    found = replay(3, "verify", folder, "--junit", junit);
    cr_expect_str_eq(hosted_word(hosted_item(found, "journals.2"), "verdict"), "different");
    cr_expect_str_eq(hosted_word(hosted_item(found, "journals.3"), "verdict"), "right");
    expect_in_file(junit, "tests=\"4\" failures=\"1\" errors=\"1\"");
    expect_in_file(junit,
                   "<failure type=\"DESYNCED\" message=\"state 433 differs: the journal has");
}

Test(programs_journal, two_matches_differ_from_the_first_input_that_does)
{
    static struct hosted first;
    const char *path = play("12");
    first = hosted;
    hosted_open();
    const char *other = play("34");
    const cJSON *found = replay(3, "diff", path, other);
    const cJSON *input = hosted_item(found, "first_input");
    const cJSON *state = hosted_item(found, "first_state");
    cr_expect_geq(hosted_number(state, "tick"), hosted_number(input, "tick") + 1);
    cr_expect_str_neq(hosted_word(input, "a"), hosted_word(input, "b"));
    cr_expect_gt(hosted_count(found, "differences"), 0);
    cr_expect_str_not_empty(hosted_word(found, "differences.0.field"));
    hosted_close();
    hosted = first; /* to be closed in its turn */
}

/* ---- accidents ---- */

/* A kill in the midst of a write can tear its record at the end of a page of memory. A process that
 * has stopped has finished its writes. */
static void kill_between_writes(ls_process *process)
{
    int status = 0;
    ls_process_signal(process, SIGSTOP);
    cr_assert_eq(waitpid(process->pid, &status, WUNTRACED), process->pid);
    cr_assert(WIFSTOPPED(status), "it ended by itself");
    ls_process_stop(process);
}

Test(programs_journal, a_server_that_is_killed_leaves_a_journal_of_what_it_closed)
{
    char path[512] = "";
    serve("0", "12");
    hosted_expect_words(&hosted.server, "the match starts");
    const char *said = strstr(ls_process_errors(&hosted.server), hosted.folder);
    cr_assert_not_null(said);
    cr_assert_eq(sscanf(said, "%511s", path), 1);
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (size_of(path) < 8000) {
        cr_assert_lt(ls_process_now_ms(), end_ms);
        ls_process_pause();
    }
    kill_between_writes(&hosted.server);
    const cJSON *found = replay(0, "verify", path);
    hosted_expect_all(&hosted.other, "it was not closed");
    cr_expect_gt(hosted_number(found, "ticks"), 100);
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        ls_process_stop(&hosted.clients[i]);
    }
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(prlimit(hosted.server.pid, RLIMIT_FSIZE, NULL, &limit), 0);
    limit.rlim_cur = bytes;
    cr_assert_eq(prlimit(hosted.server.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

Test(programs_journal, a_full_disk_ends_no_match_and_is_told)
{
    serve("0", "12");
    hosted_expect_words(&hosted.server, "the match starts");
    limit_files(4096);
    hosted_expect_words(&hosted.server, "cannot be written: writing: ");
    limit_files(RLIM_INFINITY);
    hosted_expect_words(&hosted.server, "is written again");
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_clean_exits();
    const cJSON *server = hosted_server_summary();
    const char *path = hosted_word(server, "journal.file");
    cr_expect_geq(hosted_number(server, "journal.failures"), 1);
    cr_expect_eq(hosted_number(server, "journal.bytes"), (double)size_of(path));
    if (hosted_number(server, "journal.ticks_missing") == 0) {
        const cJSON *found = replay(0, "verify", path);
        cr_expect_eq(hosted_number(found, "ticks"), hosted_number(server, "final_tick"));
    }
}

Test(programs_journal, a_folder_that_takes_no_journals_is_told_before_the_match)
{
    hosted_expect_refusal(1, LS_TEST_SERVER, "cannot write journals to /nowhere/at/all", "--bind",
                          "127.0.0.1", "--port", "0", "--journal", "/nowhere/at/all");
}

Test(programs_journal, damage_is_told_and_is_no_difference)
{
    const char *path = play("12");
    hosted_flip_bits(path, (long)size_of(path) / 2, 0x20);
    const cJSON *found = replay(1, "verify", path);
    cr_expect_gt(hosted_number(found, "ticks"), 100);
    hosted_expect_all(&hosted.other, "bytes are damaged, from byte");
    replay(1, "info", hosted.server.err_path);
    hosted_expect_all(&hosted.other, "this is no journal");
}

Test(programs_journal, bytes_behind_its_end_cost_nothing)
{
    const char *path = play("12");
    FILE *file = fopen(path, "ab");
    cr_assert(file && fputs("surplus bytes\n", file) >= 0 && fclose(file) == 0);
    const cJSON *found = replay(0, "verify", path);
    cr_expect_eq(hosted_number(found, "ticks"),
                 hosted_number(hosted_server_summary(), "final_tick"));
    hosted_expect_all(&hosted.other, "14 bytes behind the journal's end belong to no record");
    hosted_expect_none(&hosted.other, "were lost");
}

Test(programs_journal, what_cannot_fit_the_journal_is_a_mistake_of_the_line)
{
    const char *path = play("12");
    replay(2, "seek", path, "100000");
    hosted_expect_all(&hosted.other, "the journal holds ticks 0 to ");
    replay(2, "verify", path, "--sim", "units");
    hosted_expect_all(&hosted.other, "this is 'units'");
}

Test(programs_journal, a_line_that_cannot_be_right_is_refused)
{
    static const struct {
        const char *const arguments[5];
        const char *words;
    } lines[] = {
        {{NULL}, "the command is missing"},
        {{"play", NULL}, "no command: info, verify"},
        {{"info", NULL}, "info takes FILE\n"},
        {{"diff", "x", NULL}, "diff takes FILE FILE\n"},
        {{"seek", "x", NULL}, "seek takes FILE TICK\n"},
        {{"cut", "x", "1", NULL}, "cut takes FILE FROM TO\n"},
        {{"seek", "x", "y", NULL}, "a tick is a number from 0 to 4294967294, not 'y'"},
        {{"info", "x", "y", NULL}, "unexpected argument 'y'"},
        {{"cut", "x", "1", "2", NULL}, "cut takes --output"},
        {{"info", "x", "--junit", "y", NULL}, "--junit goes with verify"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        hosted_expect_refusal_with(2, LS_TEST_REPLAY, lines[i].words, lines[i].arguments);
    }
}

Test(programs_journal, each_of_several_matches_has_its_own)
{
    hosted_serve("--sim", "arena", "--players", "1", "--tick-rate", "200", "--ticks", "100",
                 "--matches", "2", "--journal", hosted.folder);
    hosted_join_bots(2);
    hosted_expect_clean_exits();
    const cJSON *server = hosted_server_summary();
    char ids[2][32] = {"", ""};
    for (int i = 0; i < 2; i++) {
        const char *path = hosted_word(hosted_item(server, "matches.%d", i), "journal.file");
        cr_expect(strstr(path, i == 0 ? "arena-match0-" : "arena-match1-"), "%s", path);
        const cJSON *found = replay(0, "verify", path);
        cr_expect_eq(hosted_number(found, "ticks"), 100);
        found = replay(0, "info", path);
        snprintf(ids[i], sizeof ids[i], "%s", hosted_word(found, "match_id"));
    }
    cr_expect_neq(strcmp(ids[0], ids[1]), 0);
}
