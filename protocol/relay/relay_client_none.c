/* For a page, whose pipe leads to the server itself: no code is meant, and no relay asked. */
#include "lockstep/protocol/relay/relay_client.h"

bool ls_relay_code_is_meant(const char *text)
{
    (void)text;
    return false;
}

ls_status ls_relay_code_parse(const char *text, ls_relay_code *code, const char **place,
                              ls_text *why)
{
    (void)text;
    (void)code;
    (void)place;
    (void)why;
    return LS_UNSUPPORTED;
}

ls_status ls_relay_find(const char *place, ls_endpoint *relay, ls_text *why)
{
    (void)place;
    (void)relay;
    (void)why;
    return LS_UNSUPPORTED;
}

ls_status ls_relay_client_create(const ls_relay_client_config *config, ls_datagram_socket *inner,
                                 const ls_allocator *allocator, ls_relay_client **out)
{
    (void)config;
    (void)inner;
    (void)allocator;
    (void)out;
    return LS_UNSUPPORTED;
}

ls_status ls_relay_client_meet(ls_relay_client *client, const ls_clock *clock, ls_text *why)
{
    (void)client;
    (void)clock;
    (void)why;
    return LS_UNSUPPORTED;
}

ls_datagram_socket *ls_relay_client_socket(ls_relay_client *client)
{
    (void)client;
    return NULL;
}

void ls_relay_client_advance(ls_relay_client *client, uint64_t now_ns)
{
    (void)client;
    (void)now_ns;
}

const ls_endpoint *ls_relay_client_server(const ls_relay_client *client)
{
    (void)client;
    return NULL;
}

bool ls_relay_client_is_direct(const ls_relay_client *client)
{
    (void)client;
    return true;
}

const uint8_t *ls_relay_client_server_key(const ls_relay_client *client)
{
    (void)client;
    return NULL;
}
