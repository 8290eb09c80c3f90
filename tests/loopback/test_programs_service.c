/* A service of the real programs, and logs that nobody reads. */
#define _DEFAULT_SOURCE /* flock */
#define _GNU_SOURCE
#include "lockstep/common/program/key_file.h"
#include "lockstep/tests/loopback/hosted.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

/* ==== programs_service ==== */

/* A service with several workers: rooms are found by newcomers, survive their worker and the whole
 * service, and free their places when they are over. */

enum {
    WORKERS_MAX = 4,
    JOURNALS_MAX = 16,
    WAIT_MS = 20,
};

TestSuite(programs_service, .init = hosted_open, .fini = hosted_close);

/* More rows of the configuration's [server]. */
static const char *server_rows = "";

/* A configuration with journals; `rest` are its [[rooms]]. */
static const char *write_config_for(uint32_t rooms_max, const char *rest)
{
    const char *path = hosted_path("lockstep.toml");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "workers = 2\ndrain-timeout = 1\nrooms-max = %u\n", rooms_max);
    fprintf(file, "journal = \"%s\"\nbundle-dir = \"%s\"\n", hosted.folder, hosted.folder);
    fprintf(file, "[server]\nidentity = \"%s/identity\"\ninvite-file = \"%s/invite\"\n",
            hosted.folder, hosted.folder);
    fprintf(file, "%s\n[http]\nport = 0\n%s", server_rows, rest);
    cr_assert_eq(fclose(file), 0);
    return path;
}

static const char *write_config(const char *rest)
{
    return write_config_for(64, rest);
}

#define TWO_ROOMS                                                                                  \
    "[[rooms]]\nname = \"pair\"\nopen = 2\nsim = \"arena\"\nplayers = 2\ntick-rate = 60\n"

/* The processes that the server started; returns how many there are. */
static uint32_t find_workers(pid_t workers[WORKERS_MAX])
{
    FILE *file =
        fopen(hosted_text("/proc/%d/task/%d/children", hosted.server.pid, hosted.server.pid), "r");
    uint32_t count = 0;
    int child = 0;
    while (file && count < WORKERS_MAX && fscanf(file, "%d", &child) == 1) {
        workers[count++] = child;
    }
    if (file) {
        fclose(file);
    }
    return count;
}

static void join_players(uint32_t count, const char *ticks)
{
    uint32_t first = hosted.client_count + 1;
    for (uint32_t i = first; i < first + count; i++) {
        const char *name = hosted_text("p%u", i);
        hosted_join("--bot", hosted_text("%u", i), "--name", name, "--ticks", ticks);
    }
}

static void expect_players_played_to_the_end(double ticks)
{
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        hosted_expect_exit(&hosted.clients[i], 0);
        const cJSON *client = hosted_client_summary(i);
        cr_expect_str_eq(hosted_word(client, "status"), "OK", "client %u", i);
        cr_expect_eq(hosted_number(client, "final_tick"), ticks, "client %u", i);
    }
}

/* Of four players in two rooms each has one partner. */
static void expect_pairs_agree(void)
{
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < hosted.client_count; k++) {
            same += strcmp(hosted_word(hosted_client_summary(i), "final_hash"),
                           hosted_word(hosted_client_summary(k), "final_hash")) == 0;
        }
        cr_expect_eq(same, 2, "client %u agrees with %u", i, same - 1);
    }
}

static uint32_t times_said(const char *words)
{
    uint32_t times = 0;
    for (const char *at = ls_process_errors(&hosted.server); (at = strstr(at, words)); at++) {
        times++;
    }
    return times;
}

/* The server has said the words so often: of two rooms, whichever of all that are open they are. */
static void expect_times(const char *words, uint32_t times)
{
    for (uint32_t waited_ms = 0; times_said(words) < times && waited_ms < LS_PROCESS_PATIENCE_MS;
         waited_ms += WAIT_MS) {
        hosted_pause_ms(WAIT_MS);
    }
    cr_assert_eq(times_said(words), times, "\"%s\" in: %s", words,
                 ls_process_errors(&hosted.server));
}

