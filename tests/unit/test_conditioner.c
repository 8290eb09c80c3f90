#include "lockstep/common/base/clock.h"
#include "lockstep/tools/netcond/conditioner.h"

#include "lockstep/tests/lab/virtual/virtual_disk.h"
#include "lockstep/tests/support/counting_allocator.h"
#include "lockstep/tests/support/near.h"
#include "lockstep/tests/support/refused_memory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

/* ==== conditioner ==== */

enum {
    PERCENT = 10000, /* in millionths */
    MANY = 20000,
    CLIENTS = 4,
};

#define MS LS_NS_PER_MS

/* A conditioner with clients that are open, and the packets that came out of it. */
typedef struct line {
    counting_allocator counting;
    netcond_conditioner *conditioner;
    const netcond_conditioner_figures *figures;
} line;

static line made; /* of the test that runs */
static ls_link_config asked;

static void open_with(const ls_link_config *link)
{
    netcond_conditioner_config config = {.link = *link, .seed = 7, .clients_max = CLIENTS};
    counting_allocator_init(&made.counting);
    cr_assert_eq(netcond_conditioner_create(&config, &made.counting.allocator, &made.conditioner),
                 LS_OK);
    made.figures = netcond_conditioner_figures_of(made.conditioner);
    for (uint32_t client = 0; client < CLIENTS; client++) {
        netcond_conditioner_open(made.conditioner, client, client + 1);
    }
}

/* The line of the test, with what it asked for. */
static void open_line(void)
{
    open_with(&asked);
}

static void ask_for_default(void)
{
    asked = ls_link_config_default();
}

static void close_line(void)
{
    netcond_conditioner_destroy(made.conditioner);
    made.conditioner = NULL;
    cr_assert_eq(made.counting.live_blocks, 0);
}

TestSuite(conditioner, .init = ask_for_default, .fini = close_line);

static void put_number(uint32_t client, uint32_t number, uint64_t now_ns)
{
    netcond_conditioner_put(made.conditioner, client, (const uint8_t *)&number, sizeof number,
                            now_ns);
}

/* The number in the next packet, which must be due. */
static uint32_t pop_number(uint64_t now_ns)
{
    netcond_conditioned_packet packet;
    uint32_t number = 0;
    cr_assert(netcond_conditioner_pop(made.conditioner, now_ns, &packet));
    cr_assert_eq(packet.size, sizeof number);
    memcpy(&number, packet.bytes, sizeof number);
    return number;
}

/* Takes everything at the very moment that it is due, until the time has come. */
static void pop_until(uint64_t end_ns)
{
    netcond_conditioned_packet packet;
    uint64_t due_ns = 0;
    while ((due_ns = netcond_conditioner_next_ns(made.conditioner)) <= end_ns) {
        while (netcond_conditioner_pop(made.conditioner, due_ns, &packet)) {
        }
        if (due_ns == UINT64_MAX) {
            break;
        }
    }
}

/* MANY packets of one client, one every `interval_ns`, to the end. */
static void run(uint64_t interval_ns)
{
    for (uint32_t i = 0; i < MANY; i++) {
        pop_until(i * interval_ns);
        put_number(0, i, i * interval_ns);
    }
    pop_until(UINT64_MAX - 1);
}

static void assert_balanced(const netcond_conditioner_figures *figures)
{
    cr_assert_eq(figures->received + figures->duplicated,
                 figures->forwarded + netcond_conditioner_lost(figures) + figures->held);
}

static double mean_ms(const netcond_conditioner_times *times)
{
    return (double)times->sum_ns / (double)times->count / 1e6;
}

static double percentile_ms(const netcond_conditioner_times *times, uint32_t percent)
{
    return (double)netcond_conditioner_percentile_ns(times, percent) / 1e6;
}

/* ---- packets ---- */

