/* Names: whatever clients ask to be called, nobody in a match can be taken for another. */
#include "lockstep/common/program/player_name.h"
#include "lockstep/tests/match/match_test.h"

#include <stdio.h>

static virtual_setup setup_of(uint32_t players, uint32_t spectators)
{
    virtual_setup setup = virtual_setup_default(test_simulation(), 0, 0);
    setup.match.sim.players = players;
    setup.match.spectators_max = spectators;
    setup.match.spectator_delay_ticks = 10;
    setup.match.clean_name = ls_player_name_clean;
    return setup;
}

static virtual_client *come(virtual_match *run, const char *name, bool is_spectator)
{
    virtual_client_setup setup = virtual_client_setup_default(run);
    snprintf(setup.session.name, sizeof setup.session.name, "%s", name);
    setup.session.is_spectator = is_spectator;
    setup.session.reconnect_ms = 60000;
    virtual_client *client = virtual_match_add_client(run, &setup);
    virtual_match_run(run, SECOND);
    return client;
}

static const char *name_of(const virtual_client *client)
{
    static char names[4][LS_PLAYER_NAME_BYTES_MAX];
    static uint32_t next;
    char *name = names[next++ % 4];
    ls_match_slot slot = ls_match_slot_of(client->run->match, report_of(client).slot);
    memcpy(name, slot.name, LS_PLAYER_NAME_BYTES_MAX);
    return name;
}

static void check_names(const char *const names[][2], uint32_t count)
{
    const virtual_setup setup = setup_of(count, 0);
    virtual_match *run = checked_match_create(&setup);
    for (uint32_t i = 0; i < count; i++) {
        come(run, names[i][0], false);
    }
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_str_eq(name_of(run->clients[i]), names[i][1]);
        uint32_t slot = report_of(run->clients[i]).slot;
        cr_expect_str_eq(ls_session_player_name(run->clients[0]->session, slot), names[i][1]);
    }
    check_plays(run->clients[0]);
    close_run(run);
}

