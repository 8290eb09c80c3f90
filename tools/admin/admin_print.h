/* Admin print: answers of the API as tables and lines for a person, on standard output. Looks at
 * what it expects alone, and makes every text printable: names come from players. Called by
 * admin_command. */
#ifndef LOCKSTEP_TOOLS_ADMIN_ADMIN_PRINT_H
#define LOCKSTEP_TOOLS_ADMIN_ADMIN_PRINT_H

#include "lockstep/common/program/json_read.h"

void admin_print_service(const ls_json *answer);
void admin_print_rooms(const ls_json *answer);
void admin_print_room(const ls_json *answer);
void admin_print_workers(const ls_json *answer);
void admin_print_opened(const ls_json *answer);
void admin_print_result(const ls_json *answer);

#endif
