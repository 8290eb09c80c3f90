#include "lockstep/server/door/sdp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

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
