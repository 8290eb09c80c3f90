#include "lockstep/tools/synctest/crash.h"

#include "lockstep/common/simulation/plugin_place.h"
#include "lockstep/common/system/library.h"
#include "lockstep/common/system/signals.h"

#include <stdlib.h>
#include <string.h>

enum {
    ENDED = 70,
};

static synctest_exchange *told;
static const synctest_reader *reading; /* while its function runs */

/* The phases of the process are wider than the calls of the simulation. */
static void note_call(void)
{
    switch (ls_plugin_place_here.call) {
    case LS_PLUGIN_CALL_OPEN:
        told->progress.phase = SYNCTEST_PHASE_OPENING;
        break;
    case LS_PLUGIN_CALL_INIT:
        told->progress.phase = SYNCTEST_PHASE_INIT;
        break;
    case LS_PLUGIN_CALL_LOAD:
        told->progress.phase = SYNCTEST_PHASE_LOADING_SAVE;
        break;
    default:
        break;
    }
}

static void on_crash(const ls_crash *crash)
{
    uintptr_t offset = 0;
    const char *library = ls_library_of(crash->instruction, &offset);
    if (reading && crash->is_access && reading->on_write(reading->user, crash->touched)) {
        _Exit(ENDED);
    }
    if (library && strcmp(library, told->match.sim) == 0) {
        told->outcome.crash_address = offset;
    }
    note_call();
    told->outcome.kind = SYNCTEST_OUTCOME_CRASHED;
    told->outcome.signal = crash->signal_number;
    _Exit(ENDED);
}

void synctest_crash_watch(synctest_exchange *exchange)
{
    told = exchange;
    ls_crash_signal_watch(on_crash, true);
}

void synctest_crash_guard(const synctest_reader *reader)
{
    reading = reader;
    reader->run(reader->user);
    reading = NULL;
}
