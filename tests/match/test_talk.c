/* Talk: what players say to each other reaches everybody once, whatever the network and they
 * themselves do; and a lobby begins when all who are there are ready. */
#include "lockstep/tests/match/match_test.h"
#include "lockstep/tests/support/raw_peer.h"

static virtual_setup setup_of(uint32_t players, uint32_t ticks)
{
    return virtual_setup_default(test_simulation(), players, ticks);
}

/* The lines that a client has read, one behind the other, each with its slot. */
static const char *lines_of(const virtual_client *client)
{
    static ls_text lines;
    lines = (ls_text){{0}};
    for (uint32_t i = 0; i < client->event_count; i++) {
        const ls_session_event *event = &client->events[i].event;
        if (event->kind == LS_SESSION_EVENT_CHAT) {
            ls_text_add(&lines, "%u %s|", event->chat.slot, event->chat.text);
        }
    }
    return lines.bytes;
}

static uint32_t place_of(const virtual_client *client)
{
    return report_of(client).slot;
}

static void say(virtual_client *client, const char *text)
{
    cr_assert_eq(ls_session_chat(client->session, 0, text), LS_OK);
}

static void expect_line(const virtual_client *client, const virtual_client *from, const char *text)
{
    ls_text line = {{0}};
    ls_text_set(&line, "%u %s|", place_of(from), text);
    cr_expect_str_eq(lines_of(client), line.bytes, "client %u", client->index);
}

static virtual_client *add_spectator(virtual_match *run)
{
    virtual_client_setup watching = virtual_client_setup_default(run);
    watching.session.is_spectator = true;
    return virtual_match_add_client(run, &watching);
}

/* ---- lines ---- */

Test(talk, a_line_reaches_all_players_and_spectators_once)
{
    virtual_setup setup = setup_of(3, 400);
    setup.match.spectators_max = 1;
    setup.match.spectator_delay_ticks = 10;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *spectator = add_spectator(run);
    virtual_match_run_to_tick(run, 100);
    say(run->clients[1], "caf\xC3\xA9?");
    virtual_match_run(run, SECOND);
    for (uint32_t i = 0; i < 3; i++) {
        expect_line(run->clients[i], run->clients[1], "caf\xC3\xA9?");
    }
    expect_line(spectator, run->clients[1], "caf\xC3\xA9?");
    cr_expect_eq(virtual_match_count(run, LS_MATCH_CHAT, place_of(run->clients[1])), 1);
    cr_expect_eq(ls_session_chat(spectator->session, 0, "me too"), LS_UNSUPPORTED);
    play_out(run);
}

Test(talk, a_quick_line_has_its_words)
{
    virtual_setup setup = setup_of(2, 200);
    virtual_match *run = match_at(&setup, 50);
    cr_assert_eq(ls_session_chat(run->clients[0]->session, LS_QUICK_LINES, NULL), LS_OK);
    virtual_match_run(run, 500 * MS);
    expect_line(run->clients[1], run->clients[0], "well played");
    cr_expect_eq(ls_session_chat(run->clients[0]->session, 0, ""), LS_BAD_ARGUMENT);
    play_out(run);
}

Test(talk, lines_come_in_order_over_a_link_that_loses_a_third)
{
    virtual_setup setup = setup_of(2, 600);
    setup.link.loss_ppm = 300000;
    virtual_match *run = match_at(&setup, 60);
    say(run->clients[0], "one");
    say(run->clients[0], "two");
    say(run->clients[0], "three");
    virtual_match_run_to_end(run);
    ls_text lines = {{0}};
    uint32_t slot = place_of(run->clients[0]);
    ls_text_set(&lines, "%u one|%u two|%u three|", slot, slot, slot);
    cr_expect_str_eq(lines_of(run->clients[1]), lines.bytes);
    close_run(run);
}

/* A player who says too much is told so once, and may speak again after a while. */
Test(talk, a_flood_is_cut_and_its_player_is_told_once)
{
    virtual_setup setup = setup_of(2, 1800);
    virtual_match *run = match_at(&setup, 60);
    for (uint32_t i = 0; i < 100; i++) {
        say(run->clients[0], "buy");
        virtual_match_run(run, 10 * MS);
    }
    virtual_match_run(run, 200 * MS);
    cr_expect_eq(virtual_client_count(run->clients[1], LS_SESSION_EVENT_CHAT), LS_CHAT_BURST_MAX);
    cr_expect_eq(virtual_client_count(run->clients[0], LS_SESSION_EVENT_NOTICE), 1);
    cr_expect_eq(virtual_client_count(run->clients[1], LS_SESSION_EVENT_NOTICE), 0);
    virtual_match_run(run, 3 * SECOND);
    say(run->clients[0], "sorry");
    say(run->clients[1], "fine");
    virtual_match_run(run, 500 * MS);
    cr_expect_eq(virtual_client_count(run->clients[1], LS_SESSION_EVENT_CHAT),
                 LS_CHAT_BURST_MAX + 2, "the other one has a measure of its own");
    play_out(run);
}

