/* broken FAULT FIRST LAST: the fault simulation over cores that have been broken on purpose
 * (common/base/fault.h), or over the same cores unbroken: FAULT none. JSON on standard output.
 * broken --list: each fault with its invariant. broken FAULT --self-test: a part of the self-test
 * over them. */
#include "lockstep/common/base/fault.h"
#include "lockstep/common/program/option.h"
#include "lockstep/tests/lab/faultsim/faultsim.h"
#include "lockstep/tests/lab/faultsim/self_test.h"
#include "lockstep/tests/lab/faultsim/test_simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    PLAYERS = 4,
    TICKS = 600,
    SELF_TEST_EVERY = 63,
    SELF_TEST_CLEAN_TICKS = 4000,
};

ls_fault ls_fault_chosen;

typedef struct known_fault {
    const char *name;
    ls_fault fault;
    int invariant;
} known_fault;

static const known_fault faults[] = {{"none", LS_FAULT_NONE, 0},
#define KNOWN(name, invariant, text) {#name, LS_FAULT_##name, invariant},
                                     LS_FAULT_MAP(KNOWN)
#undef KNOWN
};

static int list(void)
{
    for (size_t i = 1; i < sizeof faults / sizeof faults[0]; i++) {
        printf("%s I%d\n", faults[i].name, faults[i].invariant);
    }
    return LS_EXIT_CLEAN;
}

static bool choose(const char *name)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(faults[i].name, name) == 0) {
            ls_fault_chosen = faults[i].fault;
            return true;
        }
    }
    return false;
}

static ls_exit_code test_itself(void)
{
    faultsim_self_test_config config = {.simulation = test_simulation(),
                                        .every = SELF_TEST_EVERY,
                                        .clean_ticks = SELF_TEST_CLEAN_TICKS,
                                        .jobs = 1,
                                        .json_path = "-"};
    ls_console console;
    ls_console_init(&console, "broken", LS_LOG_ERROR);
    return faultsim_self_test_run(&config, &console);
}

int main(int argc, char **argv)
{
    ls_text why = {{0}};
    uint64_t first = 0;
    uint64_t last = 0;
    ls_option_range range = {0, UINT32_MAX};
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        return list();
    }
    if (argc == 3 && strcmp(argv[2], "--self-test") == 0 && choose(argv[1])) {
        return test_itself();
    }
    if (argc != 4 || !choose(argv[1]) ||
        ls_option_number("first", argv[2], range, &first, &why) != LS_OK ||
        ls_option_number("last", argv[3], range, &last, &why) != LS_OK) {
        fprintf(stderr, "usage: broken FAULT FIRST LAST %s\n", why.bytes);
        return LS_EXIT_USAGE;
    }
    ls_console console;
    ls_console_init(&console, "broken", LS_LOG_ERROR);
    faultsim_config config = {
        .scenario = {.players = PLAYERS,
                     .ticks = TICKS,
                     .late_rule = -1,
                     .is_sealed = LS_FAULT(SHORT_REQUEST_ANSWERED) || LS_FAULT(CONNECTION_KEPT),
                     .classes = FAULTSIM_CLASS_ALL},
        .first_seed = first,
        .last_seed = last,
        .jobs = 1,
        .json_path = "-",
        .again = ""};
    return faultsim_run(&config, &console);
}
