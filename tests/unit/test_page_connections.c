#include "lockstep/server/door/rtc_formats.h"
#include "lockstep/server/door/sha1.h"
#include "lockstep/server/door/web_frames.h"
#include "lockstep/server/door/web_request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ==== rtc ==== */

/* WebRTC before datagrams flow: SDP, STUN and the opening of a channel. */

/* ---- sdp ---- */

#define PRINT                                                                                      \
    "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:"   \
    "ee:"                                                                                          \
    "ff"
#define BEGINNING "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n"
#define PART "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n"
#define REST                                                                                       \
    "a=ice-ufrag:4ZcD\r\na=ice-pwd:2/1muCWoOi3uLifh0NuRHlgK\r\na=fingerprint:sha-256 " PRINT       \
    "\r\na=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n"

static bool is_read(const char *text, ls_sdp_offer *out)
{
    const char *why = NULL;
    bool is_good = ls_sdp_read_offer(text, strlen(text), out, &why);
    cr_assert_eq(is_good, why == NULL);
    return is_good;
}

Test(sdp, offer_of_a_data_channel_is_read)
{
    ls_sdp_offer offer;
    cr_assert(is_read(BEGINNING PART REST, &offer));
    cr_assert_str_eq(offer.mid, "0");
    cr_assert_eq(offer.sctp_port, 5000);
    cr_assert(offer.fingerprint[1] == 0x11 && offer.fingerprint[31] == 0xff);
    cr_assert(is_read("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=setup:active\n"
                      "a=mid:data\na=sctp-port:1\na=fingerprint:sha-256 " PRINT,
                      &offer));
}

Test(sdp, offer_of_anything_else_is_refused)
{
    ls_sdp_offer offer;
    static const char *const wrong[] = {
        "",
        BEGINNING PART,
        BEGINNING REST,
        BEGINNING PART REST PART,
        BEGINNING PART REST "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n",
        BEGINNING PART REST "a=setup:passive\r\n",
        BEGINNING PART REST "a=sctp-port:0\r\n",
        BEGINNING PART REST "a=sctp-port:65536\r\n",
        BEGINNING PART REST "a=sctp-port:5x\r\n",
        BEGINNING PART REST "a=mid:a b\r\n",
        BEGINNING PART REST "a=mid:\r\n",
        BEGINNING PART REST "a=mid:0123456789012345678901234567890123456789\r\n",
        BEGINNING PART REST "a=fingerprint:sha-256 00:11\r\n",
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannelx\r\n" REST,
        "m=application 9 DTLS/SCTP 5000\r\n" REST,
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_not(is_read(wrong[i], &offer), "%zu", i);
    }
}

Test(sdp, answer_has_what_the_page_needs_to_come)
{
    char text[LS_SDP_ANSWER_BYTES_MAX];
    ls_sdp_offer offer;
    cr_assert(is_read(BEGINNING PART REST, &offer));
    ls_sdp_answer answer = {.offer = &offer,
                            .user = "user",
                            .password = "password",
                            .address = "192.0.2.1",
                            .port = 7380};
    memset(answer.fingerprint, 0xab, sizeof answer.fingerprint);
    size_t size = ls_sdp_write_answer(&answer, text);
    cr_assert_eq(size, strlen(text));
    cr_assert(strstr(text, "\r\na=candidate:1 1 UDP 2130706431 192.0.2.1 7380 typ host\r\n"));
    cr_assert(strstr(text, "\r\na=setup:passive\r\n") && strstr(text, "\r\na=ice-lite\r\n"));
    cr_assert(strstr(text, "\r\na=fingerprint:sha-256 AB:AB:"));
    cr_assert(strstr(text, ":AB\r\na=setup"));
    cr_assert(strstr(text, "\r\na=ice-ufrag:user\r\na=ice-pwd:password\r\n"));
    answer.address = "2001:db8::1";
    cr_assert(ls_sdp_write_answer(&answer, text) > 0 && strstr(text, "c=IN IP6 2001:db8::1\r\n"));
}

/* ---- stun ---- */

/* The sample request of RFC 5769, and requests that are none. */

static const char PASSWORD[] = "VOkJxbRl1RmTxUk/WvJxBt";

static const uint8_t SAMPLE[] = {
    0x00, 0x01, 0x00, 0x58, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
    0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x10, 0x53, 0x54, 0x55, 0x4e, 0x20, 0x74, 0x65, 0x73,
    0x74, 0x20, 0x63, 0x6c, 0x69, 0x65, 0x6e, 0x74, 0x00, 0x24, 0x00, 0x04, 0x6e, 0x00, 0x01, 0xff,
    0x80, 0x29, 0x00, 0x08, 0x93, 0x2f, 0xf9, 0xb1, 0x51, 0x26, 0x3b, 0x36, 0x00, 0x06, 0x00, 0x09,
    0x65, 0x76, 0x74, 0x6a, 0x3a, 0x68, 0x36, 0x76, 0x59, 0x20, 0x20, 0x20, 0x00, 0x08, 0x00, 0x14,
    0x9a, 0xea, 0xa7, 0x0c, 0xbf, 0xd8, 0xcb, 0x56, 0x78, 0x1e, 0xf2, 0xb5, 0xb2, 0xd3, 0xf2, 0x49,
    0xc1, 0xb5, 0x71, 0xa2, 0x80, 0x28, 0x00, 0x04, 0xe5, 0x7a, 0x3b, 0xcf};

