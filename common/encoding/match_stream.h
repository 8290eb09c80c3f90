/* Match stream: what identifies a match, as lists of fields that every format kept on disk shares:
 * configuration, digests, build fingerprint. */
#ifndef LOCKSTEP_COMMON_ENCODING_MATCH_STREAM_H
#define LOCKSTEP_COMMON_ENCODING_MATCH_STREAM_H

#include "lockstep/common/base/build_fingerprint.h"
#include "lockstep/common/base/byte_stream.h"
#include "lockstep/common/simulation/sim_instance.h"

/* The configuration as every version of the formats has it; and what later ones may have behind the
 * rest: an exact tick rate, strings, and sizes and digests of files. */
void ls_sim_config_stream(ls_byte_stream *stream, ls_sim_config *config);
void ls_sim_config_later_stream(ls_byte_stream *stream, ls_sim_config *config);

/* The same as the last list of a record, which is not there where there is nothing to tell: so that
 * records without strings and files are as they always were. */
void ls_sim_config_end_stream(ls_byte_stream *stream, ls_sim_config *config);

void ls_sim_digests_stream(ls_byte_stream *stream, ls_sim_digests *digests);
void ls_build_fingerprint_stream(ls_byte_stream *stream, ls_build_fingerprint *print);

#endif