Test(talk, a_match_without_chat_passes_nothing_on)
{
    virtual_setup setup = setup_of(2, 200);
    setup.match.has_chat = false;
    virtual_match *run = match_at(&setup, 60);
    say(run->clients[0], "hello?");
    say(run->clients[0], "anybody?");
    virtual_match_run(run, 500 * MS);
    cr_expect_str_eq(lines_of(run->clients[0]), "");
    cr_expect_str_eq(lines_of(run->clients[1]), "");
    cr_expect_eq(virtual_client_count(run->clients[0], LS_SESSION_EVENT_NOTICE), 1);
    cr_expect_eq(virtual_match_count(run, LS_MATCH_CHAT, LS_PLAYERS_MAX), 0);
    play_out(run);
}

/* The state and every hash are those of a match in which nobody says anything. */
Test(talk, what_is_said_changes_no_tick)
{
    uint64_t hashes[2];
    for (uint32_t i = 0; i < 2; i++) {
        virtual_setup setup = setup_of(2, 300);
        virtual_match *run = match_at(&setup, 60);
        if (i == 1) {
            say(run->clients[0], "does it matter?");
        }
        virtual_match_run_to_end(run);
        hashes[i] = ls_match_hash(run->match);
        cr_expect_eq(virtual_client_count(run->clients[1], LS_SESSION_EVENT_CHAT), i);
        check_complete(run);
        virtual_match_destroy(run);
    }
    cr_assert_eq(hashes[0], hashes[1]);
}

/* A line in another's name, bytes that are no text, control characters, a line without words. */
Test(talk, hostile_lines_harm_nobody)
{
    virtual_setup setup = setup_of(2, 600);
    setup.clients = 1;
    virtual_match *run = checked_match_create(&setup);
    raw_peer *peer = raw_peer_create(run);
    raw_peer_join(peer);
    virtual_match_run_to_tick(run, 10);
    uint64_t before = ls_match_packets_rejected(run->match);
    ls_message line = {.kind = LS_MESSAGE_CHAT,
                       .body.chat = {.slot = place_of(run->clients[0]), .text = "I give up"}};
    raw_peer_send_message(peer, &line);
    virtual_match_run(run, 100 * MS);
    cr_expect_eq(ls_match_packets_rejected(run->match), before + 1);
    cr_expect_str_eq(lines_of(run->clients[0]), "");
    line.body.chat = (ls_chat){.slot = peer->offer.slot, .name = "Server", .text = "x\033[H\n\xFF"};
    raw_peer_send_message(peer, &line);
    const uint8_t no_words[] = {LS_MESSAGE_CHAT, 0, 0, 0};
    raw_peer_send(peer, LS_CHANNEL_RELIABLE, no_words, sizeof no_words);
    virtual_match_run(run, 100 * MS);
    ls_text expected = {{0}};
    ls_text_set(&expected, "%u x?[H??|", peer->offer.slot);
    cr_expect_str_eq(lines_of(run->clients[0]), expected.bytes);
    cr_expect_not(peer->is_closed, "it is still here");
    const ls_session_event *event = &run->clients[0]->events[0].event;
    for (uint32_t i = 0; i < run->clients[0]->event_count; i++) {
        event = &run->clients[0]->events[i].event;
        cr_expect(event->kind != LS_SESSION_EVENT_CHAT || strcmp(event->chat.name, "Server") != 0);
    }
    raw_peer_destroy(peer);
    virtual_match_destroy(run);
}

/* ---- the lobby ---- */

static virtual_client *add_person(virtual_match *run)
{
    virtual_client_setup person = virtual_client_setup_default(run);
    person.session.asks_when_ready = true;
    return virtual_match_add_client(run, &person);
}

static virtual_match *lobby_of(uint32_t players, uint32_t bots, uint32_t start_players)
{
    virtual_setup setup = setup_of(players, 200);
    setup.clients = bots;
    setup.match.has_lobby = true;
    setup.match.start_players = start_players;
    return checked_match_create(&setup);
}

Test(talk, bots_are_ready_at_once)
{
    virtual_match *run = lobby_of(3, 3, 0);
    play_out(run);
}