Test(stun, sample_is_read_and_proven)
{
    ls_stun_request request;
    cr_assert(ls_stun_read(SAMPLE, sizeof SAMPLE, &request));
    cr_assert_str_eq(request.name, "evtj");
    cr_assert_not(request.is_chosen);
    cr_assert(ls_stun_is_proven(SAMPLE, &request, PASSWORD));
    cr_assert_not(ls_stun_is_proven(SAMPLE, &request, "VOkJxbRl1RmTxUk/WvJxBu"));
}

Test(stun, altered_request_is_not_proven)
{
    for (size_t at = 0; at < sizeof SAMPLE; at++) {
        uint8_t bytes[sizeof SAMPLE];
        ls_stun_request request;
        memcpy(bytes, SAMPLE, sizeof bytes);
        bytes[at] ^= 1;
        bool is_behind = at >= 100; /* the fingerprint, which proves nothing */
        cr_assert(!ls_stun_read(bytes, sizeof bytes, &request) ||
                      !ls_stun_is_proven(bytes, &request, PASSWORD) || is_behind,
                  "byte %zu", at);
    }
}

Test(stun, cut_request_is_none)
{
    for (size_t size = 0; size < sizeof SAMPLE; size++) {
        uint8_t bytes[sizeof SAMPLE];
        ls_stun_request request;
        memcpy(bytes, SAMPLE, sizeof bytes);
        cr_assert_not(ls_stun_read(bytes, size, &request));
        if (size >= 20) {
            bytes[3] = (uint8_t)(size - 20);
            bool is_whole = ls_stun_read(bytes, size, &request);
            cr_assert(!is_whole || size >= 100, "%zu bytes", size);
        }
    }
}

Test(stun, answer_says_where_the_request_came_from)
{
    ls_stun_request request;
    uint8_t answer[LS_STUN_ANSWER_BYTES_MAX];
    cr_assert(ls_stun_read(SAMPLE, sizeof SAMPLE, &request));
    const uint8_t address[] = {192, 0, 2, 1};
    uint32_t number = 0;
    memcpy(&number, address, sizeof number);
    const ls_endpoint from = ls_endpoint_from_ipv4(number, 32853);
    cr_assert_eq(ls_stun_answer(&request, &from, PASSWORD, answer), 64);
    /* As the answer of RFC 5769 has it. */
    static const uint8_t said[] = {0x00, 0x20, 0x00, 0x08, 0x00, 0x01,
                                   0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43};
    cr_assert_arr_eq(answer + 20, said, sizeof said);
    cr_assert(answer[0] == 1 && answer[1] == 1 && answer[3] == 44);
    cr_assert_arr_eq(answer + 8, SAMPLE + 8, LS_STUN_ID_BYTES);
    ls_stun_request proof = {.signed_bytes = 32};
    cr_assert(ls_stun_is_proven(answer, &proof, PASSWORD));
}

/* ---- dcep ---- */

Test(dcep, open_says_how_the_channel_is_meant)
{
    static const uint8_t open[] = {3, 0x81, 0,   0,   0,   0,   0,   0,   0,   2,   0,
                                   8, 'a',  'b', 'l', 'o', 'c', 'k', 's', 't', 'e', 'p'};
    ls_dcep_open read;
    cr_assert(ls_dcep_read(open, sizeof open, &read));
    cr_assert(!read.is_ordered && !read.is_reliable && read.retransmissions == 0 && read.is_ours);
    static const uint8_t plain[] = {3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    cr_assert(ls_dcep_read(plain, sizeof plain, &read));
    cr_assert(read.is_ordered && read.is_reliable && read.is_ours);
    static const uint8_t other[] = {3, 2, 1, 0, 0, 0, 0, 9, 0, 0, 0, 1, 'x'};
    cr_assert(ls_dcep_read(other, sizeof other, &read));
    cr_assert(!read.is_ours && read.retransmissions == 9);
}

Test(dcep, anything_else_is_no_open)
{
    static const uint8_t open[] = {3, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 'a', 'b'};
    ls_dcep_open read;
    for (size_t size = 0; size < sizeof open; size++) {
        cr_assert_not(ls_dcep_read(open, size, &read), "%zu bytes", size);
    }
    cr_assert(ls_dcep_read(open, sizeof open, &read));
    static const uint8_t longer[] = {3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'a'};
    static const uint8_t ack[] = {2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t kind[] = {3, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    cr_assert_not(ls_dcep_read(longer, sizeof longer, &read));
    cr_assert_not(ls_dcep_read(ack, sizeof ack, &read));
    cr_assert_not(ls_dcep_read(kind, sizeof kind, &read));
}

/* ==== web_sockets ==== */

/* A page's request, the frames of its socket, and the datagrams in them. */

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
