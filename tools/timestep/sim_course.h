/* Sim course: how any simulation goes tick by tick, without frames, and what a stepping strategy
 * makes of that on a trace: speed, whether every tick has the same bits, and how evenly the first
 * thing that moves is drawn. A simulation steps by its dt alone, so only the strategies whose every
 * step is a dt can drive it. Called by the reports' driver and by tests. */
#ifndef LOCKSTEP_TOOLS_TIMESTEP_SIM_COURSE_H
#define LOCKSTEP_TOOLS_TIMESTEP_SIM_COURSE_H

#include "lockstep/client/bots.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/tools/timestep/play.h"

/* A simulation with a bot in every seat, stepped when it is told to, with its two newest states to
 * draw from. The bots depend on the states alone: every run of it goes the same way, whatever the
 * frames. */
typedef struct stepping_sim_player {
    const ls_allocator *allocator;
    ls_sim_instance *instance;
    void *previous; /* the state before the newest; NULL when it cannot be copied */
    ls_draw_list list;
    ls_bot_crew bots;
} stepping_sim_player;

/* Borrows the simulation; errors of ls_sim_instance_create. */
ls_status stepping_sim_player_create(const ls_simulation *simulation, const ls_sim_config *config,
                                     const ls_allocator *allocator, stepping_sim_player **out,
                                     ls_text *why);
void stepping_sim_player_destroy(stepping_sim_player *player);

/* One tick, of the bots' inputs, or of those that `leader`'s newest tick had. */
void stepping_sim_player_step(stepping_sim_player *player);
void stepping_sim_player_follow(stepping_sim_player *player, const stepping_sim_player *leader);

/* The picture `alpha` of the way from the state before to the newest: borrowed until the next
 * call. Empty when the simulation does not draw. */
const ls_draw_list *stepping_sim_player_draw(stepping_sim_player *player, ls_fixed alpha);

/* ---- its course ---- */

typedef struct stepping_sim_point {
    double x; /* m */
    double y;
} stepping_sim_point;

/* Where the watched shape is drawn at both ends of a tick. */
typedef struct stepping_sim_leg {
    stepping_sim_point from;
    stepping_sim_point to;
    bool is_drawn;
} stepping_sim_leg;

typedef struct stepping_sim_course {
    const ls_simulation *simulation;
    ls_sim_config config;
    uint32_t ticks;
    uint64_t *hashes;       /* of the states 1 .. ticks, from 0 */
    stepping_sim_leg *legs; /* from state i to i + 1; all not drawn when nothing moves */
    bool has_shape;
    uint32_t shape_id; /* the first shape in the list that moves within two seconds */
} stepping_sim_course;

ls_status stepping_sim_course_make(const ls_simulation *simulation, const ls_sim_config *config,
                                   uint32_t ticks, const ls_allocator *allocator,
                                   stepping_sim_course *out, ls_text *why);
void stepping_sim_course_release(stepping_sim_course *course, const ls_allocator *allocator);

/* Where the watched shape is drawn now; false when it is not. */
bool stepping_sim_course_see(const stepping_sim_course *course, stepping_sim_player *player,
                             ls_fixed alpha, stepping_sim_point *out);

/* Whether it can drive a simulation. */
bool stepping_sim_course_can_play(ls_timestep_strategy strategy);

typedef struct stepping_sim_measures {
    stepping_play_result play;
    double speed;
    bool is_repeatable; /* every state was that of the course */
    uint64_t ticks_compared;
    bool has_stutter;
    /* State hash mean square, in mm, of how far the shape moves from frame to frame less what it
     * moves on its course in that time. Frames in which it is put elsewhere do not count. */
    double stutter_mm;
} stepping_sim_measures;

/* The course has all ticks that the trace needs: stepping_play says how many. */
ls_status stepping_sim_course_measure(const stepping_sim_course *course,
                                      const ls_timestep_config *timestep,
                                      const stepping_trace *trace, uint64_t step_cost_ns,
                                      const ls_allocator *allocator, stepping_sim_measures *out,
                                      ls_text *why);

#endif
