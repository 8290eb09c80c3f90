/* The server's journal and what lockstep-replay makes of it. */
#define _GNU_SOURCE
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/program/mapped_file.h"
#include "lockstep/tests/loopback/hosted.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
    TICKS = 600,
    PATH_BYTES = 512,
};

static ls_hosted hosted;
static cJSON *answer; /* of the last command */

static void open_hosted(void)
{
    ls_hosted_open(&hosted);
}

static void close_hosted(void)
{
    cJSON_Delete(answer);
    ls_hosted_close(&hosted);
}

TestSuite(programs_journal, .init = open_hosted, .fini = close_hosted);

/* ---- the match ---- */

static void serve(const char *ticks, const char *bots)
{
    ls_hosted_serve(&hosted, LS_ARGUMENTS("--sim", "arena", "--players", "2", "--tick-rate", "200",
                                          "--ticks", ticks, "--journal", hosted.folder));
    for (; *bots; bots++) {
        ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", ((const char[]){*bots, '\0'}), "--name",
                                             ((const char[]){*bots, '\0'})));
    }
}

static const cJSON *journal_of(const cJSON *summary)
{
    return ls_hosted_object(summary, "journal");
}

/* Plays a whole match; gives the path of its journal. */
static const char *play(const char *bots)
{
    serve("600", bots);
    ls_hosted_expect_perfect(&hosted, TICKS);
    return ls_hosted_word(journal_of(ls_hosted_server_summary(&hosted)), "file");
}

/* ---- the program ---- */

static cJSON *read_json(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "no %s", path);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    cJSON *json = cJSON_Parse(text);
    cr_assert_not_null(json, "%s is no JSON", path);
    return json;
}

/* Good for the next few. */
static const char *in_folder(const char *name)
{
    static char paths[8][PATH_BYTES];
    static uint32_t next;
    char *path = paths[next++ % 8];
    snprintf(path, PATH_BYTES, "%s/%s", hosted.folder, name);
    return path;
}

/* Runs a command and gives its JSON; what it wrote to its errors is in *errors. */
static const cJSON *replay(const char *const *arguments, int exit_code, const char **errors)
{
    char json[PATH_BYTES];
    snprintf(json, sizeof json, "%s/replay.json", hosted.folder);
    const char *list[16] = {"--json", json};
    size_t count = 2;
    for (; *arguments; arguments++) {
        list[count++] = *arguments;
    }
    list[count] = NULL;
    const char *said = ls_hosted_run(&hosted, LS_TEST_REPLAY, list, exit_code);
    if (errors) {
        *errors = said;
    }
    cJSON_Delete(answer);
    answer = read_json(json);
    return answer;
}

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
    const cJSON *server = ls_hosted_server_summary(&hosted);
    struct stat info;
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_mode & 0777u, 0600u);
    cr_expect_eq(ls_hosted_number(journal_of(server), "bytes"), (double)info.st_size);
    cr_expect_gt(ls_hosted_number(journal_of(server), "records"), 10);
    cr_expect_eq(ls_hosted_number(journal_of(server), "failures"), 0);
    cr_expect_eq(ls_hosted_number(journal_of(server), "ticks_missing"), 0);
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(ls_hosted_client_summary(&hosted, 0), "journal")));

    const cJSON *found = replay(LS_ARGUMENTS("info", path), 0, NULL);
    cr_expect_str_eq(ls_hosted_word(found, "final_hash"), ls_hosted_word(server, "final_hash"));
    cr_expect_eq(ls_hosted_number(found, "end_tick"), TICKS);
    cr_expect(cJSON_IsTrue(cJSON_GetObjectItem(found, "is_complete")));
    found = replay(LS_ARGUMENTS("verify", path), 0, NULL);
    cr_expect_eq(ls_hosted_number(found, "ticks"), TICKS);
    cr_expect_eq(ls_hosted_number(found, "state_hashes"), TICKS + 2);
    found = replay(LS_ARGUMENTS("seek", path, "600", "--fields=ships[1].health"), 0, NULL);
    cr_expect_str_eq(ls_hosted_word(found, "state_hash"), ls_hosted_word(server, "final_hash"));
    cr_expect_not_null(cJSON_GetObjectItem(ls_hosted_object(found, "fields"), "ships[1].health"));
    replay(LS_ARGUMENTS("seek", path, "601"), 1, NULL);
}

