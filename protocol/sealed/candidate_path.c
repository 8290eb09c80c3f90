#include "lockstep/protocol/sealed/candidate_path.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/limits.h"

/* More than any datagram needs; what comes beyond is not saved up for a burst. */
#define CREDIT_BYTES_MAX 2048u

void ls_candidate_path_receive(ls_candidate_path *path, const ls_endpoint *from, size_t size)
{
    if (!path->is_there || !ls_endpoint_is_equal(&path->endpoint, from)) {
        *path = (ls_candidate_path){.endpoint = *from, .is_there = true};
    }
    size_t credit_bytes = path->credit_bytes + size + ls_udp_header_bytes(from);
    path->credit_bytes = (uint32_t)LS_MIN(credit_bytes, CREDIT_BYTES_MAX);
}

size_t ls_candidate_path_room(const ls_candidate_path *path)
{
    size_t header_bytes = ls_udp_header_bytes(&path->endpoint);
    return path->is_there && path->credit_bytes > header_bytes ? path->credit_bytes - header_bytes
                                                               : 0;
}

void ls_candidate_path_take(ls_candidate_path *path, size_t size)
{
    LS_ASSERT(size <= ls_candidate_path_room(path));
    path->credit_bytes -= (uint32_t)(size + ls_udp_header_bytes(&path->endpoint));
}
