/* The match of a server that goes on from a journal: where its simulation begins, who sits where,
 * and how it goes on where ticks are missing or the end is torn. Journals that are refused are in
 * test_resume_refused.c. */
#include "lockstep/tests/unit/made_journal.h"

TestSuite(resume, .fini = close_all);

static bool holds(ls_tick tick)
{
    ls_slot_input slots[LS_PLAYERS_MAX];
    ls_tick_inputs inputs;
    return ls_match_closed_tick(here.match, tick, slots, &inputs) == LS_OK;
}

static void make_plain_journal(uint32_t ticks, uint32_t snapshot_ticks)
{
    journal_plan made = plan_of(ticks, snapshot_ticks);
    make_journal(&made);
}

/* Without the ticks from `first` up to `end`. */
static void make_journal_with_gap(journal_plan made, ls_tick first, ls_tick end)
{
    made.gap_first = first;
    made.gap_end = end;
    make_journal(&made);
}

/* ---- where it begins ---- */

Test(resume, a_match_is_rebuilt_from_a_snapshot_that_leaves_every_ring_full)
{
    make_plain_journal(3000, 600);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 1800u, "of 1200, 1800, 2400 and 3000 it is the newest so old");
    cr_expect_eq(report.tick, 3000u);
    cr_expect_eq(report.state_hashes, 1201u);
    cr_expect_eq(report.cut_bytes, 0u);
    cr_expect_eq(report.missing_tick, UINT32_MAX);
    cr_expect_eq(report.in_band.words[0], 3u);
    cr_expect_str_empty(report.loss.bytes);
    cr_expect(holds(3000 - LS_WINDOW_TICKS));
    cr_expect_not(holds(3000 - LS_WINDOW_TICKS - 1));
}

Test(resume, the_last_snapshot_that_is_old_enough_is_taken)
{
    make_plain_journal(200 + LS_WINDOW_TICKS, 200);
    cr_expect_eq(restore_all().from_tick, 200u);
    cr_expect(holds(200));
}

Test(resume, a_young_match_is_rebuilt_from_its_beginning)
{
    make_plain_journal(199 + LS_WINDOW_TICKS, 200);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 0u);
    cr_expect_eq(report.state_hashes, 199u + LS_WINDOW_TICKS);
    cr_expect(holds(199));
}

Test(resume, a_match_without_snapshots_is_rebuilt_from_its_beginning)
{
    make_plain_journal(2500, 0);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 0u);
    cr_expect_eq(report.state_hashes, 2500u);
}

Test(resume, a_match_that_began_and_has_no_tick_yet_is_waited_for)
{
    make_plain_journal(0, 0);
    cr_expect_eq(restore_all().tick, 0u);
    ls_match_advance(here.match, 1000 + UINT64_C(50000000)); /* it waits for 100 ms */
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_RESUMING, "its players may know more");
}

Test(resume, players_are_known_by_seat_generations_and_newest_names)
{
    make_plain_journal(100, 0);
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 0)->generations.newest, 1u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.newest, 2u,
                 "a return is no new turn");
    cr_expect_str_eq(ls_resume_seat_of(here.resume, 0)->name, "Ada");
    cr_expect_str_eq(ls_resume_seat_of(here.resume, 1)->name, "Cid");
    cr_expect_str_eq(ls_match_slot_of(here.match, 1).name, "Cid");
}

/* A player who sat down after a server came back has no turn that it may have forgotten. */
Test(resume, turns_that_a_server_may_have_forgotten_are_left_out)
{
    make_plain_journal(100, 0);
    append_event(LS_JOURNAL_EVENT_RESTORED, LS_JOURNAL_NO_SLOT, 100, "");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 100, "Dan");
    append_event(LS_JOURNAL_EVENT_RESTORED, LS_JOURNAL_NO_SLOT, 100, "");
    restore_all();
    ls_seat_generations first = ls_resume_seat_of(here.resume, 0)->generations;
    ls_seat_generations second = ls_resume_seat_of(here.resume, 1)->generations;
    cr_expect_eq(first.newest, 1u);
    cr_expect_eq(first.forgotten, 3 * LS_FORGOTTEN_GENERATIONS_MAX, "twice before, and now");
    cr_expect_eq(second.newest, 2u + LS_FORGOTTEN_GENERATIONS_MAX + 1u);
    cr_expect_eq(second.forgotten, 2 * LS_FORGOTTEN_GENERATIONS_MAX);
}

Test(resume, the_newest_secret_of_a_player_is_known)
{
    make_plain_journal(100, 0);
    append_event(LS_JOURNAL_EVENT_SECRET_PROVEN, 1, 100, "7");
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 0)->generations.secret, 0u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.secret, 7u);
}