Test(conditioner, a_packet_comes_out_unchanged_when_it_is_due_and_not_before)
{
    asked.delay_ns = 50 * MS;
    open_line();
    uint8_t bytes[NETCOND_DATAGRAM_BYTES_MAX];
    for (uint32_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    }
    static const size_t sizes[] = {0, 1, 1200, NETCOND_DATAGRAM_BYTES_MAX};
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t now_ns = i * 100 * MS;
        netcond_conditioned_packet packet;
        netcond_conditioner_put(made.conditioner, i, bytes, sizes[i], now_ns);
        cr_assert_eq(netcond_conditioner_next_ns(made.conditioner), now_ns + 50 * MS);
        cr_assert_not(netcond_conditioner_pop(made.conditioner, now_ns + 50 * MS - 1, &packet));
        cr_assert(netcond_conditioner_pop(made.conditioner, now_ns + 50 * MS, &packet));
        cr_assert_eq(packet.client, i);
        cr_assert_eq(packet.size, sizes[i]);
        cr_assert_arr_eq(packet.bytes, bytes, sizes[i]);
        cr_assert_not(netcond_conditioner_pop(made.conditioner, UINT64_MAX, &packet));
        cr_assert_eq(netcond_conditioner_next_ns(made.conditioner), UINT64_MAX);
    }
    cr_assert_eq(made.figures->forwarded, 4);
    cr_assert_eq(made.figures->forwarded_bytes, 1201 + NETCOND_DATAGRAM_BYTES_MAX + 4 * 28);
}

Test(conditioner, packets_of_one_moment_keep_their_order_across_clients)
{
    open_line();
    for (uint32_t i = 0; i < 1000; i++) {
        put_number(i % CLIENTS, i, 5);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        cr_assert_eq(pop_number(5), i);
    }
    cr_assert_eq(made.figures->reordered, 0);
}

Test(conditioner, a_packet_too_large_is_lost_without_being_looked_at)
{
    open_line();
    uint8_t byte = 0;
    netcond_conditioner_put(made.conditioner, 0, &byte, NETCOND_DATAGRAM_BYTES_MAX + 1, 0);
    netcond_conditioner_put(made.conditioner, 0, &byte, SIZE_MAX / 2, 0);
    cr_assert_eq(made.figures->lost[NETCOND_LOSS_TOO_LARGE], 2);
    cr_assert_eq(made.figures->received, 2);
    cr_assert_eq(netcond_conditioner_next_ns(made.conditioner), UINT64_MAX);
}

Test(conditioner, beyond_its_room_packets_are_lost_and_counted)
{
    asked.delay_ns = 10 * MS;
    open_line();
    for (uint32_t i = 0; i < NETCOND_CONDITIONER_PACKETS_MAX + 100; i++) {
        put_number(0, i, i);
    }
    cr_assert_eq(made.figures->held, NETCOND_CONDITIONER_PACKETS_MAX);
    cr_assert_eq(made.figures->held_max, NETCOND_CONDITIONER_PACKETS_MAX);
    cr_assert_eq(made.figures->lost[NETCOND_LOSS_NO_ROOM], 100);
    cr_assert_eq(made.figures->loss_runs, 1);
    cr_assert_eq(made.figures->longest_loss_run, 100);
    for (uint32_t i = 0; i < NETCOND_CONDITIONER_PACKETS_MAX; i++) {
        cr_assert_eq(pop_number(20 * MS), i);
    }
    put_number(0, 4711, 20 * MS);
    cr_assert_eq(pop_number(30 * MS), 4711);
    assert_balanced(made.figures);
}

Test(conditioner, a_copy_without_room_is_no_loss)
{
    asked.duplicate_ppm = 100 * PERCENT;
    open_line();
    for (uint32_t i = 0; i < NETCOND_CONDITIONER_PACKETS_MAX / 2 - 1; i++) {
        put_number(0, i, 0);
    }
    cr_assert_eq(made.figures->held, NETCOND_CONDITIONER_PACKETS_MAX - 2);
    cr_assert_eq(pop_number(0), 0);
    put_number(0, 1, 0);
    put_number(0, 2, 0);
    cr_assert_eq(made.figures->held, NETCOND_CONDITIONER_PACKETS_MAX);
    cr_assert_eq(netcond_conditioner_lost(made.figures), 0);
    pop_until(0);
    assert_balanced(made.figures);
}

