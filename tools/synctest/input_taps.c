#include "lockstep/tools/synctest/input_taps.h"

#include <inttypes.h>
#include <string.h>

/* Fewer can be chance. */
enum {
    TAPS_MIN = 3
};

static bool is_tapped(const synctest_tap_counts *counts)
{
    return counts->alone >= TAPS_MIN && counts->kept == 0;
}

static void count_bits(synctest_taps *taps, const uint8_t first[SYNCTEST_TAP_BYTES],
                       const uint8_t middle[SYNCTEST_TAP_BYTES],
                       const uint8_t last[SYNCTEST_TAP_BYTES])
{
    bool is_back = memcmp(first, last, SYNCTEST_TAP_BYTES) == 0;
    for (uint32_t i = 0; i < SYNCTEST_TAP_BYTES; i++) {
        uint32_t added = is_back ? middle[i] & ~first[i] & 0xFFu : 0;
        uint32_t kept = middle[i] & last[i];
        for (uint32_t b = 0; (added | kept) >> b != 0; b++) {
            taps->bits[8 * i + b].alone += added >> b & 1u;
            taps->bits[8 * i + b].kept += kept >> b & 1u;
        }
    }
}

void synctest_taps_add(synctest_taps *taps, uint32_t slot, const uint8_t *bytes, uint32_t size)
{
    uint8_t input[SYNCTEST_TAP_BYTES] = {0};
    if (!bytes) {
        taps->slots[slot].seen = 0;
        return;
    }
    memcpy(input, bytes, size < SYNCTEST_TAP_BYTES ? size : SYNCTEST_TAP_BYTES);
    uint8_t(*before)[SYNCTEST_TAP_BYTES] = taps->slots[slot].bytes;
    uint32_t *sizes = taps->slots[slot].sizes;
    if (taps->slots[slot].seen == 2) {
        count_bits(taps, before[0], before[1], input);
        taps->whole.alone += sizes[0] == 0 && sizes[1] > 0 && size == 0;
        taps->whole.kept += sizes[1] > 0 && size > 0;
    } else {
        taps->slots[slot].seen++;
    }
    memcpy(before[0], before[1], SYNCTEST_TAP_BYTES);
    memcpy(before[1], input, SYNCTEST_TAP_BYTES);
    sizes[0] = sizes[1];
    sizes[1] = size;
}

/* A button in an input that comes alone is a button: only what no mask names counts. */
static bool is_any_named(const ls_input_bits *masks, uint32_t mask_bytes)
{
    for (uint32_t i = 0; i < mask_bytes; i++) {
        if (masks->edges[i] | masks->buttons[i]) {
            return true;
        }
    }
    return false;
}

synctest_tapped synctest_taps_found(const synctest_taps *taps, const ls_input_bits *masks,
                                    uint32_t mask_bytes)
{
    if (is_tapped(&taps->whole)) {
        return is_any_named(masks, mask_bytes)
                   ? (synctest_tapped){0}
                   : (synctest_tapped){.times = taps->whole.alone, .is_whole = true};
    }
    synctest_tapped found = {0};
    for (uint32_t i = 0; i < SYNCTEST_TAP_BYTES && i < mask_bytes && found.times == 0; i++) {
        for (uint32_t b = 0; b < 8; b++) {
            const synctest_tap_counts *counts = &taps->bits[8 * i + b];
            bool is_named = (masks->edges[i] | masks->buttons[i]) >> b & 1;
            if (is_tapped(counts) && !is_named) {
                found.byte = i;
                found.bits |= 1u << b;
                found.times += counts->alone;
            }
        }
    }
    return found;
}

void synctest_tapped_describe(const synctest_tapped *tapped, ls_text *out)
{
    ls_text what = {{0}};
    if (tapped->is_whole) {
        ls_text_set(&what, "a whole input");
    } else {
        ls_text_set(&what, "bits 0x%02" PRIX32 " of byte %" PRIu32 " of an input", tapped->bits,
                    tapped->byte);
    }
    ls_text_set(out,
                "the bot sends %s for one tick at a time (%" PRIu32
                " times), as a move is sent: a late one would act twice or be lost; input_bits "
                "should name it as an edge, or as a button",
                what.bytes, tapped->times);
}
