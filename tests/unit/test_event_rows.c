#include "lockstep/server/journal/event_rows.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    KINDS = LS_MATCH_CHAT + 1,
};

static const ls_event_row *row_of(uint32_t kind, bool was_coming)
{
    const ls_match_event event = {.kind = (ls_match_event_kind)kind, .was_coming = was_coming};
    return ls_event_row_of(&event);
}

Test(event_rows, newcomer_joins_and_one_that_does_not_stay_was_never_there)
{
    cr_expect_str_eq(row_of(LS_MATCH_PLAYER_READY, true)->word, "player-joined");
    cr_expect_null(row_of(LS_MATCH_PLAYER_READY, false)->word);
    cr_expect_null(row_of(LS_MATCH_PLAYER_LEFT, true)->word);
    cr_expect_eq(row_of(LS_MATCH_PLAYER_LEFT, true)->record, LS_JOURNAL_EVENT_TURNED_AWAY);
    cr_expect_str_eq(row_of(LS_MATCH_PLAYER_LEFT, false)->word, "player-left");
    cr_expect_eq(row_of(LS_MATCH_PLAYER_LEFT, false)->record, LS_JOURNAL_EVENT_LEFT);
}

/* No player is charged for the lines of an operator. */
Test(event_rows, pause_is_of_the_match)
{
    cr_expect_eq(row_of(LS_MATCH_PAUSED, false)->scope, LS_EVENT_OF_MATCH);
    cr_expect_eq(row_of(LS_MATCH_UNPAUSED, false)->scope, LS_EVENT_OF_MATCH);
    cr_expect_eq(row_of(LS_MATCH_SUSPENDED, false)->scope, LS_EVENT_OF_MATCH);
}

Test(event_rows, no_two_kinds_have_one_word_or_one_record)
{
    for (uint32_t a = 0; a < KINDS; a++) {
        for (uint32_t b = 0; b < a; b++) {
            const ls_event_row *one = row_of(a, false);
            const ls_event_row *other = row_of(b, false);
            cr_expect(!one->word || !other->word || strcmp(one->word, other->word) != 0);
            cr_expect(one->record == 0 || one->record != other->record);
        }
    }
}

Test(event_rows, lines_have_fields_that_there_are)
{
    static const char names[] = "{player} {slot} {tick} {text} {: text} {status} {waited for} "
                                "{waited_ms} {keep_s}";
    uint32_t fields = 0;
    for (uint32_t i = 0; i < 2 * KINDS; i++) {
        const char *at = row_of(i / 2, i % 2 != 0)->line;
        for (at = at ? strchr(at, '{') : NULL; at; at = strchr(at + 1, '{')) {
            char field[16] = "";
            size_t length = strcspn(at, "}") + 1;
            cr_assert_lt(length, sizeof field);
            memcpy(field, at, length);
            cr_expect(strstr(names, field), "%s", field);
            fields++;
        }
    }
    cr_expect_gt(fields, 30);
}
