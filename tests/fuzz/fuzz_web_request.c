/* Fuzzes what a door reads of requests of pages, lines of any bytes: host, origin, names, a list
 * and a path. A page of another site is let in by no spelling; a file is beneath the folder. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/door/web_request.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdio.h>
#include <string.h>

enum {
    FIELD_BYTES_MAX = 300,
};

static void check_origin(const char *host, const char *origin, const char *names)
{
    char own[FIELD_BYTES_MAX + 16];
    const ls_web_site plain = {.names = names};
    const ls_web_site sealed = {.names = names, .is_tls = true};
    bool is_good = ls_web_origin_is_good(&plain, host, origin);
    LS_ASSERT(!is_good || strstr(origin, "://"));
    LS_ASSERT(!is_good || !ls_web_origin_is_good(&plain, "example.net", origin) ||
              strstr(names, "example.net"));
    snprintf(own, sizeof own, "https://%s", host);
    LS_ASSERT(ls_web_origin_is_good(&sealed, host, own));
    snprintf(own, sizeof own, "http://%s", host);
    LS_ASSERT(!ls_web_origin_is_good(&sealed, host, own));
}

static void check_file(const char *path)
{
    const char *file = ls_web_path_file(path);
    if (file) {
        LS_ASSERT(file[0] != '/' && file[0] != '.' && file[0] != '\0');
        LS_ASSERT(!strstr(file, "..") || !strstr(file, "/.."));
        LS_ASSERT(!strstr(file, "//") && !strchr(file, '\\') && !strchr(file, '%'));
        LS_ASSERT(strchr(ls_web_file_type(file), '/'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input input = {bytes, size};
    char host[FIELD_BYTES_MAX], origin[FIELD_BYTES_MAX], names[FIELD_BYTES_MAX];
    char list[FIELD_BYTES_MAX], path[FIELD_BYTES_MAX];
    char longer[FIELD_BYTES_MAX + 16];
    fuzz_take_text(&input, '\n', host, sizeof host);
    fuzz_take_text(&input, '\n', origin, sizeof origin);
    fuzz_take_text(&input, '\n', names, sizeof names);
    fuzz_take_text(&input, '\n', list, sizeof list);
    fuzz_take_text(&input, '\n', path, sizeof path);
    check_origin(host, origin, names);
    snprintf(longer, sizeof longer, "br, %s", list);
    LS_ASSERT(ls_web_list_has(longer, "br"));
    (void)ls_web_list_has(list, "gzip");
    check_file(path);
    const ls_web_handshake handshake = {.host = host,
                                        .origin = origin,
                                        .upgrade = list,
                                        .version = "13",
                                        .key = path,
                                        .protocols = list};
    const char *why = NULL;
    const ls_web_site site = {.names = names};
    uint32_t status = ls_web_handshake_check(&site, &handshake, &why);
    LS_ASSERT((status == 0) == (why == NULL) && (status == 0 || status >= 400));
    return 0;
}
