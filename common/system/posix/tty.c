#define _DEFAULT_SOURCE
#include "lockstep/common/system/tty.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;

bool ls_tty_is(ls_tty stream)
{
    return isatty((int)stream);
}

bool ls_tty_measure(ls_tty stream, uint32_t *columns, uint32_t *rows)
{
    struct winsize size;
    if (ioctl((int)stream, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        return false;
    }
    *columns = size.ws_col;
    *rows = size.ws_row;
    return true;
}

bool ls_tty_keys_begin(void)
{
    bool is_in_front = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    if (!is_in_front || tcgetattr(STDIN_FILENO, &before) != 0) {
        return false;
    }
    struct termios keys = before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 0; /* reading never waits */
    keys.c_cc[VTIME] = 0;
    return tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

void ls_tty_keys_end(void)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

bool ls_tty_read(char *byte)
{
    return read(STDIN_FILENO, byte, 1) == 1;
}