Test(conditioner, nothing_is_allocated_per_packet)
{
    asked.jitter_ns = 30 * MS;
    asked.duplicate_ppm = 10 * PERCENT;
    open_line();
    uint64_t allocations = made.counting.allocations;
    uint64_t calls = heap_calls();
    for (uint32_t i = 0; i < MANY; i++) {
        put_number(i % CLIENTS, i, i * MS);
        netcond_conditioned_packet packet;
        while (netcond_conditioner_pop(made.conditioner, i * MS, &packet)) {
        }
        if (i % 1000 == 0) {
            netcond_conditioner_open(made.conditioner, 1, i + 10);
        }
    }
    cr_assert_eq(made.counting.allocations, allocations);
    cr_assert_eq(heap_calls(), calls);
}

Test(conditioner, every_failed_allocation_is_survived)
{
    netcond_conditioner_config config = {.link = ls_link_config_default(), .clients_max = 1};
    for (refused_memory refused = {0}; refused_memory_next(&refused);) {
        netcond_conditioner *created = NULL;
        refused.status = netcond_conditioner_create(&config, &refused.counting.allocator, &created);
        cr_assert_eq(created != NULL, refused.status == LS_OK);
        netcond_conditioner_destroy(created);
    }
    netcond_conditioner_destroy(NULL);
}

/* ---- figures: what was asked against what was measured ---- */

Test(conditioner, measured_delay_is_what_was_asked)
{
    asked.delay_ns = 40 * MS;
    asked.jitter_ns = 20 * MS;
    open_line();
    run(20 * MS);
    const netcond_conditioner_times *delay = &made.figures->delay;
    cr_assert_eq(delay->count, MANY);
    cr_assert_eq(made.figures->forwarded, MANY);
    ASSERT_NEAR(mean_ms(delay), 50, 0.15);
    ASSERT_NEAR((double)delay->min_ns / 1e6, 40, 0.01);
    ASSERT_NEAR(percentile_ms(delay, 50), 50, 0.5);
    ASSERT_NEAR(percentile_ms(delay, 90), 58, 0.5);
    ASSERT_NEAR(percentile_ms(delay, 99), 59.8, 0.3);
    ASSERT_NEAR((double)delay->max_ns / 1e6, 60, 0.01);
    cr_assert_eq(made.figures->reordered, 0);
    /* A packet that comes at the moment is never late. */
    cr_assert_eq(made.figures->late.sum_ns, 0);
    cr_assert_eq(made.figures->late.count, MANY);
}

Test(conditioner, an_owner_that_comes_late_is_measured)
{
    asked.delay_ns = 40 * MS;
    open_line();
    for (uint32_t i = 0; i < 100; i++) {
        put_number(0, i, i * 100 * MS);
        cr_assert_eq(pop_number(i * 100 * MS + 40 * MS + (i + 1) * LS_NS_PER_US), i);
    }
    cr_assert_eq(made.figures->late.min_ns, 1 * LS_NS_PER_US);
    cr_assert_eq(made.figures->late.sum_ns, 5050 * LS_NS_PER_US);
    cr_assert_eq(made.figures->late.max_ns, 100 * LS_NS_PER_US);
    cr_assert_eq(netcond_conditioner_percentile_ns(&made.figures->late, 45), 50 * LS_NS_PER_US);
    cr_assert_eq(made.figures->delay.min_ns, 40 * MS + 1 * LS_NS_PER_US);
}

Test(conditioner, measured_loss_and_its_runs_are_what_was_asked)
{
    asked.burst_ppm = 10 * PERCENT;
    asked.burst_milli = 4000;
    open_line();
    run(MS);
    uint64_t lost = netcond_conditioner_lost(made.figures);
    cr_assert_eq(lost, made.figures->lost[NETCOND_LOSS_BURST]);
    cr_assert_eq(made.figures->received, MANY);
    cr_assert_eq(made.figures->forwarded, MANY - lost);
    ASSERT_NEAR(lost, 0.1 * MANY, 0.1 * 0.1 * MANY);
    ASSERT_NEAR((double)lost / (double)made.figures->loss_runs, 4, 0.3);
    cr_assert_gt(made.figures->longest_loss_run, 12);
    cr_assert_lt(made.figures->longest_loss_run, 100);
}

/* Runs are of one client: others in between neither end nor lengthen them. */
Test(conditioner, loss_runs_are_counted_for_each_client)
{
    asked.loss_ppm = 100 * PERCENT;
    open_line();
    for (uint32_t i = 0; i < 100; i++) {
        put_number(i % CLIENTS, i, i);
    }
    cr_assert_eq(made.figures->loss_runs, CLIENTS);
    cr_assert_eq(made.figures->longest_loss_run, 100 / CLIENTS);
}

