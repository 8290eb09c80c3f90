#include "lockstep/protocol/sealed/invite.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/system/endpoint_text.h"

#include <stdio.h>
#include <string.h>

#define SCHEME "lockstep://"
#define BLANKS " \t\r\n"

enum {
    KEY_CHARACTERS = 43,
    SECRET_CHARACTERS = 22,
    CHECK_CHARACTERS = 4,
    CHECK_BYTES = 3,
    PARTS_MAX = 3,
    CODE_CHARACTERS = 8, /* K7QM-29F */
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Characters for so many bytes. */
static size_t characters_of(size_t bytes)
{
    return (bytes * 8 + 5) / 6;
}

/* ---- base64url ---- */

static char *put_encoded(char *to, const uint8_t *bytes, size_t size)
{
    uint32_t held = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < size; i++) {
        held = held << 8 | bytes[i];
        bits += 8;
        while (bits >= 6) {
            bits -= 6;
            *to++ = alphabet[held >> bits & 63];
        }
    }
    if (bits > 0) {
        *to++ = alphabet[held << (6 - bits) & 63];
    }
    return to;
}

/* `text` has as many characters as `size` bytes need. False for one that is none of the alphabet,
 * and for bits behind the last byte. */
static bool decode(const char *text, uint8_t *bytes, size_t size)
{
    uint32_t held = 0;
    uint32_t bits = 0;
    size_t done = 0;
    for (size_t i = 0; i < characters_of(size); i++) {
        const char *found = memchr(alphabet, text[i], sizeof alphabet - 1);
        if (!found) {
            return false;
        }
        held = held << 6 | (uint32_t)(found - alphabet);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            bytes[done++] = (uint8_t)(held >> bits);
        }
    }
    return (held & ((1u << bits) - 1)) == 0;
}

static void make_check(const ls_invite *invite, uint8_t check[CHECK_BYTES])
{
    uint8_t all[LS_CIPHER_KEY_BYTES + LS_INVITE_SECRET_BYTES];
    uint8_t hash[16];
    memcpy(all, invite->key, LS_CIPHER_KEY_BYTES);
    memcpy(all + LS_CIPHER_KEY_BYTES, invite->secret, LS_INVITE_SECRET_BYTES);
    ls_cipher_hash(NULL, 0, all, invite->has_secret ? sizeof all : LS_CIPHER_KEY_BYTES, hash,
                   sizeof hash);
    memcpy(check, hash, CHECK_BYTES);
    ls_cipher_wipe(all, sizeof all);
}

/* ---- writing ---- */

void ls_invite_format(const ls_invite *invite, char text[LS_INVITE_TEXT_BYTES_MAX])
{
    uint8_t check[CHECK_BYTES];
    LS_ASSERT(invite->host[0] != '\0');
    char place[LS_ENDPOINT_JOINED_BYTES];
    ls_endpoint_join(invite->host, invite->port, place);
    int size = snprintf(text, LS_INVITE_TEXT_BYTES_MAX, SCHEME "%s/", place);
    if (invite->room[0] != '\0') {
        size += snprintf(text + size, LS_INVITE_TEXT_BYTES_MAX - (size_t)size, "%s@%u",
                         invite->room, (unsigned)invite->worker);
    }
    text[size++] = '#';
    char *end = put_encoded(text + size, invite->key, LS_CIPHER_KEY_BYTES);
    if (invite->has_secret) {
        *end++ = '.';
        end = put_encoded(end, invite->secret, LS_INVITE_SECRET_BYTES);
    }
    *end++ = '.';
    make_check(invite, check);
    end = put_encoded(end, check, CHECK_BYTES);
    *end = '\0';
    LS_ASSERT(end < text + LS_INVITE_TEXT_BYTES_MAX);
}

/* ---- reading ---- */

/* Chats and terminals put blanks around what is copied. */
static const char *skip_blanks(const char *text)
{
    return text + strspn(text, BLANKS);
}

