#include "lockstep/server/door/page_code.h"

bool ls_page_code_draw(const char *text, void (*line)(void *user, const char *text), void *user)
{
    (void)text;
    (void)line;
    (void)user;
    return false;
}
