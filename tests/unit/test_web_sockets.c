/* A page's request, the frames of its socket, and the datagrams in them. */
#include "lockstep/server/door/sha1.h"
#include "lockstep/server/door/web_frames.h"
#include "lockstep/server/door/web_request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- web_request ---- */

static const ls_web_site PLAIN = {.names = "play.example.com, other.example.com"};
static const ls_web_site SEALED = {.names = "", .is_tls = true};

static const ls_web_handshake GOOD = {.host = "192.0.2.1:8080",
                                      .origin = "http://192.0.2.1:8080",
                                      .upgrade = "websocket",
                                      .version = "13",
                                      .key = "dGhlIHNhbXBsZSBub25jZQ==",
                                      .protocols = "chat, lockstep"};

static uint32_t status_of(const ls_web_handshake *handshake)
{
    const char *why = NULL;
    uint32_t status = ls_web_handshake_check(&PLAIN, handshake, &why);
    cr_assert_eq(status != 0, why != NULL);
    return status;
}

Test(web_request, page_of_this_machine_is_let_in)
{
    cr_assert_eq(status_of(&GOOD), 0);
    cr_assert(ls_web_origin_is_good(&PLAIN, "play.example.com", "http://play.example.com"));
    cr_assert(ls_web_origin_is_good(&PLAIN, "PLAY.example.com:81", "http://play.EXAMPLE.com:81"));
    cr_assert(ls_web_origin_is_good(&PLAIN, "[2001:db8::1]:80", "http://[2001:db8::1]:80"));
    cr_assert(ls_web_origin_is_good(&PLAIN, "10.0.0.1:80", "https://other.example.com"));
    cr_assert(ls_web_origin_is_good(&SEALED, "any.example.com", "https://any.example.com"));
}

Test(web_request, page_of_another_site_is_not)
{
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", "http://example.net"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", "http://192.0.2.1:80"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", "null"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "192.0.2.1:8080", NULL));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, NULL, "http://play.example.com"));
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "10.0.0.1", "http://play.example.com.example.net"));
    cr_assert_not(ls_web_origin_is_good(&SEALED, "any.example.com", "http://any.example.com"));
}

Test(web_request, name_of_another_that_leads_here_is_refused_without_tls)
{
    cr_assert_not(ls_web_origin_is_good(&PLAIN, "example.net", "http://example.net"));
}

Test(web_request, handshake_that_is_none_of_ours_is_refused_with_its_status)
{
    ls_web_handshake each = GOOD;
    each.upgrade = "h2c";
    cr_assert_eq(status_of(&each), 400);
    each = GOOD;
    each.version = "8";
    cr_assert_eq(status_of(&each), 426);
    each = GOOD;
    each.key = "dGhlIHNhbXBsZSBub25jZQ";
    cr_assert_eq(status_of(&each), 400);
    each.key = NULL;
    cr_assert_eq(status_of(&each), 400);
    each = GOOD;
    each.protocols = "lockstep2, chat";
    cr_assert_eq(status_of(&each), 400);
    each.protocols = NULL;
    cr_assert_eq(status_of(&each), 400);
    each = GOOD;
    each.origin = "http://example.net";
    cr_assert_eq(status_of(&each), 403);
}

Test(web_request, word_is_found_in_a_list)
{
    cr_assert(ls_web_list_has("gzip, deflate, br", "br"));
    cr_assert(ls_web_list_has("gzip;q=0.5 ,\tBR ;q=1", "br"));
    cr_assert(ls_web_list_has("br;q=0.01", "br"));
    cr_assert_not(ls_web_list_has("gzip, br;q=0", "br"));
    cr_assert_not(ls_web_list_has("gzip, br; q=0.000", "br"));
    cr_assert_not(ls_web_list_has("brotli, gzip", "br"));
    cr_assert_not(ls_web_list_has("", "br"));
    cr_assert_not(ls_web_list_has(NULL, "br"));
}

