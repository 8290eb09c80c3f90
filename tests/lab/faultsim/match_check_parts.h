/* Match check parts: the functions that its files share. check_common.c is used by all others,
 * match_check.c hands on to them what it observes. */
#ifndef LOCKSTEP_TESTS_LAB_FAULTSIM_MATCH_CHECK_PARTS_H
#define LOCKSTEP_TESTS_LAB_FAULTSIM_MATCH_CHECK_PARTS_H

#include "lockstep/tests/lab/faultsim/match_check.h"

/* A client that has lost its link is back this soon after the last fault: the longest pause between
 * two attempts, an attempt that fails, and the way into the match. */
#define CHECK_RETURN_MAX_NS (12 * LS_NS_PER_SECOND)

/* When an input reached the server. */
enum {
    CHECK_ARRIVED_NOT,
    CHECK_ARRIVED_IN_TIME,
    CHECK_ARRIVED_LATE,
    CHECK_ARRIVING, /* in the packet that the match is just looking at */
};

/* ---- check_common.c ---- */

uint64_t match_check_dt_ns(const match_check *check);

/* The client whose newest connection this is; NULL: it belongs to no client. */
client_check *match_check_client_of(const match_check *check, ls_peer_id peer);

void match_check_record_tick(check_tick *taken, const ls_tick_inputs *inputs,
                             uint64_t state_digest);
bool match_check_is_as_closed(const check_tick *closed, const ls_tick_inputs *inputs);

/* The client's state before `tick` is not the server's. */
void client_check_note_difference(client_check *client, ls_tick tick);

/* The ticks of the server that the client steps on; the digest of the state behind them. */
check_life client_check_life_of(const client_check *client);
uint64_t client_check_end_state_of(const client_check *client);

/* ---- check_clients.c ---- */

void client_check_input(client_check *client, ls_tick tick, const uint8_t *bytes, uint32_t size);
void client_check_observe_steps(client_check *client);
void client_check_frame(client_check *client);
void client_check_event(client_check *client, const ls_session_event *event);

/* The state that the client shows now, before it gets another one or the run ends. */
void client_check_last_state(client_check *client);

/* Departures, ends and absences. */
void match_check_leaving(match_check *check, const ls_match_event *event);
void client_check_over(client_check *client, const ls_session_event *event);
void match_check_absence(match_check *check, ls_tick tick);

/* ---- check_server.c ---- */

void match_check_observe_steps(match_check *check);
void match_check_event(match_check *check, const ls_match_event *event);
void match_check_silence(match_check *check);
void match_check_server_died(void *user, virtual_match *run);
void match_check_server_restored(void *user, virtual_match *run);
void match_check_server_lost(void *user, ls_status status, const ls_text *why);

/* Around ls_match_receive, and around ls_session_receive. */
void match_check_receives(void *user, const ls_transport_event *event);
void match_check_received(void *user, const ls_transport_event *event);
void client_check_receives(client_check *client, const ls_transport_event *event);
void client_check_received(client_check *client);

#endif
