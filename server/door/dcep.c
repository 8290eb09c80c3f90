#include "lockstep/server/door/dcep.h"

#include <string.h>

enum {
    HEADER_BYTES = 12,
    OPEN = 0x03,
    ACK = 0x02,
    UNORDERED = 0x80,
};

const uint8_t ls_dcep_ack = ACK;

static uint32_t load_16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

bool ls_dcep_read(const uint8_t *bytes, size_t size, ls_dcep_open *out)
{
    static const char ours[] = "lockstep";
    if (size < HEADER_BYTES || bytes[0] != OPEN || (bytes[1] & ~UNORDERED) > 2) {
        return false;
    }
    size_t label = load_16(bytes + 8);
    size_t protocol = load_16(bytes + 10);
    if (label + protocol != size - HEADER_BYTES) {
        return false;
    }
    const uint8_t *name = bytes + HEADER_BYTES + label;
    *out = (ls_dcep_open){.is_ordered = (bytes[1] & UNORDERED) == 0,
                          .is_reliable = (bytes[1] & ~UNORDERED) == 0,
                          .retransmissions = load_16(bytes + 4) << 16 | load_16(bytes + 6),
                          .is_ours = protocol == 0 || (protocol == sizeof ours - 1 &&
                                                       memcmp(name, ours, sizeof ours - 1) == 0)};
    return true;
}
