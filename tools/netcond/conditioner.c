#include "lockstep/tools/netcond/conditioner.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/time/time_queue.h"

#include <string.h>

enum {
    NOBODY = 0 /* the number of a place that is not open */
};

typedef struct client {
    ls_link_model link;
    uint64_t number;
    uint64_t received; /* packets so far: the index of the next one */
    uint64_t passed;   /* one more than the highest index forwarded */
    uint64_t loss_run; /* packets lost since the last one that was not */
} client;

typedef struct packet_head {
    uint32_t client;
    uint32_t size;
    uint64_t number; /* of its client */
    uint64_t index;  /* among its client's packets */
    uint64_t arrived_ns;
    bool is_copy;
} packet_head;

typedef struct held_packet {
    packet_head head;
    uint8_t bytes[NETCOND_DATAGRAM_BYTES_MAX];
} held_packet;

struct netcond_conditioner {
    const ls_allocator *allocator;
    netcond_conditioner_config config;
    uint64_t origin_ns;
    netcond_conditioner_figures figures;
    client *clients;      /* clients_max */
    held_packet *packets; /* NETCOND_CONDITIONER_PACKETS_MAX */
    ls_time_queue queue;  /* of indices of packets */
    ls_time_queue_entry *queue_entries;
};

/* ---- making one ---- */

ls_status netcond_conditioner_create(const netcond_conditioner_config *config,
                                     const ls_allocator *allocator, netcond_conditioner **out)
{
    LS_ASSERT(config->clients_max >= 1 && config->clients_max <= NETCOND_CONDITIONER_CLIENTS_MAX);
    LS_ASSERT(ls_link_config_check(&config->link, NULL) == LS_OK);
    netcond_conditioner *made = ls_allocate(allocator, sizeof *made);
    if (!made) {
        return LS_NO_MEMORY;
    }
    uint32_t room = NETCOND_CONDITIONER_PACKETS_MAX;
    made->allocator = allocator;
    made->config = *config;
    made->figures.delay.min_ns = UINT64_MAX;
    made->figures.delay.magnified = 1;
    made->figures.late.min_ns = UINT64_MAX;
    made->figures.late.magnified = 25;
    made->clients = ls_allocate_array(allocator, config->clients_max, sizeof *made->clients);
    made->packets = ls_allocate_array(allocator, room, sizeof *made->packets);
    made->queue_entries = ls_allocate_array(allocator, room, sizeof *made->queue_entries);
    if (!made->clients || !made->packets || !made->queue_entries) {
        netcond_conditioner_destroy(made);
        return LS_NO_MEMORY;
    }
    ls_time_queue_init(&made->queue, made->queue_entries, room);
    *out = made;
    return LS_OK;
}

void netcond_conditioner_destroy(netcond_conditioner *conditioner)
{
    if (!conditioner) {
        return;
    }
    const ls_allocator *allocator = conditioner->allocator;
    ls_release(allocator, conditioner->clients);
    ls_release(allocator, conditioner->packets);
    ls_release(allocator, conditioner->queue_entries);
    ls_release(allocator, conditioner);
}

void netcond_conditioner_set_origin(netcond_conditioner *conditioner, uint64_t now_ns)
{
    conditioner->origin_ns = now_ns;
}

void netcond_conditioner_open(netcond_conditioner *conditioner, uint32_t index, uint64_t number)
{
    LS_ASSERT(index < conditioner->config.clients_max && number != NOBODY);
    ls_link_start start = {.seed = conditioner->config.seed,
                           .stream =
                               number * NETCOND_DIRECTION_COUNT + conditioner->config.direction,
                           .origin_ns = conditioner->origin_ns};
    client *opened = &conditioner->clients[index];
    *opened = (client){.number = number};
    ls_link_model_init(&opened->link, &conditioner->config.link, &start);
}

void netcond_conditioner_close(netcond_conditioner *conditioner, uint32_t index)
{
    LS_ASSERT(index < conditioner->config.clients_max);
    conditioner->clients[index].number = NOBODY;
}

/* ---- packets in ---- */

static void count_loss(netcond_conditioner *conditioner, client *sender, netcond_loss loss)
{
    netcond_conditioner_figures *figures = &conditioner->figures;
    figures->lost[loss]++;
    figures->loss_runs += sender->loss_run == 0 ? 1 : 0;
    sender->loss_run++;
    if (sender->loss_run > figures->longest_loss_run) {
        figures->longest_loss_run = sender->loss_run;
    }
}

