#include "lockstep/server/door/web_request.h"

#include "lockstep/server/control/http_guard.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    KEY_BYTES = 24, /* 16 in base64 */
    FILE_BYTES_MAX = 200,
};

/* ---- origins ---- */

static const char *authority_of(const char *origin, bool is_tls)
{
    static const char secure[] = "https://";
    static const char plain[] = "http://";
    if (strncasecmp(origin, secure, sizeof secure - 1) == 0) {
        return origin + sizeof secure - 1;
    }
    bool is_plain = !is_tls && strncasecmp(origin, plain, sizeof plain - 1) == 0;
    return is_plain ? origin + sizeof plain - 1 : NULL;
}

static bool is_named(const char *host, const char *names)
{
    static const char parts[] = ", \t";
    size_t size = strcspn(host, ":");
    for (names += strspn(names, parts); *names; names += strspn(names, parts)) {
        size_t name_size = strcspn(names, parts);
        if (size == name_size && strncasecmp(host, names, size) == 0) {
            return true;
        }
        names += name_size;
    }
    return false;
}

bool ls_web_origin_is_good(const ls_web_site *site, const char *host, const char *origin)
{
    const char *from = host && origin ? authority_of(origin, site->is_tls) : NULL;
    if (!from || !(site->is_tls || ls_http_host_is_known(host, site->names))) {
        return false;
    }
    return strcasecmp(from, host) == 0 || is_named(from, site->names);
}

/* ---- lists ---- */

static size_t trimmed(const char *text, size_t size)
{
    while (size > 0 && strchr(" \t", text[size - 1])) {
        size--;
    }
    return size;
}

/* "q=0", "q=0.0" and the like. */
static bool is_unwanted(const char *parameters, size_t size)
{
    size_t at = 0;
    while (at < size && strchr("; \t", parameters[at])) {
        at++;
    }
    return size - at >= 3 && strncasecmp(parameters + at, "q=0", 3) == 0 &&
           strspn(parameters + at + 3, ".0") >= trimmed(parameters + at + 3, size - at - 3);
}

bool ls_web_list_has(const char *list, const char *word)
{
    while (list && *list) {
        list += strspn(list, ", \t");
        size_t whole = strcspn(list, ",");
        size_t size = strcspn(list, ",;");
        size_t word_size = trimmed(list, size);
        if (word_size == strlen(word) && strncasecmp(list, word, word_size) == 0) {
            return !is_unwanted(list + size, whole - size);
        }
        list += whole;
    }
    return false;
}

/* ---- handshakes ---- */

static bool is_key(const char *key)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return key && strlen(key) == KEY_BYTES && strspn(key, all) == KEY_BYTES - 2 &&
           strcmp(key + KEY_BYTES - 2, "==") == 0;
}

uint32_t ls_web_handshake_check(const ls_web_site *site, const ls_web_handshake *handshake,
                                const char **why)
{
    if (!ls_web_list_has(handshake->upgrade, "websocket") || !is_key(handshake->key)) {
        *why = "a WebSocket is opened here";
        return 400;
    }
    if (!handshake->version || strcmp(handshake->version, "13") != 0) {
        *why = "WebSockets are of version 13";
        return 426;
    }
    if (!ls_web_list_has(handshake->protocols, LS_WEB_PROTOCOL)) {
        *why = "the subprotocol is " LS_WEB_PROTOCOL;
        return 400;
    }
    if (!ls_web_origin_is_good(site, handshake->host, handshake->origin)) {
        *why = "the page is another site's";
        return 403;
    }
    return 0;
}

/* ---- files ---- */

/* Letters that need no decoding; no part begins with a dot. */
static bool is_file(const char *file)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    size_t size = strlen(file);
    bool is_good = size > 0 && size < FILE_BYTES_MAX && strspn(file, all) == size;
    for (size_t i = 0; i < size && is_good; i++) {
        bool begins_part = i == 0 || file[i - 1] == '/';
        is_good = !(begins_part && (file[i] == '.' || file[i] == '/'));
    }
    return is_good && file[size - 1] != '/';
}

const char *ls_web_path_file(const char *path)
{
    static const char folder[] = "/play/";
    if (strcmp(path, "/play") == 0 || strcmp(path, folder) == 0) {
        return "play.html";
    }
    bool is_beneath = strncmp(path, folder, sizeof folder - 1) == 0;
    return is_beneath && is_file(path + sizeof folder - 1) ? path + sizeof folder - 1 : NULL;
}

const char *ls_web_file_type(const char *file)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".wasm", "application/wasm"},
        {".json", "application/json"},
        {".webmanifest", "application/manifest+json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".ico", "image/x-icon"},
        {".txt", "text/plain; charset=utf-8"},
        {".woff2", "font/woff2"},
        {".ogg", "audio/ogg"},
        {".wav", "audio/wav"},
    };
    size_t size = strlen(file);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t end = strlen(types[i].end);
        if (size > end && strcmp(file + size - end, types[i].end) == 0) {
            return types[i].type;
        }
    }
    return "application/octet-stream";
}

/* ---- page link ---- */

enum {
    PORT_PLAIN = 80,
    PORT_SEALED = 443,
};

void ls_page_link_write(const ls_page_link *link, char out[LS_PAGE_LINK_BYTES_MAX])
{
    bool is_ipv6 = strchr(link->host, ':') != NULL;
    bool is_usual = link->port == (link->is_sealed ? PORT_SEALED : PORT_PLAIN);
    char port[8] = "";
    if (!is_usual) {
        snprintf(port, sizeof port, ":%u", (unsigned)link->port);
    }
    snprintf(out, LS_PAGE_LINK_BYTES_MAX, "%s://%s%.253s%s%s/play%s%.500s",
             link->is_sealed ? "https" : "http", is_ipv6 ? "[" : "", link->host, is_ipv6 ? "]" : "",
             port, link->invite[0] != '\0' ? "#" : "", link->invite);
}
