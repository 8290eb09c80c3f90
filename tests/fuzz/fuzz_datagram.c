/* Fuzzes the check of datagrams before ENet sees them.
 *
 *   u16 received  the newest reliable packet taken in order
 *   datagram      everything that is left
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/enet/enet_datagram.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

static ls_datagram_rejection check(const uint8_t *bytes, size_t size, uint16_t received,
                                   ls_enet_header *header)
{
    ls_datagram_rejection rejection = ls_enet_datagram_read(bytes, size, header);
    if (rejection != LS_DATAGRAM_ACCEPTED) {
        return rejection;
    }
    LS_ASSERT(header->bytes == (header->has_time ? 4 : 2) && header->bytes <= size);
    LS_ASSERT(header->is_connect ? header->seat == 4095 : header->seat < 4095);
    LS_ASSERT(header->session <= 3);
    rejection = ls_enet_datagram_check(bytes, size, header, received);
    ls_enet_plain plain;
    if (ls_enet_datagram_is_plain(bytes, size, header, &plain)) {
        LS_ASSERT(rejection == LS_DATAGRAM_ACCEPTED);
        LS_ASSERT(plain.bytes > bytes && plain.bytes + plain.size == bytes + size);
    }
    return rejection;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    uint16_t received = fuzz_take_u16(&input);
    ls_enet_header header;
    ls_enet_header untouched;
    memset(&header, 0xcc, sizeof header);
    untouched = header;
    ls_datagram_rejection rejection = check(input.bytes, input.size, received, &header);
    LS_ASSERT(rejection >= LS_DATAGRAM_ACCEPTED && rejection < LS_DATAGRAM_REJECTION_COUNT);
    LS_ASSERT(strcmp(ls_datagram_rejection_name(rejection), "ACCEPTED") == 0 ||
              rejection != LS_DATAGRAM_ACCEPTED);
    if (rejection != LS_DATAGRAM_ACCEPTED) {
        return 0;
    }
    LS_ASSERT(memcmp(&header, &untouched, sizeof header) != 0);
    if (header.is_connect) {
        LS_ASSERT(input.size == LS_ENET_CONNECT_BYTES);
    }
    /* The last command ends where the datagram does: a byte less cuts it short. */
    LS_ASSERT(check(input.bytes, input.size - 1, received, &header) != LS_DATAGRAM_ACCEPTED);
    return 0;
}
