#include "lockstep/tools/synctest/perturbation.h"

#include "lockstep/common/program/option.h"

static const synctest_perturbation perturbations[SYNCTEST_PERTURBATION_COUNT] = {
#define PERTURBATION(id, name, mode, changes, variants, what)                                      \
    [SYNCTEST_PERTURBATION_##                                                                      \
        id] = {name, what, SYNCTEST_MODE_##mode, SYNCTEST_CHANGES_##changes, variants},
    SYNCTEST_PERTURBATION_MAP(PERTURBATION)
#undef PERTURBATION
};

/* As --only and --skip take them: the perturbations, and what is none. */
static const char *const names[] = {
#define PERTURBATION_NAME(id, name, mode, changes, variants, what) name,
    SYNCTEST_PERTURBATION_MAP(PERTURBATION_NAME)
#undef PERTURBATION_NAME
        "lint",
};

const synctest_perturbation *synctest_perturbation_of(synctest_perturbation_id id)
{
    return &perturbations[id];
}

uint32_t synctest_perturbation_rank(synctest_perturbation_id id)
{
    static const uint8_t most_basic_first[] = {
        SYNCTEST_PERTURBATION_STILL,   SYNCTEST_PERTURBATION_FRESH,
        SYNCTEST_PERTURBATION_STACK,   SYNCTEST_PERTURBATION_HEAP,
        SYNCTEST_PERTURBATION_SCRATCH, SYNCTEST_PERTURBATION_ADDRESSES,
        SYNCTEST_PERTURBATION_BOUNDS,  SYNCTEST_PERTURBATION_SAVE,
        SYNCTEST_PERTURBATION_JOIN,    SYNCTEST_PERTURBATION_ROLLBACK,
        SYNCTEST_PERTURBATION_AGAIN,   SYNCTEST_PERTURBATION_DRAW,
        SYNCTEST_PERTURBATION_LOG,     SYNCTEST_PERTURBATION_CLOCK,
        SYNCTEST_PERTURBATION_CORES,   SYNCTEST_PERTURBATION_WORKERS,
        SYNCTEST_PERTURBATION_TIES,    SYNCTEST_PERTURBATION_ROUNDING,
        SYNCTEST_PERTURBATION_FLUSH,   SYNCTEST_PERTURBATION_CPU,
        SYNCTEST_PERTURBATION_LIBRARY, SYNCTEST_PERTURBATION_ENVIRONMENT,
        SYNCTEST_PERTURBATION_AGAINST,
    };
    uint32_t rank = 0;
    while (rank + 1 < sizeof most_basic_first && most_basic_first[rank] != id) {
        rank++;
    }
    return rank;
}

ls_status synctest_perturbation_parse_list(const char *name, const char *list, uint32_t *set,
                                           bool *has_lint, ls_text *why)
{
    uint32_t found = 0;
    ls_status status =
        ls_option_list(name, list, names, SYNCTEST_PERTURBATION_COUNT + 1, &found, why);
    *has_lint = *has_lint || found >> SYNCTEST_PERTURBATION_COUNT != 0;
    *set |= found & ~(UINT32_C(1) << SYNCTEST_PERTURBATION_COUNT);
    return status;
}

uint32_t synctest_perturbation_join_tick(uint32_t ticks, uint32_t variant)
{
    return (uint32_t)((uint64_t)ticks * (variant + 1) / (SYNCTEST_TRIED_JOINS + 1));
}
