#include "lockstep/common/diagnosis/word_changes.h"

#include <string.h>

enum {
    WORD_BYTES = 8,
    MANY_WORDS = 64, /* that are compared at once, and then some of them */
    SOME_WORDS = 8,
};

static bool are_equal(const ls_word_blocks *blocks, size_t at, size_t words)
{
    return at + words <= blocks->count &&
           memcmp(blocks->before + at, blocks->now + at, words * WORD_BYTES) == 0;
}

static bool are_some_equal(const ls_word_blocks *blocks, size_t at)
{
    uint64_t difference = 0;
    if (at + SOME_WORDS > blocks->count) {
        return false;
    }
    for (size_t i = 0; i < SOME_WORDS; i++) {
        difference |= blocks->before[at + i] ^ blocks->now[at + i];
    }
    return difference == 0;
}

bool ls_word_changes_next(const ls_word_blocks *blocks, ls_word_run *run)
{
    size_t at = run->end;
    while (are_equal(blocks, at, MANY_WORDS)) {
        at += MANY_WORDS;
    }
    while (are_some_equal(blocks, at)) {
        at += SOME_WORDS;
    }
    while (at < blocks->count && blocks->before[at] == blocks->now[at]) {
        at++;
    }
    if (at == blocks->count) {
        return false;
    }
    run->first = at;
    run->end = at + 1;
    for (at = run->end; at < blocks->count && at <= run->end + 1; at++) {
        run->end = blocks->before[at] != blocks->now[at] ? at + 1 : run->end;
    }
    return true;
}

ls_word_figures ls_word_changes_count(const ls_word_blocks *blocks)
{
    ls_word_figures figures = {0, 0};
    bool is_in_group = false;
    for (size_t i = 0; i < blocks->count; i++) {
        bool differs = blocks->now[i] != blocks->before[i];
        figures.words += differs;
        figures.groups += differs && !is_in_group;
        is_in_group = differs;
    }
    return figures;
}
