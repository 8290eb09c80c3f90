/* The event loop's libuv loop, for the modules of this folder that have handles of their own: they
 * close them before the loop is destroyed. For no other folder. */
#ifndef LOCKSTEP_COMMON_RUNTIME_EVENT_LOOP_UV_H
#define LOCKSTEP_COMMON_RUNTIME_EVENT_LOOP_UV_H

#include "lockstep/common/runtime/event_loop.h"

struct uv_loop_s *ls_event_loop_uv(ls_event_loop *loop);

#endif
