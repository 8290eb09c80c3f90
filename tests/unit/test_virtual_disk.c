/* The fault simulation's disk: what is written is a journal, whatever the disk does, and a crash
 * leaves what it may. */
#include "lockstep/tests/lab/virtual/virtual_disk.h"

#include "lockstep/common/base/clock.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    RAW_BYTES_MAX = 4096,
};

static const uint64_t second_ns = LS_NS_PER_SECOND;

static virtual_disk open_disk(uint64_t seed)
{
    virtual_disk disk;
    virtual_disk_init(&disk, seed, ls_allocator_heap());
    cr_assert_eq(virtual_disk_open(&disk, RAW_BYTES_MAX, NULL, 0), LS_OK);
    return disk;
}

static bool submit(virtual_disk *disk)
{
    static uint8_t bytes[64];
    ls_journal_store store = virtual_disk_store(disk);
    ls_journal_raw raw = {.kind = LS_JOURNAL_EVENT, .bytes = bytes, .size = sizeof bytes};
    return store.submit(store.user, &raw);
}

/* Writes a record and says how that went. */
static ls_status write_at(virtual_disk *disk, uint64_t now_ns)
{
    ls_journal_completion completion = {.status = LS_MALFORMED};
    cr_assert(submit(disk));
    cr_assert(virtual_disk_advance(disk, now_ns, &completion));
    cr_assert_eq(completion.status == LS_OK, completion.written_bytes > 0);
    cr_assert_eq(completion.status == LS_OK, completion.why[0] == '\0');
    return completion.status;
}

Test(virtual_disk, a_record_is_done_after_its_delay_and_not_before)
{
    virtual_disk disk = open_disk(1);
    ls_journal_completion completion;
    disk.state = (virtual_disk_state){.delay_min_ns = 100, .delay_max_ns = 100};
    cr_assert(submit(&disk));
    cr_assert_not(submit(&disk), "one at a time");
    cr_assert_eq(virtual_disk_next_ns(&disk), 100);
    cr_assert_not(virtual_disk_advance(&disk, 99, &completion));
    cr_assert_eq(disk.size, 0);
    cr_assert(virtual_disk_advance(&disk, 100, &completion));
    cr_assert_eq(completion.status, LS_OK);
    cr_assert_eq(disk.size, completion.written_bytes);
    cr_assert_eq(virtual_disk_next_ns(&disk), UINT64_MAX);
    virtual_disk_deinit(&disk);
}

Test(virtual_disk, a_full_one_keeps_what_it_has_and_goes_on_later)
{
    virtual_disk disk = open_disk(2);
    cr_assert_eq(write_at(&disk, 1), LS_OK);
    size_t size = disk.size;
    disk.state.is_full = true;
    cr_assert_eq(write_at(&disk, 2), LS_IO);
    cr_assert_eq(disk.size, size);
    disk.state.is_full = false;
    cr_assert_eq(write_at(&disk, 3), LS_OK);
    cr_assert_gt(disk.size, size);
    cr_assert_eq(disk.counts.failures, 1);
    virtual_disk_deinit(&disk);
}

Test(virtual_disk, a_crash_takes_nothing_that_was_synchronised)
{
    uint32_t torn = 0;
    uint32_t shorter = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        virtual_disk disk = open_disk(seed);
        uint8_t kept[1024];
        write_at(&disk, second_ns);
        size_t synchronised = disk.size;
        cr_assert_leq(synchronised, sizeof kept);
        memcpy(kept, disk.bytes, synchronised);
        write_at(&disk, second_ns + 1);
        size_t written = disk.size;
        disk.state.delay_min_ns = disk.state.delay_max_ns = second_ns;
        cr_assert(submit(&disk));
        virtual_disk_crash(&disk);
        cr_assert_eq(virtual_disk_next_ns(&disk), UINT64_MAX);
        cr_assert_geq(disk.size, synchronised);
        cr_assert_arr_eq(disk.bytes, kept, synchronised);
        torn += disk.size > written ? 1 : 0;
        shorter += disk.size < written ? 1 : 0;
        virtual_disk_deinit(&disk);
    }
    cr_assert_gt(torn, 0);
    cr_assert_gt(shorter, 0);
}
