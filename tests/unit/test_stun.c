/* The sample request of RFC 5769, and requests that are none. */
#include "lockstep/server/door/stun.h"

#include <criterion/criterion.h>
#include <string.h>

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
