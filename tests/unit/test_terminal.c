#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "lockstep/client/window/terminal.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int keyboard = -1; /* what is written here is typed */
static ls_terminal *terminal;
static uint64_t now_ns = LS_NS_PER_SECOND;

/* The process gets a terminal of its own, as at a login. */
static void open_terminal(void)
{
    keyboard = posix_openpt(O_RDWR | O_NOCTTY);
    cr_assert(keyboard >= 0 && grantpt(keyboard) == 0 && unlockpt(keyboard) == 0);
    signal(SIGHUP, SIG_IGN); /* it goes away with the test */
    setsid();
    int own = open(ptsname(keyboard), O_RDWR);
    cr_assert_geq(own, 0);
    ioctl(own, TIOCSCTTY, 0);
    cr_assert(dup2(own, STDIN_FILENO) >= 0 && dup2(own, STDOUT_FILENO) >= 0);
    cr_assert_eq(ls_terminal_open(LS_TERMINAL_OF_256_COLOURS, ls_allocator_heap(), &terminal),
                 LS_OK);
}

static void close_terminal(void)
{
    ls_terminal_close(terminal);
    close(keyboard);
}

TestSuite(terminal, .init = open_terminal, .fini = close_terminal);

static void type(const char *bytes)
{
    cr_assert_eq(write(keyboard, bytes, strlen(bytes)), (ssize_t)strlen(bytes));
}

static bool next(ls_view_event *event)
{
    return ls_terminal_next_event(terminal, now_ns, event);
}

static void expect_down(uint32_t key, const char *bytes)
{
    ls_view_event event = {0};
    cr_assert(next(&event), "%s", bytes);
    cr_expect_eq(event.kind, LS_VIEW_EVENT_KEY);
    cr_expect_eq(event.key, key, "%s: key %u, not %u", bytes, event.key, key);
    cr_expect(event.is_down);
}

static void expect_text(const char *text)
{
    ls_view_event event = {0};
    cr_assert(next(&event), "%s", text);
    cr_expect_eq(event.kind, LS_VIEW_EVENT_TEXT);
    cr_expect_str_eq(event.text, text);
}

static void expect_nothing(void)
{
    ls_view_event event;
    cr_expect_not(next(&event));
}

/* Nothing is held any more. */
static void wait_until_let_go(void)
{
    ls_view_event event = {0};
    now_ns += LS_NS_PER_SECOND;
    while (next(&event)) {
        cr_expect_eq(event.kind, LS_VIEW_EVENT_KEY);
        cr_expect_not(event.is_down);
    }
}

Test(terminal, keys_with_a_character_are_keys_and_text)
{
    static const struct {
        const char *typed;
        uint32_t key;
    } rows[] = {
        {"a", LS_KEY_A},     {"Z", LS_KEY_Z},         {"1", LS_KEY_1},      {"0", LS_KEY_0},
        {" ", LS_KEY_SPACE}, {"/", LS_KEY_SLASH},     {"-", LS_KEY_MINUS},  {"=", LS_KEY_EQUALS},
        {",", LS_KEY_COMMA}, {";", LS_KEY_SEMICOLON}, {"q", LS_KEY_ESCAPE}, {"+", LS_KEY_EQUALS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        type(rows[i].typed);
        expect_down(rows[i].key, rows[i].typed);
        expect_text(rows[i].typed);
        expect_nothing();
        wait_until_let_go();
    }
}

Test(terminal, keys_without_a_character_are_keys_alone)
{
    static const struct {
        const char *typed;
        uint32_t key;
    } rows[] = {
        {"\033[A", LS_KEY_UP},      {"\033OB", LS_KEY_DOWN},  {"\033[3~", LS_KEY_DELETE},
        {"\033OP", LS_KEY_F1},      {"\033[24~", LS_KEY_F12}, {"\033[6~", LS_KEY_PAGE_DOWN},
        {"\t", LS_KEY_TAB},         {"\n", LS_KEY_ENTER},     {"\r", LS_KEY_ENTER},
        {"\177", LS_KEY_BACKSPACE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        type(rows[i].typed);
        expect_down(rows[i].key, rows[i].typed + 1);
        expect_nothing();
        wait_until_let_go();
    }
}

Test(terminal, characters_of_several_bytes_are_text_alone)
{
    type("\xc3\xa9\xe2\x82\xac");
    expect_text("\xc3\xa9");
    expect_text("\xe2\x82\xac");
    expect_nothing();
}

Test(terminal, a_key_is_held_until_it_no_longer_repeats)
{
    ls_view_event event = {0};
    type("w");
    expect_down(LS_KEY_W, "w");
    expect_text("w");
    now_ns += 300 * LS_NS_PER_MS;
    type("w");
    expect_down(LS_KEY_W, "w");
    expect_text("w");
    now_ns += 300 * LS_NS_PER_MS;
    expect_nothing();
    now_ns += 300 * LS_NS_PER_MS;
    cr_assert(next(&event));
    cr_expect(event.kind == LS_VIEW_EVENT_KEY && event.key == LS_KEY_W && !event.is_down);
    expect_nothing();
}

/* Bytes that a terminal makes a signal of, or that stop what it shows. */
static bool is_for_the_terminal(uint32_t byte)
{
    return byte == 3 || byte == 17 || byte == 19 || byte == 26 || byte == 28;
}

Test(terminal, any_bytes_are_taken)
{
    ls_view_event event = {0};
    for (uint32_t byte = 1; byte < 255; byte++) {
        if (is_for_the_terminal(byte) || is_for_the_terminal(255 - byte)) {
            continue;
        }
        const char bytes[] = {'\033', (char)byte, (char)(255 - byte), 'x', '~', '\0'};
        type(bytes);
        for (uint32_t i = 0; i < 16 && next(&event); i++) {
            cr_assert_lt(event.key, LS_KEYS);
            cr_assert_lt(strlen(event.text), sizeof event.text);
        }
    }
}

Test(terminal, every_letter_of_a_line_is_one_and_escape_a_key)
{
    ls_view_event event;
    ls_terminal_set_typing(terminal, true);
    type("q");
    cr_assert(ls_terminal_next_event(terminal, now_ns, &event));
    cr_expect_eq(event.kind, LS_VIEW_EVENT_TEXT);
    cr_expect_str_eq(event.text, "q");
    type("\033");
    cr_assert(ls_terminal_next_event(terminal, now_ns, &event));
    cr_expect_eq(event.kind, LS_VIEW_EVENT_KEY);
    cr_expect_eq(event.key, LS_KEY_ESCAPE);
    type("\033[A");
    cr_assert(ls_terminal_next_event(terminal, now_ns, &event));
    cr_expect_eq(event.key, LS_KEY_UP);
}
