/* Door program: the process of a door: an event loop with the port for pages on the one side and
 * the server that started it on the other. It ends with that. All that pages send is read
 * here, beside the process that plays. Called by main. */
#ifndef LOCKSTEP_SERVER_DOOR_DOOR_PROGRAM_H
#define LOCKSTEP_SERVER_DOOR_DOOR_PROGRAM_H

#include "lockstep/common/program/console.h"

ls_exit_code ls_door_program_run(ls_console *console);

#endif