/* Two rooms of two that play, one on each worker. */
static void start_two_rooms(const char *ticks)
{
    for (uint32_t pair = 1; pair <= 2; pair++) {
        join_players(2, ticks);
        expect_times(": the match starts", pair);
    }
}

static void end_service(void)
{
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
}

/* ---- who comes in ---- */

/* A client that has the address alone, as one on this machine may, is refused by the workers. */
static void expect_closed(const char *rows, const char *flag, const char *value)
{
    cr_assert_eq(ls_token_key_make(hosted_path("key"), NULL, NULL), LS_OK);
    server_rows = rows;
    hosted_serve("--config", write_config(TWO_ROOMS), "-v", flag, value);
    hosted_expect_words(&hosted.server, "the journal of pair-2 is");
    const char *errors = hosted_run(1, LS_TEST_CLIENT, hosted_address(), "--bot", "1");
    cr_expect(strstr(errors, "without its whole invite or a connect token"), "%s", errors);
    end_service();
    hosted_reopen();
}

Test(programs_service, workers_keep_out_whom_the_service_keeps_out)
{
    expect_closed("", "--token-key", hosted_path("key"));
    expect_closed("", hosted_text("--token-key=%s", hosted_path("key")), NULL);
    expect_closed("", "--invite-only", NULL);
    expect_closed("invite-only = true", NULL, NULL);
    expect_closed("invite-only = false", "--invite-only", NULL);
}

/* The beginning of a flag once shut the supervisor's door and no worker's. */
Test(programs_service, flag_that_is_not_spelled_out_starts_no_service)
{
    const char *config = write_config(TWO_ROOMS);
    hosted_expect_refusal(2, LS_TEST_SERVER, "is --token-key meant?", "--config", config,
                          "--token-k", "key");
    hosted_expect_refusal(2, LS_TEST_SERVER, "is --invite-only meant?", "--config", config,
                          "--invite-on");
}

/* The seeds of two rooms with these settings. */
static void play_with_seed(const char *row, const char *seeds[2])
{
    const char *config = write_config(hosted_text("%s%s", TWO_ROOMS, row));
    hosted_serve("--config", config, "-v");
    hosted_expect_words(&hosted.server, "the journal of pair-2 is");
    start_two_rooms("60");
    expect_players_played_to_the_end(60);
    seeds[0] = hosted_text("%s", hosted_word(hosted_client_summary(0), "seed"));
    seeds[1] = hosted_text("%s", hosted_word(hosted_client_summary(2), "seed"));
    end_service();
}

Test(programs_service, rooms_draw_a_seed_each_unless_one_is_given)
{
    const char *seeds[2] = {NULL};
    play_with_seed("", seeds);
    cr_expect_str_neq(seeds[0], seeds[1]);
    hosted_expect_all(&hosted.server, hosted_text("the seed is %s", seeds[0]),
                      hosted_text("the seed is %s", seeds[1]));
    hosted_reopen();
    play_with_seed("seed = \"random\"\n", seeds);
    cr_expect_str_neq(seeds[0], seeds[1]);
    hosted_reopen();
    play_with_seed("seed = 7\nresume-wait = 9\n", seeds);
    hosted_expect_none(&hosted.server, "has no effect"); /* it is for when the room is resumed */
    cr_expect_str_eq(seeds[0], "7");
    cr_expect_str_eq(seeds[1], "7");
}

/* The service looks at the rows of the file and the options together, and starts no worker. */
Test(programs_service, rules_of_file_and_command_line_that_do_not_fit_are_refused)
{
    server_rows = "insecure = true";
    const char *config = write_config(TWO_ROOMS);
    hosted_expect_refusal(2, LS_TEST_SERVER, "--invite-only lets nobody in by the address alone",
                          "--config", config, "--invite-only");
}

/* ---- a check ---- */

