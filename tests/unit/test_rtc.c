/* WebRTC before datagrams flow: SDP, STUN and the opening of a channel. */
#include "lockstep/server/door/rtc_formats.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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
