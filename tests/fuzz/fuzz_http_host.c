/* Fuzzes values of the Host header, "NAMES\nHOST" of any bytes: a host is known with any port and
 * in capitals, or not at all, and only an address, localhost or one of the names is. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/control/http_guard.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdio.h>
#include <string.h>

enum {
    FIELD_BYTES_MAX = 512,
};

static void read_field(fuzz_input *input, char field[FIELD_BYTES_MAX])
{
    size_t size = 0;
    uint8_t byte = '\0';
    while (input->size > 0 && (byte = fuzz_take_u8(input)) != '\n') {
        if (byte != '\0' && size + 1 < FIELD_BYTES_MAX) {
            field[size++] = (char)byte;
        }
    }
    field[size] = '\0';
}

static bool is_known(const char *host, const char *behind, const char *names)
{
    char text[FIELD_BYTES_MAX + 32];
    snprintf(text, sizeof text, "%s%s", host, behind);
    return ls_http_host_is_known(text, names);
}

static void raise_letters(char *text)
{
    for (; *text != '\0'; text++) {
        *text = (char)(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    char names[FIELD_BYTES_MAX];
    char host[FIELD_BYTES_MAX];
    read_field(&input, names);
    read_field(&input, host);
    bool known = ls_http_host_is_known(host, names);
    if (!strchr(host, ':') && known) {
        LS_ASSERT(is_known(host, ":9300", names));
        LS_ASSERT(!is_known(host, ".attacker.example", ""));
    }
    LS_ASSERT(!known || strchr(names, '/') || !is_known(host, "/", names));
    raise_letters(host);
    LS_ASSERT(ls_http_host_is_known(host, names) == known);
    LS_ASSERT(ls_http_host_is_known("localhost", names) && ls_http_host_is_known("[::1]:1", names));
    return 0;
}
