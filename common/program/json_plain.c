#include "lockstep/common/program/json_plain.h"

#include <stdbool.h>

void ls_json_plain_begin(ls_plain_text *out)
{
    ls_plain_text_add(out, "{");
}

void ls_json_plain_text(ls_plain_text *out, const char *key, const char *value)
{
    bool is_first = out->size > 0 && out->bytes[out->size - 1] == '{';
    ls_plain_text_add(out, is_first ? "\"" : ",\"");
    ls_plain_text_add(out, key);
    ls_plain_text_add(out, "\":\"");
    ls_plain_text_add_clean(out, value);
    ls_plain_text_add(out, "\"");
}

void ls_json_plain_end(ls_plain_text *out)
{
    ls_plain_text_add(out, "}");
}
