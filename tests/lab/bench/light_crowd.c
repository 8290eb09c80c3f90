#define _GNU_SOURCE
#include "lockstep/tests/lab/bench/light_crowd.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulation/state_hash.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/protocol/enet/enet_channel.h"
#include "lockstep/protocol/sealed/sealed_client.h"
#include "lockstep/protocol/wire/handshake.h"
#include "lockstep/protocol/wire/link_meter.h"
#include "lockstep/tests/lab/bench/many_socket.h"
#include "lockstep/tests/lab/bench/pad_simulation.h"
#include "lockstep/tests/lab/bench/timing.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PLAYERS = 4,           /* of a match */
    SCRIPT_TICKS = 131072, /* half an hour */
    FIRST_TICKS = 240,     /* at first nobody presses anything, when inputs may come late */
    HELD_TICKS = 64,       /* that a pad is held */
    LEAD_TICKS = 3,        /* from making an input until its tick is closed */
    BUCKETS = 64,          /* of a tick: the players of one send together */
    NEWCOMERS = 2,         /* in a tick */
    LENGTH_BYTES = 2,
    PAD_BYTES = BENCH_PAD_INPUT_BYTES, /* in the arena fewer */
};

#define AGAIN_NS LS_NS_PER_SECOND
#define LOBBY_NS (LS_NS_PER_SECOND / 2) /* between two signs of life */
#define SILENCE_NS (10 * LS_NS_PER_SECOND)
#define LATENESS_SHARE 64 /* of a later tick, by which the estimate of the server's clock moves */

/* ---- the script: what everybody presses, and what comes of it ---- */

typedef struct script {
    const ls_simulation *simulation;
    uint32_t pad_bytes;
    ls_sim_instance *instance; /* the newest state that has been wanted; NULL: no OFFER has come */
    ls_ready ready;
    uint64_t chains[SCRIPT_TICKS]; /* up to state `tick` */
    ls_tick end;                   /* first state that has not been hashed */
} script;

typedef struct script_tick {
    ls_slot_input slots[LS_PLAYERS_MAX]; /* as the cursor takes them; [PLAYERS] are set */
    uint8_t pads[PLAYERS][PAD_BYTES];
} script_tick;

static void script_choose(script *all, bool plays_pad)
{
    all->simulation = plays_pad ? bench_pad_simulation() : ls_arena_simulation();
    all->pad_bytes = plays_pad ? BENCH_PAD_INPUT_BYTES : LS_ARENA_PAD_BYTES;
}

static void script_input(const script *all, uint32_t slot, ls_tick tick, uint8_t pad[PAD_BYTES],
                         ls_slot_input *out)
{
    *out = (ls_slot_input){.bytes = pad, .events = tick == 0 ? LS_EVENT_JOINED : 0};
    if (tick >= FIRST_TICKS) {
        ls_store_u32(pad, (tick / HELD_TICKS * PLAYERS + slot) * 2654435761u >> 3);
        out->size = all->pad_bytes;
    }
}

static void script_at(const script *all, ls_tick tick, script_tick *out)
{
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        script_input(all, slot, tick, out->pads[slot], &out->slots[slot]);
    }
}

static ls_status script_begin(script *all, const ls_offer *offer, ls_text *why)
{
    if (all->instance) {
        return LS_OK;
    }
    if (offer->config.players != PLAYERS || offer->hash_interval_ticks != 1) {
        return ls_fail(LS_UNSUPPORTED, why, "this crowd plays by fours and hashes every state");
    }
    ls_status status = ls_sim_instance_create(all->simulation, &offer->config, ls_allocator_heap(),
                                              &all->instance, why);
    if (status == LS_OK) {
        all->ready = ls_ready_make(all->instance);
        all->chains[0] = ls_hash_chain_start(all->ready.initial_hash);
        all->end = 1;
    }
    return status;
}

static uint64_t script_chain(script *all, ls_tick tick)
{
    while (all->end <= tick) {
        script_tick inputs;
        const ls_tick_inputs pressed = {
            .tick = all->end - 1, .slot_count = PLAYERS, .slots = inputs.slots};
        script_at(all, pressed.tick, &inputs);
        ls_sim_instance_step(all->instance, &pressed);
        all->chains[all->end] =
            ls_hash_chain_next(all->chains[all->end - 1], ls_sim_instance_hash(all->instance));
        all->end++;
    }
    return all->chains[tick];
}