Test(talk, the_match_waits_for_the_person_who_is_not_ready)
{
    virtual_match *run = lobby_of(3, 1, 0);
    virtual_client *ann = add_person(run);
    virtual_client *bob = add_person(run);
    virtual_match_run(run, 5 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    ls_session_lobby lobby = ls_session_lobby_of(bob->session);
    cr_expect_eq(lobby.here.words[0], 7);
    cr_expect_eq(lobby.ready.words[0], 1u << place_of(run->clients[0]));
    cr_expect_str_neq(ls_session_player_name(bob->session, place_of(ann)), "");
    say(bob, "come on");
    ls_session_set_ready(bob->session, true);
    ls_session_set_ready(bob->session, false);
    ls_session_set_ready(ann->session, true);
    virtual_match_run(run, 500 * MS);
    expect_line(ann, bob, "come on");
    cr_expect_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    cr_expect_eq(ls_session_lobby_of(ann->session).ready.words[0], 7u & ~(1u << place_of(bob)));
    ls_session_set_ready(bob->session, true);
    virtual_match_run_to_tick(run, 5);
    cr_expect_eq(ls_session_lobby_of(ann->session).here.words[0], 0, "there is no lobby any more");
    play_out(run);
}

Test(talk, a_lobby_that_asks_nobody_tells_who_is_there)
{
    virtual_setup setup = setup_of(3, 200);
    setup.clients = 1;
    virtual_match *run = checked_match_create(&setup);
    virtual_client *ann = add_person(run);
    virtual_match_run(run, SECOND);
    ls_session_lobby lobby = ls_session_lobby_of(ann->session);
    cr_expect_eq(lobby.here.words[0], 1u << place_of(ann) | 1u << place_of(run->clients[0]));
    cr_expect(lobby.asks_nobody);
    cr_expect_str_neq(ls_session_player_name(ann->session, place_of(run->clients[0])), "");
    ls_session_set_ready(ann->session, true);
    virtual_match_run(run, SECOND);
    cr_expect_eq(report_of(ann).state, LS_SESSION_SEATED, "it is not asked, and says nothing");
    add_person(run);
    play_out(run);
}

Test(talk, enough_players_start_without_those_who_may_come_later)
{
    virtual_match *run = lobby_of(4, 1, 2);
    virtual_match_run(run, 2 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    virtual_client *ann = add_person(run);
    virtual_match_run(run, 2 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY, "Ann is not ready");
    ls_session_set_ready(ann->session, true);
    virtual_match_run_to_tick(run, 20);
    virtual_client *late = add_person(run);
    virtual_match_run(run, SECOND);
    cr_expect_eq(report_of(late).state, LS_SESSION_PLAYING, "who comes later is not asked");
    virtual_match_run_to_end(run);
    close_run(run);
}

Test(talk, a_player_who_leaves_is_waited_for_no_longer)
{
    virtual_match *run = lobby_of(3, 2, 2);
    virtual_client *ann = add_person(run);
    virtual_match_run(run, 10 * MS);
    bool has_begun = ls_match_state_of(run->match) == LS_MATCH_RUNNING;
    cr_assert_not(has_begun, "all three come at once");
    virtual_match_run(run, 2 * SECOND);
    cr_assert_eq(ls_match_state_of(run->match), LS_MATCH_LOBBY);
    ls_session_leave(ann->session, run->now_ns);
    virtual_match_run(run, 2 * SECOND);
    cr_expect_eq(ls_match_state_of(run->match), LS_MATCH_RUNNING);
    virtual_match_run_to_end(run);
    close_run(run);
}

/* One that speaks for others, and one that never stops to change its mind. */
Test(talk, nobody_is_ready_for_another_and_a_lobby_sends_few_messages)
{
    virtual_match *run = lobby_of(3, 0, 0);
    virtual_client *ann = add_person(run);
    raw_peer *peer = raw_peer_create(run);
    raw_peer_join(peer);
    virtual_match_run(run, 100 * MS);
    ls_message message = {.kind = LS_MESSAGE_LOBBY, .body.lobby.players.ready.words[0] = 3};
    raw_peer_send_message(peer, &message);
    virtual_match_run(run, SECOND);
    cr_expect_eq(ls_session_lobby_of(ann->session).ready.words[0], 0);
    uint32_t before = virtual_client_count(ann, LS_SESSION_EVENT_LOBBY);
    for (uint32_t i = 0; i < 100; i++) {
        message.body.lobby.players.ready.words[0] = i % 2 == 0 ? 1u << peer->offer.slot : 0;
        raw_peer_send_message(peer, &message);
        virtual_match_run(run, 20 * MS);
    }
    uint32_t told = virtual_client_count(ann, LS_SESSION_EVENT_LOBBY) - before;
    cr_expect_gt(told, 0);
    cr_expect_leq(told, 2 * 4 + 1);
    raw_peer_destroy(peer);
    virtual_match_destroy(run);
}
