/* Fuzzes offers of pages: one that is read has all that an answer needs, and the answer holds
 * nothing of it that could begin a line. */
#include "lockstep/common/base/assert.h"
#include "lockstep/server/door/rtc_formats.h"
#include "lockstep/tests/fuzz/fuzz_input.h"

#include <string.h>

static uint32_t lines_of(const char *text)
{
    uint32_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
