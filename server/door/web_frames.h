/* Web frames: the frames of a WebSocket (RFC 6455) as a server reads and writes them: bytes in any
 * pieces become messages, each of which is a datagram, or a word about the connection. Anything
 * that is no frame of a client, or of text, or too long ends the connection. Pure; holds one
 * message, and takes no memory. Called by web_peers. */
#ifndef LOCKSTEP_SERVER_DOOR_WEB_FRAMES_H
#define LOCKSTEP_SERVER_DOOR_WEB_FRAMES_H

#include "lockstep/common/system/datagram_socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_WEB_CONTROL_BYTES_MAX 125u
#define LS_WEB_HEADER_BYTES_MAX 14u
#define LS_WEB_HEADER_OUT_BYTES_MAX 4u /* of what a server sends here */

/* Codes of CLOSE. */
enum {
    LS_WEB_CLOSE_NORMAL = 1000,
    LS_WEB_CLOSE_AWAY = 1001,
    LS_WEB_CLOSE_PROTOCOL = 1002,
    LS_WEB_CLOSE_TEXT = 1003,
    LS_WEB_CLOSE_POLICY = 1008,
    LS_WEB_CLOSE_TOO_LONG = 1009,
};

typedef enum ls_web_opcode {
    LS_WEB_CONTINUATION = 0,
    LS_WEB_TEXT = 1,
    LS_WEB_BINARY = 2,
    LS_WEB_CLOSE = 8,
    LS_WEB_PING = 9,
    LS_WEB_PONG = 10,
} ls_web_opcode;

typedef enum ls_web_reading {
    LS_WEB_MORE,    /* all bytes were read, and a message is not whole yet */
    LS_WEB_MESSAGE, /* one is */
    LS_WEB_WRONG,   /* the connection is to be closed with `code`; nothing more is read */
} ls_web_reading;

/* Zeroed: at the beginning. */
typedef struct ls_web_reader {
    uint8_t header[LS_WEB_HEADER_BYTES_MAX];
    size_t header_bytes; /* of a frame, so far */
    size_t payload_left; /* of it, once its header is whole */
    bool has_header;
    bool is_in_message; /* a first part has come, and is not the last */
    size_t message_bytes;
    size_t control_bytes;
    uint32_t frames; /* that have come in whole, parts of messages too */
    uint8_t message[LS_UDP_DATAGRAM_BYTES_MAX];
    uint8_t control[LS_WEB_CONTROL_BYTES_MAX];
    /* Of the last reading. */
    ls_web_opcode opcode; /* BINARY, CLOSE, PING or PONG */
    const uint8_t *bytes; /* of the message, until the next call */
    size_t size;
    uint16_t code; /* of WRONG */
} ls_web_reader;

/* Reads from `bytes`, up to the end of a message, and says of how many in `used`. */
ls_web_reading ls_web_read(ls_web_reader *reader, const uint8_t *bytes, size_t size, size_t *used);

/* The header of a whole message of at most 65,535 bytes; returns its size. */
size_t ls_web_write_header(uint8_t header[LS_WEB_HEADER_OUT_BYTES_MAX], ls_web_opcode opcode,
                           size_t size);

/* The answer to the key of a handshake, as text. */
#define LS_WEB_ACCEPT_BYTES 29u /* with its NUL */
void ls_web_accept(const char *key, char out[LS_WEB_ACCEPT_BYTES]);

#endif
