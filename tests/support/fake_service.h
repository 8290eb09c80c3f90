/* Fake service: an ls_service_view with rooms that nobody plays in, for tests of what stands in
 * front of a service. Commands change its rooms and are noted; those for the room "slow" are
 * answered by fake_service_answer, later. */
#ifndef LOCKSTEP_TESTS_SUPPORT_FAKE_SERVICE_H
#define LOCKSTEP_TESTS_SUPPORT_FAKE_SERVICE_H

#include "lockstep/server/service/service_view.h"

#define FAKE_ROOMS_MAX 600u
#define FAKE_WORKERS 2u
#define FAKE_HOSTILE_NAME "<script>boo()</script>"

typedef struct fake_service fake_service;

/* With two rooms, arena-1 and arena-2, each with two players. */
fake_service *fake_service_create(void);
void fake_service_destroy(fake_service *fake);

/* Good as long as the fake is there. */
const ls_service_view *fake_service_view(fake_service *fake);

/* A room without players, in its place by name; to be filled in. */
ls_room_report *fake_service_add_room(fake_service *fake, const char *name);
ls_room_report *fake_service_room(fake_service *fake, const char *name); /* NULL: there is none */
void fake_service_end_room(fake_service *fake, const char *name);
void fake_service_add_event(fake_service *fake, const char *kind, const char *room,
                            const char *text);

void fake_service_set_ready(fake_service *fake, bool is_ready);
uint32_t fake_service_command_count(const fake_service *fake);
const ls_service_command *fake_service_last_command(const fake_service *fake);

/* Answers the commands for "slow". */
void fake_service_answer(fake_service *fake);

#endif
