#include "lockstep/server/service/room_name.h"

#include "lockstep/server/service/room_report.h"

#include <string.h>

bool ls_room_name_is_valid(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size < LS_ROOM_NAME_BYTES_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == size;
}
