#include "lockstep/common/base/hidden_secret.h"

#include <stdbool.h>
#include <string.h>

/* Of an invite's parts (protocol/sealed/invite.h). */
enum {
    KEY_CHARACTERS = 43,
    SECRET_CHARACTERS = 22,
};

void ls_hidden_secret_apply(char *sentence)
{
    static const char fragment[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    for (char *at = sentence; *at != '\0';) {
        size_t size = strspn(at, fragment);
        bool is_behind = at > sentence && at[-1] == '#' && size >= SECRET_CHARACTERS;
        bool is_alone = size > KEY_CHARACTERS + SECRET_CHARACTERS && at[KEY_CHARACTERS] == '.' &&
                        strcspn(at + KEY_CHARACTERS + 1, ".") >= SECRET_CHARACTERS;
        if (is_behind || is_alone) {
            memcpy(at, "...", 3);
            memmove(at + 3, at + size, strlen(at + size) + 1);
            size = 3;
        }
        at += size + (at[size] != '\0');
    }
}
