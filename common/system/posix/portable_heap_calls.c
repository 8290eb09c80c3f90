#include "lockstep/common/system/heap_calls.h"

void ls_heap_calls_fill(void (*filler)(uint8_t *bytes, size_t size))
{
    (void)filler;
}