Test(web_request, path_names_a_file_beneath_the_folder_or_none)
{
    cr_assert_str_eq(ls_web_path_file("/play"), "play.html");
    cr_assert_str_eq(ls_web_path_file("/play/"), "play.html");
    cr_assert_str_eq(ls_web_path_file("/play/lockstep.wasm"), "lockstep.wasm");
    cr_assert_str_eq(ls_web_path_file("/play/icons/a-b_c.png"), "icons/a-b_c.png");
    static const char *const none[] = {"/",           "/player",    "/play/../x",   "/play/.x",
                                       "/play//etc/", "/play//etc", "/play/a/../b", "/play/a/.b",
                                       "/play/a/",    "/play/a%2e", "/play/a\\b",   "/play/a b",
                                       "/etc/passwd", "/play/a/./b"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        cr_assert_null(ls_web_path_file(none[i]), "%s", none[i]);
    }
}

Test(web_request, type_of_a_file_follows_its_name)
{
    cr_assert_str_eq(ls_web_file_type("a.wasm"), "application/wasm");
    cr_assert_str_eq(ls_web_file_type("play.html"), "text/html; charset=utf-8");
    cr_assert_str_eq(ls_web_file_type("wasm"), "application/octet-stream");
}

/* ---- web_frames ---- */

/* The frames of RFC 6455, whose own examples are among them. */

/* A frame of a client, whose mask is of four different bytes. */
static size_t make_frame(uint8_t *out, uint8_t first, const uint8_t *payload, size_t size)
{
    static const uint8_t mask[] = {0x37, 0xfa, 0x21, 0x3d};
    size_t at = 2;
    out[0] = first;
    out[1] = (uint8_t)(0x80 | (size < 126 ? size : 126));
    if (size >= 126) {
        out[at++] = (uint8_t)(size >> 8);
        out[at++] = (uint8_t)size;
    }
    memcpy(out + at, mask, sizeof mask);
    at += sizeof mask;
    for (size_t i = 0; i < size; i++) {
        out[at + i] = payload[i] ^ mask[i % 4];
    }
    return at + size;
}

/* The code that the bytes end the connection with; 0: they do not. */
static uint16_t code_of(const uint8_t *bytes, size_t size)
{
    ls_web_reader reader = {0};
    for (size_t at = 0, used = 0; at < size; at += used) {
        if (ls_web_read(&reader, bytes + at, size - at, &used) == LS_WEB_WRONG) {
            return reader.code;
        }
    }
    return 0;
}

static uint16_t code_of_frame(uint8_t first, size_t size)
{
    static uint8_t frame[2 * LS_UDP_DATAGRAM_BYTES_MAX];
    static const uint8_t payload[LS_UDP_DATAGRAM_BYTES_MAX + 1];
    return code_of(frame, make_frame(frame, first, payload, size));
}

static void fill(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i * 7 + 1);
    }
}

Test(web_frames, message_of_any_size_is_read_in_any_pieces)
{
    static const size_t sizes[] = {0, 1, 125, 126, 127, 1200, LS_UDP_DATAGRAM_BYTES_MAX};
    uint8_t payload[LS_UDP_DATAGRAM_BYTES_MAX];
    uint8_t frame[LS_UDP_DATAGRAM_BYTES_MAX + LS_WEB_HEADER_BYTES_MAX];
    fill(payload, sizeof payload);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = make_frame(frame, 0x82, payload, sizes[i]);
        for (size_t piece = 1; piece <= size; piece += 1 + piece / 4) {
            ls_web_reader reader = {0};
            ls_web_reading reading = LS_WEB_MORE;
            for (size_t at = 0, used = 0; at < size; at += used) {
                cr_assert_eq(reading, LS_WEB_MORE);
                size_t part = piece < size - at ? piece : size - at;
                reading = ls_web_read(&reader, frame + at, part, &used);
                cr_assert(used > 0 && used <= part);
            }
            cr_assert_eq(reading, LS_WEB_MESSAGE, "%zu bytes by %zu", sizes[i], piece);
            cr_assert(reader.opcode == LS_WEB_BINARY && reader.size == sizes[i] &&
                      memcmp(reader.bytes, payload, sizes[i]) == 0);
        }
    }
}

