#include "lockstep/protocol/sealed/sealed_packet.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/byte_io.h"

#include <string.h>

/* In place of the content, which stands in a third byte then, with 4 more bits of the index. */
#define LONG_HEADER 7u

static uint8_t first_byte(uint32_t content)
{
    return (uint8_t)(LS_SEALED_PACKET_BIT | content << 4);
}

size_t ls_sealed_client_header_bytes(uint32_t index)
{
    return index < LS_SEALED_INDICES ? LS_SEALED_CLIENT_HEADER_BYTES
                                     : LS_SEALED_CLIENT_HEADER_BYTES_MAX;
}

void ls_sealed_write_client_header(uint8_t *datagram, const ls_sealed_header *header)
{
    bool is_long = header->index >= LS_SEALED_INDICES;
    uint32_t content = is_long ? LONG_HEADER : (uint32_t)header->content;
    datagram[0] = (uint8_t)(first_byte(content) | (header->index >> 8 & 15u));
    datagram[1] = (uint8_t)header->index;
    if (is_long) {
        datagram[2] = (uint8_t)((uint32_t)header->content << 4 | header->index >> 12);
    }
    ls_store_u16(datagram + 2 + is_long, header->counter);
}

void ls_sealed_write_server_header(uint8_t *datagram, const ls_sealed_header *header)
{
    datagram[0] = first_byte((uint32_t)header->content);
    ls_store_u16(datagram + 1, header->counter);
}

static bool is_sealed(const uint8_t *datagram, size_t size, size_t header_bytes)
{
    return size >= header_bytes + LS_SEALED_TAG_BYTES && size <= LS_SEALED_DATAGRAM_BYTES_MAX &&
           (datagram[0] & LS_SEALED_PACKET_BIT) != 0;
}

bool ls_sealed_read_client_header(const uint8_t *datagram, size_t size, ls_sealed_header *out)
{
    bool is_long = size > 0 && (datagram[0] >> 4 & 7u) == LONG_HEADER;
    size_t bytes = LS_SEALED_CLIENT_HEADER_BYTES + is_long;
    if (!is_sealed(datagram, size, bytes)) {
        return false;
    }
    uint32_t content = is_long ? datagram[2] >> 4 : datagram[0] >> 4 & 7u;
    uint32_t round = is_long ? datagram[2] & 15u : 0;
    if (content >= LS_SEALED_CONTENT_COUNT || (is_long && round == 0)) {
        return false;
    }
    out->content = (ls_sealed_content)content;
    out->index = (uint16_t)(round << 12 | (datagram[0] & 15u) << 8 | datagram[1]);
    out->counter = ls_load_u16(datagram + bytes - 2);
    out->bytes = bytes;
    return true;
}

bool ls_sealed_read_server_header(const uint8_t *datagram, size_t size, ls_sealed_header *out)
{
    if (!is_sealed(datagram, size, LS_SEALED_SERVER_HEADER_BYTES) || (datagram[0] & 15u) != 0 ||
        (datagram[0] >> 4 & 7u) >= LS_SEALED_CONTENT_COUNT) {
        return false;
    }
    out->content = (ls_sealed_content)(datagram[0] >> 4 & 7u);
    out->index = 0;
    out->counter = ls_load_u16(datagram + 1);
    out->bytes = LS_SEALED_SERVER_HEADER_BYTES;
    return true;
}

static void write_nonce(uint8_t nonce[LS_CIPHER_NONCE_BYTES], uint64_t counter)
{
    memset(nonce, 0, 4);
    ls_store_u64(nonce + 4, counter);
}

size_t ls_sealed_packet_seal(ls_cipher_suite suite, const uint8_t key[LS_CIPHER_KEY_BYTES],
                             uint64_t counter, uint8_t *datagram, size_t header_bytes, size_t size)
{
    LS_ASSERT(header_bytes + size + LS_SEALED_TAG_BYTES <= LS_SEALED_DATAGRAM_BYTES_MAX);
    uint8_t nonce[LS_CIPHER_NONCE_BYTES];
    write_nonce(nonce, counter);
    ls_cipher_seal(suite, key, nonce, datagram, header_bytes, datagram + header_bytes, size);
    return header_bytes + size + LS_SEALED_TAG_BYTES;
}

LS_TICK_CODE ls_sealed_rejection ls_sealed_packet_open(const ls_sealed_opening *opening,
                                                       uint8_t *datagram, size_t size,
                                                       bool *is_newest)
{
    uint64_t counter;
    if (!ls_counter_window_find(opening->window, opening->counter, &counter)) {
        return LS_SEALED_REJECT_REPEATED;
    }
    size_t header_bytes = opening->header_bytes;
    uint8_t nonce[LS_CIPHER_NONCE_BYTES];
    write_nonce(nonce, counter);
    if (!ls_cipher_open(opening->suite, opening->key, nonce, datagram, header_bytes,
                        datagram + header_bytes, size - header_bytes - LS_SEALED_TAG_BYTES)) {
        return LS_SEALED_REJECT_FORGED;
    }
    *is_newest = ls_counter_window_mark(opening->window, counter);
    return LS_SEALED_ACCEPTED;
}

/* ---- which packet numbers have come ---- */

static uint64_t *word_of(ls_counter_window *window, uint64_t counter)
{
    return &window->seen[counter % LS_COUNTER_WINDOW_PACKETS / 64];
}

bool ls_counter_window_find(const ls_counter_window *window, uint16_t low, uint64_t *counter)
{
    uint16_t ahead = (uint16_t)(low - window->next);
    if (ahead < 0x8000u) {
        *counter = window->next + ahead;
        return true;
    }
    uint64_t behind = 0x10000u - ahead; /* of next: 1 is the newest */
    if (behind > window->next || behind > LS_COUNTER_WINDOW_PACKETS) {
        return false;
    }
    uint64_t found = window->next - behind;
    if (window->seen[found % LS_COUNTER_WINDOW_PACKETS / 64] >> found % 64 & 1u) {
        return false;
    }
    *counter = found;
    return true;
}

/* The counters between the newest and `counter` have not come yet. */
static void advance(ls_counter_window *window, uint64_t counter)
{
    if (counter - window->next >= LS_COUNTER_WINDOW_PACKETS) {
        memset(window->seen, 0, sizeof window->seen);
    } else {
        for (uint64_t skipped = window->next; skipped < counter; skipped++) {
            *word_of(window, skipped) &= ~(UINT64_C(1) << skipped % 64);
        }
    }
    window->next = counter + 1;
}

bool ls_counter_window_mark(ls_counter_window *window, uint64_t counter)
{
    bool is_newest = counter >= window->next;
    if (is_newest) {
        advance(window, counter);
    }
    *word_of(window, counter) |= UINT64_C(1) << counter % 64;
    return is_newest;
}
