#include "lockstep/client/link/session_log.h"

#include "lockstep/tests/unit/session_fixture.h"

static void open_session(void)
{
    ls_session_config config = ls_session_config_default();
    fake_server_open(&here, &config);
}

TestSuite(client_chat, .init = open_session, .fini = shut);

static ls_client_chat chat;
static ls_text answer;

static void play(void)
{
    ls_message start = {.kind = LS_MESSAGE_START, .body.start = {.names = {"Ann", "Bob B."}}};
    here.offer.is_running = false;
    connect_and_offer();
    fake_server_send(&here, &start);
}

static const char *type(const char *text)
{
    answer = (ls_text){{0}};
    ls_client_chat_type(&chat, here.session, text, &answer);
    return answer.bytes;
}

/* Whether a line of the player is shown. */
static bool hears(uint32_t slot, const char *name)
{
    ls_text line = {{0}};
    ls_chat said = {.slot = slot, .text = "hi"};
    ls_name_copy(said.name, sizeof said.name, name);
    return ls_client_chat_write(&chat, &said, &line);
}

Test(client_chat, a_line_begins_with_the_seat_and_the_name)
{
    ls_text line = {{0}};
    const ls_chat said = {.slot = 1, .name = "-- Ann", .text = "-- the match has ended"};
    cr_expect(ls_client_chat_write(&chat, &said, &line));
    cr_expect_str_eq(line.bytes, "[2] -- Ann: -- the match has ended");
}

Test(client_chat, who_is_muted_is_not_shown_until_unmuted)
{
    play();
    const char *name = ls_session_player_name(here.session, 1);
    cr_assert_neq(name[0], '\0');
    ls_text command = {{0}};
    ls_text_set(&command, "/mute %s", name);
    cr_expect(strncmp(type(command.bytes), "-- ", 3) == 0);
    cr_expect_not(hears(1, name));
    cr_expect(hears(0, ls_session_player_name(here.session, 0)));
    type("/unmute 2");
    cr_expect(hears(1, name));
}

Test(client_chat, another_player_on_the_seat_is_heard)
{
    play();
    type("/mute 2");
    cr_expect_not(hears(1, ls_session_player_name(here.session, 1)));
    cr_expect(hears(1, "somebody else"));
}

Test(client_chat, commands_are_answered_and_not_sent)
{
    play();
    uint32_t packets = here.packets;
    cr_expect(strstr(type("/help"), "/mute"));
    cr_expect(strstr(type("/help"), "well played"));
    cr_expect(strstr(type("/mute nobody"), "no player 'nobody'"));
    cr_expect(strstr(type("/dance"), "no command"));
    cr_expect_eq(here.packets, packets);
}

Test(client_chat, lines_and_quick_lines_are_sent)
{
    play();
    uint32_t packets = here.packets;
    cr_expect_str_eq(type("  hello "), "");
    cr_expect_str_eq(here.chat.text, "hello");
    cr_expect_str_eq(type("/8"), "");
    cr_expect_eq(here.chat.quick_line, 8);
    cr_expect_eq(here.packets, packets + 2);
}

Test(client_chat, nobody_hears_a_line_without_a_match)
{
    fake_server_connect(&here);
    cr_expect(strstr(type("hello?"), "nobody can hear you"));
}
