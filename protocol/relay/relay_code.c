#include "lockstep/protocol/relay/relay_code.h"

#include "lockstep/common/system/endpoint_text.h"

#include <stdio.h>
#include <string.h>

enum {
    CHARACTER_BITS = 5,
    ALL_CHARACTERS = LS_RELAY_NAME_CHARACTERS + LS_RELAY_SECRET_CHARACTERS,
};

/* None of these looks like another one. */
static const char alphabet[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

bool ls_relay_code_has(char character)
{
    return character != '\0' && strchr(alphabet, character);
}

static void spell(const uint8_t *hash, char *out, size_t characters)
{
    uint32_t bits = (uint32_t)hash[0] | (uint32_t)hash[1] << 8 | (uint32_t)hash[2] << 16;
    for (size_t i = 0; i < characters; i++) {
        out[i] = alphabet[bits & ((1u << CHARACTER_BITS) - 1)];
        bits >>= CHARACTER_BITS;
    }
}

void ls_relay_code_name(const uint8_t public_key[LS_CIPHER_KEY_BYTES], uint8_t attempt,
                        char name[LS_RELAY_NAME_CHARACTERS])
{
    static const char label[] = "lockstep relay code";
    uint8_t bytes[sizeof label - 1 + LS_CIPHER_KEY_BYTES + 1];
    uint8_t hash[LS_CIPHER_KEY_BYTES];
    memcpy(bytes, label, sizeof label - 1);
    memcpy(bytes + sizeof label - 1, public_key, LS_CIPHER_KEY_BYTES);
    bytes[sizeof bytes - 1] = attempt;
    ls_cipher_hash(NULL, 0, bytes, sizeof bytes, hash, sizeof hash);
    spell(hash, name, LS_RELAY_NAME_CHARACTERS);
}

void ls_relay_code_secret(const uint8_t private_key[LS_CIPHER_KEY_BYTES],
                          char secret[LS_RELAY_SECRET_CHARACTERS])
{
    static const char label[] = "lockstep code secret";
    uint8_t hash[LS_CIPHER_KEY_BYTES];
    ls_cipher_hash(private_key, LS_CIPHER_KEY_BYTES, (const uint8_t *)label, sizeof label - 1, hash,
                   sizeof hash);
    spell(hash, secret, LS_RELAY_SECRET_CHARACTERS);
    ls_cipher_wipe(hash, sizeof hash);
}

void ls_relay_code_format(const ls_relay_code *code, char text[LS_RELAY_CODE_BYTES])
{
    snprintf(text, LS_RELAY_CODE_BYTES, "%.*s-%.*s", (int)LS_RELAY_NAME_CHARACTERS, code->name,
             (int)LS_RELAY_SECRET_CHARACTERS, code->secret);
}

bool ls_relay_code_is_meant(const char *text)
{
    return strchr(text, '@') != NULL;
}

ls_status ls_relay_code_parse(const char *text, ls_relay_code *code, const char **place,
                              ls_text *why)
{
    char read[ALL_CHARACTERS];
    size_t count = 0;
    const char *at = text;
    for (; *at != '\0' && *at != '@'; at++) {
        char upper = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
        if (*at == '-' && count == LS_RELAY_NAME_CHARACTERS && at[-1] != '-') {
            continue;
        }
        if (!ls_relay_code_has(upper) || count == sizeof read) {
            return ls_fail(LS_BAD_ARGUMENT, why,
                           "a code is like K7QM-29F: seven of the letters without I and O and the "
                           "digits from 2 to 9");
        }
        read[count++] = upper;
    }
    if (count != sizeof read || *at != '@' || at[1] == '\0') {
        return ls_fail(LS_BAD_ARGUMENT, why,
                       "a code has seven characters and its relay behind it: K7QM-29F@HOST[:PORT]");
    }
    memcpy(code->name, read, sizeof code->name);
    memcpy(code->secret, read + sizeof code->name, sizeof code->secret);
    *place = at + 1;
    return LS_OK;
}

ls_status ls_relay_find(const char *place, ls_endpoint *relay, ls_text *why)
{
    char whole[LS_ENDPOINT_JOINED_BYTES];
    const char *bracket = strchr(place, ']');
    bool has_port = strchr(bracket ? bracket : place, ':') != NULL;
    int size = has_port ? snprintf(whole, sizeof whole, "%s", place)
                        : snprintf(whole, sizeof whole, "%s:%u", place, LS_RELAY_DEFAULT_PORT);
    if (size < 0 || (size_t)size >= sizeof whole) {
        return ls_fail(LS_BAD_ARGUMENT, why, "the name of the relay is too long");
    }
    return ls_endpoint_parse(whole, relay, why);
}
