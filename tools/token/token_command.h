/* Token command: the commands of lockstep-token: make a connect token, show one, make a key. Each
 * prints its answer on standard output. Called by lockstep_token.c. */
#ifndef LOCKSTEP_TOOLS_TOKEN_TOKEN_COMMAND_H
#define LOCKSTEP_TOOLS_TOKEN_TOKEN_COMMAND_H

#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/token_user_data.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct token_options {
    const char *file;     /* the word behind the command; NULL: none */
    const char *key_path; /* NULL: none */
    const char *old_path; /* new-key: the file with the key that the new one takes over from */
    const char *out_path; /* make; "-": standard output */
    const char *servers;  /* make: "HOST[:PORT],..." */
    uint64_t protocol_id;
    uint64_t client_id;
    bool has_client_id;
    uint32_t expires_s;
    uint32_t timeout_s;
    bool has_no_timeout;
    bool shows_secrets;
    ls_token_admission admission;
    bool has_admission; /* otherwise the user data is zeros */
    uint64_t now_s;     /* seconds since 1970 */
} token_options;

/* Refused with a sentence in `why`: BAD_ARGUMENT for a line that cannot be right, MALFORMED for a
 * token that is none, REFUSED for one whose private part does not open, IO and others. */
ls_status token_make(const token_options *options, ls_text *why);
ls_status token_show(const token_options *options, ls_text *why);
ls_status token_new_key(const token_options *options, ls_text *why);

#endif