Test(programs_service, a_check_names_every_fault_and_starts_nothing)
{
    static const char *const words[] = {
        "/lockstep.toml: line 9:16: --bundle-limit takes a number from 1 to ",
        "/lockstep.toml: line 10:1: [server] has no 'identty'; did you mean 'identity'?\n",
        "/lockstep.toml: line 13:1: [[rooms]] 'a': unknown simulation 'chess'",
        "/lockstep.toml: line 18:11: private takes true or false, without quotes, not 'true'\n",
    };
    server_rows = "bundle-limit = 0\nidentty = \"x\"";
    const char *config = write_config("[[rooms]]\nname = \"a\"\nsim = \"chess\"\n"
                                      "[[rooms]]\nname = \"b\"\nprivate = \"true\"\n");
    const char *errors = hosted_run(2, LS_TEST_SERVER, "--config", config, "--check");
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect(strstr(errors, words[i]), "no \"%s\" in: %s", words[i], errors);
    }
    hosted_run(2, LS_TEST_SERVER, "--config", config);
    hosted_expect_all(&hosted.other, "line 9:16", "(and 3 more: see --check)\n");
    hosted_expect_none(&hosted.other, "line 10:1");
}

Test(programs_service, a_check_of_a_right_file_exits_with_0_and_starts_nothing)
{
    const char *config = write_config(TWO_ROOMS);
    hosted_run(0, LS_TEST_SERVER, "--config", config, "--check");
    hosted_expect_all(&hosted.other, "/lockstep.toml: no faults\n");
    hosted_expect_none(&hosted.other, "listening");
    cr_expect_neq(access(hosted_path("identity"), F_OK), 0, "it makes no files");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--check needs --config", "--check");
}

/* ---- rooms ---- */

Test(programs_service, newcomers_find_rooms_on_all_workers)
{
    hosted_serve("--config", write_config(TWO_ROOMS), "-v");
    pid_t workers[WORKERS_MAX];
    cr_assert_eq(find_workers(workers), 2);
    hosted_expect_words(&hosted.server, "the journal of pair-2 is");
    start_two_rooms("120");
    expect_players_played_to_the_end(120);
    expect_pairs_agree();
    end_service();
    expect_times(": the match has ended", 2);
    hosted_expect_all(&hosted.server, "the service has ended");
}

/* No two of them sit down on different workers, and wait there for one another, as long as there
 * are as many seats. */
Test(programs_service, players_who_come_in_the_same_moment_find_one_another)
{
    hosted_serve("--config", write_config(TWO_ROOMS), "-v");
    hosted_expect_words(&hosted.server, "the journal of pair-2 is");
    for (uint32_t round = 1; round <= 6; round++) {
        join_players(2, "30");
        expect_times(": the match starts", round);
    }
    expect_players_played_to_the_end(30);
    end_service();
}

Test(programs_service, rooms_go_on_when_their_workers_are_killed)
{
    hosted_serve("--config", write_config(TWO_ROOMS), "-v");
    start_two_rooms("600");
    hosted_pause_ms(500);
    pid_t workers[WORKERS_MAX];
    uint32_t count = find_workers(workers);
    for (uint32_t i = 0; i < count; i++) {
        kill(workers[i], SIGKILL);
    }
    expect_players_played_to_the_end(600);
    expect_pairs_agree();
    end_service();
    hosted_expect_all(&hosted.server, "was ended by signal 9");
    expect_times(": the match continues", 2);
}

Test(programs_service, rooms_go_on_when_the_service_is_killed)
{
    const char *config = write_config(TWO_ROOMS);
    hosted_serve("--config", config, "-v");
    start_two_rooms("600");
    hosted_pause_ms(500);
    hosted_kill();
    hosted_serve_again("--config", config, "-v");
    expect_players_played_to_the_end(600);
    expect_pairs_agree();
    end_service();
    expect_times(": the match continues", 2);
}

/* Players find their rooms by the ids of their matches, on whatever workers those are now. */
static void start_again_with(const char *before, const char *after)
{
    const char *config = write_config(TWO_ROOMS);
    hosted_serve("--config", config, "-v", "--workers", before);
    start_two_rooms("600");
    hosted_pause_ms(500);
    hosted_kill();
    hosted_serve_again("--config", config, "-v", "--workers", after);
    expect_players_played_to_the_end(600);
    expect_pairs_agree();
    end_service();
    expect_times(": the match continues", 2);
}

