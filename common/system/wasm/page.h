/* Page: what the page of a browser does for the module that it has loaded, in place of a system:
 * the functions that the module imports. Implemented in client/web/worker.js. And what the page
 * does to the module's only socket, the pipe to the server (docs/web.md). */
#ifndef LOCKSTEP_COMMON_SYSTEM_WASM_PAGE_H
#define LOCKSTEP_COMMON_SYSTEM_WASM_PAGE_H

#include "lockstep/common/base/language.h"

#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* Sends one datagram; what there is no room for is lost. */
void ls_page_send(const uint8_t *bytes, size_t size);

/* The page's one private file: what it has, or 0 bytes; what it is to have, or 0 bytes for none. */
size_t ls_page_load(uint8_t *bytes, size_t capacity);
void ls_page_store(const uint8_t *bytes, size_t size);

/* A datagram has come: it is copied, and dropped where too many wait. */
void ls_pipe_receive(const uint8_t *bytes, size_t size);

/* The page sends by another pipe from now on: the server is told so, as of a new address. */
void ls_pipe_note_move(void);

LS_C_END

#endif