Test(resume, another_player_begins_with_another_first_secret)
{
    make_plain_journal(100, 0);
    append_event(LS_JOURNAL_EVENT_SECRET_PROVEN, 1, 100, "7");
    append_event(LS_JOURNAL_EVENT_SEATED, 1, 100, "Dan");
    restore_all();
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.newest, 3u);
    cr_expect_eq(ls_resume_seat_of(here.resume, 1)->generations.secret, 0u);
}

static void expect_joined(journal_plan made, const char *name, ls_tick tick)
{
    make_journal(&made);
    restore_all();
    cr_expect_str_eq(ls_match_slot_of(here.match, 1).name, name);
    cr_expect_eq(ls_match_slot_of(here.match, 1).joined_tick, tick);
    cr_expect_eq(ls_match_slot_of(here.match, 0).joined_tick, 0u);
}

Test(resume, when_a_player_joined_is_known_from_the_ticks_and_not_when_it_came_back)
{
    expect_joined(plan_of(100, 0), "Cid", JOURNAL_SECOND_PLAYER_TICK);
}

Test(resume, when_a_player_joined_is_known_behind_a_snapshot_too)
{
    expect_joined(plan_of(2400, 600), "Cid", JOURNAL_SECOND_PLAYER_TICK);
}

Test(resume, a_player_that_took_a_seat_over_joined_after_that)
{
    journal_plan made = plan_of(100, 0);
    made.change_tick = JOURNAL_CHANGE_TICK - 8;
    expect_joined(made, "Dot", JOURNAL_CHANGE_TICK);
}

Test(resume, a_player_not_heard_of_after_sitting_down_joins_after_the_journal)
{
    journal_plan made = plan_of(100, 0);
    made.change_tick = 99;
    expect_joined(made, "Dot", 100);
}

Test(resume, a_player_turned_away_has_not_been_there)
{
    journal_plan made = plan_of(100, 0);
    made.change_tick = 50;
    made.is_turned_away = true;
    expect_joined(made, "Cid", JOURNAL_SECOND_PLAYER_TICK);
    cr_expect(ls_resume_seat_of(here.resume, 1)->has_left, "as it had before");
    ls_seat_generations generations = ls_resume_seat_of(here.resume, 1)->generations;
    cr_expect_eq(generations.newest, 2u);
    cr_expect_eq(generations.spent, 1u, "what it was given");
    cr_expect_eq(generations.forgotten, LS_FORGOTTEN_GENERATIONS_MAX);
}

Test(resume, nobody_comes_back_and_the_match_ends_where_it_stood)
{
    make_plain_journal(100, 0);
    restore_all();
    for (uint64_t ms = 0; ms < 60000 && ls_match_state_of(here.match) != LS_MATCH_OVER; ms += 50) {
        ls_match_advance(here.match, 1000 + ms * 1000000);
    }
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_OVER);
    cr_expect_geq(ls_match_tick(here.match), 100u);
}

Test(resume, a_match_whose_end_was_told_ends_there_again)
{
    journal_plan made = plan_of(60, 0);
    made.has_ended = true;
    make_journal(&made);
    ls_match_config config;
    restore_all();
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_eq(config.ticks, 60u);
}

Test(resume, a_match_that_had_not_begun_has_its_lobby_again)
{
    journal_plan made = plan_of(0, 0);
    made.is_started = false;
    make_journal(&made);
    ls_resume_report report;
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_not(report.has_begun);
    cr_expect_eq(ls_match_state_of(here.match), LS_MATCH_LOBBY);
    cr_expect_not(ls_match_slot_of(here.match, 0).has_played);
}

/* ---- what is missing ---- */

Test(resume, ticks_that_are_missing_before_a_snapshot_are_told_and_do_no_harm)
{
    make_journal_with_gap(plan_of(3000, 600), 2100, 2150);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 2400u, "the oldest behind the gap");
    cr_expect_eq(report.missing_tick, 2100u);
    cr_expect(holds(2400));
    cr_expect_not(holds(2149));
}

/* The match stands before the gap, and the journal is gone on with where a file ends that was cut
 * there. */
