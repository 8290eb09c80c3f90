/* JSON plain: a flat object of texts, put together in a handler of signals, where json.h cannot be
 * used. Bytes that JSON would have to escape become '?'. Called by log_format. */
#ifndef LOCKSTEP_COMMON_PROGRAM_JSON_PLAIN_H
#define LOCKSTEP_COMMON_PROGRAM_JSON_PLAIN_H

#include "lockstep/common/base/plain_text.h"

void ls_json_plain_begin(ls_plain_text *out);
/* Of an object that has begun; the key is plain. */
void ls_json_plain_text(ls_plain_text *out, const char *key, const char *value);
void ls_json_plain_end(ls_plain_text *out);

#endif
