/* Connections of the clients of a virtual match: a client connects when it comes, and anew when its
 * session has lost its link, as lockstep-client does. */
#include "lockstep/common/base/assert.h"
#include "lockstep/tools/faultsim/virtual_match.h"

/* An attempt to connect anew takes no longer (client/program/client.c). */
#define ATTEMPT_NS (5 * LS_NS_PER_SECOND)

void virtual_client_set_ways(virtual_client *client, const ls_memory_link *up,
                             const ls_memory_link *down)
{
    client->up = *up;
    client->down = *down;
    if (client->transport) {
        ls_memory_client_set_links(client->transport, up, down);
    }
}

void virtual_client_set_links(virtual_client *client, const ls_memory_link *link)
{
    virtual_client_set_ways(client, link, link);
}

void virtual_client_cut(virtual_client *client)
{
    ls_memory_link cut = {.is_cut = true};
    virtual_client_set_links(client, &cut);
}

void virtual_match_set_links(virtual_match *run, const ls_memory_link *link)
{
    for (uint32_t i = 0; i < run->client_count; i++) {
        virtual_client_set_links(run->clients[i], link);
    }
}

/* ---- connecting ---- */

/* While the server is dead its machine says nothing: the attempt goes on until it is back. */
static void dial(virtual_client *client)
{
    virtual_match *run = client->run;
    if (client->transport || run->is_server_dead) {
        return;
    }
    ls_status status =
        ls_memory_client_create(run->network, run->server_transport, &client->transport);
    LS_ASSERT(status == LS_OK);
    ls_memory_client_set_links(client->transport, &client->up, &client->down);
}

static void hang_up(virtual_client *client)
{
    if (client->transport) {
        ls_transport_destroy(client->transport);
        client->transport = NULL;
    }
    client->server = 0;
}

void virtual_link_connect(virtual_client *client)
{
    hang_up(client);
    client->is_connecting = true;
    client->connecting_ns = client->run->now_ns;
    dial(client);
}

void virtual_client_come(virtual_client *client)
{
    if (client->is_absent) {
        virtual_match *run = client->run;
        client->is_absent = false;
        client->next_frame_ns = run->now_ns + 1 + client->index * 1700 * LS_NS_PER_US;
        client->since_ns = run->now_ns;
        client->life = run->life;
        virtual_link_connect(client);
    }
}

/* Of a connection that the session has given up it wants to hear nothing. */
void virtual_link_take_disconnect(virtual_client *client, ls_status reason)
{
    bool is_given_up =
        !client->is_connecting && ls_session_reconnect_ns(client->session) != UINT64_MAX;
    client->is_connecting = false;
    if (!is_given_up) {
        ls_session_disconnected(client->session, reason, virtual_client_ns(client));
    }
}

/* To connect anew: the first time it is patient. */
static bool is_attempt(const virtual_client *client)
{
    return client->is_connecting && ls_session_state_of(client->session) == LS_SESSION_RECONNECTING;
}

void virtual_link_pump(virtual_client *client)
{
    virtual_match *run = client->run;
    if (client->is_over) {
        return;
    }
    if (is_attempt(client) && run->now_ns >= client->connecting_ns + ATTEMPT_NS) {
        hang_up(client);
        virtual_link_take_disconnect(client, LS_TIMED_OUT);
    }
    if (client->is_connecting) {
        dial(client);
    } else if (virtual_client_ns(client) >= ls_session_reconnect_ns(client->session)) {
        virtual_link_connect(client);
    }
}
