/* DCEP (RFC 8832): how a page opens a data channel in band. Pure; reads untrusted bytes. Called by
 * rtc_stream. */
#ifndef LOCKSTEP_SERVER_DOOR_DCEP_H
#define LOCKSTEP_SERVER_DOOR_DCEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ls_dcep_open {
    bool is_ordered;
    bool is_reliable;
    uint32_t retransmissions; /* or milliseconds; of one that is not */
    bool is_ours;             /* its protocol is "lockstep", or it names none */
} ls_dcep_open;

/* Whether it is an OPEN. */
bool ls_dcep_read(const uint8_t *bytes, size_t size, ls_dcep_open *out);

/* The answer, of one byte. */
extern const uint8_t ls_dcep_ack;

#endif