static bool hold(netcond_conditioner *conditioner, const packet_head *head, const uint8_t *bytes,
                 uint64_t due_ns)
{
    if (conditioner->queue.count == conditioner->queue.capacity) {
        return false;
    }
    held_packet *held = &conditioner->packets[ls_time_queue_add(&conditioner->queue, due_ns)];
    held->head = *head;
    if (head->size > 0) {
        memcpy(held->bytes, bytes, head->size);
    }
    netcond_conditioner_figures *figures = &conditioner->figures;
    figures->held++;
    figures->held_max = LS_MAX(figures->held, figures->held_max);
    figures->duplicated += head->is_copy ? 1 : 0;
    return true;
}

void netcond_conditioner_put(netcond_conditioner *conditioner, uint32_t index, const uint8_t *bytes,
                             size_t size, uint64_t now_ns)
{
    LS_ASSERT(index < conditioner->config.clients_max);
    client *sender = &conditioner->clients[index];
    LS_ASSERT(sender->number != NOBODY);
    conditioner->figures.received++;
    conditioner->figures.received_bytes += size + NETCOND_HEADER_BYTES;
    if (size > NETCOND_DATAGRAM_BYTES_MAX) {
        count_loss(conditioner, sender, NETCOND_LOSS_TOO_LARGE);
        return;
    }
    packet_head head = {.client = index,
                        .size = (uint32_t)size,
                        .number = sender->number,
                        .index = sender->received++,
                        .arrived_ns = now_ns};
    ls_link_fate fate = ls_link_model_decide(&sender->link, size + NETCOND_HEADER_BYTES, now_ns);
    netcond_loss loss = (netcond_loss)fate.loss;
    if (loss == NETCOND_LOSS_NONE && !hold(conditioner, &head, bytes, fate.due_ns)) {
        loss = NETCOND_LOSS_NO_ROOM;
    }
    if (loss != NETCOND_LOSS_NONE) {
        count_loss(conditioner, sender, loss);
        return;
    }
    sender->loss_run = 0;
    head.is_copy = true;
    if (fate.has_copy) {
        hold(conditioner, &head, bytes, fate.copy_due_ns); /* without room there is no copy */
    }
}

/* ---- packets out ---- */

uint64_t netcond_conditioner_next_ns(const netcond_conditioner *conditioner)
{
    return ls_time_queue_next_ns(&conditioner->queue);
}

static void add_time(netcond_conditioner_times *times, uint64_t ns)
{
    times->count++;
    times->min_ns = LS_MIN(ns, times->min_ns);
    times->max_ns = LS_MAX(ns, times->max_ns);
    times->sum_ns += ns;
    ls_histogram_add(&times->histogram, ns * times->magnified);
}

uint64_t netcond_conditioner_percentile_ns(const netcond_conditioner_times *times, uint32_t percent)
{
    return ls_histogram_percentile_ns(&times->histogram, percent) / times->magnified;
}

static void count_forwarded(netcond_conditioner *conditioner, const packet_head *head,
                            uint64_t due_ns, uint64_t now_ns)
{
    netcond_conditioner_figures *figures = &conditioner->figures;
    client *sender = &conditioner->clients[head->client];
    figures->forwarded++;
    figures->forwarded_bytes += head->size + NETCOND_HEADER_BYTES;
    figures->reordered += !head->is_copy && head->index < sender->passed ? 1 : 0;
    sender->passed = head->index >= sender->passed ? head->index + 1 : sender->passed;
    add_time(&figures->delay, now_ns - head->arrived_ns);
    add_time(&figures->late, now_ns - due_ns);
}

bool netcond_conditioner_pop(netcond_conditioner *conditioner, uint64_t now_ns,
                             netcond_conditioned_packet *packet)
{
    while (ls_time_queue_next_ns(&conditioner->queue) <= now_ns && conditioner->queue.count > 0) {
        ls_time_queue_entry first = ls_time_queue_pop(&conditioner->queue);
        held_packet *held = &conditioner->packets[first.item];
        conditioner->figures.held--;
        if (conditioner->clients[held->head.client].number != held->head.number) {
            conditioner->figures.lost[NETCOND_LOSS_NO_CLIENT]++;
            continue;
        }
        count_forwarded(conditioner, &held->head, first.due_ns, now_ns);
        *packet = (netcond_conditioned_packet){held->head.client, held->bytes, held->head.size};
        return true;
    }
    return false;
}

const netcond_conditioner_figures *
netcond_conditioner_figures_of(const netcond_conditioner *conditioner)
{
    return &conditioner->figures;
}

uint64_t netcond_conditioner_lost(const netcond_conditioner_figures *figures)
{
    uint64_t lost = 0;
    for (uint32_t loss = 0; loss < NETCOND_LOSS_COUNT; loss++) {
        lost += figures->lost[loss];
    }
    return lost;
}
