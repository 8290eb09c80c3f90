#include "lockstep/common/system/endpoint_text.h"
#include "lockstep/protocol/portmap/router.h"

#include <miniupnpc/miniupnpc.h>
#include <miniupnpc/upnpcommands.h>
#include <miniupnpc/upnperrors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEARCH_MS = 2000,
    TTL = 2,
    ADDRESS_BYTES = 64, /* as the library's own programs have it */
    NUMBER_BYTES = 16,
    TEXT_BYTES = 512,
    CONFLICT = 718, /* another machine has the port outside */
    PERMANENT_ONLY = 725,
    PORT_SHIFTS = 8,
    PORTS_OF_ALL_FIRST = 1024,
    PAGE_BYTES = 256, /* of the address of a router's description */
};

/* One that leads to the Internet, or says that it does not yet: 1 to this. */
#if MINIUPNPC_API_VERSION >= 18
#define IGD_MAX 3
#else
#define IGD_MAX 2
#endif

/* Of the router that was found last: a search takes seconds. */
static char known[PAGE_BYTES];

/* Where a router takes its orders. */
typedef struct router {
    struct UPNPUrls urls;
    struct IGDdatas data;
    char own[ADDRESS_BYTES]; /* this machine, as the router reaches it */
} router;

static int find_igd(struct UPNPDev *devices, router *out)
{
#if MINIUPNPC_API_VERSION >= 18
    char outside[ADDRESS_BYTES];
    return UPNP_GetValidIGD(devices, &out->urls, &out->data, out->own, sizeof out->own, outside,
                            sizeof outside);
#else
    return UPNP_GetValidIGD(devices, &out->urls, &out->data, out->own, sizeof out->own);
#endif
}

static ls_status search(router *out, ls_text *why)
{
    int error = 0;
    struct UPNPDev *devices =
        upnpDiscover(SEARCH_MS, NULL, NULL, UPNP_LOCAL_PORT_ANY, 0, TTL, &error);
    if (!devices) {
        return ls_fail(LS_NOT_FOUND, why, "no router answers");
    }
    int found = find_igd(devices, out);
    freeUPNPDevlist(devices);
    if (found >= 1 && found <= IGD_MAX) {
        return LS_OK;
    }
    if (found != 0) {
        FreeUPNPUrls(&out->urls);
    }
    return ls_fail(LS_NOT_FOUND, why, "what answers is no router");
}

static ls_status find(router *out, ls_text *why)
{
    *out = (router){.own = ""};
    if (known[0] != '\0' &&
        UPNP_GetIGDFromUrl(known, &out->urls, &out->data, out->own, sizeof out->own) == 1) {
        return LS_OK;
    }
    known[0] = '\0';
    ls_status status = search(out, why);
    if (status == LS_OK) {
        ls_name_copy(known, sizeof known, out->urls.rootdescURL); /* cut: it is searched for anew */
    }
    return status;
}

static ls_status fail(int code, ls_text *why)
{
    const char *reason = strupnperror(code);
    return code > 0 ? ls_fail(LS_REFUSED, why, "the router refuses: %s",
                              reason ? reason : "it does not say why")
                    : ls_fail(LS_IO, why, "the router does not answer in full");
}

static int add(const router *at, uint16_t inside, uint16_t outside, uint32_t lifetime_s)
{
    char port[NUMBER_BYTES], own_port[NUMBER_BYTES], seconds[NUMBER_BYTES];
    snprintf(port, sizeof port, "%u", outside);
    snprintf(own_port, sizeof own_port, "%u", inside);
    snprintf(seconds, sizeof seconds, "%u", lifetime_s);
    return UPNP_AddPortMapping(at->urls.controlURL, at->data.first.servicetype, port, own_port,
                               at->own, "lockstep", "UDP", NULL, seconds);
}

/* Where another machine has the port, one further on; where a router knows no lifetimes, for ever.
 */
static ls_status add_any(const router *at, uint16_t inside, uint16_t wanted, ls_port_mapping *out,
                         ls_text *why)
{
    uint32_t lifetime_s = LS_ROUTER_LIFETIME_S;
    uint16_t outside = wanted;
    int code = add(at, inside, outside, lifetime_s);
    if (code == PERMANENT_ONLY) {
        lifetime_s = 0;
        code = add(at, inside, outside, lifetime_s);
    }
    for (uint32_t i = 0; i < PORT_SHIFTS && code == CONFLICT; i++) {
        outside = outside == UINT16_MAX ? PORTS_OF_ALL_FIRST : (uint16_t)(outside + 1);
        code = add(at, inside, outside, lifetime_s);
    }
    out->outside.port = outside;
    out->lifetime_s = lifetime_s == 0 ? LS_ROUTER_LIFETIME_S : lifetime_s;
    return code == UPNPCOMMAND_SUCCESS ? LS_OK : fail(code, why);
}

/* The router says what is in its table now, and its own address. */
static ls_status read_back(const router *at, ls_port_mapping *out, ls_text *why)
{
    char port[NUMBER_BYTES], client[ADDRESS_BYTES] = "", inside[NUMBER_BYTES] = "";
    char about[TEXT_BYTES] = "", enabled[NUMBER_BYTES] = "", lease[NUMBER_BYTES] = "";
    char address[ADDRESS_BYTES] = "";
    const char *service = at->data.first.servicetype;
    snprintf(port, sizeof port, "%u", out->outside.port);
    int code = UPNP_GetSpecificPortMappingEntry(at->urls.controlURL, service, port, "UDP", NULL,
                                                client, inside, about, enabled, lease);
    if (code == UPNPCOMMAND_SUCCESS) {
        code = UPNP_GetExternalIPAddress(at->urls.controlURL, service, address);
    }
    if (code != UPNPCOMMAND_SUCCESS) {
        return fail(code, why);
    }
    if (strcmp(client, at->own) != 0) {
        return ls_fail(LS_REFUSED, why, "the router leads the port to another machine");
    }
    uint16_t outside = out->outside.port;
    unsigned long number = strtoul(inside, NULL, 10);
    out->inside = number <= UINT16_MAX ? (uint16_t)number : 0;
    bool is_address = address[0] != '\0' && address[strspn(address, "0123456789.")] == '\0';
    return is_address ? ls_endpoint_resolve(address, outside, &out->outside, why)
                      : ls_fail(LS_REFUSED, why, "the router has no address outside");
}

static ls_status map(uint16_t inside, uint16_t wanted, ls_port_mapping *out, ls_text *why)
{
    router at;
    ls_port_mapping made = {0};
    ls_status status = find(&at, why);
    if (status != LS_OK) {
        return status;
    }
    status = add_any(&at, inside, wanted, &made, why);
    LS_THEN(status, read_back(&at, &made, why));
    FreeUPNPUrls(&at.urls);
    if (status == LS_OK) {
        *out = made;
    }
    return status;
}

static ls_status unmap(const ls_port_mapping *mapping, ls_text *why)
{
    router at;
    char port[NUMBER_BYTES];
    ls_status status = find(&at, why);
    if (status != LS_OK) {
        return status;
    }
    snprintf(port, sizeof port, "%u", mapping->outside.port);
    int code =
        UPNP_DeletePortMapping(at.urls.controlURL, at.data.first.servicetype, port, "UDP", NULL);
    FreeUPNPUrls(&at.urls);
    return code == UPNPCOMMAND_SUCCESS ? LS_OK : fail(code, why);
}

const ls_router_way ls_router_upnp = {"UPnP", map, unmap};