/* ---- players ---- */

typedef enum player_state {
    ABSENT,
    CONNECTING,
    HANDSHAKING, /* HELLO is on its way, and says nothing else */
    LOBBY,
    PLAYING,
} player_state;

struct crowd;

typedef struct player {
    struct crowd *owner;
    uint32_t index;
    player_state state;
    uint64_t again_ns; /* ABSENT: when it comes */
    uint64_t sent_ns;  /* its newest packet */
    uint64_t heard_ns;
    ls_sealed_client *sealed;
    ls_enet_channel *channel;
    bool is_busy; /* the channel may have something to send */
    /* PLAYING */
    bool is_hold_told;
    bool has_base; /* the server has the input before `wanted` */
    uint32_t slot;
    uint32_t send_rate;   /* ls_send_rate, as OFFER says */
    uint32_t delay_ticks; /* of inputs, likewise */
    uint32_t kept_ticks;  /* since its newest packet: their inputs wait for the next one */
    uint32_t sequence;
    ls_tick end;        /* first closed tick that has not come */
    ls_tick next_input; /* first one that has not been made */
    ls_tick wanted;     /* first one that the server lacks */
    uint64_t close_ns;  /* when tick 0 was closed, as far as this side can tell */
    uint64_t health_ns;
} player;

typedef struct crowd {
    const bench_light_crowd *plan;
    bench_many_socket *socket;
    ls_enet_wire *wire;
    script script;
    ls_tick_cursor cursor;
    ls_message message;
    uint64_t now_ns;
    uint32_t invited; /* of those who are wanted */
    uint32_t playing;
    player players[];
} crowd;

static uint64_t tick_ns(const crowd *all)
{
    return LS_NS_PER_SECOND / all->plan->rate_hz;
}

/* ---- sending ---- */

/* Where the content of a sealed packet is written, and its sending. */
static uint8_t *begin_packet(player *one)
{
    return bench_many_socket_next(one->owner->socket) + ls_sealed_client_header_size(one->sealed);
}

static void send_packet(player *one, ls_sealed_content content, size_t size)
{
    uint8_t *datagram = bench_many_socket_next(one->owner->socket);
    one->sent_ns = one->owner->now_ns;
    bench_many_socket_send(one->owner->socket, one->index,
                           ls_sealed_client_seal(one->sealed, content, datagram, size));
}

static void send_raw(player *one, const uint8_t *bytes, size_t size)
{
    memcpy(bench_many_socket_next(one->owner->socket), bytes, size);
    bench_many_socket_send(one->owner->socket, one->index, size);
}

static void send_enet(void *user, const uint8_t *bytes, size_t size)
{
    player *one = user;
    memcpy(begin_packet(one), bytes, size);
    send_packet(one, LS_SEALED_ENET, size);
}

static void send_message(player *one)
{
    uint8_t bytes[LS_PACKET_BYTES_MAX];
    size_t size = ls_message_write(&one->owner->message, bytes);
    (void)ls_enet_channel_send(one->channel, bytes, size);
    one->is_busy = true;
}

/* Writes the inputs that the server lacks; before the match there are none. */
static void send_inputs(player *one)
{
    uint64_t now_ns = one->owner->now_ns;
    uint8_t pads[2][PAD_BYTES];
    const script *pressed = &one->owner->script;
    ls_slot_input before = {0};
    ls_slot_input input;
    ls_inputs_header header = {.sequence = one->sequence++,
                               .next = one->end,
                               .hold = one->is_hold_told ? LS_HOLD_NONE
                                                         : ls_hold_from_ns(now_ns - one->heard_ns),
                               .chain_tick = one->end,
                               .chain = (uint32_t)script_chain(&one->owner->script, one->end),
                               .first = one->wanted,
                               .has_base = one->has_base,
                               .has_health = now_ns - one->health_ns >= LS_HEALTH_NS};
    one->health_ns = header.has_health ? now_ns : one->health_ns;
    one->is_hold_told = true;
    if (header.has_base) {
        script_input(pressed, one->slot, one->wanted - 1, pads[(one->wanted + 1) % 2], &before);
    }
    ls_bit_stream stream = ls_bit_writer(begin_packet(one), LS_PACKET_BYTES_MAX);
    ls_inputs_header_bits(&stream, &header, 0);
    for (ls_tick tick = one->wanted; tick < one->next_input; tick++) {
        script_input(pressed, one->slot, tick, pads[tick % 2], &input);
        if (!ls_inputs_write_tick(&stream, &before, &input)) {
            break;
        }
        before = input;
    }
    ls_tick_packet_write_end(&stream);
    send_packet(one, LS_SEALED_PACKET, ls_bits_size_bytes(&stream));
}

