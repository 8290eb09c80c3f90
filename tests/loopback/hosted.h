/* Hosted: a match of the real programs in a folder of its own: lockstep-server on a port that the
 * system chose, lockstep-client as often as wanted, and what they wrote. A test program has one at
 * a time: its suite opens it, and stops and removes everything at the end. Used by the tests of the
 * programs. */
#ifndef LOCKSTEP_TESTS_LOOPBACK_HOSTED_H
#define LOCKSTEP_TESTS_LOOPBACK_HOSTED_H

#include "lockstep/tests/loopback/station.h"
#include "lockstep/tests/support/process.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>

#define HOSTED_CLIENTS_MAX 16u

/* LS_TEST_SERVER, LS_TEST_CLIENT, LS_TEST_NETCOND: paths of the programs; LS_TEST_PLUGIN_DIR: of
 * tests/plugins. */
#define LS_PLUGIN(name) LS_TEST_PLUGIN_DIR "/" name ".so"

#define LS_ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Arguments of a server: a match of arena. */
#define ARENA(players, ticks) "--sim", "arena", "--players", players, "--ticks", ticks

/* Nothing listens here. */
#define NOWHERE "127.0.0.1:9"

extern struct hosted {
    char folder[64];
    uint16_t port; /* where clients connect to: the server's, until a test puts a relay there */
    ls_process server;
    ls_process clients[HOSTED_CLIENTS_MAX];
    uint32_t client_count;
    ls_process other;          /* see hosted_run */
    ls_process network;        /* see hosted_condition */
    uint16_t terminal_columns; /* of what is started from now on; 0: no terminal */
    int errors;                /* likewise its standard error, an open file; 0: none */
    const char *input;         /* likewise its standard input, a file; NULL: nothing */
    const char *preload;       /* likewise, see ls_process_config; NULL: nothing */
    cJSON *server_summary;     /* NULL until it was asked for */
    cJSON *client_summaries[HOSTED_CLIENTS_MAX];
    cJSON *network_summary;
} hosted;

/* For TestSuite's .init and .fini. */
void hosted_open(void);
void hosted_close(void);

/* For the next case of a test. */
void hosted_reopen(void);

/* Plays once more, each time in a folder of its own, until what the test is about has happened: on
 * a busy machine a client may have no time to predict in one match. */
