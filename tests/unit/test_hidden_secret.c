#include "lockstep/common/base/hidden_secret.h"
#include "lockstep/common/base/text.h"

#include <criterion/criterion.h>

#define KEY_TEXT "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
#define SECRET_TEXT "8PHy8_T19vf4-fr7_P3-_w"

Test(hidden_secret, of_an_invite_is_all_that_goes)
{
    static const char *const texts[][2] = {
        {"'lockstep://a:1/#" KEY_TEXT "." SECRET_TEXT ".gWVS' is none",
         "'lockstep://a:1/#...' is none"},
        {"a#AAEC." SECRET_TEXT ".gWVS", "a#..."},
        {KEY_TEXT "." SECRET_TEXT ".gWVS, " KEY_TEXT "." SECRET_TEXT, "..., ..."},
        {"#7 of a.b, room #arena-1", "#7 of a.b, room #arena-1"},
        {"" KEY_TEXT "x." SECRET_TEXT, "" KEY_TEXT "x." SECRET_TEXT}, /* as a checksum may be */
        {"" KEY_TEXT ".journal", "" KEY_TEXT ".journal"},             /* a file may be called so */
        {"" KEY_TEXT ".journal: cannot be read at all",
         "" KEY_TEXT ".journal: cannot be read at all"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ls_text text;
        ls_text_set(&text, "%s", texts[i][0]);
        ls_hidden_secret_apply(text.bytes);
        cr_assert_str_eq(text.bytes, texts[i][1]);
    }
}