Test(conditioner, measured_order_is_what_was_asked)
{
    asked.delay_ns = 10 * MS;
    asked.reorder_ppm = 5 * PERCENT;
    asked.reorder_ns = 25 * MS;
    open_line();
    run(10 * MS);
    /* Overtaken unless the two behind it are held back as well: 5 % by 1 - 0.05 * 0.05. */
    ASSERT_NEAR(made.figures->reordered, 0.05 * MANY, 0.06 * 0.05 * MANY);
    close_line();
    open_line();
    run(30 * MS); /* held back by less than the next one takes to come */
    cr_assert_eq(made.figures->reordered, 0);
}

Test(conditioner, jitter_reorders_only_when_it_may)
{
    asked.jitter_ns = 50 * MS;
    open_line();
    run(10 * MS);
    cr_assert_eq(made.figures->reordered, 0);
    close_line();
    asked.keeps_order = false;
    open_line();
    run(10 * MS);
    cr_assert_gt(made.figures->reordered, MANY / 4);
}

Test(conditioner, copies_are_forwarded_counted_and_no_reordering)
{
    asked.jitter_ns = 50 * MS;
    asked.duplicate_ppm = 10 * PERCENT;
    open_line();
    run(10 * MS);
    ASSERT_NEAR(made.figures->duplicated, 0.1 * MANY, 0.04 * 0.1 * MANY);
    cr_assert_eq(made.figures->forwarded, MANY + made.figures->duplicated);
    cr_assert_eq(made.figures->reordered, 0);
    assert_balanced(made.figures);
}

Test(conditioner, measured_rate_is_what_was_asked)
{
    asked.rate_bps = 256000; /* 1000 packets of 32 bytes a second */
    asked.bucket_bytes = 0;
    asked.queue_bytes = 3200;
    open_line();
    run(MS / 2); /* twice as many */
    /* One leaves each millisecond; the last one that found room waits 100 ms at most. */
    uint64_t last_put_us = (MANY - 1) * 500;
    uint64_t forwarded = last_put_us / 1000 + 100;
    cr_assert_eq(made.figures->forwarded, forwarded);
    cr_assert_eq(made.figures->lost[NETCOND_LOSS_QUEUE], MANY - forwarded);
    ASSERT_NEAR(percentile_ms(&made.figures->delay, 50), 100, 0.75);
    cr_assert_leq(made.figures->delay.max_ns, 100 * MS);
}

Test(conditioner, with_everything_at_once_every_packet_is_accounted_for)
{
    ls_link_config link = {.delay_ns = 20 * MS,
                           .jitter_ns = 30 * MS,
                           .loss_ppm = 3 * PERCENT,
                           .burst_ppm = 3 * PERCENT,
                           .burst_milli = 4500,
                           .burst_loss_ppm = 80 * PERCENT,
                           .duplicate_ppm = 2 * PERCENT,
                           .reorder_ppm = 2 * PERCENT,
                           .reorder_ns = 15 * MS,
                           .rate_bps = 26000,
                           .bucket_bytes = 100,
                           .queue_bytes = 2100,
                           .partition_start_ns = 1000 * MS,
                           .partition_length_ns = 200 * MS,
                           .partition_every_ns = 5000 * MS};
    open_with(&link);
    for (uint32_t i = 0; i < MANY; i++) {
        pop_until(i * 3 * MS);
        put_number(i % CLIENTS, i, i * 3 * MS);
        if (i % 100 == 0) {
            assert_balanced(made.figures);
        }
    }
    cr_assert_gt(made.figures->held, 0);
    pop_until(UINT64_MAX - 1);
    cr_assert_eq(made.figures->held, 0);
    assert_balanced(made.figures);
    static const netcond_loss causes[] = {NETCOND_LOSS_RANDOM, NETCOND_LOSS_BURST,
                                          NETCOND_LOSS_PARTITION};
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_gt(made.figures->lost[causes[i]], 100, "cause %u", causes[i]);
    }
}

/* ---- clients ---- */