Test(programs_service, rooms_go_on_with_fewer_workers_than_before)
{
    start_again_with("3", "1");
}

Test(programs_service, rooms_go_on_with_more_workers_than_before)
{
    start_again_with("1", "3");
}

/* The service may have been killed between the making of a room's journal and the writing of
 * rooms.json: then the room is forgotten, and its journal belongs to none. */
static bool is_of_a_room(const char *journal)
{
    static char rooms[64 * 1024];
    FILE *file = fopen(hosted_path("rooms.json"), "r");
    cr_assert_not_null(file);
    size_t bytes = fread(rooms, 1, sizeof rooms - 1, file);
    fclose(file);
    rooms[bytes] = '\0';
    return strstr(rooms, journal);
}

/* Takes the locks of the rooms' journals, as soon as the workers that had them are gone. */
static uint32_t lock_journals(int files[JOURNALS_MAX])
{
    DIR *folder = opendir(hosted.folder);
    uint32_t count = 0;
    cr_assert_not_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) && count < JOURNALS_MAX;) {
        if (strstr(entry->d_name, ".journal") && is_of_a_room(entry->d_name)) {
            files[count] = open(hosted_path(entry->d_name), O_WRONLY | O_CLOEXEC);
            cr_assert_eq(flock(files[count], LOCK_EX), 0);
            count++;
        }
    }
    closedir(folder);
    return count;
}

/* A worker that outlives its service for a moment still writes its journals then: the new service
 * waits for them, and loses no room. */
Test(programs_service, rooms_wait_for_journals_that_another_process_has)
{
    const char *config = write_config(TWO_ROOMS);
    int files[JOURNALS_MAX];
    hosted_serve("--config", config, "-v");
    start_two_rooms("600");
    hosted_kill();
    uint32_t count = lock_journals(files);
    cr_assert_geq(count, 2);
    hosted_serve_again("--config", config, "-v");
    expect_times("another process is writing to it; this is tried again", count);
    for (uint32_t i = 0; i < count; i++) {
        close(files[i]);
    }
    expect_players_played_to_the_end(600);
    expect_pairs_agree();
    end_service();
    expect_times(": the match continues", 2);
}

/* To a room by its name, past those that newcomers would be given. */
static const char *place_of(const char *room, uint32_t worker)
{
    char invite[512];
    FILE *file = fopen(hosted_path("invite"), "r");
    cr_assert(file && fgets(invite, sizeof invite, file));
    fclose(file);
    char *fragment = strchr(invite, '#');
    cr_assert_not_null(fragment);
    fragment[strcspn(fragment, "\n")] = '\0';
    return hosted_text("lockstep://%s/%s@%u%s", hosted_address(), room, worker, fragment);
}

/* A player's process is started again by the same command: one worker takes all newcomers, and the
 * player's match may be on the other one. */
Test(programs_service, client_that_is_started_again_comes_back_to_its_seat_on_any_worker)
{
    const char *seats[] = {hosted_path("seat-1"), hosted_path("seat-2")};
    hosted_serve("--config", write_config(TWO_ROOMS), "-v");
    for (uint32_t pair = 0; pair < 2; pair++) {
        hosted_join("--bot", "9", "--seat-file", seats[pair], "--ticks", "100000");
        join_players(1, "100000");
        expect_times(": the match starts", pair + 1);
    }
    for (uint32_t pair = 0; pair < 2; pair++) {
        ls_process *client = &hosted.clients[2 * pair];
        ls_process_signal(client, SIGKILL);
        cr_assert(ls_process_wait(client, LS_PROCESS_PATIENCE_MS));
        uint32_t again = hosted_join("--bot", "9", "--seat-file", seats[pair], "-v");
        expect_times(") is back", pair + 1);
        hosted_expect_words(&hosted.clients[again], "playing from tick");
    }
    end_service();
}

#define A_BAD_ROOM                                                                                 \
    "[[rooms]]\nname = \"bad\"\nopen = 1\nsim = \"live_trap.so\"\nplayers = 1\n"                   \
    "params = {trap = 12, tick = 60}\ntick-rate = 60\n"

