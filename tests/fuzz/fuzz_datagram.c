/* Fuzzes the check of datagrams before ENet sees them.
 *
 *   u16 received  the newest reliable packet taken in order
 *   datagram      everything that is left
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/enet/enet_datagram.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    uint16_t received = fuzz_take_u16(&input);
    ls_datagram_rejection rejection = ls_enet_datagram_check(input.bytes, input.size, received);
    LS_ASSERT(rejection >= LS_DATAGRAM_ACCEPTED && rejection < LS_DATAGRAM_REJECTION_COUNT);
    LS_ASSERT(strcmp(ls_datagram_rejection_name(rejection), "ACCEPTED") == 0 ||
              rejection != LS_DATAGRAM_ACCEPTED);
    if (rejection == LS_DATAGRAM_ACCEPTED) {
        /* The last command ends where the datagram does: a byte less cuts it short. */
        LS_ASSERT(ls_enet_datagram_check(input.bytes, input.size - 1, received) !=
                  LS_DATAGRAM_ACCEPTED);
    }
    return 0;
}
