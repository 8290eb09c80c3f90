#include "lockstep/tools/synctest/perturbation.h"

#include <string.h>

static const synctest_perturbation perturbations[SYNCTEST_PERTURBATION_COUNT] = {
#define PERTURBATION(id, name, mode, changes, variants, what)                                      \
    [SYNCTEST_PERTURBATION_##                                                                      \
        id] = {name, what, SYNCTEST_MODE_##mode, SYNCTEST_CHANGES_##changes, variants},
    SYNCTEST_PERTURBATION_MAP(PERTURBATION)
#undef PERTURBATION
};

static const char lint_name[] = "lint";

const synctest_perturbation *synctest_perturbation_of(synctest_perturbation_id id)
{
    return &perturbations[id];
}

static bool is_word(const char *word, size_t size, const char *name)
{
    return strlen(name) == size && memcmp(word, name, size) == 0;
}

/* Whether the word is a name; what it names is added. */
static bool add_word(const char *word, size_t size, uint32_t *set, bool *has_lint)
{
    if (is_word(word, size, lint_name)) {
        *has_lint = true;
        return true;
    }
    for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
        if (is_word(word, size, perturbations[id].name)) {
            *set |= UINT32_C(1) << id;
            return true;
        }
    }
    return false;
}

ls_status synctest_perturbation_parse_list(const char *list, uint32_t *set, bool *has_lint,
                                           ls_text *why)
{
    uint32_t found = 0;
    bool found_lint = false;
    for (const char *word = list; word;) {
        const char *comma = strchr(word, ',');
        size_t size = comma ? (size_t)(comma - word) : strlen(word);
        if (!add_word(word, size, &found, &found_lint)) {
            ls_text_set(why, "there is no '%.*s'; there are %s", (int)size, word, lint_name);
            for (uint32_t id = 0; id < SYNCTEST_PERTURBATION_COUNT; id++) {
                ls_text_add(why, ", %s", perturbations[id].name);
            }
            return LS_BAD_ARGUMENT;
        }
        word = comma ? comma + 1 : NULL;
    }
    *set |= found;
    *has_lint = *has_lint || found_lint;
    return LS_OK;
}

uint32_t synctest_perturbation_join_tick(uint32_t ticks, uint32_t variant)
{
    return (uint32_t)((uint64_t)ticks * (variant + 1) / (SYNCTEST_TRIED_JOINS + 1));
}
