/* Tty: the terminal that a program was started on. Called by console and by the view on a
 * terminal. */
#ifndef LOCKSTEP_COMMON_SYSTEM_TTY_H
#define LOCKSTEP_COMMON_SYSTEM_TTY_H

#include <stdbool.h>
#include <stdint.h>

typedef enum ls_tty {
    LS_TTY_INPUT,
    LS_TTY_OUTPUT,
    LS_TTY_ERRORS,
} ls_tty;

/* Whether this standard stream is a terminal. */
bool ls_tty_is(ls_tty stream);

/* Its size in characters; false when that is not known. */
bool ls_tty_measure(ls_tty stream, uint32_t *columns, uint32_t *rows);

/* From now on keys come one by one and are not shown; end gives the terminal back as it was. False
 * when standard input is no terminal, or another program's at the moment. */
bool ls_tty_keys_begin(void);
void ls_tty_keys_end(void);

/* The next byte of what was typed; false: nothing was. Never waits. */
bool ls_tty_read(char *byte);

#endif
