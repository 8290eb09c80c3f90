#include "lockstep/common/diagnosis/copy_sharing.h"

#include "lockstep/common/base/assert.h"

#include <string.h>

enum {
    ROUNDS_STILL = 2, /* of the turns over all pages, until one is shared */
};

struct ls_copy_sharing {
    const ls_allocator *allocator;
    const ls_block_pair *pair;
    size_t pages;
    size_t next;           /* that the next turn begins with */
    uint8_t *rounds_until; /* [pages]: it is shared; 0: it is, or is not looked at */
};

ls_status ls_copy_sharing_create(const ls_block_pair *pair, const ls_allocator *allocator,
                                 ls_copy_sharing **out)
{
    ls_copy_sharing *sharing = ls_allocate(allocator, sizeof *sharing);
    if (!sharing) {
        return LS_NO_MEMORY;
    }
    sharing->allocator = allocator;
    sharing->pair = pair;
    sharing->pages = pair->bytes / pair->page_bytes;
    sharing->rounds_until = ls_allocate(allocator, sharing->pages);
    if (!sharing->rounds_until) {
        ls_copy_sharing_destroy(sharing);
        return LS_NO_MEMORY;
    }
    *out = sharing;
    return LS_OK;
}

void ls_copy_sharing_destroy(ls_copy_sharing *sharing)
{
    if (sharing) {
        ls_release(sharing->allocator, sharing->rounds_until);
        ls_release(sharing->allocator, sharing);
    }
}

void ls_copy_sharing_before_write(ls_copy_sharing *sharing, size_t first, size_t bytes)
{
    const ls_block_pair *pair = sharing->pair;
    LS_ASSERT(bytes > 0 && first + bytes <= pair->bytes);
    size_t page = first / pair->page_bytes;
    size_t pages = (first + bytes - 1) / pair->page_bytes - page + 1;
    pair->memory->part(pair, page * pair->page_bytes, pages * pair->page_bytes);
    memset(sharing->rounds_until + page, ROUNDS_STILL, pages);
}

static bool is_due(ls_copy_sharing *sharing, size_t page)
{
    uint8_t *rounds = &sharing->rounds_until[page];
    const ls_block_pair *pair = sharing->pair;
    size_t at = page * pair->page_bytes;
    *rounds -= *rounds > 0 ? 1 : 0;
    return *rounds == 0 && memcmp(pair->block + at, pair->copy + at, pair->page_bytes) == 0;
}

void ls_copy_sharing_turn(ls_copy_sharing *sharing)
{
    const ls_block_pair *pair = sharing->pair;
    size_t count = (sharing->pages + LS_COPY_SHARING_TICKS - 1) / LS_COPY_SHARING_TICKS;
    size_t end = sharing->next + count < sharing->pages ? sharing->next + count : sharing->pages;
    for (size_t page = sharing->next; page < end;) {
        size_t first = page;
        while (page < end && sharing->rounds_until[page] > 0 && is_due(sharing, page)) {
            page++;
        }
        if (page > first) {
            pair->memory->share(pair, first * pair->page_bytes, (page - first) * pair->page_bytes);
        } else {
            page++;
        }
    }
    sharing->next = end < sharing->pages ? end : 0;
}
