/* RTC stream: SCTP over a seal, as far as one data channel needs it (RFC 8831): messages each way,
 * in no order and never repeated. The only module that knows usrsctp, which keeps state of its own:
 * there is one door in a process. Called by rtc_peers. */
#ifndef LOCKSTEP_SERVER_DOOR_RTC_STREAM_H
#define LOCKSTEP_SERVER_DOOR_RTC_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void ls_rtc_streams_begin(void);
void ls_rtc_streams_end(void); /* all are destroyed */
/* Repeats and times out; so long after the last call. */
void ls_rtc_streams_tend(uint32_t elapsed_ms);

typedef struct ls_rtc_stream_config {
    uint16_t port;                                                  /* of SCTP, of the peer */
    void (*send)(void *user, const uint8_t *bytes, size_t size);    /* a packet of SCTP */
    void (*receive)(void *user, const uint8_t *bytes, size_t size); /* a message */
    void *user;
} ls_rtc_stream_config;

typedef struct ls_rtc_stream ls_rtc_stream;

/* NULL: memory is out. Neither of the calls destroys it. */
ls_rtc_stream *ls_rtc_stream_create(const ls_rtc_stream_config *config);
void ls_rtc_stream_destroy(ls_rtc_stream *stream); /* NULL is allowed */

/* A packet of SCTP. */
void ls_rtc_stream_receive(ls_rtc_stream *stream, const uint8_t *bytes, size_t size);
/* A message: dropped while there is no channel yet, or too many wait. */
void ls_rtc_stream_send(ls_rtc_stream *stream, const uint8_t *bytes, size_t size);

/* The association is over. */
bool ls_rtc_stream_is_over(const ls_rtc_stream *stream);

#endif
