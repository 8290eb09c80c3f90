/* A page has an event loop already, which calls the client whenever a datagram comes and for each
 * picture: so this one calls nobody, and says what time it is. */
#include "lockstep/common/runtime/event_loop.h"

#include "lockstep/common/system/system_clock.h"

struct ls_event_loop {
    const ls_allocator *allocator;
    ls_clock clock;
};

ls_status ls_event_loop_create(const ls_allocator *allocator, ls_event_loop **out)
{
    ls_event_loop *loop = ls_allocate(allocator, sizeof *loop);
    if (!loop) {
        return LS_NO_MEMORY;
    }
    *loop = (ls_event_loop){.allocator = allocator, .clock = ls_clock_system()};
    *out = loop;
    return LS_OK;
}

void ls_event_loop_destroy(ls_event_loop *loop)
{
    if (loop) {
        ls_release(loop->allocator, loop);
    }
}

uint64_t ls_event_loop_now_ns(const ls_event_loop *loop)
{
    return ls_clock_now_ns(&loop->clock);
}

/* No source is made: NULL may be made active and removed. */
ls_status ls_event_loop_watch(ls_event_loop *loop, int descriptor, ls_loop_handler handler,
                              ls_loop_source **source)
{
    (void)loop;
    (void)descriptor;
    (void)handler;
    (void)source;
    return LS_OK;
}

ls_status ls_event_loop_add_timer(ls_event_loop *loop, uint32_t period_ms, ls_loop_handler handler,
                                  ls_loop_source **source)
{
    (void)loop;
    (void)period_ms;
    (void)handler;
    (void)source;
    return LS_OK;
}

void ls_loop_source_set_active(ls_loop_source *source, bool is_active)
{
    (void)source;
    (void)is_active;
}

void ls_loop_source_remove(ls_loop_source *source)
{
    (void)source;
}
