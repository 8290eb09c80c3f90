#include "lockstep/server/door/door_switch.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/udp_socket.h"
#include "lockstep/protocol/sealed/address_limits.h"

#include <string.h>

enum {
    RECEIVED_PER_TURN_MAX = 512, /* before others of the loop have theirs */
};

static const ls_rate_limit PLAYER_LIMIT = {LS_NS_PER_SECOND / LS_DOOR_RATE, LS_DOOR_BURST};

struct ls_door_player {
    ls_door_switch *of;
    ls_endpoint endpoint;
    ls_door_pipe pipe;
    ls_rate_use rate;
    uint64_t answered_ns;
};

struct ls_door_switch {
    ls_door_page *page;
    ls_event_loop *loop;
    ls_datagram_socket *socket;
    ls_loop_source *watch;
    uint32_t next; /* number that is looked at first: one that left is not used again at once */
    ls_door_player *players[LS_DOOR_PLAYERS_MAX];
    uint32_t waiting;
    uint8_t carried[LS_UDP_WAITING_MAX][LS_DOOR_CARRIED_BYTES_MAX + LS_DOOR_CARRY_BYTES];
};

/* ---- from the server ---- */

static bool is_same_place(const ls_endpoint *a, const ls_endpoint *b)
{
    return a->port == b->port && memcmp(a->address, b->address, sizeof a->address) == 0;
}

static void pass_on(const ls_door_switch *of, ls_udp_datagram *came, uint64_t now_ns)
{
    ls_endpoint to;
    if (!ls_endpoint_is_equal(&came->from, &of->page->server) ||
        !ls_door_carry_take(came->bytes, &came->size, of->page->secret, &to)) {
        return;
    }
    uint32_t number = to.via - LS_DOOR_VIA_FIRST;
    ls_door_player *player = number < LS_DOOR_PLAYERS_MAX ? of->players[number] : NULL;
    if (player && is_same_place(&player->endpoint, &to)) {
        player->answered_ns = now_ns;
        ls_door_count(&of->page->sent);
        player->pipe.send(player->pipe.user, came->bytes, came->size, now_ns);
    }
}

static void on_server(void *user, uint64_t now_ns)
{
    ls_door_switch *of = user;
    ls_udp_datagram came;
    ls_udp_receipt receipt = LS_UDP_RECEIVED;
    ls_datagram_socket_begin_turn(of->socket, now_ns);
    for (uint32_t i = 0; i < RECEIVED_PER_TURN_MAX || ls_datagram_socket_has_received(of->socket);
         i++) {
        receipt = ls_datagram_socket_receive(of->socket, &came);
        if (receipt == LS_UDP_EMPTY) {
            return;
        }
        if (receipt == LS_UDP_RECEIVED) {
            pass_on(of, &came, now_ns);
        }
    }
}

/* ---- to the server ---- */

void ls_door_switch_flush(ls_door_switch *of)
{
    if (of->waiting > 0) {
        of->waiting = 0;
        (void)ls_datagram_socket_flush(of->socket);
    }
}

void ls_door_player_forward(ls_door_player *player, const uint8_t *bytes, size_t size,
                            uint64_t now_ns)
{
    ls_door_switch *of = player->of;
    if (size == 0 || size > LS_DOOR_CARRIED_BYTES_MAX ||
        !ls_rate_use_spend(&player->rate, &PLAYER_LIMIT, now_ns)) {
        ls_door_count(&of->page->dropped);
        return;
    }
    if (of->waiting == LS_UDP_WAITING_MAX) {
        ls_door_switch_flush(of);
    }
    uint8_t *carried = of->carried[of->waiting++];
    memcpy(carried, bytes, size);
    size = ls_door_carry_add(carried, size, &player->endpoint, of->page->secret);
    ls_door_count(&of->page->received);
    ls_datagram_socket_send(of->socket, &of->page->server, carried, size);
}

/* ---- players ---- */

ls_door_player *ls_door_switch_add(ls_door_switch *of, const ls_endpoint *from,
                                   const ls_door_pipe *pipe)
{
    for (uint32_t i = 0; i < LS_DOOR_PLAYERS_MAX; i++) {
        uint32_t number = (of->next + i) % LS_DOOR_PLAYERS_MAX;
        if (of->players[number]) {
            continue;
        }
        ls_door_player *made = ls_allocate(ls_allocator_heap(), sizeof *made);
        if (made) {
            *made = (ls_door_player){.of = of,
                                     .endpoint = *from,
                                     .pipe = *pipe,
                                     .answered_ns = ls_event_loop_now_ns(of->loop)};
            made->endpoint.via = (uint16_t)(LS_DOOR_VIA_FIRST + number);
            of->players[number] = made;
            of->next = number + 1;
            ls_door_count(&of->page->opened);
            ls_door_count(&of->page->players);
        }
        return made;
    }
    return NULL;
}

void ls_door_switch_remove(ls_door_player *player)
{
    if (player) {
        ls_door_switch *of = player->of;
        of->players[player->endpoint.via - LS_DOOR_VIA_FIRST] = NULL;
        atomic_fetch_sub_explicit(&of->page->players, 1, memory_order_relaxed);
        ls_release(ls_allocator_heap(), player);
    }
}

uint64_t ls_door_player_answered_ns(const ls_door_player *player)
{
    return player->answered_ns;
}

/* ---- the whole ---- */

ls_status ls_door_switch_create(int descriptor, ls_door_page *page, ls_event_loop *loop,
                                ls_door_switch **out)
{
    ls_door_switch *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    made->page = page;
    made->loop = loop;
    ls_status status = ls_udp_socket_adopt(descriptor, ls_allocator_heap(), &made->socket);
    if (status == LS_OK) {
        const ls_loop_handler handler = {on_server, made};
        status = ls_event_loop_watch(loop, ls_datagram_socket_descriptor(made->socket), handler,
                                     &made->watch);
    }
    if (status != LS_OK) {
        ls_door_switch_destroy(made);
        return status;
    }
    *out = made;
    return LS_OK;
}

void ls_door_switch_destroy(ls_door_switch *of)
{
    if (of) {
        ls_loop_source_remove(of->watch);
        ls_datagram_socket_close(of->socket);
        ls_release(ls_allocator_heap(), of);
    }
}