/* The game of one room crashes whenever the server plays a certain tick. */
Test(programs_service, room_that_crashes_its_worker_is_given_up_and_the_others_go_on)
{
    const char *config = write_config(A_BAD_ROOM TWO_ROOMS);
    setenv("LS_TEST_TRAP", "1", 1);
    hosted_serve("--config", config, "--workers", "1", "--plug-ins", LS_TEST_PLUGIN_DIR, "-v");
    unsetenv("LS_TEST_TRAP");
    pid_t workers[WORKERS_MAX];
    cr_assert_eq(find_workers(workers), 1, "the command line's, not the file's");
    hosted_expect_words(&hosted.server, "the journal of pair-2 is");
    for (uint32_t i = 1; i <= 2; i++) {
        hosted_join_to(place_of("pair-1", 0),
                       LS_ARGUMENTS("--bot", hosted_text("%u", i), "--ticks", "360"));
    }
    hosted_expect_words(&hosted.server, "pair-1: the match starts");
    uint32_t bad =
        hosted_join_to(place_of("bad-1", 0), LS_ARGUMENTS("--bot", "3", "--reconnect", "5", "--sim",
                                                          LS_PLUGIN("live_trap")));
    hosted_expect_words(&hosted.server,
                        "room bad-1 is given up: its worker has ended 2 times while "
                        "it worked on it; its journal is ");
    hosted_expect_exit(&hosted.clients[0], 0);
    hosted_expect_exit(&hosted.clients[1], 0);
    cr_expect_eq(hosted_number(hosted_client_summary(1), "final_tick"), 360);
    hosted_expect_exit(&hosted.clients[bad], 1);
    end_service();
    hosted_expect_none(&hosted.server, "room pair-1 is given up");
}

/* The line of the log with these words, as the record that it has to be. */
static cJSON *find_record(const char *words)
{
    hosted_expect_words(&hosted.server, words);
    const char *log = ls_process_errors(&hosted.server);
    const char *begin = strstr(log, words);
    while (begin > log && begin[-1] != '\n') {
        begin--;
    }
    const char *end = NULL;
    cJSON *record = cJSON_ParseWithOpts(begin, &end, false);
    cr_assert(record && *end == '\n', "no record: %s", begin);
    return record;
}

Test(programs_service, crash_is_a_record_of_the_log_that_names_room_and_match)
{
    const char *config = write_config(A_BAD_ROOM);
    setenv("LS_TEST_TRAP", "1", 1);
    hosted_serve("--config", config, "--workers", "1", "--plug-ins", LS_TEST_PLUGIN_DIR,
                 "--log-format", "json");
    unsetenv("LS_TEST_TRAP");
    hosted_join_to(place_of("bad-1", 0),
                   LS_ARGUMENTS("--bot", "3", "--reconnect", "5", "--sim", LS_PLUGIN("live_trap")));
    cJSON *record = find_record("crashed in pass");
    cr_expect_str_eq(hosted_word(record, "subject"), "bad-1");
    cr_expect_str_eq(hosted_word(record, "level"), "error");
    const char *message = hosted_word(record, "message");
    cr_expect(strncmp(message, "match ", 6) == 0 && strspn(message + 6, "0123456789abcdef") == 16,
              "%s", message);
    cr_expect(strstr(message, "live_trap.so' crashed in pass '"), "%s", message);
    cJSON_Delete(record);
    end_service();
}

Test(programs_service, upgrade_by_signal_and_start_loses_no_tick)
{
    const char *config = write_config(TWO_ROOMS);
    hosted_serve("--config", config, "-v");
    start_two_rooms("600");
    end_service();
    hosted_serve_again("--config", config, "-v");
    expect_players_played_to_the_end(600);
    expect_pairs_agree();
    end_service();
    hosted_expect_all(&hosted.server, "0 ticks that the journal had not came from them");
}