/* ---- coming and going ---- */

static void leave(player *one)
{
    one->owner->playing -= one->state == PLAYING;
    ls_enet_channel_destroy(one->channel);
    ls_sealed_client_destroy(one->sealed);
    *one = (player){
        .owner = one->owner, .index = one->index, .again_ns = one->owner->now_ns + AGAIN_NS};
}

static void lose(player *one)
{
    atomic_fetch_add(&one->owner->plan->figures->lost, 1);
    leave(one);
}

static void come(player *one)
{
    const ls_sealed_client_config config = {0}; /* believes the key that the server says */
    if (ls_sealed_client_create(&config, ls_allocator_heap(), &one->sealed) == LS_OK) {
        one->state = CONNECTING;
        one->heard_ns = one->owner->now_ns;
        ls_sealed_client_start(one->sealed, one->owner->now_ns);
    }
}

static void say_hello(player *one)
{
    char name[LS_PLAYER_NAME_BYTES_MAX];
    const ls_enet_channel_config config = {
        .rtt_ns = ls_sealed_client_rtt_ns(one->sealed), .on_datagram = send_enet, .user = one};
    if (ls_enet_channel_create(one->owner->wire, &config, one->owner->now_ns, ls_allocator_heap(),
                               &one->channel) != LS_OK) {
        lose(one);
        return;
    }
    one->state = HANDSHAKING;
    snprintf(name, sizeof name, "light-%u", (unsigned)one->index);
    one->owner->message = (ls_message){.kind = LS_MESSAGE_HELLO, .body.hello = ls_hello_make(name)};
    (void)begin_packet(one);
    send_packet(one, LS_SEALED_PACKETS, 0); /* shows the server that the keys are here */
    send_message(one);
}

static void receive_offer(player *one, const ls_offer *offer)
{
    ls_text why = {{0}};
    ls_status status = script_begin(&one->owner->script, offer, &why);
    if (status != LS_OK) {
        fprintf(stderr, "lockstep-bench: clients: %s\n", why.bytes);
    }
    if (status != LS_OK || offer->is_running) {
        lose(one);
        return;
    }
    one->state = LOBBY;
    one->slot = offer->slot;
    one->send_rate = offer->send_rate;
    one->delay_ticks = offer->input_delay_ticks;
    one->owner->message =
        (ls_message){.kind = LS_MESSAGE_READY, .body.ready = one->owner->script.ready};
    send_message(one);
}

static void receive_start(player *one, const ls_start *start)
{
    one->state = PLAYING;
    one->owner->playing++;
    one->close_ns = one->owner->now_ns + start->delay_us * UINT64_C(1000);
}

/* ---- receiving ---- */

/* False: the player is gone. */
static bool receive_message(player *one, const uint8_t *bytes, size_t size)
{
    ls_message *message = &one->owner->message;
    if (ls_message_read(bytes, size, PLAYERS, message) != LS_OK) {
        lose(one);
    } else if (message->kind == LS_MESSAGE_OFFER) {
        receive_offer(one, &message->body.offer);
    } else if (message->kind == LS_MESSAGE_START) {
        receive_start(one, &message->body.start);
    } else if (message->kind == LS_MESSAGE_REFUSE || message->kind == LS_MESSAGE_DESYNC) {
        lose(one);
    }
    return one->state != ABSENT;
}

static void receive_enet(player *one, const uint8_t *bytes, size_t size)
{
    (void)ls_enet_channel_receive(one->channel, bytes, size, one->owner->now_ns);
    one->is_busy = true;
    ls_enet_event event;
    while ((event = ls_enet_channel_next_event(one->channel)).kind != LS_ENET_NOTHING) {
        if (event.kind != LS_ENET_RECEIVED) {
            lose(one);
            return;
        }
        if (!receive_message(one, event.bytes, event.size)) {
            return;
        }
    }
}

