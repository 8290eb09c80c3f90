/* The event loop's libuv loop, for the modules of this folder that have handles of their own: they
 * close them before the loop is destroyed. For no other folder. */
#ifndef LOCKSTEP_PROTOCOL_LOOP_EVENT_LOOP_UV_H
#define LOCKSTEP_PROTOCOL_LOOP_EVENT_LOOP_UV_H

#include "lockstep/protocol/loop/event_loop.h"

struct uv_loop_s *ls_event_loop_uv(ls_event_loop *loop);

#endif