static bool has_scheme(const char *text)
{
    for (const char *expected = SCHEME; *expected != '\0'; expected++, text++) {
        char lower = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;
        if (lower != *expected) {
            return false;
        }
    }
    return true;
}

bool ls_invite_is_meant(const char *text)
{
    return has_scheme(skip_blanks(text)) || strchr(text, '#');
}

typedef struct fragment_part {
    const char *text;
    size_t size;
} fragment_part;

/* The texts between the points; 0 when there are more than PARTS_MAX. */
static uint32_t split(const char *fragment, fragment_part parts[PARTS_MAX])
{
    const char *end = fragment + strlen(fragment);
    while (end > fragment && strchr(BLANKS, end[-1])) {
        end--;
    }
    for (uint32_t count = 0; count < PARTS_MAX; count++) {
        const char *point = memchr(fragment, '.', (size_t)(end - fragment));
        parts[count] = (fragment_part){fragment, (size_t)((point ? point : end) - fragment)};
        if (!point) {
            return count + 1;
        }
        fragment = point + 1;
    }
    return 0;
}

static ls_status check_size(const char *what, fragment_part part, size_t characters, ls_text *why)
{
    if (part.size < characters) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the invite is cut short: its %s has %zu of %zu characters", what, part.size,
                       characters);
    }
    if (part.size > characters) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the invite has something too much: its %s has %zu characters, not %zu",
                       what, part.size, characters);
    }
    return LS_OK;
}

/* Key, perhaps a secret, and the check. */
static ls_status parse_fragment(const char *fragment, ls_invite *invite, ls_text *why)
{
    fragment_part parts[PARTS_MAX];
    uint8_t check[CHECK_BYTES], expected[CHECK_BYTES];
    uint32_t count = split(fragment, parts);
    if (count == 0) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the invite has something too much behind its end");
    }
    ls_status status = check_size("key", parts[0], KEY_CHARACTERS, why);
    if (status == LS_OK && count == 1) {
        status = ls_fail(LS_BAD_ARGUMENT, why, "the invite is cut short: it ends behind its key");
    }
    if (status == LS_OK && count == 2 && parts[1].size > CHECK_CHARACTERS) {
        status = check_size("secret", parts[1], SECRET_CHARACTERS, why);
        if (status == LS_OK) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "the invite is cut short: it ends behind its secret");
        }
    }
    if (status == LS_OK && count == PARTS_MAX) {
        status = check_size("secret", parts[1], SECRET_CHARACTERS, why);
    }
    if (status == LS_OK) {
        status = check_size("end", parts[count - 1], CHECK_CHARACTERS, why);
    }
    if (status != LS_OK) {
        return status;
    }
    invite->has_secret = count == PARTS_MAX;
    bool is_written =
        decode(parts[0].text, invite->key, LS_CIPHER_KEY_BYTES) &&
        (!invite->has_secret || decode(parts[1].text, invite->secret, LS_INVITE_SECRET_BYTES)) &&
        decode(parts[count - 1].text, check, CHECK_BYTES);
    make_check(invite, expected);
    if (!is_written || memcmp(check, expected, CHECK_BYTES) != 0) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the invite has a typing error behind its '#': copy it again");
    }
    return LS_OK;
}

static ls_status parse_port(const char *text, size_t size, uint16_t *port, ls_text *why)
{
    uint32_t number = 0;
    for (size_t i = 0; i < size; i++) {
        number = text[i] >= '0' && text[i] <= '9' && number <= UINT16_MAX
                     ? number * 10 + (uint32_t)(text[i] - '0')
                     : UINT32_MAX / 16;
    }
    if (number == 0 || number > UINT16_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the invite's port is not a number of 1 to 65535");
    }
    *port = (uint16_t)number;
    return LS_OK;
}

