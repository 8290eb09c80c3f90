/* Fuzzes what a router answers in PCP: any bytes. */
#include "lockstep/common/base/assert.h"
#include "lockstep/protocol/portmap/pcp_packet.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ls_pcp_map map = {.own.port = 7300, .wanted = 7300, .lifetime_s = 3600};
    const ls_port_mapping untouched = {.inside = 9, .lifetime_s = 9};
    ls_port_mapping read = untouched;
    ls_text why = {{0}};
    ls_status status = ls_pcp_map_read(&map, data, size, &read, &why);
    LS_ASSERT(status == LS_OK || status == LS_REFUSED || status == LS_NOT_FOUND);
    if (status == LS_OK) {
        LS_ASSERT(size >= LS_PCP_MAP_BYTES && data[3] == 0);
        LS_ASSERT(read.inside == (data[40] << 8 | data[41]) && why.bytes[0] == '\0');
    } else {
        LS_ASSERT(memcmp(&read, &untouched, sizeof read) == 0 && why.bytes[0] != '\0');
    }
    return 0;
}
