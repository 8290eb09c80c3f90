/* Sealed packet: the headers of both directions, and how the content behind one is sealed and
 * opened, as protocol/SEALED.md has it. Knows bytes, keys and counters; no connection and no
 * address. */
#ifndef LOCKSTEP_PROTOCOL_SEALED_SEALED_PACKET_H
#define LOCKSTEP_PROTOCOL_SEALED_SEALED_PACKET_H

#include "lockstep/common/base/cipher.h"
#include "lockstep/common/base/language.h"
#include "lockstep/protocol/sealed/sealed_content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

LS_C_BEGIN

/* ---- which packet numbers have come ---- */

#define LS_COUNTER_WINDOW_PACKETS 256u

/* Zeroed: nothing has come. */
typedef struct ls_counter_window {
    uint64_t next; /* one more than the newest counter that was taken; 0: none was */
    uint64_t seen[LS_COUNTER_WINDOW_PACKETS / 64]; /* bit c % 256: counter c was taken */
} ls_counter_window;

/* The counter whose lowest 16 bits are `low`: the nearest to `next`. False when it was taken
 * already, or is older than the window can tell; `counter` is untouched then. */
bool ls_counter_window_find(const ls_counter_window *window, uint16_t low, uint64_t *counter);

/* Marks one that find gave as taken; returns whether it is the newest so far. */
bool ls_counter_window_mark(ls_counter_window *window, uint64_t counter);

/* ---- packets ---- */

/* Set in the first byte of a sealed packet, not in that of a packet of the key exchange. */
#define LS_SEALED_PACKET_BIT 0x80u

typedef struct ls_sealed_header {
    ls_sealed_content content;
    uint16_t index;   /* of the connection; 0 from a server */
    uint16_t counter; /* the lowest bits of it */
    size_t bytes;     /* that it takes; set by the functions that read one */
} ls_sealed_header;

/* Of the packets that a client of the connection `index` sends. */
size_t ls_sealed_client_header_bytes(uint32_t index);

/* Write ls_sealed_client_header_bytes and LS_SEALED_SERVER_HEADER_BYTES. */
void ls_sealed_write_client_header(uint8_t *datagram, const ls_sealed_header *header);
void ls_sealed_write_server_header(uint8_t *datagram, const ls_sealed_header *header);

/* False for what is shorter than a header and a tag, longer than a datagram may be, not a sealed
 * packet or of an unknown content; `out` is untouched then. */
bool ls_sealed_read_client_header(const uint8_t *datagram, size_t size, ls_sealed_header *out);
bool ls_sealed_read_server_header(const uint8_t *datagram, size_t size, ls_sealed_header *out);

/* Seals `size` bytes behind the header in place, with the tag behind them; returns the bytes of the
 * datagram. A key seals each counter once. */
size_t ls_sealed_packet_seal(ls_cipher_suite suite, const uint8_t key[LS_CIPHER_KEY_BYTES],
                             uint64_t counter, uint8_t *datagram, size_t header_bytes, size_t size);

/* The key and the packets that it has opened so far. */
typedef struct ls_sealed_opening {
    ls_cipher_suite suite;
    const uint8_t *key;
    ls_counter_window *window;
    size_t header_bytes;
    uint16_t counter; /* of the header */
} ls_sealed_opening;

/* Opens a datagram of `size` bytes in place, of which at least a header and a tag are there.
 * ACCEPTED, and `is_newest` says whether it is newer than all before; REPEATED or FORGED, and
 * nothing but the content's bytes has changed. */
ls_sealed_rejection ls_sealed_packet_open(const ls_sealed_opening *opening, uint8_t *datagram,
                                          size_t size, bool *is_newest);

LS_C_END

#endif
