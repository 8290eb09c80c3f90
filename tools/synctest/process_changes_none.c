#include "lockstep/tools/synctest/process_changes.h"

void synctest_process_changes_prepare(const synctest_launch *launch,
                                      ls_child_process_config *config)
{
    (void)launch;
    (void)config;
}

void synctest_process_changes_enter(uint32_t changes, uint32_t variant)
{
    (void)changes;
    (void)variant;
}

void synctest_process_changes_fill_heap(uint32_t changes, uint32_t variant)
{
    (void)changes;
    (void)variant;
}

void synctest_process_changes_begin_tick(ls_tick tick)
{
    (void)tick;
}

bool synctest_process_changes_can_fix_addresses(void)
{
    return false;
}

bool synctest_process_changes_can_change_cpu(void)
{
    return false;
}
