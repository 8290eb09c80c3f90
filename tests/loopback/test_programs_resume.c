/* A server that is killed, again and again, and started anew with --resume: its clients come back
 * by themselves, and every tick that one of them ever saw confirmed is in the journal in the end.
 * LS_CRASH_ROUNDS=N and LS_CRASH_SEED=S in the environment play as many rounds of the first test
 * and print what was lost; by default it is a few. */
#define _POSIX_C_SOURCE 200809L
#include "lockstep/common/journal/journal.h"
#include "lockstep/common/maths/rng.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/tests/loopback/hosted.h"
#include "lockstep/tests/support/late_journal.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 512,
    TAIL_BYTES = 64, /* of a journal, in which a bit is flipped */
    CUT_BYTES_MAX = 40,
    DAMAGE_FROM_BYTES =
        8192, /* a journal that is larger has its header and first ticks behind it */
};

static char journal_path[PATH_BYTES];
static ls_rng rng;

static struct {
    uint64_t records; /* of what a client held when it lost its link */
    uint64_t ticks_lost;
    uint64_t ticks_recovered; /* from clients */
    uint64_t snapshots;       /* that a client had to be sent */
    uint64_t resume_ms;       /* from the start of the program until the match went on */
    uint64_t resume_ms_max;
    uint32_t resumed; /* rounds in which it did ... */
    uint32_t timed;   /* ... and in which that was waited for */
} seen;

static void open_with_seed(void)
{
    hosted_open();
    memset(&seen, 0, sizeof seen);
    const char *seed = getenv("LS_CRASH_SEED");
    rng = ls_rng_make(seed ? strtoull(seed, NULL, 10) : 1, 0);
}

TestSuite(programs_resume, .init = open_with_seed, .fini = hosted_close);

/* ---- the journal's file ---- */

static void find_journal(void)
{
    DIR *directory = opendir(hosted.folder);
    const struct dirent *entry = NULL;
    journal_path[0] = '\0';
    while ((entry = readdir(directory)) != NULL) {
        if (strstr(entry->d_name, ".journal")) {
            snprintf(journal_path, sizeof journal_path, "%s/%s", hosted.folder, entry->d_name);
        }
    }
    closedir(directory);
    cr_assert(journal_path[0], "there is no journal in %s", hosted.folder);
}

static uint8_t *read_journal(size_t *size)
{
    struct stat info;
    cr_assert_eq(stat(journal_path, &info), 0);
    uint8_t *bytes = malloc((size_t)info.st_size);
    FILE *file = fopen(journal_path, "rb");
    cr_assert(file && bytes);
    *size = fread(bytes, 1, (size_t)info.st_size, file);
    fclose(file);
    return bytes;
}

/* The damage that a disk may do to the end of a file that was being written. */
static void damage_tail(uint32_t kind)
{
    struct stat info;
    cr_assert_eq(stat(journal_path, &info), 0);
    if (kind == 0 || info.st_size < DAMAGE_FROM_BYTES) {
        return;
    }
    if (kind == 1) {
        off_t bytes = info.st_size - 1 - (off_t)ls_rng_below(&rng, CUT_BYTES_MAX);
        cr_assert_eq(truncate(journal_path, bytes), 0);
        return;
    }
    long place = (long)info.st_size - 1 - (long)ls_rng_below(&rng, TAIL_BYTES);
    hosted_flip_bits(journal_path, place, 1 << ls_rng_below(&rng, 8));
}

static ls_journal *open_journal(const uint8_t *bytes, size_t size)
{
    ls_journal *journal = NULL;
    ls_text why = {{0}};
    cr_assert_eq(
        ls_journal_open(bytes, size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(), &journal, &why),
        LS_OK, "%s", why.bytes);
    return journal;
}

/* Two bits flip in the block of ticks before the last one. */
static void damage_a_block(void)
{
    size_t size = 0;
    uint8_t *bytes = read_journal(&size);
    ls_journal *journal = open_journal(bytes, size);
    ls_journal_record record;
    uint64_t offset = 0;
    long places[2] = {0};
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        if (record.kind == LS_JOURNAL_TICKS) {
            places[0] = places[1];
            places[1] = (long)(record.offset + record.stored_bytes - 3);
        }
    }
    ls_journal_close(journal);
    cr_assert_gt(places[0], 0, "the journal is too short");
    hosted_flip_bits(journal_path, places[0], 0x42);
    free(bytes);
}

/* ---- what was lost ---- */

typedef struct chain_list {
    uint64_t *chains; /* before each tick */
    ls_tick end;
} chain_list;

