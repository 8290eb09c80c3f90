#include "lockstep/common/base/clock.h"
#include "lockstep/protocol/sealed/sealed_content.h"
#include "lockstep/tests/lab/bench/memory_match.h"
#include "lockstep/tests/lab/bench/sections.h"

enum {
    STATE_BYTES = 256,
    RATE_HZ = 60,
    WARM_S = 4,
    SECONDS = 20,
    STEPS_PER_TICK = 8,
    DELAY_MS = 33,
    /* In place of what the memory network counts before each packet: as in section_net_path.c. */
    COUNTED_BYTES = 10,
    UP_SEAL_BYTES = LS_SEALED_CLIENT_HEADER_BYTES + LS_SEALED_TAG_BYTES - COUNTED_BYTES,
    DOWN_SEAL_BYTES = LS_SEALED_SERVER_HEADER_BYTES + LS_SEALED_TAG_BYTES - COUNTED_BYTES,
    HEADER_BYTES = 20 + 8 + COUNTED_BYTES, /* below what is sealed, but for what the seal adds */
};

#define LOSSY_BUDGET 4800

/* The bytes of a client in virtual time, the same in every run on every machine. Each
 * player's pad changes in one tick of eight. */
typedef struct growth_case {
    const char *name;
    uint32_t players;
    uint32_t tick_rate_hz;
    uint32_t loss_percent;
    uint32_t input_delay_ticks; /* with the send rate `saving`; 0: auto */
    double budget;              /* of either direction, bytes a second; 0: none */
} growth_case;

static const growth_case cases[] = {
    {"2 players", 2, RATE_HZ, 0, 0, 0},
    {"4 players", 4, RATE_HZ, 0, 0, 0},
    {"8 players", 8, RATE_HZ, 0, 0, 0},
    {"16 players", 16, RATE_HZ, 0, 0, 0},
    {"32 players", 32, RATE_HZ, 0, 0, 0},
    {"64 players", 64, RATE_HZ, 0, 0, 0},
    {"128 players", 128, RATE_HZ, 0, 0, 0},
    {"2 players, 30 Hz", 2, 30, 0, 0, 0},
    {"4 players, 30 Hz", 4, 30, 0, 0, 0},
    {"8 players, 30 Hz", 8, 30, 0, 0, 0},
    {"16 players, 30 Hz", 16, 30, 0, 0, 0},
    {"32 players, 30 Hz", 32, 30, 0, 0, 0},
    {"64 players, 30 Hz", 64, 30, 0, 0, 0},
    {"128 players, 30 Hz", 128, 30, 0, 0, 0},
    {"4 players, 5 % lost", 4, RATE_HZ, 5, 0, LOSSY_BUDGET},
    {"8 players, 5 % lost", 8, RATE_HZ, 5, 0, LOSSY_BUDGET},
    {"32 players, 5 % lost", 32, RATE_HZ, 5, 0, LOSSY_BUDGET},
    {"2 players, 15 packets", 2, RATE_HZ, 0, 3, 0},
    {"2 players, 20 packets", 2, RATE_HZ, 0, 2, 0},
    {"4 players, 20 packets", 4, RATE_HZ, 0, 2, 0},
};

typedef struct growth_way {
    const char *name;
    uint64_t bytes;
    uint64_t packets;
    uint32_t packet_bytes; /* without content */
} growth_way;

static void report_ways(const growth_case *one, const growth_way ways[2], double client_seconds,
                        bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    for (uint32_t i = 0; i < 2; i++) {
        double packets = (double)ways[i].packets / client_seconds;
        snprintf(name, sizeof name, "%s: a client %s", one->name, ways[i].name);
        bench_report_number(report, name, "B/s", (double)ways[i].bytes / client_seconds,
                            one->budget > 0 ? BENCH_MOST(one->budget) : BENCH_UNBUDGETED);
        snprintf(name, sizeof name, "%s: headers alone, %s", one->name, ways[i].name);
        bench_report_number(report, name, "B/s", packets * ways[i].packet_bytes, BENCH_UNBUDGETED);
    }
}

static ls_status measure(const growth_case *one, const bench_plan *plan, bench_report *report,
                         ls_text *why)
{
    const bench_memory_match_config config = {
        .players = one->players,
        .state_bytes = STATE_BYTES,
        .tick_rate_hz = one->tick_rate_hz,
        .input_delay_ticks = one->input_delay_ticks,
        .send_rate = one->input_delay_ticks > 0 ? LS_SEND_SAVING : LS_SEND_AUTO,
        .delay_ns = DELAY_MS * LS_NS_PER_MS,
        .loss_ppm = one->loss_percent * 10000,
        .steps_per_tick = STEPS_PER_TICK,
        .seed = 1};
    uint32_t seconds = one->players > 32 ? SECONDS / 10 : SECONDS;
    ls_memory_match *match = bench_memory_match_create(&config);
    bench_memory_match_run(match, (one->loss_percent > 0 ? 3 : 1) * WARM_S * one->tick_rate_hz);
    bench_memory_match_totals before = bench_memory_match_totals_of(match);
    bench_memory_match_run(match, plan->is_smoke ? STEPS_PER_TICK : seconds * one->tick_rate_hz);
    bench_memory_match_totals after = bench_memory_match_totals_of(match);
    uint64_t up = after.packets_up - before.packets_up;
    uint64_t down = after.packets_down - before.packets_down;
    const growth_way ways[2] = {{"down",
                                 after.bytes_down - before.bytes_down + down * DOWN_SEAL_BYTES,
                                 down, HEADER_BYTES + DOWN_SEAL_BYTES},
                                {"up", after.bytes_up - before.bytes_up + up * UP_SEAL_BYTES, up,
                                 HEADER_BYTES + UP_SEAL_BYTES}};
    report_ways(one, ways, (double)(after.ticks - before.ticks) * one->players / one->tick_rate_hz,
                report);
    ls_status status = bench_memory_match_check(match, why);
    bench_memory_match_destroy(match);
    return status;
}

ls_status bench_growth(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof cases / sizeof cases[0]; i++) {
        if (!plan->is_smoke || cases[i].players <= 4) {
            status = measure(&cases[i], plan, report, why);
        }
    }
    return status;
}
