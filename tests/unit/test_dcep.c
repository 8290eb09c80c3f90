#include "lockstep/server/door/dcep.h"

#include <criterion/criterion.h>

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
