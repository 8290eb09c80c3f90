/* Fuzzes what comes to a door for pages before datagrams flow. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/door/rtc_formats.h"
#include "lockstep/server/door/web_frames.h"
#include "lockstep/server/door/web_request.h"

#include "lockstep/tests/fuzz/fuzz_input.h"

#include <stdio.h>
#include <string.h>

/* ==== sdp ==== */

/* Fuzzes offers of pages: one that is read has all that an answer needs, and the answer holds
 * nothing of it that could begin a line. */

static uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

FUZZ_TARGET(sdp)
{
    static const ls_sdp_offer plain = {.mid = "0", .sctp_port = 5000};
    char text[LS_SDP_ANSWER_BYTES_MAX], expected[LS_SDP_ANSWER_BYTES_MAX];
    char *copy = malloc(size > 0 ? size : 1);
    const char *why = NULL;
    ls_sdp_offer offer;
    LS_ASSERT(copy);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    bool is_read = ls_sdp_read_offer(copy, size, &offer, &why);
    LS_ASSERT(is_read == (why == NULL));
    ls_sdp_answer answer = {
        .offer = &plain, .user = "u", .password = "p", .address = "192.0.2.1", .port = 1};
    if (is_read) {
        LS_ASSERT(ls_sdp_write_answer(&answer, expected) > 0);
        answer.offer = &offer;
        LS_ASSERT(ls_sdp_write_answer(&answer, text) > 0);
        LS_ASSERT(offer.sctp_port != 0 && lines_of(text) == lines_of(expected));
    }
    free(copy);
    return 0;
}

/* ==== stun ==== */

/* Fuzzes what a door reads of STUN and DCEP: nothing past the end is looked at, a request is proven
 * by its password alone, and its answer is one that the same password proves. */

static void read_request(const uint8_t *bytes, size_t size)
{
    static const char password[] = "VOkJxbRl1RmTxUk/WvJxBt";
    ls_stun_request request;
    uint8_t answer[LS_STUN_ANSWER_BYTES_MAX];
    if (!ls_stun_read(bytes, size, &request)) {
        return;
    }
    LS_ASSERT(request.signed_bytes + 24 <= size && request.name[0] != '\0' &&
              strlen(request.name) < LS_STUN_NAME_BYTES_MAX && !strchr(request.name, ':'));
    LS_ASSERT(!ls_stun_is_proven(bytes, &request, "") ||
              !ls_stun_is_proven(bytes, &request, password));
    ls_endpoint from = {.port = 1};
    memcpy(from.address, request.id, sizeof request.id);
    size_t answer_size = ls_stun_answer(&request, &from, password, answer);
    ls_stun_request proof = {.signed_bytes = answer_size - 32};
    LS_ASSERT(answer_size <= LS_STUN_ANSWER_BYTES_MAX);
    LS_ASSERT(ls_stun_is_proven(answer, &proof, password));
}

FUZZ_TARGET(stun)
{
    uint8_t *copy = malloc(size > 0 ? size : 1); /* so that a look behind the end is seen */
    ls_dcep_open open;
    LS_ASSERT(copy);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    read_request(copy, size);
    LS_ASSERT(!ls_dcep_read(copy, size, &open) || size >= 12);
    free(copy);
    return 0;
}

/* ==== web_frames ==== */

/* Fuzzes what a door reads of WebSockets: bytes of any kind, at once and in pieces of a size that
 * the first byte says, give the same messages and the same end, and no message is too long. A
 * message that a server writes is, with a mask, read as that. */

enum {
    MESSAGES_MAX = 64,
};

typedef struct outcome {
    uint32_t messages;
    size_t sizes[MESSAGES_MAX];
    uint32_t sums[MESSAGES_MAX];
    uint32_t opcodes[MESSAGES_MAX];
    uint16_t code;
} outcome;

static uint32_t sum_of(const uint8_t *bytes, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum = sum * 31 + bytes[i];
    }
    return sum;
}

static void note(outcome *out, const ls_web_reader *reader)
{
    LS_ASSERT(reader->opcode == LS_WEB_BINARY || reader->opcode >= LS_WEB_CLOSE);
    LS_ASSERT(reader->size <= (reader->opcode == LS_WEB_BINARY ? LS_UDP_DATAGRAM_BYTES_MAX
                                                               : LS_WEB_CONTROL_BYTES_MAX));
    if (out->messages < MESSAGES_MAX) {
        out->sizes[out->messages] = reader->size;
        out->sums[out->messages] = sum_of(reader->bytes, reader->size);
        out->opcodes[out->messages++] = reader->opcode;
    }
}

static outcome read_all(const uint8_t *bytes, size_t size, size_t piece)
{
    ls_web_reader reader = {0};
    outcome out = {0};
    for (size_t at = 0, used = 0; at < size && out.code == 0; at += used) {
        size_t part = size - at < piece ? size - at : piece;
        ls_web_reading reading = ls_web_read(&reader, bytes + at, part, &used);
        LS_ASSERT(used > 0 && used <= part);
        if (reading == LS_WEB_MESSAGE) {
            note(&out, &reader);
        } else if (reading == LS_WEB_WRONG) {
            LS_ASSERT(reader.code >= LS_WEB_CLOSE_PROTOCOL && reader.code <= LS_WEB_CLOSE_TOO_LONG);
            out.code = reader.code;
        } else {
            LS_ASSERT(used == part);
        }
    }
    return out;
}

static void write_and_read(const uint8_t *bytes, size_t size)
{
    uint8_t frame[LS_UDP_DATAGRAM_BYTES_MAX + LS_WEB_HEADER_BYTES_MAX];
    size = size < LS_UDP_DATAGRAM_BYTES_MAX ? size : LS_UDP_DATAGRAM_BYTES_MAX;
    size_t header = ls_web_write_header(frame, LS_WEB_BINARY, size);
    frame[1] |= 0x80;
    memset(frame + header, 0, 4); /* a mask that changes nothing */
    if (size > 0) {
        memcpy(frame + header + 4, bytes, size);
    }
    outcome out = read_all(frame, header + 4 + size, sizeof frame);
    LS_ASSERT(out.messages == 1 && out.sizes[0] == size && out.sums[0] == sum_of(bytes, size));
}

FUZZ_TARGET(web_frames)
{
    fuzz_input input = {bytes, size};
    size_t piece = 1u + fuzz_take_u8(&input);
    const outcome whole = read_all(input.bytes, input.size, SIZE_MAX);
    const outcome parts = read_all(input.bytes, input.size, piece);
    LS_ASSERT(memcmp(&whole, &parts, sizeof whole) == 0);
    write_and_read(input.bytes, input.size);
    return 0;
}

/* ==== web_request ==== */

/* Fuzzes what a door reads of requests of pages, lines of any bytes: host, origin, names, a list
 * and a path. A page of another site is let in by no spelling; a file is beneath the folder. */

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

FUZZ_TARGET(web_request)
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
