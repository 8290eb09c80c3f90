#include "lockstep/client/window/terminal.h"

#include "lockstep/client/view/letters.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/output.h"
#include "lockstep/common/system/system_clock.h"
#include "lockstep/common/system/tty.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define AGAIN_NS LS_NS_PER_MS            /* what a terminal takes at once is read in less */
#define AGAIN_MAX_NS (64 * LS_NS_PER_MS) /* unless nobody reads */
#define HELD_NS (400 * LS_NS_PER_MS)     /* longer than most keyboards wait until they repeat */

enum {
    COLUMNS_DEFAULT = 78,
    ROWS_DEFAULT = 24,
    COLUMNS_MAX = 400,
    ROWS_MAX = 200,
    CHARACTER_BYTES = 4,  /* of UTF-8 at most */
    LINE_END_BYTES = 8,   /* of a line of text below the picture */
    FRAME_END_BYTES = 32, /* before and behind everything */
    TEXTS_MAX = 256,      /* of a picture */
    LEAVING_MS = 250,     /* for the rest of a picture, and for what restores the terminal */
};

struct ls_terminal {
    const ls_allocator *allocator;
    bool is_live;
    bool has_keys;
    bool is_typing;
    bool has_true_colour;
    ls_nonblocking_writer nonblocking_writer;
    ls_canvas canvas;
    char *text; /* the newest picture that goes out, and the lines below it */
    size_t text_bytes_max;
    size_t text_size;
    size_t text_out;   /* of it */
    uint64_t again_ns; /* how long to wait before the rest is sent on */
    bool has_begun;
    uint64_t held_until_ns[LS_KEYS];          /* 0: not held */
    char typed[LS_VIEW_EVENT_TEXT_BYTES_MAX]; /* by the newest key, and not given out yet */
};

/* ---- what goes out ---- */

/* False while something of it is left. */
static bool push(ls_terminal *terminal)
{
    if (terminal->text_out == terminal->text_size) {
        return true;
    }
    size_t size = ls_nonblocking_writer_write(&terminal->nonblocking_writer,
                                              terminal->text + terminal->text_out,
                                              terminal->text_size - terminal->text_out);
    terminal->text_out += size;
    uint64_t later_ns =
        2 * terminal->again_ns < AGAIN_MAX_NS ? 2 * terminal->again_ns : AGAIN_MAX_NS;
    terminal->again_ns = size > 0 ? AGAIN_NS : later_ns;
    return terminal->text_out == terminal->text_size;
}

static void begin_text(ls_terminal *terminal)
{
    terminal->text_out = 0;
    terminal->text_size = 0;
}

static void add_text(ls_terminal *terminal, const char *format, ...)
{
    size_t room = terminal->text_bytes_max - terminal->text_size;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(terminal->text + terminal->text_size, room, format, arguments);
    va_end(arguments);
    LS_ASSERT(size >= 0 && (size_t)size < room);
    terminal->text_size += (size_t)size;
}

/* Waits for who reads, but not for one who never ends. */
static void finish(ls_terminal *terminal)
{
    ls_clock clock = ls_clock_system();
    uint64_t end_ns = ls_clock_now_ns(&clock) + LEAVING_MS * LS_NS_PER_MS;
    while (!push(terminal) &&
           ls_nonblocking_writer_wait(&terminal->nonblocking_writer, LEAVING_MS) &&
           ls_clock_now_ns(&clock) < end_ns) {
        /* somebody reads it */
    }
}

/* ---- life ---- */

ls_status ls_terminal_open(ls_terminal_kind kind, const ls_allocator *allocator, ls_terminal **out)
{
    ls_terminal *terminal = ls_allocate(allocator, sizeof *terminal);
    if (!terminal) {
        return LS_NO_MEMORY;
    }
    terminal->allocator = allocator;
    terminal->is_live = kind != LS_TERMINAL_IS_FILE;
    terminal->again_ns = AGAIN_NS;
    terminal->has_true_colour = kind == LS_TERMINAL_OF_TRUE_COLOUR;
    terminal->has_keys = terminal->is_live && ls_tty_keys_begin();
    fflush(stdout); /* what was said before stands before */
    terminal->nonblocking_writer = ls_nonblocking_writer_open(LS_TTY_OUTPUT);
    *out = terminal;
    return LS_OK;
}

void ls_terminal_close(ls_terminal *terminal)
{
    if (!terminal) {
        return;
    }
    if (terminal->has_keys) {
        ls_tty_keys_end();
    }
    finish(terminal);
    if (terminal->is_live && terminal->has_begun) {
        begin_text(terminal);
        add_text(terminal, "\033[?25h\033[?1049l"); /* what stood there before is back */
        finish(terminal);
    }
    ls_nonblocking_writer_close(&terminal->nonblocking_writer);
    ls_release(terminal->allocator, terminal->canvas.pixels);
    ls_release(terminal->allocator, terminal->text);
    ls_release(terminal->allocator, terminal);
}