Test(names, equal_names_get_numbers)
{
    static const char *const names[][2] = {
        {"Ann", "Ann"},          {"Ann", "Ann (2)"}, {"ANN", "ANN (3)"},
        {"\uff21nn", "Ann (4)"}, {"Zoe", "Zoe"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, a_player_cannot_type_a_number_that_the_server_gives)
{
    static const char *const names[][2] = {
        {"admin", "admin"},          {"Admin (1)", "Admin (2)"}, {"Admin (2)", "Admin (3)"},
        {"admin (lO)", "admin (4)"}, {"Bob (2)", "Bob"},         {"(3)", "player"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, letters_that_nobody_sees_make_no_other_name)
{
    static const char *const names[][2] = {
        {"admin", "admin"},
        {"admin\u3164", "admin (2)"},
        {"\u00a0admin", "admin (3)"},
        {"ad\u2800min", "admin (4)"},
        {"\u115f\u1160admin", "admin (5)"},
        {"a\u17b4dmin", "admin (6)"},
        {"admin\u034f", "admin (7)"},
        {"\u3164", "player"},
        {"", "player (2)"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, look_alikes_get_numbers)
{
    static const char *const names[][2] = {
        {"\u0430dmin", "\u0430dmin"}, /* Cyrillic */
        {"admin", "admin (2)"},
        {"ADMlN", "ADMlN (3)"},
        {"adrnin", "adrnin (4)"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, what_joins_letters_and_emoji_reaches_the_others)
{
    static const char *const names[][2] = {
        {"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
         "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"},
        {"\U0001f468\u200d\U0001f469\u200d\U0001f467",
         "\U0001f468\u200d\U0001f469\u200d\U0001f467"},
        {"\U0001f468\U0001f469\U0001f467", "\U0001f468\U0001f469\U0001f467 (2)"},
        {"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
         "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, one_with_a_number_fits)
{
    static const char *const names[][2] = {
        {"1234567890123456789012345678901", "1234567890123456789012345678901"},
        {"1234567890123456789012345678901", "123456789012345678901234567 (2)"},
        {"\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d",
         "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d"},
        {"\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d",
         "\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d\u4e2d (2)"},
    };
    check_names(names, sizeof names / sizeof names[0]);
}

Test(names, returning_player_keeps_its_name_and_its_seat_keeps_it_from_others)
{
    virtual_setup setup = setup_of(3, 0);
    setup.match.start_players = 2;
    setup.match.keep_seat_ms = 60000;
    virtual_match *run = checked_match_create(&setup);
    come(run, "Ann", false);
    virtual_client *second = come(run, "Ann", false);
    virtual_match_run(run, SECOND);
    cut_link(second, true);
    virtual_match_run(run, 15 * SECOND);
    virtual_client *third = come(run, "Ann", false);
    cr_assert_str_eq(name_of(third), "Ann (3)");
    cut_link(second, false);
    cr_assert(virtual_client_run_to_state(second, LS_SESSION_PLAYING, 15 * SECOND));
    virtual_match_run(run, SECOND);
    check_plays(second);
    cr_assert_str_eq(name_of(second), "Ann (2)");
    close_run(run);
}

Test(names, seats_keep_theirs_when_their_server_was_replaced)
{
    virtual_setup setup = setup_of(3, 0);
    setup.match.start_players = 2;
    setup.match.keep_seat_ms = 60000;
    setup.match.resume_wait_ms = 3000;
    setup.has_journal = true;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *first = come(run, "Ann", false);
    virtual_client *second = come(run, "Ann", false);
    virtual_match_run(run, SECOND);
    virtual_match_crash(run, SECOND);
    cut_link(second, true);
    virtual_match_run(run, 10 * SECOND);
    cr_assert_eq(check_of(run)->resumes.resumed, 1);
    cr_assert_str_eq(name_of(first), "Ann");
    cr_assert_str_eq(name_of(second), "Ann (2)");
    cr_assert_str_eq(name_of(come(run, "ann", false)), "ann (3)");
    close_run(run);
}

Test(names, a_name_is_free_when_its_player_has_left)
{
    virtual_setup setup = setup_of(3, 0);
    setup.match.start_players = 2;
    setup.match.keep_seat_ms = 0;
    virtual_match *run = checked_match_create(&setup);
    come(run, "Bob", false);
    virtual_client *left = come(run, "Ann", false);
    cut_link(left, true);
    virtual_match_run(run, 15 * SECOND);
    cr_assert_str_eq(name_of(come(run, "Ann", false)), "Ann");
    close_run(run);
}

static const virtual_event *newest_spectator(const virtual_match *run)
{
    for (uint32_t i = run->event_count; i > 0; i--) {
        if (run->events[i - 1].event.kind == LS_MATCH_SPECTATOR_CAME) {
            return &run->events[i - 1];
        }
    }
    return NULL;
}

Test(names, spectators_and_players_are_told_from_each_other)
{
    virtual_setup setup = setup_of(2, 40);
    setup.match.start_players = 1;
    virtual_match *run = checked_match_create(&setup);
    come(run, "Ann", false);
    for (uint32_t i = 2; i < 40; i++) {
        char expected[64];
        come(run, "ann", true);
        snprintf(expected, sizeof expected, "ann (%u)", i);
        const virtual_event *came = newest_spectator(run);
        cr_assert(came && strncmp(came->event.text.bytes, expected, strlen(expected)) == 0,
                  "%s: %s", expected, came ? came->event.text.bytes : "nobody came");
    }
    cr_assert_str_eq(name_of(come(run, "\u0430nn", false)), "\u0430nn (40)");
    close_run(run);
}

/* An owner of a match that says nothing about names has them as they come. */
Test(names, are_as_they_are_asked_for_where_nothing_cleans_them)
{
    virtual_setup setup = setup_of(2, 0);
    setup.match.clean_name = NULL;
    virtual_match *run = checked_match_create(&setup);
    come(run, " Ann ", false);
    come(run, "Ann", false);
    cr_assert_str_eq(name_of(run->clients[0]), "Ann");
    cr_assert_str_eq(name_of(run->clients[1]), "Ann");
    close_run(run);
}