#define HOSTED_REPEAT_UNTIL(has_happened, play)                                                    \
    do {                                                                                           \
        uint64_t repeat_end_ms = ls_process_now_ms() + LS_PROCESS_PATIENCE_MS;                     \
        for ((play); !(has_happened); (play)) {                                                    \
            cr_assert_lt(ls_process_now_ms(), repeat_end_ms, "never came true: " #has_happened);   \
            hosted_reopen();                                                                       \
        }                                                                                          \
    } while (0)

/* A text that stays until the end of the test; likewise the path of a file in the folder, and
 * where clients connect to. */
__attribute__((format(printf, 1, 2))) const char *hosted_text(const char *format, ...);
const char *hosted_path(const char *name);
const char *hosted_address(void);

/* Damages one byte of a file. */
void hosted_flip_bits(const char *path, long place, int bits);

/* Each that ends with _with takes a list that NULL ends; the macro of the same name takes the
 * arguments themselves. */

/* Starts the server on 127.0.0.1 and waits until it has written its port. */
void hosted_serve_with(const char *const *arguments);
#define hosted_serve(...) hosted_serve_with(LS_ARGUMENTS(__VA_ARGS__))

/* Ends the server as a crash does; and starts another one on the same port. */
void hosted_kill(void);
void hosted_serve_again_with(const char *const *arguments);
#define hosted_serve_again(...) hosted_serve_again_with(LS_ARGUMENTS(__VA_ARGS__))

/* Starts one more client; returns its index. */
uint32_t hosted_join_with(const char *const *arguments);
#define hosted_join(...) hosted_join_with(LS_ARGUMENTS(__VA_ARGS__))

/* The same to another place than hosted_address, such as an invite. */
uint32_t hosted_join_to(const char *place, const char *const *arguments);

/* Starts bots; seed and name of each are its number, from 1 on. */
void hosted_join_bots(uint32_t count);

/* Puts lockstep-netcond before the port: clients that join from now on go through it. */
void hosted_condition_with(const char *const *arguments);
#define hosted_condition(...) hosted_condition_with(LS_ARGUMENTS(__VA_ARGS__))

/* Stops it by the signal and expects exit code 0. */
void hosted_end_condition(int signal_number);

/* Runs a program to its end and expects the exit code; gives what it wrote to its errors. */
const char *hosted_run_with(int exit_code, const char *program, const char *const *arguments);
#define hosted_run(exit_code, program, ...)                                                        \
    hosted_run_with(exit_code, program, LS_ARGUMENTS(__VA_ARGS__))

/* The same of a program that has to end before it has begun: with these words in its errors, no
 * port opened, and nothing on its output. */
void hosted_expect_refusal_with(int exit_code, const char *program, const char *words,
                                const char *const *arguments);
#define hosted_expect_refusal(exit_code, program, words, ...)                                      \
    hosted_expect_refusal_with(exit_code, program, words, LS_ARGUMENTS(__VA_ARGS__))

/* Waits for the end and expects the exit code. */
void hosted_expect_exit(ls_process *process, int exit_code);

/* The server's first, then every client's. */
void hosted_expect_exits_with(const int *exit_codes, size_t count);
#define hosted_expect_exits(...)                                                                   \
    hosted_expect_exits_with((const int[]){__VA_ARGS__},                                           \
                             sizeof(const int[]){__VA_ARGS__} / sizeof(int))
void hosted_expect_clean_exits(void);

void hosted_pause_ms(uint64_t duration_ms);

/* Lets a relay work until these words are in the errors, or every program has ended. */
void hosted_relay_until(ls_relay *relay, ls_process *process, const char *words);
void hosted_relay(ls_relay *relay);

/* Waits for these words in the errors. */
void hosted_expect_words(ls_process *process, const char *words);

/* Has the server end a match without a last tick. */
void hosted_end_match(void);

/* Waits until a client that came late plays, lets it for half a second, and has the server end the
 * match. However slow the machine is, it came in time. */
void hosted_end_when_playing(uint32_t index);

/* Expects each of them in what a program that has ended wrote to its errors, or none. */
void hosted_expect_all_with(ls_process *process, const char *const *words);
void hosted_expect_none_with(ls_process *process, const char *const *words);
#define hosted_expect_all(process, ...) hosted_expect_all_with(process, LS_ARGUMENTS(__VA_ARGS__))
#define hosted_expect_none(process, ...) hosted_expect_none_with(process, LS_ARGUMENTS(__VA_ARGS__))

/* A file of one JSON object and a newline; the caller deletes it. */
cJSON *hosted_read_json(const char *path);

/* A summary, of a program that has ended; owned by `hosted`. */
const cJSON *hosted_server_summary(void);
const cJSON *hosted_client_summary(uint32_t index);
const cJSON *hosted_network_summary(void);

/* A member that has to be there, of that type: by the names of members and the indices in lists on
 * the way to it, as in "players.0.lag.cause". */
__attribute__((format(printf, 2, 3))) const cJSON *hosted_item(const cJSON *object,
                                                               const char *format, ...);
bool hosted_is_null(const cJSON *object, const char *path);
double hosted_number(const cJSON *object, const char *path);
const char *hosted_word(const cJSON *object, const char *path);
int hosted_count(const cJSON *object, const char *path);

/* How often a client that predicts took ticks back. */
double hosted_rollbacks_of(uint32_t client);

/* The server's entry of the player with this name. */
const cJSON *hosted_player(const char *name);

/* Expects that this player left with this status, and that the server's log says so in these words.
 */
void hosted_expect_left(const char *name, const char *status, const char *words);

/* Expects that the server and this client, or all, have the same final tick and hash. */
void hosted_expect_agreement(uint32_t index);
void hosted_expect_all_agree(void);

/* Expects a complete match: clean exits, everybody agrees, every state of every client was
 * compared, `ticks` ticks, no desync. */
void hosted_expect_perfect(uint32_t ticks);

/* The same of a match without a last tick, which the server ends now. */
void hosted_end_perfectly(void);

#endif
