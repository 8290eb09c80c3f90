#include "lockstep/tools/bench/sections.h"

#include <string.h>

static const ls_bench_section sections[] = {
    {"sims", "the built-in simulations, 4 bots", ls_bench_sims},
    {"hash", "hashing, saving and loading states, against what memory can do", ls_bench_hash},
    {"session", "a match in memory, without system calls, hashes every tick", ls_bench_session},
    {"net", "sockets against a bare ENet relay: bytes, latency by RTT and loss", ls_bench_net},
    {"watch", "a match of four on real sockets, alone and with 1,000 who watch", ls_bench_watch},
    {"join", "joining a match at 100 ms RTT, 1 MiB/s: time, others' latency", ls_bench_join},
    {"journal", "writing a match down, verifying it and seeking in it", ls_bench_journal},
    {"timestep", "one frame through each stepping strategy", ls_bench_timestep},
    {"view", "painting a frame of 1280 x 720, without showing it", ls_bench_view},
    {"math", "fixed point, random numbers, sorting", ls_bench_math},
};

const ls_bench_section *ls_bench_section_at(uint32_t index)
{
    return index < sizeof sections / sizeof sections[0] ? &sections[index] : NULL;
}

const ls_bench_section *ls_bench_section_find(const char *name)
{
    for (uint32_t i = 0; ls_bench_section_at(i); i++) {
        if (strcmp(ls_bench_section_at(i)->name, name) == 0) {
            return ls_bench_section_at(i);
        }
    }
    return NULL;
}

ls_status ls_bench_section_run_in(const ls_bench_section *section, const ls_bench_plan *plan,
                                  ls_bench_report *report, ls_text *why)
{
    ls_bench_report_section(report, section->name, section->about);
    return section->run(plan, report, why);
}