/* The service keeps rooms open in which newcomers find seats, and forgets those that are over. */
Test(programs_service, rooms_that_are_over_leave_nothing_behind)
{
    hosted_serve("--config",
                 write_config("[[rooms]]\nname = \"solo\"\nopen = 1\nsim = \"arena\"\n"
                              "players = 1\nticks = 30\nspectators = 0\n"),
                 "-v");
    for (uint32_t i = 0; i < 3; i++) {
        hosted_expect_words(&hosted.server, hosted_text("the journal of solo-%u is", i + 1));
        hosted_join("--bot", "1");
        hosted_expect_exit(&hosted.clients[i], 0);
    }
    end_service();
    const cJSON *summary = hosted_server_summary();
    cr_expect_geq(hosted_number(summary, "rooms_opened"), 3);
    cr_expect_geq(hosted_number(summary, "rooms_ended"), 3);
    cr_expect_geq(hosted_number(summary, "counters.ticks"), 90);
    cr_expect_eq(hosted_number(summary, "counters.players_joined"), 3);
}

/* More than commands that may wait for their results at a time. */
Test(programs_service, rooms_are_opened_as_many_as_are_asked_for)
{
    hosted_serve("--config",
                 write_config_for(300, "[[rooms]]\nname = \"many\"\nopen = 300\n"
                                       "sim = \"arena\"\nplayers = 1\n"),
                 "-v");
    hosted_expect_words(&hosted.server, "the journal of many-299 is");
    hosted_expect_words(&hosted.server, "the journal of many-300 is");
    end_service();
    cr_expect_geq(hosted_number(hosted_server_summary(), "rooms_opened"), 299);
}

/* The next room is opened when the first has ended: a newcomer waits for it, or gives up in words.
 * Matches end by themselves: a seat that a player left in time would be given to a newcomer. */
Test(programs_service, newcomer_waits_for_a_seat_as_long_as_it_may)
{
    const char *one_room = "[[rooms]]\nname = \"pair\"\nopen = 1\nsim = \"arena\"\nplayers = 2\n"
                           "ticks = 120\n";
    hosted_serve("--config", write_config_for(1, one_room), "-v");
    join_players(2, "1000");
    hosted_expect_words(&hosted.server, "pair-1: the match starts");
    uint32_t hasty = hosted_join("--bot", "3", "--connect-wait", "1", "-v");
    join_players(2, "1000");
    hosted_expect_exit(&hosted.clients[hasty], 1);
    hosted_expect_all(&hosted.clients[hasty], "every seat of every match here is taken",
                      "(FULL); try again later, or wait a minute for a seat with --connect-wait");
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        hosted_expect_exit(&hosted.clients[i], i == hasty ? 1 : 0);
    }
    hosted_expect_all(&hosted.server, "pair-1: the match has ended", "pair-2: the match starts");
    end_service();
}

/* The first room has seats as well: an invite to the second one does not lead there. */
Test(programs_service, invite_to_a_room_leads_to_that_room_and_to_no_other)
{
    hosted_serve("--config", write_config(TWO_ROOMS), "-v");
    hosted_expect_words(&hosted.server, "the journal of pair-2 is");
    for (uint32_t i = 0; i < 2; i++) {
        /* pair-2 is on the second worker. */
        hosted_join_to(place_of("pair-2", 1), LS_ARGUMENTS("--bot", "1", "--ticks", "60"));
    }
    hosted_expect_exit(&hosted.clients[0], 0);
    hosted_expect_exit(&hosted.clients[1], 0);
    hosted_join_to(place_of("pair-9", 0), LS_ARGUMENTS("--bot", "1"));
    hosted_expect_exit(&hosted.clients[2], 1);
    hosted_expect_all(&hosted.clients[2], "there is no room 'pair-9' here");
    end_service();
    hosted_expect_all(&hosted.server, "warning: refused a client: there is no room 'pair-9' here");
    hosted_expect_all(&hosted.server, "pair-2: the match has ended");
    hosted_expect_none(&hosted.server, "pair-1: the match starts");
}

/* ==== programs_unread ==== */

/* Programs whose log nobody reads: on a terminal that was stopped, into a pipe that is full, and
 * into one whose reader has ended. Their matches go on to the end. */

enum {
    READER,
    WRITER,
    TICKS = 90,
    TEXT_BYTES_MAX = 1 << 20,
};

static int ends[2]; /* of the pipe or terminal in the place of standard error */

static void close_ends(void)
{
    close(ends[READER]);
    close(ends[WRITER]);
    hosted_close();
}

