#include "lockstep/protocol/sealed/token_user_data.h"

#include "lockstep/common/base/byte_io.h"

#include <stdbool.h>
#include <string.h>

enum {
    VERSION = 1,
    AT_VERSION = 0,
    AT_PLACE = 1,
    AT_SEAT = 2,
    AT_MATCH = 4,
    AT_NAME = AT_MATCH + LS_NAME_BYTES_MAX,
    AT_REST = AT_NAME + LS_PLAYER_NAME_BYTES_MAX,
};

_Static_assert(AT_NAME == 68 && AT_REST == 100, "docs/tokens.md has these");

static bool is_zero(const uint8_t *bytes, size_t size)
{
    uint8_t any = 0;
    for (size_t i = 0; i < size; i++) {
        any |= bytes[i];
    }
    return any == 0;
}

/* Ends within its field, with zeros behind, and holds nothing that a reader cannot see. */
static bool is_text(const uint8_t *field, size_t capacity)
{
    char seen[LS_NAME_BYTES_MAX];
    const uint8_t *end = memchr(field, 0, capacity);
    if (!end || !is_zero(end, capacity - (size_t)(end - field))) {
        return false;
    }
    size_t size = (size_t)(end - field);
    memcpy(seen, field, size);
    ls_text_make_printable(seen, size);
    return memcmp(seen, field, size) == 0;
}

_Static_assert(LS_PLAYER_NAME_BYTES_MAX <= LS_NAME_BYTES_MAX, "is_text has room for either");

static ls_status check_texts(const uint8_t *user_data, ls_status status, ls_text *why)
{
    if (!is_text(user_data + AT_MATCH, LS_NAME_BYTES_MAX)) {
        return ls_fail(status, why, "the match's name is too long, or no visible text in UTF-8");
    }
    if (!is_text(user_data + AT_NAME, LS_PLAYER_NAME_BYTES_MAX)) {
        return ls_fail(status, why, "the player's name is too long, or no visible text in UTF-8");
    }
    return LS_OK;
}

/* The text without what may stand behind its end; all of the field when it has none. */
static void put_text(uint8_t *field, const char *text, size_t capacity)
{
    const char *end = memchr(text, '\0', capacity);
    memcpy(field, text, end ? (size_t)(end - text) : capacity);
}

ls_status ls_token_user_data_write(const ls_token_admission *admission,
                                   uint8_t user_data[LS_TOKEN_USER_DATA_BYTES], ls_text *why)
{
    uint8_t made[LS_TOKEN_USER_DATA_BYTES] = {0};
    bool has_seat = admission->place == LS_TOKEN_PLACE_SEAT;
    if ((uint32_t)admission->place >= LS_TOKEN_PLACE_COUNT || admission->seat >= LS_PLAYERS_MAX ||
        (!has_seat && admission->seat != 0)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "a seat is a number from 0 to %u, not %u",
                       LS_PLAYERS_MAX - 1, admission->seat);
    }
    made[AT_VERSION] = VERSION;
    made[AT_PLACE] = (uint8_t)admission->place;
    ls_store_u16(made + AT_SEAT, (uint16_t)admission->seat);
    put_text(made + AT_MATCH, admission->match, LS_NAME_BYTES_MAX);
    put_text(made + AT_NAME, admission->name, LS_PLAYER_NAME_BYTES_MAX);
    ls_status status = check_texts(made, LS_BAD_ARGUMENT, why);
    if (status == LS_OK) {
        memcpy(user_data, made, sizeof made);
    }
    return status;
}

ls_status ls_token_user_data_read(const uint8_t user_data[LS_TOKEN_USER_DATA_BYTES],
                                  ls_token_admission *out, ls_text *why)
{
    ls_token_admission read;
    memset(&read, 0, sizeof read);
    if (is_zero(user_data, LS_TOKEN_USER_DATA_BYTES)) {
        *out = read;
        return LS_OK;
    }
    if (user_data[AT_VERSION] != VERSION) {
        return ls_fail(LS_MALFORMED, why, "its user data has version %u, and this server knows %u",
                       user_data[AT_VERSION], VERSION);
    }
    read.place = (ls_token_place)user_data[AT_PLACE];
    read.seat = ls_load_u16(user_data + AT_SEAT);
    bool has_seat = user_data[AT_PLACE] == LS_TOKEN_PLACE_SEAT;
    if (user_data[AT_PLACE] >= LS_TOKEN_PLACE_COUNT || read.seat >= LS_PLAYERS_MAX ||
        (!has_seat && read.seat != 0)) {
        return ls_fail(LS_MALFORMED, why, "its user data names no seat that there can be");
    }
    if (!is_zero(user_data + AT_REST, LS_TOKEN_USER_DATA_BYTES - AT_REST)) {
        return ls_fail(LS_MALFORMED, why, "its user data has more than this server knows");
    }
    ls_status status = check_texts(user_data, LS_MALFORMED, why);
    if (status == LS_OK) {
        memcpy(read.match, user_data + AT_MATCH, LS_NAME_BYTES_MAX);
        memcpy(read.name, user_data + AT_NAME, LS_PLAYER_NAME_BYTES_MAX);
        *out = read;
    }
    return status;
}