static chain_list read_chains(void)
{
    size_t size = 0;
    uint8_t *bytes = read_journal(&size);
    ls_journal *journal = open_journal(bytes, size);
    const ls_journal_info *info = ls_journal_info_of(journal);
    cr_expect(info->is_complete);
    cr_expect_eq(info->ticks_missing, 0u);
    chain_list list = {.chains = calloc(info->end_tick + 1u, sizeof(uint64_t))};
    list.chains[0] = LS_TICK_CHAIN_START;
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    uint64_t state_hash = 0;
    ls_journal_seek(journal, 0);
    while (ls_journal_next_tick(journal, slots, &inputs, &state_hash) == LS_OK) {
        cr_assert_eq(inputs.tick, list.end);
        list.chains[list.end + 1] = ls_tick_chain_next(list.chains[list.end], &inputs);
        list.end++;
    }
    ls_journal_close(journal);
    free(bytes);
    return list;
}

/* A tick is lost when a client had it and the journal has another one, or none. */
static void compare_record(const chain_list *list, ls_tick tick, uint64_t chain, const char *whose)
{
    seen.records++;
    if (tick > list->end) {
        seen.ticks_lost += tick - list->end;
        fprintf(stderr, "%s: ticks up to %" PRIu32 " were here, the journal ends at %" PRIu32 "\n",
                whose, tick, list->end);
    } else if (list->chains[tick] != chain) {
        seen.ticks_lost++;
        fprintf(stderr, "%s: the ticks before %" PRIu32 " are others in the journal\n", whose,
                tick);
    }
}

static void compare_records(const chain_list *list, const ls_process *client)
{
    char line[1024];
    FILE *file = fopen(client->err_path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        ls_tick tick = 0;
        uint64_t chain = 0;
        const char *words = strstr(line, "every tick before ");
        if (words &&
            sscanf(words, "every tick before %" SCNu32 " (chain %" SCNx64, &tick, &chain) == 2) {
            compare_record(list, tick, chain, client->err_path);
        }
        seen.snapshots += strstr(line, "with a snapshot") ? 1 : 0;
    }
    fclose(file);
}

static void expect_nothing_lost(void)
{
    chain_list list = read_chains();
    for (uint32_t i = 0; i < hosted.client_count; i++) {
        compare_records(&list, &hosted.clients[i]);
    }
    free(list.chains);
    cr_expect_gt(seen.records, 0u);
    cr_expect_eq(seen.ticks_lost, 0u);
}

/* ---- rounds ---- */

static void begin(const char *simulation, uint32_t clients, const char *ticks)
{
    hosted_serve("--sim", simulation, "--players", hosted_text("%u", clients), "--ticks", ticks,
                 "--timeout", "2000", "--journal", hosted.folder);
    find_journal();
    for (uint32_t i = 0; i < clients; i++) {
        hosted_join("--bot", hosted_text("%u", i), "--reconnect", "60");
    }
    hosted_expect_words(&hosted.server, "the match starts");
    hosted_pause_ms(600 + ls_rng_below(&rng, 600));
}

static void count_recovered(void)
{
    const char *words = strstr(ls_process_errors(&hosted.server), "the match continues at tick");
    uint32_t tick = 0;
    uint32_t back = 0;
    uint32_t players = 0;
    uint32_t recovered = 0;
    if (words && sscanf(words,
                        "the match continues at tick %" SCNu32 ": %" SCNu32 " of %" SCNu32
                        " players are back, %" SCNu32,
                        &tick, &back, &players, &recovered) == 4) {
        cr_expect_eq(back, players);
        seen.ticks_recovered += recovered;
        seen.resumed++;
    }
}

static void wait_until_it_goes_on(uint64_t begun_ms)
{
    hosted_expect_words(&hosted.server, "the match continues");
    uint64_t took_ms = ls_process_now_ms() - begun_ms;
    seen.timed++;
    seen.resume_ms += took_ms;
    seen.resume_ms_max = took_ms > seen.resume_ms_max ? took_ms : seen.resume_ms_max;
}

static uint64_t kill_and_resume(uint32_t damage)
{
    hosted_kill();
    count_recovered();
    damage_tail(damage);
    uint64_t begun_ms = ls_process_now_ms();
    hosted_serve_again("--resume", journal_path);
    return begun_ms;
}

/* Every third time it is killed again at any moment, maybe before anybody is back. */
static void play_rounds(uint32_t rounds)
{
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t begun_ms = kill_and_resume(round % 3);
        if (round + 1 < rounds && ls_rng_below(&rng, 3) == 0) {
            hosted_pause_ms(ls_rng_below(&rng, 1500));
        } else {
            wait_until_it_goes_on(begun_ms);
            hosted_pause_ms(ls_rng_below(&rng, 800));
        }
    }
}

static void end_by_signal(void)
{
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_clean_exits();
    count_recovered();
    hosted_expect_all_agree();
}