static void expect_cut_at(ls_tick tick, ls_tick from_tick)
{
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    const ls_journal_info *info = ls_journal_info_of(ls_resume_journal(here.resume));
    size_t end = (size_t)info->append_offset;
    cr_expect_eq(report.tick, tick);
    cr_expect_eq(ls_match_tick(here.match), tick);
    cr_expect_eq(report.from_tick, from_tick);
    cr_expect(report.is_cut_at_gap);
    cr_expect_eq(report.missing_tick, UINT32_MAX, "none is missing before");
    cr_expect_lt(end, here.size);
    cr_expect_eq(report.cut_bytes, here.size - end);
    uint64_t state_hash = ls_match_hash(here.match);
    forget_match();
    cr_assert_eq(restore(end, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(report.tick, tick);
    cr_expect_eq(report.cut_bytes, 0u);
    cr_expect_not(report.is_cut_at_gap);
    cr_expect_eq(ls_match_hash(here.match), state_hash);
}

Test(resume, missing_ticks_with_no_snapshot_behind_them_end_the_journal)
{
    make_journal_with_gap(plan_of(1000, 400), 900, 910);
    expect_cut_at(900, 0);
}

Test(resume, missing_ticks_of_a_match_without_snapshots_end_the_journal)
{
    make_journal_with_gap(plan_of(300, 0), 100, 101);
    expect_cut_at(100, 0);
}

Test(resume, a_snapshot_before_the_gap_is_gone_on_from)
{
    make_journal_with_gap(plan_of(500 + LS_WINDOW_TICKS, 400), 450 + LS_WINDOW_TICKS,
                          460 + LS_WINDOW_TICKS);
    expect_cut_at(450 + LS_WINDOW_TICKS, 400);
}

/* Bits that flip in a block tear a gap; what stands behind it is no use. */
Test(resume, a_damaged_block_ends_the_journal_wherever_it_is)
{
    make_plain_journal(300, 0);
    uint64_t offset = 0;
    ls_journal_record record;
    ls_journal *journal = NULL;
    cr_assert_eq(ls_journal_open(here.bytes, here.size, LS_JOURNAL_CHECK_ALL, ls_allocator_heap(),
                                 &journal, &here.why),
                 LS_OK);
    ls_tick tick = 0;
    while (ls_journal_next_record(journal, &offset, &record) == LS_OK) {
        if (record.kind != LS_JOURNAL_TICKS || offset == here.size) {
            continue;
        }
        uint8_t *byte = &here.bytes[record.offset + record.stored_bytes / 2];
        *byte ^= 0x24;
        expect_cut_at(tick, 0);
        cr_expect_eq(ls_journal_info_of(ls_resume_journal(here.resume))->append_offset,
                     record.offset);
        forget_match();
        *byte ^= 0x24;
        tick += JOURNAL_BLOCK_TICKS;
    }
    cr_expect_eq(tick, 288u);
    ls_journal_close(journal);
}

Test(resume, a_match_that_is_cut_at_a_gap_ends_where_its_players_were_told)
{
    journal_plan made = plan_of(300, 0);
    made.gap_first = 100;
    made.gap_end = 101;
    made.has_ended = true;
    make_journal(&made);
    expect_cut_at(100, 0);
    forget_match();
    ls_match_config config;
    cr_assert_eq(open_resume(here.size), LS_OK);
    cr_assert_eq(ls_resume_configure(here.resume, here.config.simulation, &config, &here.why),
                 LS_OK);
    cr_expect_eq(config.ticks, 300u);
}

Test(resume, a_snapshot_behind_the_last_tick_is_gone_on_from)
{
    make_journal_with_gap(plan_of(800, 400), 790, 800);
    ls_resume_report report = restore_all();
    cr_expect_eq(report.from_tick, 800u);
    cr_expect_eq(report.tick, 800u);
    cr_expect_eq(report.missing_tick, 790u);
}

Test(resume, a_torn_end_is_cut_off_wherever_it_is_torn)
{
    make_plain_journal(120, 50);
    uint32_t opened = 0;
    ls_tick tick = 0;
    for (size_t size = here.size - 4000; size < here.size; size += 37) {
        ls_resume_report report = {0};
        cr_assert_eq(restore(size, &report), LS_OK, "%s", here.why.bytes);
        cr_expect_geq(report.tick, tick);
        cr_expect_lt(report.tick, 120u);
        cr_expect_eq(report.cut_bytes > 0, report.loss.bytes[0] != 0);
        tick = report.tick;
        opened++;
        forget_match();
    }
    cr_expect_gt(opened, 100u);
    cr_expect_eq(restore_all().tick, 120u);
}

Test(resume, a_damaged_last_block_is_left_out)
{
    make_plain_journal(96, 0);
    here.bytes[here.size - 3] ^= 0x10;
    ls_resume_report report = {0};
    cr_assert_eq(restore(here.size, &report), LS_OK, "%s", here.why.bytes);
    cr_expect_eq(report.tick, 80u);
    cr_expect_gt(report.cut_bytes, 0u);
    cr_expect(strstr(report.loss.bytes, "80"), "%s", report.loss.bytes);
}