Test(web_frames, ping_between_the_parts_of_a_message_is_read_before_it)
{
    static const uint8_t payload[] = {1, 2, 3, 4, 5};
    uint8_t bytes[64];
    size_t size = make_frame(bytes, 0x02, payload, 3);
    size += make_frame(bytes + size, 0x89, payload, 2);
    size += make_frame(bytes + size, 0x80, payload + 3, 2);
    ls_web_reader reader = {0};
    size_t used = 0;
    cr_assert_eq(ls_web_read(&reader, bytes, size, &used), LS_WEB_MESSAGE);
    cr_assert(reader.opcode == LS_WEB_PING && reader.size == 2);
    size_t at = used;
    cr_assert_eq(ls_web_read(&reader, bytes + at, size - at, &used), LS_WEB_MESSAGE);
    cr_assert(reader.opcode == LS_WEB_BINARY && reader.size == 5 &&
              memcmp(reader.bytes, payload, 5) == 0);
    cr_assert_eq(at + used, size);
}

Test(web_frames, text_is_refused_as_such)
{
    cr_assert_eq(code_of_frame(0x81, 5), LS_WEB_CLOSE_TEXT);
    cr_assert_eq(code_of_frame(0x01, 5), LS_WEB_CLOSE_TEXT);
}

Test(web_frames, message_that_is_no_datagram_of_ours_is_too_long)
{
    static const uint8_t huge[] = {0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4};
    cr_assert_eq(code_of_frame(0x82, LS_UDP_DATAGRAM_BYTES_MAX), 0);
    cr_assert_eq(code_of_frame(0x82, LS_UDP_DATAGRAM_BYTES_MAX + 1), LS_WEB_CLOSE_TOO_LONG);
    cr_assert_eq(code_of(huge, sizeof huge), LS_WEB_CLOSE_TOO_LONG);
    uint8_t parts[2 * LS_UDP_DATAGRAM_BYTES_MAX];
    uint8_t payload[1000] = {0};
    size_t size = make_frame(parts, 0x02, payload, sizeof payload);
    size += make_frame(parts + size, 0x80, payload, sizeof payload);
    cr_assert_eq(code_of(parts, size), LS_WEB_CLOSE_TOO_LONG);
}

Test(web_frames, what_no_client_may_send_ends_the_connection)
{
    static const uint8_t unmasked[] = {0x82, 0x05, 'H', 'e', 'l', 'l', 'o'};
    static const uint8_t longer_than_needed[] = {0x82, 0xfe, 0, 5, 1, 2, 3, 4};
    static const uint8_t longer_still[] = {0x82, 0xff, 0, 0, 0, 0, 0, 0, 1, 0, 1, 2, 3, 4};
    static const uint8_t long_ping[] = {0x89, 0xfe, 0, 126, 1, 2, 3, 4};
    cr_assert_eq(code_of(unmasked, sizeof unmasked), LS_WEB_CLOSE_PROTOCOL);
    cr_assert_eq(code_of(longer_than_needed, sizeof longer_than_needed), LS_WEB_CLOSE_PROTOCOL);
    cr_assert_eq(code_of(longer_still, sizeof longer_still), LS_WEB_CLOSE_PROTOCOL);
    cr_assert_eq(code_of(long_ping, sizeof long_ping), LS_WEB_CLOSE_PROTOCOL);
    static const uint8_t firsts[] = {0xc2, 0xa2, 0x92, 0x83, 0x87, 0x8b, 0x8f, 0x09, 0x80, 0x00};
    for (size_t i = 0; i < sizeof firsts; i++) {
        cr_assert_eq(code_of_frame(firsts[i], 5), LS_WEB_CLOSE_PROTOCOL, "%02x", firsts[i]);
    }
    uint8_t bytes[64];
    static const uint8_t payload[2];
    size_t size = make_frame(bytes, 0x02, payload, 2);
    size += make_frame(bytes + size, 0x82, payload, 2); /* another message within */
    cr_assert_eq(code_of(bytes, size), LS_WEB_CLOSE_PROTOCOL);
}

