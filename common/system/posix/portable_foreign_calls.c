#include "lockstep/common/system/foreign_calls.h"

void ls_foreign_calls_fill_heap(void (*filler)(uint8_t *bytes, size_t size))
{
    (void)filler;
}

void ls_foreign_calls_delay_threads(void)
{
}

void ls_foreign_calls_shift_clock(void)
{
}

void ls_file_writes_refuse(void)
{
}

bool ls_file_writes_next(char *name, size_t capacity)
{
    (void)name;
    (void)capacity;
    return false;
}
