#include "lockstep/common/system/tty.h"

#include <conio.h>
#include <io.h>
#include <windows.h>

static DWORD before;

static HANDLE handle_of(ls_tty stream)
{
    return (HANDLE)_get_osfhandle((int)stream);
}

bool ls_tty_is(ls_tty stream)
{
    DWORD mode;
    return GetConsoleMode(handle_of(stream), &mode);
}

bool ls_tty_measure(ls_tty stream, uint32_t *columns, uint32_t *rows)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(handle_of(stream), &info)) {
        return false;
    }
    *columns = (uint32_t)(info.srWindow.Right - info.srWindow.Left + 1);
    *rows = (uint32_t)(info.srWindow.Bottom - info.srWindow.Top + 1);
    return true;
}

/* Arrows come as the sequences of a terminal. */
bool ls_tty_keys_begin(void)
{
    HANDLE input = handle_of(LS_TTY_INPUT);
    if (!GetConsoleMode(input, &before)) {
        return false;
    }
    DWORD keys = before & ~(DWORD)(ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT);
    return SetConsoleMode(input, keys | ENABLE_VIRTUAL_TERMINAL_INPUT) ||
           SetConsoleMode(input, keys);
}

void ls_tty_keys_end(void)
{
    (void)SetConsoleMode(handle_of(LS_TTY_INPUT), before);
}

bool ls_tty_read(char *byte)
{
    INPUT_RECORD record;
    DWORD count = 0;
    HANDLE input = handle_of(LS_TTY_INPUT);
    while (PeekConsoleInputA(input, &record, 1, &count) && count > 0 &&
           ReadConsoleInputA(input, &record, 1, &count) && count > 0) {
        const KEY_EVENT_RECORD *key = &record.Event.KeyEvent;
        if (record.EventType == KEY_EVENT && key->bKeyDown && key->uChar.AsciiChar != '\0') {
            *byte = key->uChar.AsciiChar;
            return true;
        }
    }
    return false;
}