TestSuite(programs_unread, .init = hosted_open, .fini = close_ends);

/* ---- readers ---- */

static void stop_terminal(void)
{
    setenv("TERM", "xterm", 1);
    cr_assert_eq(openpty(&ends[READER], &ends[WRITER], NULL, NULL, NULL), 0);
    fcntl(ends[READER], F_SETFD, FD_CLOEXEC);
    fcntl(ends[WRITER], F_SETFD, FD_CLOEXEC);
    cr_assert_eq(tcflow(ends[WRITER], TCOOFF), 0, "as Ctrl-S does");
    hosted.errors = ends[WRITER];
}

static void open_pipe(void)
{
    cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
    hosted.errors = ends[WRITER];
}

/* The pipe is filled with zeros. */
static void fill_pipe(void)
{
    static const char zeros[1024];
    open_pipe();
    fcntl(ends[WRITER], F_SETFL, O_NONBLOCK);
    for (size_t size = sizeof zeros; size > 0; size /= 2) {
        while (write(ends[WRITER], zeros, size) > 0) {
        }
    }
    fcntl(ends[WRITER], F_SETFL, 0);
}

/* As `head` does. */
static void read_lines_and_end(uint32_t lines)
{
    for (char byte = 0; lines > 0; lines -= byte == '\n') {
        cr_assert_eq(read(ends[READER], &byte, 1), 1);
    }
    close(ends[READER]);
    ends[READER] = -1;
}

/* Everything but the zeros, until the programs that write to it have ended. */
static const char *read_rest(void)
{
    static char text[TEXT_BYTES_MAX];
    size_t size = 0;
    close(ends[WRITER]);
    ends[WRITER] = -1;
    for (char byte = 0; read(ends[READER], &byte, 1) == 1;) {
        cr_assert_lt(size + 1, sizeof text);
        text[size] = byte;
        size += byte != '\0';
    }
    return text;
}

/* ---- a server ---- */

static void serve(void)
{
    hosted_serve(ARENA("2", "90"), "--verbose", "--journal", hosted.folder);
    hosted.errors = 0;
}

static void expect_closed_journal(void)
{
    const char *path = hosted_word(hosted_server_summary(), "journal.file");
    hosted_run(0, LS_TEST_REPLAY, "info", path);
    cr_expect(strstr(ls_process_output(&hosted.other), "closed cleanly"));
}

static void expect_whole_match(void)
{
    hosted_join_bots(2);
    hosted_expect_perfect(TICKS);
    expect_closed_journal();
}

Test(programs_unread, server_on_a_stopped_terminal_plays_to_the_end)
{
    stop_terminal();
    serve();
    expect_whole_match();
}

Test(programs_unread, server_with_a_full_pipe_plays_to_the_end)
{
    fill_pipe();
    serve();
    expect_whole_match();
}

Test(programs_unread, server_whose_reader_ends_plays_to_the_end)
{
    open_pipe();
    serve();
    read_lines_and_end(2);
    expect_whole_match();
}

/* Both wait a while, and need not be killed. */
Test(programs_unread, programs_whose_summary_nobody_reads_say_so_and_end)
{
    char path[LS_TEXT_BYTES_MAX];
    open_pipe();
    hosted.errors = 0;
    snprintf(path, sizeof path, "%s", hosted_path("fifo"));
    cr_assert_eq(mkfifo(path, 0600), 0);
    hosted_serve(ARENA("1", "20"), "--json", path);
    hosted_join("--bot", "1", "--json", path);
    hosted_expect_exits(1, 1);
    hosted_expect_all(&hosted.server, "cannot write the summary to", "fifo: nobody reads it");
    hosted_expect_all(&hosted.clients[0], "cannot write the summary to", "fifo: nobody reads it");
}

