#define _DEFAULT_SOURCE
#include "lockstep/client/view/terminal.h"

#include "lockstep/client/view/nonblocking_writer.h"
#include "lockstep/client/view/text_view.h"
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

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
    LEAVING_MS = 250,     /* for the rest of a picture, and for what restores the terminal */
};

struct ls_terminal {
    const ls_allocator *allocator;
    bool is_live;
    bool has_keys;
    struct termios before;
    ls_nonblocking_writer nonblocking_writer;
    ls_canvas canvas;
    char *text; /* the newest picture that goes out, and the lines below it */
    size_t text_bytes_max;
    size_t text_size;
    size_t text_out;   /* of it */
    uint64_t again_ns; /* how long to wait before the rest is sent on */
    bool has_begun;
    uint64_t held_until_ns[LS_KEY_COUNT]; /* 0: not held */
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

ls_status ls_terminal_open(bool is_live, const ls_allocator *allocator, ls_terminal **out)
{
    ls_terminal *terminal = ls_allocate(allocator, sizeof *terminal);
    if (!terminal) {
        return LS_NO_MEMORY;
    }
    terminal->allocator = allocator;
    terminal->is_live = is_live;
    terminal->again_ns = AGAIN_NS;
    bool is_in_front = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (is_live && is_in_front && tcgetattr(STDIN_FILENO, &terminal->before) == 0) {
        struct termios keys = terminal->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 0; /* reading never waits */
        keys.c_cc[VTIME] = 0;
        terminal->has_keys = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    }
    fflush(stdout); /* what was said before stands before */
    terminal->nonblocking_writer = ls_nonblocking_writer_open(STDOUT_FILENO);
    *out = terminal;
    return LS_OK;
}

void ls_terminal_close(ls_terminal *terminal)
{
    if (!terminal) {
        return;
    }
    if (terminal->has_keys) {
        tcsetattr(STDIN_FILENO, TCSANOW, &terminal->before);
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

static ls_view_key arrow_of(char letter)
{
    static const ls_view_key arrows[] = {LS_KEY_UP, LS_KEY_DOWN, LS_KEY_RIGHT, LS_KEY_LEFT};
    return letter >= 'A' && letter <= 'D' ? arrows[letter - 'A'] : LS_KEY_NONE;
}

static ls_view_key key_of(char letter)
{
    static const char letters[] = "wasdijklfhn +-=q";
    static const ls_view_key keys[] = {
        LS_KEY_W,    LS_KEY_A,     LS_KEY_S,    LS_KEY_D,      LS_KEY_I, LS_KEY_J,
        LS_KEY_K,    LS_KEY_L,     LS_KEY_F,    LS_KEY_H,      LS_KEY_N, LS_KEY_SPACE,
        LS_KEY_PLUS, LS_KEY_MINUS, LS_KEY_PLUS, LS_KEY_ESCAPE,
    };
    char small = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
    const char *place = small ? strchr(letters, small) : NULL;
    return place ? keys[place - letters] : LS_KEY_NONE;
}

static ls_view_key read_key(void)
{
    char bytes[3] = {0};
    if (read(STDIN_FILENO, bytes, 1) != 1) {
        return LS_KEY_NONE;
    }
    if (bytes[0] != '\033') {
        return key_of(bytes[0]);
    }
    bool is_sequence = read(STDIN_FILENO, bytes + 1, 1) == 1 && bytes[1] == '[' &&
                       read(STDIN_FILENO, bytes + 2, 1) == 1;
    return is_sequence ? arrow_of(bytes[2]) : LS_KEY_NONE;
}

bool ls_terminal_next_event(ls_terminal *terminal, uint64_t now_ns, ls_view_event *event)
{
    *event = (ls_view_event){.kind = LS_VIEW_EVENT_KEY};
    for (uint32_t key = 0; key < LS_KEY_COUNT; key++) {
        if (terminal->held_until_ns[key] > 0 && terminal->held_until_ns[key] <= now_ns) {
            terminal->held_until_ns[key] = 0;
            event->key = (ls_view_key)key;
            return true;
        }
    }
    event->key = terminal->has_keys ? read_key() : LS_KEY_NONE;
    event->is_down = true;
    if (event->key != LS_KEY_NONE) {
        terminal->held_until_ns[event->key] = now_ns + HELD_NS;
    }
    return event->key != LS_KEY_NONE;
}

/* ---- pictures ---- */

static void measure(const ls_terminal *terminal, uint32_t *columns, uint32_t *rows)
{
    struct winsize size;
    *columns = COLUMNS_DEFAULT;
    *rows = ROWS_DEFAULT;
    if (terminal->is_live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
        size.ws_row > 0) {
        *columns = LS_MIN(size.ws_col, COLUMNS_MAX);
        *rows = LS_MIN(size.ws_row, ROWS_MAX);
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

bool ls_terminal_show(ls_terminal *terminal, uint32_t background, const char *const *lines,
                      uint32_t line_count)
{
    const ls_canvas *canvas = &terminal->canvas;
    if (!push(terminal)) {
        return false;
    }
    begin_text(terminal);
    if (terminal->is_live && !terminal->has_begun) {
        add_text(terminal, "\033[?1049h\033[2J\033[?25l"); /* a screen of its own */
    }
    char *picture = terminal->text + terminal->text_size;
    terminal->text_size += terminal->is_live ? ls_text_view_colour(canvas, picture)
                                             : ls_text_view_plain(canvas, background, picture);
    for (uint32_t i = 0; i < line_count; i++) {
        add_text(terminal, "%.*s%s\n", (int)ls_text_fit(lines[i], canvas->width - 1), lines[i],
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
