/* Page code: a text as a QR code on a terminal, which a phone reads. The only module that knows
 * libqrencode, without which there are none. Called by door_process. */
#ifndef LOCKSTEP_SERVER_DOOR_PAGE_CODE_H
#define LOCKSTEP_SERVER_DOOR_PAGE_CODE_H

#include <stdbool.h>

/* Calls `line` for each line of the code, of blocks for what is light; false, without a call: it
 * cannot be made. */
bool ls_page_code_draw(const char *text, void (*line)(void *user, const char *text), void *user);

#endif