/* Which of the client's packets come out. */
static void deliveries(uint32_t client, bool arrives[MANY])
{
    memset(arrives, 0, MANY * sizeof arrives[0]);
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t forwarded = made.figures->forwarded;
        put_number(client, i, i);
        pop_until(i);
        arrives[i] = made.figures->forwarded > forwarded;
    }
}

static uint32_t differences(const bool a[MANY], const bool b[MANY])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        count += a[i] != b[i] ? 1 : 0;
    }
    return count;
}

Test(conditioner, each_client_has_decisions_of_its_own_whoever_else_is_there)
{
    static bool first[MANY], again[MANY], second[MANY];
    asked.loss_ppm = 20 * PERCENT;
    open_line();
    deliveries(0, first);
    deliveries(1, second);
    cr_assert_gt(differences(first, second), MANY / 4);
    /* Another run, in another order, at another place: the number of the client decides. */
    close_line();
    open_line();
    deliveries(1, again);
    cr_assert_eq(differences(second, again), 0);
    netcond_conditioner_open(made.conditioner, 3, 1);
    deliveries(3, again);
    cr_assert_eq(differences(first, again), 0);
}

Test(conditioner, the_directions_and_seeds_decide_differently)
{
    static bool arrivals[3][MANY];
    static const netcond_conditioner_config variants[] = {
        {.seed = 7, .direction = NETCOND_DIRECTION_UP, .clients_max = 1},
        {.seed = 7, .direction = NETCOND_DIRECTION_DOWN, .clients_max = 1},
        {.seed = 8, .direction = NETCOND_DIRECTION_UP, .clients_max = 1},
    };
    for (uint32_t i = 0; i < 3; i++) {
        netcond_conditioner_config config = variants[i];
        config.link = ls_link_config_default();
        config.link.loss_ppm = 50 * PERCENT;
        cr_assert_eq(netcond_conditioner_create(&config, ls_allocator_heap(), &made.conditioner),
                     LS_OK);
        made.figures = netcond_conditioner_figures_of(made.conditioner);
        netcond_conditioner_open(made.conditioner, 0, 1);
        deliveries(0, arrivals[i]);
        close_line();
    }
    cr_assert_gt(differences(arrivals[0], arrivals[1]), MANY / 3);
    cr_assert_gt(differences(arrivals[0], arrivals[2]), MANY / 3);
}

Test(conditioner, a_clients_rate_is_its_own)
{
    asked.rate_bps = 256000; /* a packet with a number takes 1 ms */
    asked.bucket_bytes = 0;
    open_line();
    for (uint32_t client = 0; client < CLIENTS; client++) {
        put_number(client, client, 0);
    }
    for (uint32_t client = 0; client < CLIENTS; client++) {
        cr_assert_eq(pop_number(MS), client);
    }
}

Test(conditioner, packets_held_for_a_client_that_left_are_lost_and_go_to_nobody_else)
{
    asked.delay_ns = 10 * MS;
    open_line();
    put_number(0, 1, 0);
    put_number(1, 2, 0);
    put_number(2, 3, 0);
    netcond_conditioner_close(made.conditioner, 0);
    netcond_conditioner_close(made.conditioner, 2);
    netcond_conditioner_open(made.conditioner, 2, 99);
    put_number(2, 4, 0);
    cr_assert_eq(pop_number(10 * MS), 2);
    cr_assert_eq(pop_number(10 * MS), 4);
    netcond_conditioned_packet packet;
    cr_assert_not(netcond_conditioner_pop(made.conditioner, UINT64_MAX, &packet));
    cr_assert_eq(made.figures->lost[NETCOND_LOSS_NO_CLIENT], 2);
    assert_balanced(made.figures);
}

Test(conditioner, partitions_count_from_the_origin)
{
    asked.partition_start_ns = 10 * MS;
    asked.partition_length_ns = 10 * MS;
    open_line();
    netcond_conditioner_set_origin(made.conditioner, 1000 * MS);
    netcond_conditioner_open(made.conditioner, 0, 5);
    put_number(0, 1, 1009 * MS);
    put_number(0, 2, 1010 * MS);
    put_number(0, 3, 1020 * MS);
    cr_assert_eq(pop_number(1020 * MS), 1);
    cr_assert_eq(pop_number(1020 * MS), 3);
    cr_assert_eq(made.figures->lost[NETCOND_LOSS_PARTITION], 1);
}

