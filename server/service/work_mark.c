#include "lockstep/server/service/work_mark.h"

#include "lockstep/common/base/allocator.h"
#include "lockstep/common/base/text.h"
#include "lockstep/common/system/shared_memory.h"

#include <string.h>

typedef struct shared_page {
    uint32_t at_work; /* the number of the match plus 1; 0: none */
    char rooms[LS_WORK_MARK_OPENING + 1][LS_ROOM_NAME_BYTES_MAX];
} shared_page;

struct ls_work_mark {
    int descriptor;
    shared_page *page;
};

ls_status ls_work_mark_open(int descriptor, ls_work_mark **out)
{
    void *page = ls_shared_memory_map(descriptor, sizeof(shared_page));
    ls_work_mark *mark = page ? ls_allocate(ls_allocator_heap(), sizeof *mark) : NULL;
    if (!mark) {
        ls_shared_memory_release(page, sizeof(shared_page));
        ls_shared_memory_close(descriptor);
        return page ? LS_NO_MEMORY : LS_IO;
    }
    *mark = (ls_work_mark){.descriptor = descriptor, .page = page};
    *out = mark;
    return LS_OK;
}

ls_status ls_work_mark_create(ls_work_mark **out)
{
    int descriptor = ls_shared_memory_make("lockstep-work-mark");
    return descriptor < 0 ? LS_IO : ls_work_mark_open(descriptor, out);
}

void ls_work_mark_destroy(ls_work_mark *mark)
{
    if (mark) {
        ls_shared_memory_release(mark->page, sizeof *mark->page);
        ls_shared_memory_close(mark->descriptor);
        ls_release(ls_allocator_heap(), mark);
    }
}

int ls_work_mark_descriptor(const ls_work_mark *mark)
{
    return mark->descriptor;
}

void ls_work_mark_name(ls_work_mark *mark, uint32_t match, const char *room)
{
    if (match <= LS_WORK_MARK_OPENING) {
        ls_name_copy(mark->page->rooms[match], sizeof mark->page->rooms[match], room);
    }
}

uint32_t *ls_work_mark_place(ls_work_mark *mark)
{
    return &mark->page->at_work;
}

void ls_work_mark_begin(ls_work_mark *mark, uint32_t match)
{
    mark->page->at_work = match + 1;
}

void ls_work_mark_clear(ls_work_mark *mark)
{
    mark->page->at_work = 0;
}

/* A worker runs code of plug-ins, which may have written anything. */
bool ls_work_mark_read(const ls_work_mark *mark, char room[LS_ROOM_NAME_BYTES_MAX])
{
    uint32_t number = mark->page->at_work;
    if (number == 0 || number > LS_WORK_MARK_OPENING + 1) {
        return false;
    }
    memcpy(room, mark->page->rooms[number - 1], LS_ROOM_NAME_BYTES_MAX);
    room[LS_ROOM_NAME_BYTES_MAX - 1] = '\0';
    return ls_room_name_is_valid(room);
}