/* ---- keys ---- */

/* Of the sequences that keys without a character send: what follows ESC [ or ESC O. */
static uint32_t key_of_sequence(const char *rest)
{
    static const struct {
        char rest[4];
        uint32_t key;
    } rows[] = {
        {"A", LS_KEY_UP},         {"B", LS_KEY_DOWN},  {"C", LS_KEY_RIGHT},
        {"D", LS_KEY_LEFT},       {"H", LS_KEY_HOME},  {"F", LS_KEY_END},
        {"P", LS_KEY_F1},         {"Q", LS_KEY_F2},    {"R", LS_KEY_F3},
        {"S", LS_KEY_F4},         {"1~", LS_KEY_HOME}, {"2~", LS_KEY_INSERT},
        {"3~", LS_KEY_DELETE},    {"4~", LS_KEY_END},  {"5~", LS_KEY_PAGE_UP},
        {"6~", LS_KEY_PAGE_DOWN}, {"15~", LS_KEY_F5},  {"17~", LS_KEY_F6},
        {"18~", LS_KEY_F7},       {"19~", LS_KEY_F8},  {"20~", LS_KEY_F9},
        {"21~", LS_KEY_F10},      {"23~", LS_KEY_F11}, {"24~", LS_KEY_F12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strncmp(rest, rows[i].rest, sizeof rows[i].rest) == 0) {
            return rows[i].key;
        }
    }
    return LS_KEY_NONE;
}

/* Of a keyboard as in the US. Q leaves: an Escape cannot be told from the start of a sequence. */
static uint32_t key_of(char letter)
{
    static const char others[] = "\n\t\b\177 -=[]\\;'`,./+";
    static const uint8_t keys[] = {
        LS_KEY_ENTER,         LS_KEY_TAB,       LS_KEY_BACKSPACE, LS_KEY_BACKSPACE,
        LS_KEY_SPACE,         LS_KEY_MINUS,     LS_KEY_EQUALS,    LS_KEY_LEFT_BRACKET,
        LS_KEY_RIGHT_BRACKET, LS_KEY_BACKSLASH, LS_KEY_SEMICOLON, LS_KEY_APOSTROPHE,
        LS_KEY_GRAVE,         LS_KEY_COMMA,     LS_KEY_PERIOD,    LS_KEY_SLASH,
        LS_KEY_EQUALS,
    };
    char small = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
    if (small == 'q') {
        return LS_KEY_ESCAPE;
    }
    if (small >= 'a' && small <= 'z') {
        return LS_KEY_A + (uint32_t)(small - 'a');
    }
    if (small >= '0' && small <= '9') {
        return small == '0' ? LS_KEY_0 : LS_KEY_1 + (uint32_t)(small - '1');
    }
    const char *place = small ? strchr(others, small) : NULL;
    return place ? keys[place - others] : LS_KEY_NONE;
}

/* An Escape by itself is nothing, unless somebody types. */
static uint32_t read_sequence(const ls_terminal *terminal)
{
    char rest[8] = {0};
    char byte = '\0';
    if (!ls_tty_read(&byte)) {
        return terminal->is_typing ? LS_KEY_ESCAPE : LS_KEY_NONE;
    }
    if (byte != '[' && byte != 'O') {
        return LS_KEY_NONE;
    }
    for (size_t size = 0; size + 1 < sizeof rest && ls_tty_read(&byte); size++) {
        rest[size] = byte;
        if (byte >= '@' && byte <= '~') { /* ends it */
            return key_of_sequence(rest);
        }
    }
    return LS_KEY_NONE;
}

/* A character of several bytes begins with `first`. */
static void read_character(char first, char *text)
{
    uint8_t lead = (uint8_t)first;
    uint32_t size = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    char bytes[CHARACTER_BYTES + 1] = {first};
    for (uint32_t i = 1; i < size && ls_tty_read(bytes + i); i++) {
        /* the next one */
    }
    ls_name_copy(text, LS_VIEW_EVENT_TEXT_BYTES_MAX, bytes);
}

/* One key, and in terminal->typed what it types. */
static uint32_t read_key(ls_terminal *terminal)
{
    char byte = '\0';
    if (!terminal->has_keys || !ls_tty_read(&byte)) {
        return LS_KEY_NONE;
    }
    if (byte == '\033') {
        return read_sequence(terminal);
    }
    if ((uint8_t)byte >= ' ' && byte != '\177') {
        read_character(byte, terminal->typed);
        if (terminal->is_typing) {
            return LS_KEY_NONE;
        }
    }
    return key_of(byte);
}