Test(programs_unread, server_writes_the_lines_that_it_kept_once_they_are_read)
{
    fill_pipe();
    serve();
    hosted_join_bots(1);
    hosted_expect_words(&hosted.clients[0], "joined");
    hosted_join_bots(1);
    const char *text = read_rest();
    hosted_expect_perfect(TICKS);
    const char *first = strstr(text, "lockstep-server: listening on ");
    cr_assert(first, "%s", text);
    cr_expect(strstr(first, "the match starts"));
    cr_expect(strstr(first, "90 ticks, 182 hashes compared, 0 differences"));
    cr_expect_null(strstr(text, "left out"), "all of them were kept");
}

/* ---- a client ---- */

static void expect_client_plays(void)
{
    hosted_join("--bot", "2", "--verbose");
    hosted.errors = 0;
    hosted_expect_perfect(TICKS);
}

Test(programs_unread, client_on_a_stopped_terminal_plays_to_the_end)
{
    hosted_serve(ARENA("2", "90"));
    hosted_join_bots(1);
    stop_terminal();
    expect_client_plays();
}

Test(programs_unread, client_with_a_full_pipe_plays_to_the_end)
{
    hosted_serve(ARENA("2", "90"));
    hosted_join_bots(1);
    fill_pipe();
    expect_client_plays();
}

Test(programs_unread, client_whose_reader_ends_plays_to_the_end)
{
    hosted_serve(ARENA("2", "90"));
    open_pipe();
    hosted_join("--bot", "2", "--verbose");
    hosted.errors = 0;
    read_lines_and_end(1);
    hosted_join_bots(1);
    hosted_expect_perfect(TICKS);
}

/* ---- a network conditioner ---- */

static void expect_conditioned_match(void)
{
    hosted_condition("--delay", "1");
    hosted.errors = 0;
    hosted_join_bots(2);
    hosted_expect_perfect(TICKS);
    hosted_end_condition(SIGTERM);
}

Test(programs_unread, conditioner_on_a_stopped_terminal_passes_packets_on)
{
    hosted_serve(ARENA("2", "90"));
    stop_terminal();
    expect_conditioned_match();
}

Test(programs_unread, conditioner_with_a_full_pipe_passes_packets_on)
{
    hosted_serve(ARENA("2", "90"));
    fill_pipe();
    expect_conditioned_match();
}

/* ---- a service ---- */

static void serve_rooms(void)
{
    const char *path = hosted_path("lockstep.toml");
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fprintf(file, "workers = 2\ndrain-timeout = 1\n[server]\nidentity = \"%s/identity\"\n",
            hosted.folder);
    fprintf(
        file,
        "[http]\nport = 0\n[[rooms]]\nname = \"pair\"\nopen = 2\nsim = \"arena\"\nplayers = 2\n");
    cr_assert_eq(fclose(file), 0);
    hosted_serve("--config", path, "--http-port-file", hosted_path("http.port"), "--verbose");
    hosted.errors = 0;
}

static void expect_healthy(void)
{
    static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";
    struct sockaddr_in address = {.sin_family = AF_INET};
    char answer[512] = "";
    unsigned port = 0;
    FILE *file = fopen(hosted_path("http.port"), "r");
    cr_assert(file && fscanf(file, "%u", &port) == 1);
    fclose(file);
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(connection, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(write(connection, request, strlen(request)), (ssize_t)strlen(request));
    cr_assert_gt(read(connection, answer, sizeof answer - 1), 0);
    close(connection);
    cr_expect(strstr(answer, " 200 "), "%s", answer);
}

static void expect_whole_rooms(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        hosted_join("--bot", hosted_text("%u", i), "--ticks", "120");
    }
    for (uint32_t i = 0; i < 4; i++) {
        hosted_expect_exit(&hosted.clients[i], 0);
        cr_expect_eq(hosted_number(hosted_client_summary(i), "final_tick"), 120);
    }
    expect_healthy();
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
}

Test(programs_unread, service_with_a_full_pipe_answers_and_plays)
{
    fill_pipe();
    serve_rooms();
    expect_whole_rooms();
}

Test(programs_unread, service_on_a_stopped_terminal_answers_and_plays)
{
    stop_terminal();
    serve_rooms();
    expect_whole_rooms();
}

Test(programs_unread, service_whose_reader_ends_answers_and_plays)
{
    open_pipe();
    serve_rooms();
    read_lines_and_end(2);
    expect_whole_rooms();
}
