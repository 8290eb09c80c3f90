#include "lockstep/server/door/web_sockets.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/system/socket.h"
#include "lockstep/protocol/sealed/address_limits.h"
#include "lockstep/server/door/web_frames.h"

#include <string.h>

enum {
    READ_BYTES = 2048,    /* in one turn: others have theirs */
    UNSENT_BYTES = 16384, /* in the system, of one that takes no more */
    FRAME_BYTES_MAX = LS_WEB_HEADER_OUT_BYTES_MAX + LS_UDP_DATAGRAM_BYTES_MAX,
};

/* More of them than a page's own that has waited for its network come from a program. */
static const ls_rate_limit FRAME_LIMIT = {LS_NS_PER_SECOND / LS_WEB_FRAME_RATE, LS_WEB_FRAME_BURST};

/* A whole frame that waits. */
typedef struct frame {
    uint64_t since_ns;
    size_t size;
    uint8_t bytes[FRAME_BYTES_MAX];
} frame;

typedef struct web_socket {
    struct web_socket *next, *previous;
    ls_web_sockets *all;
    ls_door_player *player;
    int descriptor;
    void (*close)(void *user);
    void *user;
    ls_loop_source *watch;
    uint64_t heard_ns;
    uint64_t asked_ns;
    bool is_closing; /* it is to be closed: not within a call of it */
    bool is_blocked; /* until it can be written to */
    bool has_ping;   /* that is to be answered */
    uint8_t ping[LS_WEB_CONTROL_BYTES_MAX];
    size_t ping_bytes;
    ls_rate_use read_frames;
    /* Of the frame that is leaving, which has to be whole. */
    uint8_t rest[FRAME_BYTES_MAX];
    size_t rest_bytes;
    /* Those behind it, in a ring; NULL: none, and no room for them yet. */
    frame *frames;
    uint32_t first, count;
    ls_web_reader reader;
} web_socket;

struct ls_web_sockets {
    ls_door_switch *to;
    ls_door_page *page;
    ls_event_loop *loop;
    web_socket *first;
};

/* ---- sending ---- */

static void set_blocked(web_socket *socket, bool is_blocked)
{
    if (socket->is_blocked != is_blocked) {
        socket->is_blocked = is_blocked;
        ls_loop_watch_for(socket->watch, true, is_blocked);
    }
}

/* The part that does not leave stays to be the rest. */
static void write_frame(web_socket *socket, const uint8_t *bytes, size_t size)
{
    ptrdiff_t sent = ls_socket_send_some(socket->descriptor, bytes, size);
    if (sent < 0) {
        socket->is_closing = true;
        return;
    }
    socket->rest_bytes = size - (size_t)sent;
    memmove(socket->rest, bytes + sent, socket->rest_bytes);
    set_blocked(socket, socket->rest_bytes > 0);
}

static void drop_first(web_socket *socket)
{
    socket->first = (socket->first + 1) % LS_WEB_WAITING_MAX;
    socket->count--;
}

static void wait_behind(web_socket *socket, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    if (!socket->frames) {
        socket->frames =
            ls_allocate_array(ls_allocator_heap(), LS_WEB_WAITING_MAX, sizeof *socket->frames);
    }
    if (!socket->frames) {
        return;
    }
    if (socket->count == LS_WEB_WAITING_MAX) {
        ls_door_count(&socket->all->page->stale);
        drop_first(socket);
    }
    frame *last = &socket->frames[(socket->first + socket->count++) % LS_WEB_WAITING_MAX];
    last->since_ns = now_ns;
    last->size = size;
    memcpy(last->bytes, bytes, size);
}

static void send_message(web_socket *socket, ls_web_opcode opcode, const uint8_t *bytes,
                         size_t size, uint64_t now_ns)
{
    uint8_t whole[FRAME_BYTES_MAX];
    size_t header = ls_web_write_header(whole, opcode, size);
    memcpy(whole + header, bytes, size);
    if (socket->is_blocked) {
        wait_behind(socket, whole, header + size, now_ns);
    } else if (!socket->is_closing) {
        write_frame(socket, whole, header + size);
    }
}