/* A key that is not held any more: a terminal tells only that they go down. */
static bool let_go(ls_terminal *terminal, uint64_t now_ns, ls_view_event *event)
{
    for (uint32_t key = 0; key < LS_KEYS; key++) {
        if (terminal->held_until_ns[key] > 0 && terminal->held_until_ns[key] <= now_ns) {
            terminal->held_until_ns[key] = 0;
            *event = (ls_view_event){.kind = LS_VIEW_EVENT_KEY, .key = key};
            return true;
        }
    }
    return false;
}

static bool give_typed(ls_terminal *terminal, ls_view_event *event)
{
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_TEXT};
    ls_name_copy(event->text, sizeof event->text, terminal->typed);
    terminal->typed[0] = '\0';
    return event->text[0] != '\0';
}

void ls_terminal_set_typing(ls_terminal *terminal, bool is_typing)
{
    terminal->is_typing = is_typing;
}

bool ls_terminal_next_event(ls_terminal *terminal, uint64_t now_ns, ls_view_event *event)
{
    if (let_go(terminal, now_ns, event) || give_typed(terminal, event)) {
        return true;
    }
    uint32_t key = read_key(terminal);
    if (key == LS_KEY_NONE) {
        return give_typed(terminal, event);
    }
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_KEY, .key = key, .is_down = true};
    terminal->held_until_ns[key] = now_ns + HELD_NS;
    return true;
}

/* ---- pictures ---- */

static void measure(const ls_terminal *terminal, uint32_t *columns, uint32_t *rows)
{
    *columns = COLUMNS_DEFAULT;
    *rows = ROWS_DEFAULT;
    if (terminal->is_live && ls_tty_measure(LS_TTY_OUTPUT, columns, rows)) {
        *columns = LS_MIN(*columns, COLUMNS_MAX);
        *rows = LS_MIN(*rows, ROWS_MAX);
    }
}

static void resize(ls_terminal *terminal, uint32_t width, uint32_t height, uint32_t lines)
{
    ls_canvas canvas = {.width = width, .height = height};
    canvas.pixels =
        ls_allocate_array(terminal->allocator, (size_t)width * height, sizeof *canvas.pixels);
    size_t bytes = ls_text_view_bytes(&canvas) + FRAME_END_BYTES +
                   lines * (CHARACTER_BYTES * (size_t)width + LINE_END_BYTES);
    char *text = ls_allocate(terminal->allocator, bytes);
    if (!canvas.pixels || !text) { /* the picture keeps its size */
        ls_release(terminal->allocator, canvas.pixels);
        ls_release(terminal->allocator, text);
        return;
    }
    ls_release(terminal->allocator, terminal->canvas.pixels);
    ls_release(terminal->allocator, terminal->text);
    terminal->canvas = canvas;
    terminal->text = text;
    terminal->text_bytes_max = bytes;
    begin_text(terminal);
}

ls_canvas *ls_terminal_canvas(ls_terminal *terminal, uint32_t lines)
{
    uint32_t columns;
    uint32_t rows;
    measure(terminal, &columns, &rows);
    uint32_t height = rows > lines + 1 ? 2 * (rows - lines - 1) : 2;
    bool is_other = columns != terminal->canvas.width || height != terminal->canvas.height;
    if (is_other && push(terminal)) {
        resize(terminal, columns, height, lines);
    }
    return terminal->canvas.pixels ? &terminal->canvas : NULL;
}

bool ls_terminal_show(ls_terminal *terminal, const ls_scene *scene, const char *const *lines,
                      uint32_t line_count)
{
    const ls_canvas *canvas = &terminal->canvas;
    ls_text_run runs[TEXTS_MAX];
    const ls_text_page page = {.canvas = canvas,
                               .background = LS_SCENE_BACKGROUND,
                               .has_true_colour = terminal->has_true_colour,
                               .runs = runs,
                               .run_count = ls_scene_texts(scene, runs, TEXTS_MAX)};
    if (!push(terminal)) {
        return false;
    }
    begin_text(terminal);
    if (terminal->is_live && !terminal->has_begun) {
        add_text(terminal, "\033[?1049h\033[2J\033[?25l"); /* a screen of its own */
    }
    char *picture = terminal->text + terminal->text_size;
    terminal->text_size += terminal->is_live ? ls_text_view_colour(&page, picture)
                                             : ls_text_view_plain(&page, picture);
    for (uint32_t i = 0; i < line_count; i++) {
        add_text(terminal, "%.*s%s\n", (int)ls_letters_fit(lines[i], canvas->width - 1), lines[i],
                 terminal->is_live ? "\033[K" : "");
    }
    if (!terminal->is_live) {
        add_text(terminal, "\n"); /* between two pictures */
    }
    terminal->has_begun = true;
    push(terminal);
    return true;
}

uint64_t ls_terminal_go_on(ls_terminal *terminal, uint64_t now_ns)
{
    return push(terminal) ? UINT64_MAX : now_ns + terminal->again_ns;
}