/* The server's clock, by when its ticks come: the earliest are the nearest to it. */
static void follow_clock(player *one)
{
    uint64_t close_ns = one->owner->now_ns - (one->end - 1) * tick_ns(one->owner);
    if (close_ns < one->close_ns) {
        one->close_ns = close_ns;
    } else {
        one->close_ns += (close_ns - one->close_ns) / LATENESS_SHARE;
    }
}

static bool is_scripted(const crowd *all, ls_tick tick)
{
    script_tick expected;
    script_at(&all->script, tick, &expected);
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        const ls_slot_input *input = &expected.slots[slot];
        if (all->cursor.sizes[slot] != input->size || all->cursor.events[slot] != input->events ||
            memcmp(all->cursor.bytes[slot], input->bytes, input->size) != 0) {
            return false;
        }
    }
    return true;
}

static void receive_ticks(player *one, const uint8_t *bytes, size_t size)
{
    crowd *all = one->owner;
    ls_ticks_header header = {0};
    ls_bit_stream stream = ls_bit_reader(bytes, size);
    if (one->state != PLAYING || ls_message_peek(bytes, size) != LS_MESSAGE_TICKS) {
        return;
    }
    ls_ticks_header_bits(&stream, &header, one->end);
    if (stream.is_failed || header.first > one->end) {
        return;
    }
    script_tick before = {.slots = {{0}}};
    if (header.first > 0) {
        script_at(&all->script, header.first - 1, &before);
    }
    one->wanted = LS_MIN(header.wanted, one->next_input);
    one->has_base = header.has_base && one->wanted == header.wanted && one->wanted > 0;
    ls_tick_cursor_start(&all->cursor, PLAYERS, all->script.pad_bytes, before.slots);
    ls_tick end = one->end;
    for (ls_tick tick = header.first; ls_ticks_read_tick(&stream, &all->cursor); tick++) {
        if (tick == one->end && !is_scripted(all, tick)) {
            atomic_fetch_add(&all->plan->figures->strayed, 1);
            leave(one);
            return;
        }
        one->end += tick == one->end;
    }
    if (one->end > end) {
        atomic_fetch_add_explicit(&all->plan->figures->ticks, one->end - end, memory_order_relaxed);
        one->heard_ns = all->now_ns;
        one->is_hold_told = false;
        follow_clock(one);
    }
}

static void receive_packets(player *one, const uint8_t *bytes, size_t size)
{
    while (one->state != ABSENT && size >= LENGTH_BYTES) {
        size_t length = ls_load_u16(bytes);
        if (length > size - LENGTH_BYTES) {
            return;
        }
        receive_ticks(one, bytes + LENGTH_BYTES, length);
        bytes += LENGTH_BYTES + length;
        size -= LENGTH_BYTES + length;
    }
}

static void receive_datagram(player *one, const bench_many_datagram *datagram)
{
    ls_sealed_client_received got;
    ls_sealed_client_receive(one->sealed, datagram->bytes, datagram->size, one->owner->now_ns,
                             &got);
    if (got.rejection != LS_SEALED_ACCEPTED) {
        return;
    }
    for (uint32_t i = 0; i < got.answer_count; i++) {
        send_raw(one, got.answers[i].bytes, got.answers[i].size);
    }
    if (one->state != PLAYING) {
        one->heard_ns = one->owner->now_ns;
    }
    if (one->state == CONNECTING && got.is_opened) {
        say_hello(one);
    } else if (ls_sealed_client_state_of(one->sealed) == LS_SEALED_CLIENT_REFUSED) {
        leave(one);
        return;
    }
    if (!got.has_content || !one->channel) {
        return;
    }
    if (got.content == LS_SEALED_ENET) {
        receive_enet(one, got.bytes, got.size);
    } else if (got.content == LS_SEALED_PACKETS) {
        receive_packets(one, got.bytes, got.size);
    } else if (got.content == LS_SEALED_PACKET) {
        receive_ticks(one, got.bytes, got.size);
    }
}

static void receive_all(crowd *all)
{
    bench_many_datagram came[BENCH_MANY_BATCH];
    uint32_t count;
    do {
        count = bench_many_socket_receive(all->socket, came);
        for (uint32_t i = 0; i < count; i++) {
            if (came[i].client < all->invited && all->players[came[i].client].sealed) {
                receive_datagram(&all->players[came[i].client], &came[i]);
            }
        }
    } while (count == BENCH_MANY_BATCH);
}