Test(conditioner, a_packet_of_nobody_is_a_programmers_mistake, .signal = SIGABRT)
{
    open_line();
    netcond_conditioner_close(made.conditioner, 1);
    put_number(1, 1, 0);
}

/* ==== virtual_disk ==== */

/* The fault simulation's disk: what is written is a journal, whatever the disk does, and a crash
 * leaves what it may. */

enum {
    RAW_BYTES_MAX = 4096,
};

static const uint64_t second_ns = LS_NS_PER_SECOND;

static virtual_disk open_disk(uint64_t seed)
{
    virtual_disk disk;
    virtual_disk_init(&disk, seed, ls_allocator_heap());
    cr_assert_eq(virtual_disk_open(&disk, RAW_BYTES_MAX, NULL, 0), LS_OK);
    return disk;
}

static bool submit(virtual_disk *disk)
{
    static uint8_t bytes[64];
    ls_journal_store store = virtual_disk_store(disk);
    ls_journal_raw raw = {.kind = LS_JOURNAL_EVENT, .bytes = bytes, .size = sizeof bytes};
    return store.submit(store.user, &raw);
}

/* Writes a record and says how that went. */
static ls_status write_at(virtual_disk *disk, uint64_t now_ns)
{
    ls_journal_completion completion = {.status = LS_MALFORMED};
    cr_assert(submit(disk));
    cr_assert(virtual_disk_advance(disk, now_ns, &completion));
    cr_assert_eq(completion.status == LS_OK, completion.written_bytes > 0);
    cr_assert_eq(completion.status == LS_OK, completion.why[0] == '\0');
    return completion.status;
}

Test(virtual_disk, a_record_is_done_after_its_delay_and_not_before)
{
    virtual_disk disk = open_disk(1);
    ls_journal_completion completion;
    disk.state = (virtual_disk_state){.delay_min_ns = 100, .delay_max_ns = 100};
    cr_assert(submit(&disk));
    cr_assert_not(submit(&disk), "one at a time");
    cr_assert_eq(virtual_disk_next_ns(&disk), 100);
    cr_assert_not(virtual_disk_advance(&disk, 99, &completion));
    cr_assert_eq(disk.size, 0);
    cr_assert(virtual_disk_advance(&disk, 100, &completion));
    cr_assert_eq(completion.status, LS_OK);
    cr_assert_eq(disk.size, completion.written_bytes);
    cr_assert_eq(virtual_disk_next_ns(&disk), UINT64_MAX);
    virtual_disk_deinit(&disk);
}

Test(virtual_disk, a_full_one_keeps_what_it_has_and_goes_on_later)
{
    virtual_disk disk = open_disk(2);
    cr_assert_eq(write_at(&disk, 1), LS_OK);
    size_t size = disk.size;
    disk.state.is_full = true;
    cr_assert_eq(write_at(&disk, 2), LS_IO);
    cr_assert_eq(disk.size, size);
    disk.state.is_full = false;
    cr_assert_eq(write_at(&disk, 3), LS_OK);
    cr_assert_gt(disk.size, size);
    cr_assert_eq(disk.counts.failures, 1);
    virtual_disk_deinit(&disk);
}

Test(virtual_disk, a_crash_takes_nothing_that_was_synchronised)
{
    uint32_t torn = 0;
    uint32_t shorter = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        virtual_disk disk = open_disk(seed);
        uint8_t kept[1024];
        write_at(&disk, second_ns);
        size_t synchronised = disk.size;
        cr_assert_leq(synchronised, sizeof kept);
        memcpy(kept, disk.bytes, synchronised);
        write_at(&disk, second_ns + 1);
        size_t written = disk.size;
        disk.state.delay_min_ns = disk.state.delay_max_ns = second_ns;
        cr_assert(submit(&disk));
        virtual_disk_crash(&disk);
        cr_assert_eq(virtual_disk_next_ns(&disk), UINT64_MAX);
        cr_assert_geq(disk.size, synchronised);
        cr_assert_arr_eq(disk.bytes, kept, synchronised);
        torn += disk.size > written ? 1 : 0;
        shorter += disk.size < written ? 1 : 0;
        virtual_disk_deinit(&disk);
    }
    cr_assert_gt(torn, 0);
    cr_assert_gt(shorter, 0);
}
