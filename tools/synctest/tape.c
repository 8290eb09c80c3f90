#define _DEFAULT_SOURCE
#include "lockstep/tools/synctest/tape.h"

#include "lockstep/common/base/assert.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SLOT_HEADER_BYTES = 3, /* events u8, size u16 */
};

static size_t table_bytes(uint32_t ticks)
{
    return 2 * sizeof(uint64_t) * ((size_t)ticks + 1);
}

static void put_number(const synctest_tape *tape, size_t index, uint64_t number)
{
    memcpy(tape->bytes + index * sizeof number, &number, sizeof number);
}

static uint64_t number_at(const synctest_tape *tape, size_t index)
{
    uint64_t number = 0;
    memcpy(&number, tape->bytes + index * sizeof number, sizeof number);
    return number;
}

static ls_status map_file(synctest_tape *tape, size_t byte_count, int protection)
{
    void *bytes = mmap(NULL, byte_count, protection, MAP_SHARED, tape->file, 0);
    if (bytes == MAP_FAILED) {
        return LS_IO;
    }
    tape->bytes = bytes;
    tape->byte_count = byte_count;
    return LS_OK;
}

ls_status synctest_tape_create(int file, uint32_t ticks, uint32_t players, synctest_tape *out)
{
    synctest_tape tape = {
        .file = file, .ticks = ticks, .players = players, .end = table_bytes(ticks)};
    if (ftruncate(file, (off_t)tape.end) != 0 ||
        map_file(&tape, table_bytes(ticks), PROT_READ | PROT_WRITE) != LS_OK) {
        return LS_IO;
    }
    *out = tape;
    return LS_OK;
}

ls_status synctest_tape_add(synctest_tape *tape, ls_tick tick, const ls_slot_input *slots)
{
    LS_ASSERT(tick < tape->ticks);
    uint8_t record[LS_PLAYERS_MAX * (SLOT_HEADER_BYTES + LS_INPUT_BYTES_MAX)];
    size_t count = 0;
    for (uint32_t slot = 0; slot < tape->players; slot++) {
        LS_ASSERT(slots[slot].size <= LS_INPUT_BYTES_MAX);
        uint16_t size = (uint16_t)slots[slot].size;
        record[count] = (uint8_t)slots[slot].events;
        memcpy(record + count + 1, &size, sizeof size);
        if (size > 0) {
            memcpy(record + count + SLOT_HEADER_BYTES, slots[slot].bytes, size);
        }
        count += SLOT_HEADER_BYTES + size;
    }
    put_number(tape, (size_t)tape->ticks + 1 + tick, tape->end);
    if (pwrite(tape->file, record, count, (off_t)tape->end) != (ssize_t)count) {
        return LS_IO;
    }
    tape->end += count;
    return LS_OK;
}

void synctest_tape_set_hash(synctest_tape *tape, ls_tick tick, uint64_t state_hash)
{
    LS_ASSERT(tick <= tape->ticks);
    put_number(tape, tick, state_hash);
}

ls_status synctest_tape_open(int file, uint32_t ticks, uint32_t players, synctest_tape *out)
{
    synctest_tape tape = {.file = file, .ticks = ticks, .players = players};
    struct stat info;
    if (fstat(file, &info) != 0 || (size_t)info.st_size < table_bytes(ticks) ||
        map_file(&tape, (size_t)info.st_size, PROT_READ) != LS_OK) {
        return LS_IO;
    }
    *out = tape;
    return LS_OK;
}

void synctest_tape_inputs(const synctest_tape *tape, ls_tick tick,
                          ls_slot_input slots[LS_PLAYERS_MAX])
{
    LS_ASSERT(tick < tape->ticks);
    uint64_t at = number_at(tape, (size_t)tape->ticks + 1 + tick);
    for (uint32_t slot = 0; slot < tape->players; slot++) {
        uint16_t size = 0;
        memcpy(&size, tape->bytes + at + 1, sizeof size);
        slots[slot] = (ls_slot_input){tape->bytes + at + SLOT_HEADER_BYTES, size, tape->bytes[at]};
        at += SLOT_HEADER_BYTES + size;
    }
    LS_ASSERT(at <= tape->byte_count);
}

uint64_t synctest_tape_hash(const synctest_tape *tape, ls_tick tick)
{
    LS_ASSERT(tick <= tape->ticks);
    return number_at(tape, tick);
}
