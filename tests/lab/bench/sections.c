#include "lockstep/tests/lab/bench/sections.h"

#include <string.h>

static const bench_section sections[] = {
    {"sims", "the built-in simulations, and Box2D 2.4 where its plug-in is there, 4 bots",
     bench_sims},
    {"hash", "hashing, saving and loading states, against what memory can do", bench_hash},
    {"session", "a match in memory, without system calls, hashes every tick", bench_session},
    {"matches", "many small matches in memory: bytes of one, a tick of one that is in no cache",
     bench_matches},
    {"causes", "keeping states to find causes of desyncs, against not", bench_causes},
    {"sealed", "sealed packets, key exchanges, floods of forged datagrams", bench_sealed},
    {"net", "sockets against a bare ENet relay: bytes, latency by RTT and loss", bench_net},
    {"relay", "lockstep-relay: datagrams on real sockets, against those that go directly",
     bench_relay},
    {"client", "lockstep-client in a match of two on real sockets against bare ENet", bench_client},
    {"service", "lockstep-server --config on two workers, rooms of four in the arena",
     bench_service},
    {"rooms", "how many rooms of four a core carries in time, their players on another one",
     bench_rooms},
    {"watch", "a match of four on real sockets, alone and with 1,000 spectators", bench_watch},
    {"growth", "what a client takes of its link by players, rate and loss, in virtual time",
     bench_growth},
    {"start", "connecting and starting a match of four at 60 ms RTT, by loss", bench_start},
    {"join", "joining a match at 100 ms RTT, 1 MiB/s, and by links: time, others' latency",
     bench_join},
    {"journal", "writing a match down, verifying it and seeking in it", bench_journal},
    {"timestep", "one frame through each stepping strategy", bench_timestep},
    {"view", "painting a frame of 1280 x 720, without showing it", bench_view},
    {"math", "fixed point, random numbers, sorting", bench_math},
};

const bench_section *bench_section_at(uint32_t index)
{
    return index < sizeof sections / sizeof sections[0] ? &sections[index] : NULL;
}

const bench_section *bench_section_find(const char *name)
{
    for (uint32_t i = 0; bench_section_at(i); i++) {
        if (strcmp(bench_section_at(i)->name, name) == 0) {
            return bench_section_at(i);
        }
    }
    return NULL;
}

ls_status bench_section_run_in(const bench_section *section, const bench_plan *plan,
                               bench_report *report, ls_text *why)
{
    bench_report_section(report, section->name, section->about);
    return section->run(plan, report, why);
}
