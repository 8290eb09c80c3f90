/* Fuzzes what a door reads of STUN and DCEP: nothing past the end is looked at, a request is proven
 * by its password alone, and its answer is one that the same password proves. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/door/rtc_formats.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

static void read_request(const uint8_t *bytes, size_t size)
{
    static const char password[] = "VOkJxbRl1RmTxUk/WvJxBt";
    ls_stun_request request;
    uint8_t answer[LS_STUN_ANSWER_BYTES_MAX];
    if (!ls_stun_read(bytes, size, &request)) {
        return;
    }
    LS_ASSERT(request.signed_bytes + 24 <= size && request.name[0] != '\0' &&
              strlen(request.name) < LS_STUN_NAME_BYTES_MAX && !strchr(request.name, ':'));
    LS_ASSERT(!ls_stun_is_proven(bytes, &request, "") ||
              !ls_stun_is_proven(bytes, &request, password));
    ls_endpoint from = {.port = 1};
    memcpy(from.address, request.id, sizeof request.id);
    size_t answer_size = ls_stun_answer(&request, &from, password, answer);
    ls_stun_request proof = {.signed_bytes = answer_size - 32};
    LS_ASSERT(answer_size <= LS_STUN_ANSWER_BYTES_MAX);
    LS_ASSERT(ls_stun_is_proven(answer, &proof, password));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1); /* so that a look behind the end is seen */
    ls_dcep_open open;
    LS_ASSERT(copy);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    read_request(copy, size);
    LS_ASSERT(!ls_dcep_read(copy, size, &open) || size >= 12);
    free(copy);
    return 0;
}