Test(web_frames, header_of_a_server_is_short_and_has_no_mask)
{
    uint8_t header[LS_WEB_HEADER_OUT_BYTES_MAX];
    cr_assert_eq(ls_web_write_header(header, LS_WEB_BINARY, 125), 2);
    cr_assert(header[0] == 0x82 && header[1] == 125);
    cr_assert_eq(ls_web_write_header(header, LS_WEB_CLOSE, 1200), 4);
    cr_assert(header[0] == 0x88 && header[1] == 126 && header[2] == 4 && header[3] == 176);
}

Test(web_frames, key_is_answered_as_in_the_standard)
{
    char accept[LS_WEB_ACCEPT_BYTES];
    ls_web_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
    cr_assert_str_eq(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

/* ---- sha1 ---- */

/* The samples of RFC 3174 and RFC 2202. */

static void assert_hash(const uint8_t hash[LS_SHA1_BYTES], const char *expected)
{
    char text[2 * LS_SHA1_BYTES + 1];
    for (size_t i = 0; i < LS_SHA1_BYTES; i++) {
        snprintf(text + 2 * i, 3, "%02x", hash[i]);
    }
    cr_assert_str_eq(text, expected);
}

Test(sha1, samples_have_their_hashes)
{
    uint8_t hash[LS_SHA1_BYTES];
    ls_sha1 sha1;
    ls_sha1_begin(&sha1);
    ls_sha1_add(&sha1, "abc", 3);
    ls_sha1_end(&sha1, hash);
    assert_hash(hash, "a9993e364706816aba3e25717850c26c9cd0d89d");
    ls_sha1_begin(&sha1);
    for (int i = 0; i < 100000; i++) {
        ls_sha1_add(&sha1, "aaaaaaaaaa", 10);
    }
    ls_sha1_end(&sha1, hash);
    assert_hash(hash, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

Test(sha1, proofs_are_those_of_the_samples)
{
    uint8_t key[80];
    uint8_t hash[LS_SHA1_BYTES];
    memset(key, 0x0b, 20);
    ls_sha1_hmac(key, 20, (const uint8_t *)"Hi There", 8, hash);
    assert_hash(hash, "b617318655057264e28bc0b6fb378c8ef146be00");
    static const char data[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    memset(key, 0xaa, sizeof key);
    ls_sha1_hmac(key, sizeof key, (const uint8_t *)data, sizeof data - 1, hash);
    assert_hash(hash, "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

/* ---- page_link ---- */

static const char *link_of(bool is_sealed, const char *host, uint16_t port, const char *invite)
{
    static char text[LS_PAGE_LINK_BYTES_MAX];
    const ls_page_link link = {is_sealed, host, port, invite};
    ls_page_link_write(&link, text);
    return text;
}

Test(page_link, link_has_the_invite_where_no_browser_sends_it)
{
    cr_assert_str_eq(
        link_of(true, "play.example.com", 7380, "lockstep://192.0.2.1:7300/#KEY.CHECK"),
        "https://play.example.com:7380/play#lockstep://192.0.2.1:7300/#KEY.CHECK");
    cr_assert_str_eq(link_of(false, "127.0.0.1", 7380, ""), "http://127.0.0.1:7380/play");
}

Test(page_link, port_that_browsers_take_is_left_out)
{
    cr_assert_str_eq(link_of(true, "play.example.com", 443, ""), "https://play.example.com/play");
    cr_assert_str_eq(link_of(false, "2001:db8::1", 80, ""), "http://[2001:db8::1]/play");
    cr_assert_str_eq(link_of(false, "2001:db8::1", 443, ""), "http://[2001:db8::1]:443/play");
}
