/* Handshake: what two machines compare before they share a match, and the words for a difference.
 * Pure functions over messages. */
#ifndef LOCKSTEP_PROTOCOL_WIRE_HANDSHAKE_H
#define LOCKSTEP_PROTOCOL_WIRE_HANDSHAKE_H

#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/protocol/wire/message.h"

/* A HELLO of this build. */
ls_hello ls_hello_make(const char *player_name);

/* The name that a HELLO's sender plays under: without blanks around it, or "player". */
void ls_hello_player_name(const ls_hello *hello, char name[LS_PLAYER_NAME_BYTES_MAX]);

/* Lets the arithmetic check cover the maths library too; see ls_simulation_maths. 0: it does not.
 */
void ls_hello_cover_maths(ls_hello *hello, uint64_t maths_check);

/* OK, MALFORMED (not our magic), PROTOCOL_MISMATCH or ARITHMETIC_MISMATCH; `why` names the item and
 * both values. `maths_check` as above, of the server. */
ls_status ls_hello_check(const ls_hello *hello, uint64_t maths_check, ls_text *why);

/* The READY of an instance. */
ls_ready ls_ready_make(const ls_sim_instance *instance);

/* Compares a client's READY with the server's own, of this simulation: OK, or the first of
 * SIMULATION_VERSION_MISMATCH, PARAMETER_MISMATCH, SCHEMA_MISMATCH, CONTENT_MISMATCH,
 * INITIAL_STATE_MISMATCH that applies. */
ls_status ls_ready_check(const ls_simulation *simulation, const ls_ready *client,
                         const ls_ready *server, ls_text *why);

/* ---- which field it is ---- */

#define LS_READY_PARTS_MAX 48u

/* Short hashes of the fields of a state, in the order of their offsets, some together where there
 * are more than LS_READY_PARTS_MAX: of what the schema says of them, and of what is in them. */
typedef struct ls_ready_parts {
    uint32_t field_count; /* 0: there is no schema, or this machine has other byte order */
    uint16_t schema[LS_READY_PARTS_MAX];
    uint16_t initial[LS_READY_PARTS_MAX];
} ls_ready_parts;

/* Of an instance in its first state. */
ls_ready_parts ls_ready_parts_make(const ls_sim_instance *instance);

/* The text of a refusal, with the hashes of the server's fields where it is of SCHEMA_MISMATCH or
 * INITIAL_STATE_MISMATCH. */
ls_text ls_ready_parts_with(const ls_ready_parts *server, ls_status status, const char *why);

/* Replaces them by the client's name of the first field that differs, as far as it is known. The
 * text comes from the network. */
void ls_ready_parts_name(const ls_sim_instance *client, ls_status status, ls_text *text);

#endif