static void send_datagram(void *user, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    send_message(user, LS_WEB_BINARY, bytes, size, now_ns);
}

/* Those that waited too long have no use any more. */
static void write_waiting(web_socket *socket, uint64_t now_ns)
{
    if (socket->rest_bytes > 0) {
        write_frame(socket, socket->rest, socket->rest_bytes);
    } else {
        set_blocked(socket, false);
    }
    while (socket->count > 0 && !socket->is_blocked && !socket->is_closing) {
        const frame *next = &socket->frames[socket->first];
        if (now_ns - next->since_ns > LS_WEB_STALE_MS * LS_NS_PER_MS) {
            ls_door_count(&socket->all->page->stale);
        } else {
            write_frame(socket, next->bytes, next->size);
        }
        drop_first(socket);
    }
}

/* ---- closing ---- */

static void destroy(web_socket *socket)
{
    ls_web_sockets *all = socket->all;
    if (socket->previous) {
        socket->previous->next = socket->next;
    } else {
        all->first = socket->next;
    }
    if (socket->next) {
        socket->next->previous = socket->previous;
    }
    ls_door_switch_remove(socket->player);
    ls_loop_source_remove(socket->watch);
    socket->close(socket->user);
    ls_release(ls_allocator_heap(), socket->frames);
    ls_release(ls_allocator_heap(), socket);
}

/* With a last word, where that is possible. */
static void say_goodbye(web_socket *socket, uint16_t code)
{
    const uint8_t bytes[] = {(uint8_t)(code >> 8), (uint8_t)code};
    if (!socket->is_blocked) {
        send_message(socket, LS_WEB_CLOSE, bytes, sizeof bytes, 0);
    }
    socket->is_closing = true;
}

/* ---- receiving ---- */

static void on_message(web_socket *socket, uint64_t now_ns)
{
    const ls_web_reader *reader = &socket->reader;
    switch (reader->opcode) {
    case LS_WEB_BINARY:
        ls_door_player_forward(socket->player, reader->bytes, reader->size, now_ns);
        break;
    case LS_WEB_PING:
        socket->has_ping = true;
        socket->ping_bytes = reader->size;
        memcpy(socket->ping, reader->bytes, reader->size);
        break;
    case LS_WEB_CLOSE:
        say_goodbye(socket, LS_WEB_CLOSE_NORMAL);
        break;
    default: /* PONG: that it came is all */
        break;
    }
}

static void say_wrong(web_socket *socket, uint16_t code)
{
    ls_door_count(&socket->all->page->wrong);
    say_goodbye(socket, code);
}

/* Of several pings that come together the newest is answered. */
static void receive(web_socket *socket, const uint8_t *bytes, size_t size, uint64_t now_ns)
{
    socket->heard_ns = now_ns;
    for (size_t at = 0; at < size && !socket->is_closing;) {
        size_t used = 0;
        uint32_t frames = socket->reader.frames;
        ls_web_reading reading = ls_web_read(&socket->reader, bytes + at, size - at, &used);
        at += used;
        if (reading == LS_WEB_MESSAGE) {
            on_message(socket, now_ns);
        } else if (reading == LS_WEB_WRONG) {
            say_wrong(socket, socket->reader.code);
        }
        for (; frames != socket->reader.frames && !socket->is_closing; frames++) {
            if (!ls_rate_use_spend(&socket->read_frames, &FRAME_LIMIT, now_ns)) {
                say_wrong(socket, LS_WEB_CLOSE_POLICY);
            }
        }
    }
    if (socket->has_ping) {
        socket->has_ping = false;
        send_message(socket, LS_WEB_PONG, socket->ping, socket->ping_bytes, now_ns);
    }
}

