/* The frames of RFC 6455, whose own examples are among them. */
#include "lockstep/server/door/web_frames.h"

#include <criterion/criterion.h>
#include <string.h>

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
