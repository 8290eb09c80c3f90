/* Network summary: what a server's transport dropped, and who was kept out, by reason, for the JSON
 * report. Called by server.c. */
#ifndef LOCKSTEP_SERVER_PROGRAM_NETWORK_SUMMARY_H
#define LOCKSTEP_SERVER_PROGRAM_NETWORK_SUMMARY_H

#include "lockstep/common/program/summary.h"
#include "lockstep/protocol/sealed/token_gate.h"
#include "lockstep/protocol/transport/transport.h"

/* `gate` is NULL where no tokens are taken. */
void ls_network_summarize(const ls_transport *transport, const ls_token_gate *gate,
                          ls_summary_network *out);

#endif