static void on_socket(void *user, uint64_t now_ns)
{
    web_socket *socket = user;
    ls_door_switch *to = socket->all->to;
    uint8_t bytes[READ_BYTES];
    if (socket->is_blocked) {
        write_waiting(socket, now_ns);
    }
    ptrdiff_t size =
        socket->is_closing ? 0 : ls_socket_receive_some(socket->descriptor, bytes, sizeof bytes);
    if (size > 0) {
        receive(socket, bytes, (size_t)size, now_ns);
    }
    socket->is_closing |= size < 0;
    ls_door_switch_flush(to);
    if (socket->is_closing) {
        destroy(socket);
    }
}

/* ---- opening ---- */

static void link_socket(ls_web_sockets *all, web_socket *socket)
{
    socket->next = all->first;
    if (all->first) {
        all->first->previous = socket;
    }
    all->first = socket;
}

void ls_web_sockets_open(ls_web_sockets *all, const ls_web_socket_opening *opening)
{
    web_socket *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        opening->close(opening->user);
        return;
    }
    made->all = all;
    made->descriptor = opening->descriptor;
    made->close = opening->close;
    made->user = opening->user;
    made->heard_ns = ls_event_loop_now_ns(all->loop);
    link_socket(all, made);
    ls_socket_hurry(opening->connection, UNSENT_BYTES);
    made->player =
        ls_door_switch_add(all->to, &opening->from, &(ls_door_pipe){send_datagram, made});
    if (!made->player ||
        ls_event_loop_watch(all->loop, made->descriptor, (ls_loop_handler){on_socket, made},
                            &made->watch) != LS_OK) {
        destroy(made);
        return;
    }
    receive(made, opening->bytes, opening->size, made->heard_ns);
    ls_door_switch_flush(all->to);
}

/* ---- the whole ---- */

static void tend(web_socket *socket, uint64_t now_ns)
{
    uint64_t silent_ns = now_ns - socket->heard_ns;
    uint64_t answered_ns = ls_door_player_answered_ns(socket->player);
    if (silent_ns > LS_WEB_SILENT_S * LS_NS_PER_SECOND ||
        now_ns > answered_ns + LS_WEB_UNANSWERED_S * LS_NS_PER_SECOND) {
        say_goodbye(socket, LS_WEB_CLOSE_AWAY);
    } else if (silent_ns > LS_WEB_ASK_S * LS_NS_PER_SECOND && socket->asked_ns < socket->heard_ns) {
        socket->asked_ns = now_ns;
        send_message(socket, LS_WEB_PING, (const uint8_t *)"", 0, now_ns);
    }
    if (socket->count == 0) {
        ls_release(ls_allocator_heap(), socket->frames);
        socket->frames = NULL;
    }
}

void ls_web_sockets_tend(ls_web_sockets *sockets, uint64_t now_ns)
{
    web_socket *next = NULL;
    for (web_socket *socket = sockets->first; socket; socket = next) {
        next = socket->next;
        tend(socket, LS_MAX(now_ns, socket->heard_ns));
        if (socket->is_closing) {
            destroy(socket);
        }
    }
}

ls_status ls_web_sockets_create(ls_door_switch *to, ls_door_page *page, ls_event_loop *loop,
                                ls_web_sockets **out)
{
    ls_web_sockets *made = ls_allocate(ls_allocator_heap(), sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    *made = (ls_web_sockets){.to = to, .page = page, .loop = loop};
    *out = made;
    return LS_OK;
}

bool ls_web_sockets_close(ls_web_sockets *sockets)
{
    bool had_any = sockets->first != NULL;
    while (sockets->first) {
        say_goodbye(sockets->first, LS_WEB_CLOSE_AWAY);
        destroy(sockets->first);
    }
    return had_any;
}

void ls_web_sockets_destroy(ls_web_sockets *sockets)
{
    if (sockets) {
        (void)ls_web_sockets_close(sockets);
        ls_release(ls_allocator_heap(), sockets);
    }
}
