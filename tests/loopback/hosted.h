/* Hosted: a match of the real programs in a folder of its own: lockstep-server on a port that the
 * system chose, lockstep-client as often as wanted, and what they wrote. Everything is stopped and
 * removed at close. Used by the tests of the programs. */
#ifndef LOCKSTEP_TESTS_LOOPBACK_HOSTED_H
#define LOCKSTEP_TESTS_LOOPBACK_HOSTED_H

#include "lockstep/tests/loopback/station.h"
#include "lockstep/tests/support/process.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>

#define LS_HOSTED_CLIENTS_MAX 16u

/* LS_TEST_SERVER, LS_TEST_CLIENT, LS_TEST_NETCOND: paths of the programs; LS_TEST_PLUGIN_DIR: of
 * tests/plugins. */
#define LS_PLUGIN(name) LS_TEST_PLUGIN_DIR "/" name ".so"

#define LS_ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

typedef struct ls_hosted {
    char folder[64];
    uint16_t port; /* where clients connect to: the server's, until a test puts a relay there */
    ls_process server;
    ls_process clients[LS_HOSTED_CLIENTS_MAX];
    uint32_t client_count;
    ls_process other;          /* see ls_hosted_run */
    ls_process network;        /* see ls_hosted_condition */
    uint16_t terminal_columns; /* of what is started from now on; 0: no terminal */
    const char *preload;       /* likewise, see ls_process_config; NULL: nothing */
    cJSON *server_summary;     /* NULL until it was asked for */
    cJSON *client_summaries[LS_HOSTED_CLIENTS_MAX];
    cJSON *network_summary;
} ls_hosted;

void ls_hosted_open(ls_hosted *hosted);
void ls_hosted_close(ls_hosted *hosted);

/* Starts the server on 127.0.0.1 and waits until it has written its port. */
void ls_hosted_serve(ls_hosted *hosted, const char *const *arguments);

/* Ends the server as a crash does; and starts another one on the same port. */
void ls_hosted_kill(ls_hosted *hosted);
void ls_hosted_serve_again(ls_hosted *hosted, const char *const *arguments);

/* Starts one more client; returns its index. */
uint32_t ls_hosted_join(ls_hosted *hosted, const char *const *arguments);

/* Puts lockstep-netcond before the port: clients that join from now on go through it. */
void ls_hosted_condition(ls_hosted *hosted, const char *const *arguments);

/* Stops it by the signal and expects exit code 0. */
void ls_hosted_end_condition(ls_hosted *hosted, int signal_number);

/* Runs a program to its end and expects the exit code; gives what it wrote to its errors. */
const char *ls_hosted_run(ls_hosted *hosted, const char *program, const char *const *arguments,
                          int exit_code);

/* Waits for the end and expects the exit code. */
void ls_hosted_expect_exit(ls_process *process, int exit_code);

/* Lets a relay work until every program has ended. */
void ls_hosted_relay(ls_hosted *hosted, ls_relay *relay);

/* The server's first, then every client's. */
void ls_hosted_expect_clean_exits(ls_hosted *hosted);

/* Waits for these words in the errors. */
void ls_hosted_expect_words(ls_process *process, const char *words);

/* Expects each of them in what a program that has ended wrote to its errors, or none. */
void ls_hosted_expect_all(ls_process *process, const char *const *words);
void ls_hosted_expect_none(ls_process *process, const char *const *words);

/* A summary, of a program that has ended; owned by `hosted`. */
const cJSON *ls_hosted_server_summary(ls_hosted *hosted);
const cJSON *ls_hosted_client_summary(ls_hosted *hosted, uint32_t index);
const cJSON *ls_hosted_network_summary(ls_hosted *hosted);

/* A member that has to be there, of that type; an object in an object. */
const cJSON *ls_hosted_object(const cJSON *object, const char *key);
double ls_hosted_number(const cJSON *object, const char *key);
const char *ls_hosted_word(const cJSON *object, const char *key);
const cJSON *ls_hosted_item(const cJSON *object, const char *key, int index);
int ls_hosted_count(const cJSON *object, const char *key);

/* The server's entry of the player with this name. */
const cJSON *ls_hosted_player(ls_hosted *hosted, const char *name);

/* Expects that this player left with this status, and that the server's log says so in these words.
 */
void ls_hosted_expect_left(ls_hosted *hosted, const char *name, const char *status,
                           const char *words);

/* Expects that the server and this client have the same final tick and hash. */
void ls_hosted_expect_agreement(ls_hosted *hosted, uint32_t index);

/* Expects a complete match: clean exits, everybody agrees, every state of every client was
 * compared, `ticks` ticks, no desync. */
void ls_hosted_expect_perfect(ls_hosted *hosted, uint32_t ticks);

#endif