/* Perhaps with the code of a server at a relay and '@' in front. */
static bool is_host(const char *host, size_t size)
{
    const char *after_code =
        size > CODE_CHARACTERS && host[CODE_CHARACTERS] == '@' ? host + CODE_CHARACTERS + 1 : host;
    if (after_code == host + size || size >= LS_INVITE_HOST_BYTES_MAX) {
        return false;
    }
    size = (size_t)(host + size - after_code);
    host = after_code;
    for (size_t i = 0; i < size; i++) {
        if (host[i] <= ' ' || host[i] > '~' || strchr("/\\?@#[]<>\"'", host[i])) {
            return false;
        }
    }
    return size > 0;
}

/* HOST, HOST:PORT, [HOST] or [HOST]:PORT in `size` characters. */
static ls_status parse_place(const char *text, size_t size, ls_invite *invite, ls_text *why)
{
    const char *end = text + size;
    bool has_brackets = size > 0 && text[0] == '[';
    const char *host = has_brackets ? text + 1 : text;
    const char *host_end = memchr(host, has_brackets ? ']' : ':', (size_t)(end - host));
    if (!host_end && has_brackets) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the invite's host begins with '[' and has no ']'");
    }
    host_end = host_end ? host_end : end;
    const char *rest = host_end + (has_brackets ? 1 : 0);
    if (!is_host(host, (size_t)(host_end - host)) || (rest < end && *rest != ':')) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the invite names no host: it is %sHOST:PORT/#KEY",
                       SCHEME);
    }
    if (rest < end && memchr(rest + 1, ':', (size_t)(end - rest - 1))) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "an IPv6 address in an invite stands in brackets: %s"
                       "[HOST]:PORT/#KEY",
                       SCHEME);
    }
    memcpy(invite->host, host, (size_t)(host_end - host));
    invite->port = LS_ENDPOINT_DEFAULT_PORT;
    return rest < end ? parse_port(rest + 1, (size_t)(end - rest - 1), &invite->port, why) : LS_OK;
}

/* ROOM@K, or nothing. */
static ls_status parse_room(const char *text, size_t size, ls_invite *invite, ls_text *why)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t name = strspn(text, letters);
    const char *worker = text + name + 1;
    size_t digits = size > name ? size - name - 1 : 0;
    if (size == 0) {
        return LS_OK;
    }
    bool is_good = name > 0 && name < LS_INVITE_ROOM_BYTES_MAX && name < size &&
                   text[name] == '@' && digits > 0 && digits <= 2;
    for (size_t i = 0; is_good && i < digits; i++) {
        is_good = worker[i] >= '0' && worker[i] <= '9';
        invite->worker = invite->worker * 10 + (uint32_t)(worker[i] - '0');
    }
    if (!is_good || invite->worker >= LS_INVITE_WORKERS_MAX) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the invite names no room between '/' and '#', where it says something: "
                       "copy it again");
    }
    memcpy(invite->room, text, name);
    return LS_OK;
}

ls_status ls_invite_parse(const char *text, ls_invite *out, ls_text *why)
{
    ls_invite invite;
    memset(&invite, 0, sizeof invite);
    text = skip_blanks(text);
    if (!has_scheme(text)) {
        return ls_fail(LS_BAD_ARGUMENT, why, "an invite begins with %s", SCHEME);
    }
    const char *place = text + strlen(SCHEME);
    const char *fragment = strchr(place, '#');
    if (!fragment) {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "the invite is cut short: the server's key is missing, which stands behind "
                       "'#' (a shell needs quotes around the invite)");
    }
    size_t size = (size_t)(fragment - place);
    const char *slash = memchr(place, '/', size);
    const char *room = slash ? slash + 1 : fragment;
    ls_status status =
        parse_place(place, (size_t)((slash ? slash : fragment) - place), &invite, why);
    if (status == LS_OK) {
        status = parse_room(room, (size_t)(fragment - room), &invite, why);
    }
    if (status == LS_OK) {
        status = parse_fragment(fragment + 1, &invite, why);
    }
    if (status == LS_OK) {
        *out = invite;
    }
    ls_cipher_wipe(&invite, sizeof invite);
    return status;
}