Test(programs_resume, no_tick_that_a_client_saw_is_lost_however_often_the_server_is_killed)
{
    const char *wanted = getenv("LS_CRASH_ROUNDS");
    uint32_t rounds = wanted ? (uint32_t)strtoul(wanted, NULL, 10) : 4;
    begin("arena", 3, "0");
    play_rounds(rounds);
    end_by_signal();
    expect_nothing_lost();
    fprintf(stderr,
            "%" PRIu32 " rounds: %" PRIu64 " ticks lost, %" PRIu64 " came from clients, %" PRIu64
            " records compared, %" PRIu64 " snapshots sent, resumed %" PRIu32
            " times, after %" PRIu64 " ms, %" PRIu64 " at most\n",
            rounds, seen.ticks_lost, seen.ticks_recovered, seen.records, seen.snapshots,
            seen.resumed, seen.timed > 0 ? seen.resume_ms / seen.timed : 0, seen.resume_ms_max);
}

Test(programs_resume, a_tick_that_a_client_had_and_the_journal_has_not_counts_as_lost)
{
    uint64_t chains[] = {LS_TICK_CHAIN_START, 11, 12};
    const chain_list list = {.chains = chains, .end = 2};
    compare_record(&list, 2, 12, "the same");
    cr_expect_eq(seen.ticks_lost, 0u);
    compare_record(&list, 1, 12, "another");
    cr_expect_eq(seen.ticks_lost, 1u);
    compare_record(&list, 5, 12, "more");
    cr_expect_eq(seen.ticks_lost, 4u);
}

Test(programs_resume, a_resumed_match_plays_on_to_its_end)
{
    begin("units", 2, "240");
    wait_until_it_goes_on(kill_and_resume(0));
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    const cJSON *server = hosted_server_summary();
    cr_expect_eq(hosted_number(server, "final_tick"), 240);
    cr_expect_eq(hosted_count(server, "desyncs"), 0);
    cr_expect_str_eq(hosted_word(server, "journal.file"), journal_path);
    expect_nothing_lost();
    hosted_run(0, LS_TEST_REPLAY, "verify", journal_path);
}

Test(programs_resume, a_damaged_block_in_the_midst_costs_no_tick_that_the_clients_hold)
{
    begin("arena", 2, "0");
    hosted_kill();
    damage_a_block();
    hosted_serve_again("--resume", journal_path);
    hosted_expect_words(&hosted.server, "there is no snapshot after them");
    hosted_expect_words(&hosted.server, "the match continues");
    end_by_signal();
    cr_expect_gt(seen.ticks_recovered, 0u);
    expect_nothing_lost();
    hosted_run(0, LS_TEST_REPLAY, "verify", journal_path);
}

Test(programs_resume, a_client_that_is_not_back_in_time_has_left)
{
    begin("arena", 2, "0");
    hosted_kill();
    ls_process_signal(&hosted.clients[1], SIGKILL);
    ls_process_wait(&hosted.clients[1], LS_PROCESS_PATIENCE_MS);
    hosted.client_count = 1;
    hosted_serve_again("--resume", journal_path, "--resume-wait", "10");
    hosted_expect_words(&hosted.server, "1 of 2 players are back");
    hosted_expect_words(&hosted.server, "plays from tick");
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_clean_exits();
    hosted_expect_agreement(0);
    expect_nothing_lost();
    ls_process_stop(&hosted.clients[1]);
}

Test(programs_resume, a_server_that_is_stopped_before_anybody_is_back_can_be_resumed_again)
{
    begin("arena", 1, "0");
    ls_process_signal(&hosted.clients[0], SIGSTOP);
    kill_and_resume(0);
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
    hosted_serve_again("--resume", journal_path);
    ls_process_signal(&hosted.clients[0], SIGCONT);
    hosted_expect_words(&hosted.server, "plays from tick");
    end_by_signal();
    expect_nothing_lost();
}

Test(programs_resume, a_returned_client_comes_back_again_after_a_waiting_server_is_stopped)
{
    begin("arena", 2, "0");
    ls_process_signal(&hosted.clients[1], SIGSTOP);
    kill_and_resume(0);
    hosted_expect_words(&hosted.clients[0], "the server was restarted and waits for");
    ls_process_signal(&hosted.server, SIGTERM);
    hosted_expect_exit(&hosted.server, 0);
    hosted_serve_again("--resume", journal_path);
    ls_process_signal(&hosted.clients[1], SIGCONT);
    hosted_expect_words(&hosted.server, "2 of 2 players are back");
    end_by_signal();
    expect_nothing_lost();
}

