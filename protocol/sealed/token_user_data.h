/* Token user data: what a back end says to Lockstep in the 256 bytes that a connect token leaves to
 * the game: which match, which seat, and the player's name. The layout stands in docs/tokens.md.
 * Pure. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_TOKEN_USER_DATA_H
#define LOCKSTEP_PROTOCOL_SEALED_TOKEN_USER_DATA_H

#include "lockstep/common/base/language.h"
#include "lockstep/common/base/limits.h"
#include "lockstep/common/base/status.h"
#include "lockstep/common/base/text.h"
#include "lockstep/protocol/sealed/connect_token.h"

#include <stdint.h>

LS_C_BEGIN

typedef enum ls_token_place {
    LS_TOKEN_PLACE_ANY, /* a free seat, or to watch: as the client asks */
    LS_TOKEN_PLACE_SEAT,
    LS_TOKEN_PLACE_SPECTATOR,
    LS_TOKEN_PLACE_COUNT,
} ls_token_place;

typedef struct ls_token_admission {
    ls_token_place place;
    uint32_t seat;                       /* SEAT: 0 .. LS_PLAYERS_MAX - 1; else 0 */
    char match[LS_NAME_BYTES_MAX];       /* its name, or its id in 16 hex digits; "": any */
    char name[LS_PLAYER_NAME_BYTES_MAX]; /* of the player, in UTF-8; "": as the client says */
} ls_token_admission;

/* BAD_ARGUMENT with the field when a seat is out of range or a text holds what cannot be seen. */
ls_status ls_token_user_data_write(const ls_token_admission *admission,
                                   uint8_t user_data[LS_TOKEN_USER_DATA_BYTES], ls_text *why);

/* All zeros read as any seat of any match. MALFORMED, with the reason, for anything else that the
 * other function does not write: `out` is then untouched. */
ls_status ls_token_user_data_read(const uint8_t user_data[LS_TOKEN_USER_DATA_BYTES],
                                  ls_token_admission *out, ls_text *why);

LS_C_END

#endif
