/* Directory: the games of a relay's servers that want to be found. An entry is a registration's: it
 * is shown once the server has returned a random number that was sent to it, and for 30 s. Answers
 * those who look, each within its limits. Time is an argument; all memory but
 * that of JSON is taken at create. Called by the relay and by directory_http. */
#ifndef LOCKSTEP_SERVER_DIRECTORY_DIRECTORY_H
#define LOCKSTEP_SERVER_DIRECTORY_DIRECTORY_H

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/status.h"
#include "lockstep/protocol/relay/relay_listing.h"

typedef struct ls_directory ls_directory;

/* With places for so many registrations, of which `games_max` are shown at a time. Needs
 * ls_cipher_init. NO_MEMORY. */
ls_status ls_directory_create(uint32_t places, uint32_t games_max, const ls_allocator *allocator,
                              ls_directory **out);
void ls_directory_destroy(ls_directory *directory); /* NULL is allowed */

/* The server at a place has registered: its counter begins anew. Its entry stays. */
void ls_directory_begin(ls_directory *directory, uint32_t place);
/* Its registration is over. */
void ls_directory_remove(ls_directory *directory, uint32_t place);

/* A LIST of the registration at a place, whose tag is right; `code` is the relay's part of its
 * code. False when it is not to be answered: it is an old one, or one too many. */
bool ls_directory_receive(ls_directory *directory, uint32_t place,
                          const char code[LS_RELAY_NAME_CHARACTERS], const ls_relay_list *list,
                          uint64_t now_ns, ls_relay_packet *listed);

/* Writes GAMES for a LOOK of an address that has returned its cookie, and returns its size; 0: the
 * address, or all together, look too often. */
size_t ls_directory_look(ls_directory *directory, const ls_endpoint *from,
                         const ls_relay_packet *look, uint64_t now_ns,
                         uint8_t bytes[LS_RELAY_GAMES_BYTES_MAX]);

/* To be called about once a second: forgets what was not renewed. */
void ls_directory_expire(ls_directory *directory, uint64_t now_ns);

/* That are shown. */
uint32_t ls_directory_count(const ls_directory *directory);
/* The JSON of GET /v1/games, which is so long, without a final NUL. The part of each game was made
 * when it was renewed: thousands of them do not hold a relay up. */
size_t ls_directory_json_bytes(const ls_directory *directory);
void ls_directory_write_json(const ls_directory *directory, char *out);

#endif
