#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/protocol/portmap/router.h"

#include <natpmp.h>

#define PATIENCE_NS (2 * LS_NS_PER_SECOND) /* of the 64 s that the library would take */

static ls_status fail(int code, ls_text *why)
{
    switch (code) {
    case NATPMP_ERR_CANNOTGETGATEWAY:
        return ls_fail(LS_NOT_FOUND, why, "this network has no router");
    case NATPMP_TRYAGAIN:
    case NATPMP_ERR_NOGATEWAYSUPPORT:
        return ls_fail(LS_NOT_FOUND, why, "the router does not answer");
    case NATPMP_ERR_NOTAUTHORIZED:
        return ls_fail(LS_REFUSED, why, "the router is set up to give no ports");
    case NATPMP_ERR_NETWORKFAILURE:
        return ls_fail(LS_REFUSED, why, "the router has no address outside");
    case NATPMP_ERR_OUTOFRESOURCES:
        return ls_fail(LS_REFUSED, why, "the router has no port left");
    case NATPMP_ERR_UNSUPPORTEDVERSION:
    case NATPMP_ERR_UNSUPPORTEDOPCODE:
    case NATPMP_ERR_UNDEFINEDERROR:
        return ls_fail(LS_REFUSED, why, "the router refuses");
    default:
        return ls_fail(LS_IO, why, "the request fails (%d)", code);
    }
}

/* The answer to the request that was sent; the library repeats that meanwhile. */
static ls_status await(natpmp_t *session, uint16_t type, natpmpresp_t *answer, ls_text *why)
{
    const ls_clock clock = ls_clock_system();
    const uint64_t until_ns = ls_clock_now_ns(&clock) + PATIENCE_NS;
    int code = NATPMP_TRYAGAIN;
    while (code == NATPMP_TRYAGAIN && ls_clock_now_ns(&clock) < until_ns) {
        struct timeval left = {0};
        (void)getnatpmprequesttimeout(session, &left);
        uint64_t wait_ns = left.tv_sec < 0 ? 0
                                           : (uint64_t)left.tv_sec * LS_NS_PER_SECOND +
                                                 (uint64_t)left.tv_usec * LS_NS_PER_US;
        (void)ls_socket_await(session->s, LS_MIN(wait_ns, PATIENCE_NS));
        code = readnatpmpresponseorretry(session, answer);
    }
    if (code != 0) {
        return fail(code, why);
    }
    return answer->type == type
               ? LS_OK
               : ls_fail(LS_REFUSED, why, "the router answers something else than it was asked");
}

static ls_status request_mapping(natpmp_t *session, uint16_t inside, uint16_t wanted,
                                 uint32_t lifetime_s, natpmpresp_t *answer, ls_text *why)
{
    int sent = sendnewportmappingrequest(session, NATPMP_PROTOCOL_UDP, inside, wanted, lifetime_s);
    return sent < 0 ? fail(sent, why) : await(session, NATPMP_RESPTYPE_UDPPORTMAPPING, answer, why);
}

static ls_status request(natpmp_t *session, uint16_t inside, uint16_t wanted, ls_port_mapping *out,
                         ls_text *why)
{
    natpmpresp_t address, mapping;
    int sent = sendpublicaddressrequest(session);
    ls_status status =
        sent < 0 ? fail(sent, why) : await(session, NATPMP_RESPTYPE_PUBLICADDRESS, &address, why);
    LS_THEN(status, request_mapping(session, inside, wanted, LS_ROUTER_LIFETIME_S, &mapping, why));
    if (status == LS_OK) {
        *out = (ls_port_mapping){
            .outside = ls_endpoint_from_ipv4(address.pnu.publicaddress.addr.s_addr,
                                             mapping.pnu.newportmapping.mappedpublicport),
            .inside = mapping.pnu.newportmapping.privateport,
            .lifetime_s = mapping.pnu.newportmapping.lifetime};
    }
    return status;
}

bool ls_router_gateway(ls_endpoint *out)
{
    natpmp_t session;
    int code = initnatpmp(&session, 0, 0);
    if (code >= 0) {
        *out = ls_endpoint_from_ipv4(session.gateway, 0);
    }
    (void)closenatpmp(&session);
    return code >= 0;
}

static ls_status map(uint16_t inside, uint16_t wanted, ls_port_mapping *out, ls_text *why)
{
    natpmp_t session;
    int code = initnatpmp(&session, 0, 0);
    ls_status status = code < 0 ? fail(code, why) : request(&session, inside, wanted, out, why);
    (void)closenatpmp(&session);
    return status;
}

static ls_status unmap(const ls_port_mapping *mapping, ls_text *why)
{
    natpmp_t session;
    natpmpresp_t answer;
    int code = initnatpmp(&session, 0, 0);
    ls_status status =
        code < 0 ? fail(code, why) : request_mapping(&session, mapping->inside, 0, 0, &answer, why);
    (void)closenatpmp(&session);
    return status;
}

const ls_router_way ls_router_natpmp = {"NAT-PMP", map, unmap};
