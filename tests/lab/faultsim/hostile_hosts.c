#include "lockstep/tests/lab/faultsim/hostile_hosts.h"

#include "lockstep/protocol/sealed/key_exchange.h"
#include "lockstep/tests/lab/virtual/sealed_network.h"

#include <string.h>

enum {
    HOSTS = 1024, /* of which a flood comes */
    FIRST_PORT = 1000,
    SHORT_BYTES = 64,
};

typedef struct flood {
    virtual_network *network;
    ls_rng *rng;
    uint8_t bytes[LS_SEALED_DATAGRAM_BYTES_MAX];
} flood;

static uint32_t below(flood *out, uint32_t bound)
{
    return ls_rng_below(out->rng, bound);
}

static ls_endpoint draw_host(flood *out)
{
    ls_endpoint host = ls_endpoint_from_ipv4(0, FIRST_PORT);
    uint32_t number = below(out, HOSTS);
    host.address[12] = 198;
    host.address[13] = 18;
    host.address[14] = (uint8_t)(number >> 8);
    host.address[15] = (uint8_t)number;
    return host;
}

static void fill(flood *out, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out->bytes[i] = (uint8_t)ls_rng_next(out->rng);
    }
}

static size_t make_junk(flood *out)
{
    size_t size = below(out, sizeof out->bytes + 1);
    fill(out, size);
    return size;
}

/* A sealed packet that no key has sealed, for one of the first connections. */
static size_t make_forged(flood *out)
{
    size_t size = 20 + below(out, 100);
    fill(out, size);
    out->bytes[0] = (uint8_t)(0x80 + 16 * below(out, 5));
    out->bytes[1] = (uint8_t)below(out, 8);
    return size;
}

/* Some are too short to be answered. */
static size_t make_request(flood *out)
{
    ls_request request = {.version = LS_KEY_EXCHANGE_VERSION, .asks_key = below(out, 2) == 0};
    fill(out, sizeof request.client_key);
    memcpy(request.client_key, out->bytes, sizeof request.client_key);
    size_t size = ls_request_write(&request, out->bytes);
    return below(out, 4) == 0 ? below(out, SHORT_BYTES) : size;
}

/* A datagram that a client has sent, as it was or with a bit of it flipped. */
static size_t make_copy(flood *out, ls_endpoint *from)
{
    const sealed_network_datagram *heard =
        sealed_network_overhear(out->network, below(out, SEALED_NETWORK_OVERHEARD));
    memcpy(out->bytes, heard->bytes, heard->size);
    if (below(out, 2) == 0 && heard->size > 0) {
        uint32_t bit = below(out, (uint32_t)heard->size * 8);
        out->bytes[bit / 8] = (uint8_t)(out->bytes[bit / 8] ^ 1u << bit % 8);
    }
    if (below(out, 2) == 0) {
        *from = heard->from;
    }
    return heard->size;
}

void faultsim_hostile_hosts_flood(virtual_match *run, ls_rng *rng, uint32_t datagrams)
{
    flood out = {.network = run->network, .rng = rng};
    for (uint32_t left = datagrams; left > 0; left--) {
        ls_endpoint from = draw_host(&out);
        uint32_t kind = below(&out, 4);
        size_t size = kind == 0   ? make_junk(&out)
                      : kind == 1 ? make_forged(&out)
                      : kind == 2 ? make_request(&out)
                                  : make_copy(&out, &from);
        sealed_network_inject(out.network, &from, out.bytes, size);
    }
}
