/* Match stream: what identifies a match, as lists of fields that every format kept on disk shares:
 * configuration, digests, build fingerprint. Called by the desync bundle and the journal. */
#ifndef LOCKSTEP_COMMON_JOURNAL_MATCH_STREAM_H
#define LOCKSTEP_COMMON_JOURNAL_MATCH_STREAM_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/simulation/sim_instance.h"

void ls_sim_config_stream(ls_byte_stream *stream, ls_sim_config *config);
void ls_sim_digests_stream(ls_byte_stream *stream, ls_sim_digests *digests);
void ls_build_fingerprint_stream(ls_byte_stream *stream, ls_build_fingerprint *print);

#endif
