/* Fuzzes what a player is let in with: the bytes of a connect token, a private part of any content
 * behind a good seal, user data, and the text of an invite.
 *
 *   u8 kind, then: 0 a whole token; 1 a private part before it is sealed; 2 user data; 3 an invite
 */
#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"
#include "lockstep/common/base/cipher.h"
#include "lockstep/protocol/sealed/connect_token.h"
#include "lockstep/protocol/sealed/invite.h"
#include "lockstep/protocol/sealed/token_user_data.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

enum {
    EXPIRE_S = 1700000045,
    PLAIN_BYTES = LS_TOKEN_PRIVATE_BYTES - LS_TOKEN_ID_BYTES,
};

/* As tests/tokens/make_tokens.py has them. */
static ls_token_check check_of_samples(void)
{
    ls_token_check check = {.protocol_id = UINT64_C(0x1122334455667788), .key_count = 2};
    for (uint32_t i = 0; i < LS_TOKEN_KEY_BYTES; i++) {
        check.keys[1][i] = (uint8_t)(0x80 + i);
    }
    return check;
}

static void check_list(const ls_token_server_list *list)
{
    LS_ASSERT(list->count >= 1 && list->count <= LS_TOKEN_SERVERS_MAX);
}

static void check_user_data(const uint8_t user_data[LS_TOKEN_USER_DATA_BYTES])
{
    ls_token_admission admission;
    uint8_t again[LS_TOKEN_USER_DATA_BYTES];
    if (ls_token_user_data_read(user_data, &admission, NULL) != LS_OK) {
        return;
    }
    LS_ASSERT(ls_token_user_data_write(&admission, again, NULL) == LS_OK);
    LS_ASSERT(user_data[0] == 0 || memcmp(again, user_data, sizeof again) == 0);
}

static void check_envelope(const uint8_t *envelope)
{
    ls_token_claims claims;
    const ls_token_check check = check_of_samples();
    memset(&claims, 0xcc, sizeof claims);
    if (ls_token_open(envelope, &check, EXPIRE_S - 1, &claims) == LS_TOKEN_REFUSAL_NONE) {
        check_list(&claims.list);
        check_user_data(claims.user_data);
    }
}

static void check_token(fuzz_input *input)
{
    ls_token token;
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES];
    memset(&token, 0xcc, sizeof token);
    if (ls_token_read(input->bytes, input->size, EXPIRE_S - 1, &token) !=
        LS_TOKEN_REFUSAL_MALFORMED) {
        check_list(&token.list);
        ls_token_write_envelope(&token, envelope);
        LS_ASSERT(memcmp(envelope, input->bytes + 13, 8) == 0);
        LS_ASSERT(memcmp(envelope + 8, input->bytes + 29, sizeof envelope - 8) == 0);
        check_envelope(envelope);
    }
}

/* The seal is good, as when a back end is at fault or its key has leaked. */
static void check_private(fuzz_input *input)
{
    uint8_t envelope[LS_TOKEN_ENVELOPE_BYTES] = {0};
    uint8_t header[13 + 16] = "NETCODE 1.02";
    const ls_token_check check = check_of_samples();
    uint8_t *plain = envelope + sizeof envelope - LS_TOKEN_PRIVATE_BYTES;
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_bytes(input, PLAIN_BYTES, &size);
    memcpy(plain, bytes, size);
    ls_store_u64(envelope, check.protocol_id);
    ls_store_u64(envelope + 8, EXPIRE_S);
    memcpy(header + 13, envelope, 16);
    ls_cipher_seal_long(check.keys[1], envelope + 16, header, sizeof header, plain, PLAIN_BYTES);
    check_envelope(envelope);
}

static void check_invite(fuzz_input *input)
{
    char text[1024], again[LS_INVITE_TEXT_BYTES_MAX];
    ls_invite invite, read;
    size_t size = 0;
    const uint8_t *bytes = fuzz_take_bytes(input, sizeof text - 1, &size);
    memcpy(text, bytes, size);
    text[size] = '\0';
    if (ls_invite_parse(text, &invite, NULL) != LS_OK) {
        return;
    }
    ls_invite_format(&invite, again);
    LS_ASSERT(ls_invite_parse(again, &read, NULL) == LS_OK);
    LS_ASSERT(strcmp(read.host, invite.host) == 0 && read.port == invite.port);
    LS_ASSERT(strcmp(read.room, invite.room) == 0 && read.worker == invite.worker);
    LS_ASSERT(memcmp(read.key, invite.key, sizeof read.key) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    uint8_t user_data[LS_TOKEN_USER_DATA_BYTES] = {0};
    switch (fuzz_take_u8(&input) % 4) {
    case 0:
        check_token(&input);
        break;
    case 1:
        check_private(&input);
        break;
    case 2:
        memcpy(user_data, input.bytes, LS_MIN(input.size, sizeof user_data));
        check_user_data(user_data);
        break;
    default:
        check_invite(&input);
        break;
    }
    return 0;
}