Test(programs_resume, a_match_that_had_not_begun_waits_for_its_players_again)
{
    struct stat info = {0};
    hosted_serve(ARENA("2", "60"), "--journal", hosted.folder);
    find_journal();
    uint64_t end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;
    while (info.st_size == 0 && ls_process_now_ms() < end_ms) { /* until its header is there */
        ls_process_pause();
        cr_assert_eq(stat(journal_path, &info), 0);
    }
    hosted_kill();
    hosted_serve_again("--resume", journal_path);
    hosted_expect_words(&hosted.server, "does not say that its match had begun");
    hosted_join_bots(2);
    hosted_expect_clean_exits();
    hosted_expect_agreement(0);
    hosted_run(0, LS_TEST_REPLAY, "verify", journal_path);
}

/* Nothing but the header had come to the disk. */
static void cut_behind_header(void)
{
    size_t size = 0;
    uint8_t *bytes = read_journal(&size);
    ls_journal *journal = open_journal(bytes, size);
    ls_journal_record record;
    uint64_t offset = 0;
    do {
        cr_assert_eq(ls_journal_next_record(journal, &offset, &record), LS_OK);
    } while (record.kind == LS_JOURNAL_HEADER);
    cr_assert_eq(truncate(journal_path, (off_t)record.offset), 0);
    ls_journal_close(journal);
    free(bytes);
}

Test(programs_resume, clients_bring_back_a_match_of_which_only_the_header_is_left)
{
    begin("arena", 3, "0");
    hosted_kill();
    cut_behind_header();
    hosted_serve_again("--resume", journal_path);
    hosted_expect_words(&hosted.server, "does not say that its match had begun");
    hosted_expect_words(&hosted.server, "3 of 3 players are back");
    hosted_pause_ms(200);
    hosted_kill();
    count_recovered();
    cr_expect_gt(seen.ticks_recovered, 0u);
    hosted_serve_again("--resume", journal_path);
    hosted_expect_words(&hosted.server, "3 of 3 players are back");
    end_by_signal();
    expect_nothing_lost();
    hosted_run(0, LS_TEST_REPLAY, "verify", journal_path);
}

/* The journal's match has got to `tick`. */
static void age_journal(ls_tick tick)
{
    size_t size = 0;
    uint8_t *bytes = read_journal(&size);
    late_journal_make(ls_arena_simulation(), tick, &bytes, &size);
    FILE *file = fopen(journal_path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
    free(bytes);
}

/* Tick 2,147,483,648 needs the 32nd bit. */
Test(programs_resume, a_match_is_played_watched_and_read_where_ticks_need_all_32_bits)
{
    const char *cut = hosted_path("cut.journal");
    begin("arena", 2, "2147483768");
    hosted_kill();
    age_journal(UINT32_C(2147483588));
    hosted_serve_again("--resume", journal_path);
    hosted_expect_words(&hosted.server, "the match continues at tick 2147483588");
    hosted_join("--spectate");
    hosted_expect_clean_exits();
    hosted_expect_all_agree();
    cr_expect_eq(hosted_number(hosted_server_summary(), "final_tick"), 2147483768);
    hosted_run(0, LS_TEST_REPLAY, "cut", journal_path, "2147483600", "2147483700", "--output", cut);
    hosted_run(0, LS_TEST_REPLAY, "verify", cut);
    hosted_run(0, LS_TEST_REPLAY, "seek", cut, "2147483699");
    hosted_run(0, LS_TEST_REPLAY, "diff", cut, journal_path);
    hosted_run(0, LS_TEST_REPLAY, "export", cut, "--output", hosted_path("lines"));
}

Test(programs_resume, a_match_that_cannot_be_resumed_is_explained)
{
    begin("arena", 1, "0");
    hosted_kill();
    hosted_expect_refusal(2, LS_TEST_SERVER, "--seed 7", "--resume", journal_path, "--seed", "7");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--players 2", "--resume", journal_path, "--players",
                          "2");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--late", "--resume", journal_path, "--late", "wait");
    hosted_expect_refusal(2, LS_TEST_SERVER, "units", "--resume", journal_path, "--sim", "units");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--journal", "--resume", journal_path, "--journal",
                          hosted.folder);
    hosted_expect_refusal(2, LS_TEST_SERVER, "--matches", "--resume", journal_path, "--matches",
                          "2");
    hosted_expect_refusal(2, LS_TEST_SERVER, "--json", "--json", journal_path, "--resume",
                          journal_path);
    hosted_expect_refusal(2, LS_TEST_SERVER, "--port-file", "--resume", journal_path, "--port-file",
                          journal_path);
    hosted_expect_refusal(1, LS_TEST_SERVER, LS_TEST_SERVER, "--resume", LS_TEST_SERVER);
    hosted_expect_refusal(1, LS_TEST_SERVER, "/nowhere/to.journal", "--resume",
                          "/nowhere/to.journal");
    hosted_serve_again("--resume", journal_path);
    hosted_expect_words(&hosted.server, "plays from tick");
    end_by_signal();
    hosted_expect_refusal(1, LS_TEST_SERVER, "is over", "--resume", journal_path);
}