Test(programs_journal, a_cut_is_a_journal_of_its_own)
{
    const char *path = play("12");
    const char *cut = in_folder("cut.journal");
    const char *again = in_folder("again.journal");
    replay(LS_ARGUMENTS("cut", path, "200", "500", "--output", cut), 0, NULL);
    const cJSON *found = replay(LS_ARGUMENTS("verify", cut), 0, NULL);
    cr_expect_eq(ls_hosted_number(found, "ticks"), 300);
    replay(LS_ARGUMENTS("seek", cut, "350"), 0, NULL);
    replay(LS_ARGUMENTS("seek", cut, "199"), 1, NULL);
    found = replay(LS_ARGUMENTS("diff", path, cut), 0, NULL);
    cr_expect_eq(ls_hosted_number(found, "ticks"), 300);
    replay(LS_ARGUMENTS("cut", cut, "300", "400", "--output", again), 0, NULL);
    replay(LS_ARGUMENTS("verify", again), 0, NULL);
    replay(LS_ARGUMENTS("cut", path, "0", "700", "--output", in_folder("no")), 2, NULL);
    replay(LS_ARGUMENTS("cut", path, "0", "100", "--output", cut), 1, NULL);
}

Test(programs_journal, a_cut_that_finds_no_room_leaves_nothing)
{
    struct stat info;
    const char *path = play("12");
    const char *cut = in_folder("cut.journal");
    static const char line[] =
        "trap '' XFSZ; ulimit -f 1; exec \"$0\" cut \"$1\" 200 500 --output \"$2\"";
    const char *errors =
        ls_hosted_run(&hosted, "/bin/sh", LS_ARGUMENTS("-c", line, LS_TEST_REPLAY, path, cut), 1);
    cr_expect(strstr(errors, "cannot write to"), "%s", errors);
    cr_expect_neq(stat(cut, &info), 0);
}

Test(programs_journal, an_answer_is_not_written_over_the_journal_it_is_about)
{
    const char *path = play("12");
    uint64_t size = size_of(path);
    const char *const lines[][6] = {{"export", path, "--output", path, NULL},
                                    {"verify", path, "--json", path, NULL}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *errors = ls_hosted_run(&hosted, LS_TEST_REPLAY, lines[i], 2);
        cr_expect(strstr(errors, "is the journal itself"), "%s", errors);
    }
    cr_expect_eq(size_of(path), size);
    replay(LS_ARGUMENTS("verify", path), 0, NULL);
}

Test(programs_journal, fields_that_are_not_there_are_told)
{
    const char *errors = NULL;
    replay(LS_ARGUMENTS("seek", play("12"), "5", "--fields=sails"), 0, &errors);
    cr_expect(strstr(errors, "no value begins with 'sails'"), "%s", errors);
}

