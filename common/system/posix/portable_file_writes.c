#include "lockstep/common/system/file_writes.h"

void ls_file_writes_refuse(void)
{
}

bool ls_file_writes_next(char *name, size_t capacity)
{
    (void)name;
    (void)capacity;
    return false;
}