/* ---- a turn of a player, once in a tick ---- */

/* Inputs are late for nobody here, so that a link which saves packets does so from the start. */
static void play(player *one)
{
    crowd *all = one->owner;
    uint32_t ticks = ls_send_rate_ticks(one->send_rate, true, one->delay_ticks, tick_ns(all));
    atomic_fetch_add_explicit(&all->plan->figures->turns, 1, memory_order_relaxed);
    if (++one->kept_ticks < ticks) {
        return;
    }
    one->kept_ticks = 0;
    int64_t since_ns = (int64_t)(all->now_ns - one->close_ns) +
                       (int64_t)((LEAD_TICKS + ticks - 1) * tick_ns(all)); /* of inputs to make */
    if (since_ns >= 0) {
        ls_tick due = (ls_tick)((uint64_t)since_ns / tick_ns(all)) + 1;
        one->next_input = LS_MAX(one->next_input, LS_MIN(due, one->end + LS_LEAD_TICKS_MAX / 2));
    }
    send_inputs(one);
}

static void wake(player *one)
{
    crowd *all = one->owner;
    uint8_t datagram[LS_SEALED_DATAGRAM_BYTES_MAX];
    if (one->state == ABSENT && all->now_ns >= one->again_ns) {
        come(one);
    }
    if (one->state == CONNECTING) {
        size_t size = ls_sealed_client_pop_due(one->sealed, all->now_ns, datagram);
        if (size > 0) {
            send_raw(one, datagram, size);
        }
    }
    if (one->is_busy) {
        ls_enet_channel_service(one->channel, all->now_ns);
        one->is_busy = ls_enet_channel_backlog(one->channel) > 0;
    }
    if (one->state == PLAYING) {
        play(one);
    } else if (one->state == LOBBY && all->now_ns - one->sent_ns >= LOBBY_NS) {
        send_inputs(one);
    }
    if (one->state != ABSENT && all->now_ns - one->heard_ns >= SILENCE_NS) {
        lose(one);
    }
}

/* ---- all of them ---- */

/* The turns of a tick are spread evenly over it, and each bucket of players has its own time. */
static void take_turns(crowd *all)
{
    const bench_light_figures *figures = all->plan->figures;
    uint64_t bucket_ns = tick_ns(all) / BUCKETS;
    uint64_t due_ns = bench_now_ns();
    for (uint64_t turn = 0;; turn++) {
        due_ns += bucket_ns;
        all->now_ns = bench_now_ns();
        if (all->now_ns < due_ns) {
            bench_pause_ns(due_ns - all->now_ns);
            all->now_ns = bench_now_ns();
        } else if (all->now_ns > due_ns + tick_ns(all)) {
            due_ns = all->now_ns; /* this machine has no time for so many */
        }
        receive_all(all);
        if (turn % BUCKETS == 0) {
            all->invited = LS_MIN(all->invited + NEWCOMERS, atomic_load(&figures->wanted));
            atomic_store(&all->plan->figures->playing, all->playing);
            atomic_store(&all->plan->figures->cpu_ns, bench_processor_ns());
        }
        for (uint32_t i = turn % BUCKETS; i < all->invited; i += BUCKETS) {
            wake(&all->players[i]);
        }
        bench_many_socket_flush(all->socket);
    }
}

void bench_light_crowd_play(const void *user, int pipe)
{
    const bench_light_crowd *plan = user;
    crowd *all =
        ls_allocate(ls_allocator_heap(), sizeof *all + plan->clients_max * sizeof all->players[0]);
    (void)pipe;
    if (!all || ls_cipher_init() != LS_OK ||
        ls_enet_wire_create(ls_allocator_heap(), &all->wire) != LS_OK ||
        !(all->socket = bench_many_socket_open(plan->port))) {
        fprintf(stderr, "lockstep-bench: clients: no memory or no socket\n");
        return;
    }
    all->plan = plan;
    script_choose(&all->script, plan->plays_pad);
    for (uint32_t i = 0; i < plan->clients_max; i++) {
        all->players[i] = (player){.owner = all, .index = i};
    }
    take_turns(all);
}

bench_light_figures *bench_light_figures_create(void)
{
    void *memory = mmap(NULL, sizeof(bench_light_figures), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

void bench_light_figures_destroy(bench_light_figures *figures)
{
    if (figures) {
        munmap(figures, sizeof *figures);
    }
}
