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
