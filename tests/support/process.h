/* Process: a program that a test runs beside itself: started with its streams in files or on a
 * pseudo-terminal, watched with a deadline, signalled and ended by its id. It dies with the test,
 * whatever ends that. Linux only. Used by the tests of the programs. */
#ifndef LOCKSTEP_TESTS_SUPPORT_PROCESS_H
#define LOCKSTEP_TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define LS_PROCESS_PATH_BYTES_MAX 256u
#define LS_PROCESS_TEXT_BYTES_MAX (64u << 10)

/* The time that a machine that is busy with something else may need for anything: longer than a
 * server takes at most to look into a desync, by processes that give way to all others. */
#define LS_PROCESS_PATIENCE_MS 180000u

typedef struct ls_process_config {
    const char *program;          /* path */
    const char *const *arguments; /* without the program's name; ends with NULL */
    const char *input;            /* a file that is standard input; NULL: it has nothing */
    const char *output_stem;      /* streams go to "<stem>.out" and "<stem>.err" */
    uint16_t terminal_columns;    /* standard error is a terminal this wide; 0: it is a file */
    int errors;                   /* an open file that is standard error instead; 0: none */
    uint32_t user;                /* runs as this user id; 0: the test's own */
    const char *preload;          /* a library that is loaded before its others; NULL: none */
} ls_process_config;

typedef struct ls_process {
    pid_t pid; /* 0: not running */
    int exit_code;
    int ending_signal; /* 0: it exited by itself */
    int terminal;      /* our end, or -1 */
    char out_path[LS_PROCESS_PATH_BYTES_MAX];
    char err_path[LS_PROCESS_PATH_BYTES_MAX];
    char text[LS_PROCESS_TEXT_BYTES_MAX]; /* what was read last */
} ls_process;

/* Fails the test when the program cannot be started. */
void ls_process_start(ls_process *process, const ls_process_config *config);

/* True once it has ended; then exit_code and ending_signal are known. */
bool ls_process_has_ended(ls_process *process);

/* False when it did not end in time; it is still running then. */
bool ls_process_wait(ls_process *process, uint32_t patience_ms);

/* To a running process. */
void ls_process_signal(const ls_process *process, int signal_number);

/* Ends it the hard way if it is still running, and forgets it. */
void ls_process_stop(ls_process *process);

/* The text that it has written so far, cut at LS_PROCESS_TEXT_BYTES_MAX; valid until the next call.
 */
const char *ls_process_output(ls_process *process);
const char *ls_process_errors(ls_process *process);

/* Waits until `words` stand in its errors; false when it ended or the time was over before. */
bool ls_process_wait_for_words(ls_process *process, const char *words, uint32_t patience_ms);

/* Sleeps a little between two looks at something. */
void ls_process_pause(void);
uint64_t ls_process_now_ms(void);

#endif