Test(programs_journal, an_export_has_a_line_for_each_tick)
{
    const char *path = play("12");
    const char *lines = in_folder("lines");
    const cJSON *found = replay(LS_ARGUMENTS("export", path, "--output", lines), 0, NULL);
    cr_expect_eq(ls_hosted_number(found, "ticks"), TICKS);
    static char line[1 << 16];
    FILE *file = fopen(lines, "r");
    cr_assert_not_null(file);
    double next = 0;
    while (fgets(line, sizeof line, file)) {
        cJSON *json = cJSON_Parse(line);
        cr_assert_not_null(json, "%s", line);
        if (strcmp(ls_hosted_word(json, "record"), "tick") == 0) {
            cr_assert_eq(ls_hosted_number(json, "tick"), next);
            cr_assert_eq(ls_hosted_count(json, "slots"), 2);
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
    const char *wrong = in_folder("wrong.journal");
    falsify_hash(path, wrong, 432);
    const cJSON *found = replay(LS_ARGUMENTS("verify", wrong), 3, NULL);
    const cJSON *difference = ls_hosted_object(found, "difference");
    cr_expect_eq(ls_hosted_number(difference, "tick"), 433);
    cr_expect_neq(
        strcmp(ls_hosted_word(difference, "journal_root"), ls_hosted_word(difference, "root_here")),
        0);
    found = replay(LS_ARGUMENTS("diff", wrong, path), 3, NULL);
    cr_expect_eq(ls_hosted_number(ls_hosted_object(found, "first_state"), "tick"), 433);
    cr_expect(cJSON_IsNull(cJSON_GetObjectItem(found, "first_input")));
    cr_expect_str_eq(ls_hosted_word(found, "agrees_with"), "b");
}

Test(programs_journal, two_matches_differ_from_the_first_input_that_does)
{
    ls_hosted first = {.server_summary = NULL};
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s", play("12"));
    first = hosted;
    ls_hosted_open(&hosted);
    const char *other = play("34");
    const cJSON *found = replay(LS_ARGUMENTS("diff", path, other), 3, NULL);
    const cJSON *input = ls_hosted_object(found, "first_input");
    const cJSON *state = ls_hosted_object(found, "first_state");
    cr_expect_geq(ls_hosted_number(state, "tick"), ls_hosted_number(input, "tick") + 1);
    cr_expect_neq(strcmp(ls_hosted_word(input, "a"), ls_hosted_word(input, "b")), 0);
    cr_expect_gt(ls_hosted_count(found, "differences"), 0);
    cr_expect_gt(strlen(ls_hosted_word(ls_hosted_item(found, "differences", 0), "field")), 0u);
    ls_hosted_close(&first);
}

/* ---- accidents ---- */

Test(programs_journal, a_server_that_is_killed_leaves_a_journal_of_what_it_closed)
{
    char path[PATH_BYTES] = "";
    serve("0", "12");
    ls_hosted_expect_words(&hosted.server, "the match starts");
    const char *said = strstr(ls_process_errors(&hosted.server), hosted.folder);
    cr_assert_not_null(said);
    cr_assert_eq(sscanf(said, "%511s", path), 1);
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (size_of(path) < 8000) {
        cr_assert_lt(ls_process_now_ms(), end_ms);
        ls_process_pause();
    }
    ls_process_stop(&hosted.server);
    const char *errors = NULL;
    const cJSON *found = replay(LS_ARGUMENTS("verify", path), 0, &errors);
    cr_expect(strstr(errors, "it was not closed"), "%s", errors);
    cr_expect_gt(ls_hosted_number(found, "ticks"), 100);
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
    ls_hosted_expect_words(&hosted.server, "the match starts");
    limit_files(4096);
    ls_hosted_expect_words(&hosted.server, "cannot be written: writing: ");
    limit_files(RLIM_INFINITY);
    ls_hosted_expect_words(&hosted.server, "is written again");
    ls_process_signal(&hosted.server, SIGTERM);
    ls_hosted_expect_clean_exits(&hosted);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    const cJSON *journal = journal_of(server);
    const char *path = ls_hosted_word(journal, "file");
    cr_expect_geq(ls_hosted_number(journal, "failures"), 1);
    cr_expect_eq(ls_hosted_number(journal, "bytes"), (double)size_of(path));
    if (ls_hosted_number(journal, "ticks_missing") == 0) {
        const cJSON *found = replay(LS_ARGUMENTS("verify", path), 0, NULL);
        cr_expect_eq(ls_hosted_number(found, "ticks"), ls_hosted_number(server, "final_tick"));
    }
}

Test(programs_journal, a_folder_that_takes_no_journals_is_told_before_the_match)
{
    const char *errors = ls_hosted_run(
        &hosted, LS_TEST_SERVER,
        LS_ARGUMENTS("--bind", "127.0.0.1", "--port", "0", "--journal", "/nowhere/at/all"), 1);
    cr_expect(strstr(errors, "cannot write journals to /nowhere/at/all"), "%s", errors);
}

Test(programs_journal, damage_is_told_and_is_no_difference)
{
    const char *path = play("12");
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    fseek(file, (long)size_of(path) / 2, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(byte ^ 0x20, file);
    fclose(file);
    const char *errors = NULL;
    const cJSON *found = replay(LS_ARGUMENTS("verify", path), 1, &errors);
    cr_expect_gt(ls_hosted_number(found, "ticks"), 100);
    cr_expect(strstr(errors, "bytes are damaged, from byte"), "%s", errors);
    replay(LS_ARGUMENTS("info", hosted.server.err_path), 1, &errors);
    cr_expect(strstr(errors, "this is no journal"), "%s", errors);
}

Test(programs_journal, what_cannot_be_right_is_refused)
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
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *errors = ls_hosted_run(&hosted, LS_TEST_REPLAY, lines[i].arguments, 2);
        cr_expect(strstr(errors, lines[i].words), "%s", errors);
    }
}

Test(programs_journal, each_of_several_matches_has_its_own)
{
    ls_hosted_serve(&hosted,
                    LS_ARGUMENTS("--sim", "arena", "--players", "1", "--tick-rate", "200",
                                 "--ticks", "100", "--matches", "2", "--journal", hosted.folder));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "1"));
    ls_hosted_join(&hosted, LS_ARGUMENTS("--bot", "2"));
    ls_hosted_expect_clean_exits(&hosted);
    const cJSON *server = ls_hosted_server_summary(&hosted);
    char ids[2][32] = {"", ""};
    for (int i = 0; i < 2; i++) {
        const cJSON *journal = journal_of(ls_hosted_item(server, "matches", i));
        const char *path = ls_hosted_word(journal, "file");
        cr_expect(strstr(path, i == 0 ? "arena-match0-" : "arena-match1-"), "%s", path);
        const cJSON *found = replay(LS_ARGUMENTS("verify", path), 0, NULL);
        cr_expect_eq(ls_hosted_number(found, "ticks"), 100);
        found = replay(LS_ARGUMENTS("info", path), 0, NULL);
        snprintf(ids[i], sizeof ids[i], "%s", ls_hosted_word(found, "match_id"));
    }
    cr_expect_neq(strcmp(ids[0], ids[1]), 0);
}
