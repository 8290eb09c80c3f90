#include "lockstep/tests/lab/virtual/virtual_disk.h"

#include "lockstep/common/base/assert.h"
#include "lockstep/common/base/clock.h"

#include <string.h>

enum {
    FIRST_CAPACITY = 64 << 10,
    PPM = 1000000,
    LOSS_ONE_IN = 2,  /* crashes of the machine, and not of the process alone */
    ZEROS_ONE_IN = 3, /* of them the file keeps its size, and what was not written is zero */
};

#define SYNCHRONISE_NS LS_NS_PER_SECOND /* as server/journal/journal_file.c does */

void virtual_disk_init(virtual_disk *disk, uint64_t seed, const ls_allocator *allocator)
{
    *disk = (virtual_disk){
        .allocator = allocator, .rng = ls_rng_make(seed, 0x6469736b), .capacity = FIRST_CAPACITY};
    disk->bytes = ls_allocate(allocator, disk->capacity);
    LS_ASSERT(disk->bytes != NULL);
}

void virtual_disk_deinit(virtual_disk *disk)
{
    ls_journal_writer_destroy(disk->writer);
    ls_release(disk->allocator, disk->bytes);
}

static void make_room(virtual_disk *disk, size_t size)
{
    size_t capacity = disk->capacity;
    while (capacity < size) {
        capacity *= 2;
    }
    if (capacity == disk->capacity) {
        return;
    }
    uint8_t *bytes = ls_allocate(disk->allocator, capacity);
    LS_ASSERT(bytes != NULL);
    memcpy(bytes, disk->bytes, disk->size);
    ls_release(disk->allocator, disk->bytes);
    disk->bytes = bytes;
    disk->capacity = capacity;
}

ls_status virtual_disk_open(virtual_disk *disk, size_t raw_bytes_max, ls_journal *continued,
                            uint64_t now_ns)
{
    LS_ASSERT(!disk->writer && !disk->has_record);
    disk->now_ns = now_ns;
    disk->synchronised_ns = now_ns;
    disk->size = continued ? (size_t)ls_journal_info_of(continued)->append_offset : 0;
    disk->synchronised = LS_MIN(disk->synchronised, disk->size);
    return ls_journal_writer_create(raw_bytes_max, continued, disk->allocator, &disk->writer);
}

static uint64_t draw_ns(virtual_disk *disk, uint64_t low_ns, uint64_t high_ns)
{
    uint64_t share = ls_rng_next(&disk->rng);
    return low_ns + (high_ns - low_ns) / 65536 * (share >> 16);
}

static bool submit(void *user, const ls_journal_raw *raw)
{
    virtual_disk *disk = user;
    if (disk->has_record) {
        return false;
    }
    disk->raw = *raw;
    disk->has_record = true;
    disk->due_ns = disk->now_ns + draw_ns(disk, disk->state.delay_min_ns, disk->state.delay_max_ns);
    return true;
}

ls_journal_store virtual_disk_store(virtual_disk *disk)
{
    return (ls_journal_store){.submit = submit, .user = disk};
}

uint64_t virtual_disk_next_ns(const virtual_disk *disk)
{
    return disk->has_record ? disk->due_ns : UINT64_MAX;
}

/* The bytes of the record that is being written, at their place: all, or a drawn part of them. */
static size_t put_record(virtual_disk *disk, bool is_whole)
{
    ls_journal_framed record = ls_journal_writer_frame(disk->writer, &disk->raw);
    LS_ASSERT(record.offset <= disk->size);
    size_t put = is_whole ? record.size : ls_rng_below(&disk->rng, (uint32_t)record.size);
    make_room(disk, (size_t)record.offset + put);
    memcpy(disk->bytes + record.offset, record.bytes, put);
    disk->size = (size_t)record.offset + put;
    return record.size;
}

static void synchronise(virtual_disk *disk)
{
    bool is_due = disk->raw.is_pressing || disk->now_ns - disk->synchronised_ns >= SYNCHRONISE_NS;
    if (is_due) {
        disk->synchronised = disk->size;
        disk->synchronised_ns = disk->now_ns;
    }
}

bool virtual_disk_advance(virtual_disk *disk, uint64_t now_ns, ls_journal_completion *completion)
{
    disk->now_ns = now_ns;
    if (!disk->has_record || now_ns < disk->due_ns) {
        return false;
    }
    bool is_unlucky =
        disk->state.failing_ppm > 0 && ls_rng_below(&disk->rng, PPM) < disk->state.failing_ppm;
    if (disk->state.is_full || is_unlucky) {
        *completion = (ls_journal_completion){
            .status = LS_IO,
            .why = disk->state.is_full ? "no space left on the disk" : "the disk fails"};
        disk->counts.failures++;
        disk->has_failed = true;
    } else {
        size_t size = put_record(disk, true);
        ls_journal_writer_keep(disk->writer);
        synchronise(disk);
        *completion = (ls_journal_completion){.status = LS_OK, .written_bytes = size, .why = ""};
        disk->counts.records++;
    }
    disk->has_record = false;
    return true;
}

/* Bytes that the operating system had not written yet are lost with the machine. */
static void lose_what_is_not_synchronised(virtual_disk *disk)
{
    if (disk->size == disk->synchronised || ls_rng_below(&disk->rng, LOSS_ONE_IN) != 0) {
        return;
    }
    size_t unsure = disk->size - disk->synchronised;
    size_t kept = disk->synchronised + ls_rng_below(&disk->rng, (uint32_t)unsure);
    disk->counts.lost_bytes += disk->size - kept;
    if (ls_rng_below(&disk->rng, ZEROS_ONE_IN) == 0) {
        memset(disk->bytes + kept, 0, disk->size - kept);
    } else {
        disk->size = kept;
    }
}

void virtual_disk_crash(virtual_disk *disk)
{
    if (disk->has_record && !disk->state.is_full) {
        put_record(disk, false);
        disk->counts.torn++;
    }
    disk->has_record = false;
    lose_what_is_not_synchronised(disk);
    ls_journal_writer_destroy(disk->writer);
    disk->writer = NULL;
}
