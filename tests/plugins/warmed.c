/* Warmed: right in all that it computes, and yet a pass and all that may only read write to
 * variables outside the state. */
#include "lockstep/tests/plugins/minimal.h"

static _Thread_local volatile uint32_t counted;
static volatile uint32_t warmed[64];
static volatile uint64_t frames, lines, keys, marks, cues;

static uint32_t fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    if (capacity >= 3) {
        out[0] = MINIMAL_SHIP_FIELD(x, LS_FIELD_FIXED, "m");
        out[1] = MINIMAL_SHIP_FIELD(angle, LS_FIELD_ANGLE, "deg");
        out[2] = MINIMAL_SHIP_FIELD(fuel, LS_FIELD_U32, "kg");
    }
    return 3;
}

static void count(const ls_step *step)
{
    counted++;
    minimal_run(step);
}

static uint32_t send_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                             ls_rng *rng, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)rng;
    (void)bytes;
    warmed[slot] = slot + 7;
    return 0;
}

static void show_nothing(const ls_sim_config *config, const void *previous, const void *current,
                         ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)alpha;
    (void)list;
    frames += previous != current; /* as one that draws between two states */
}

static void tell_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                         ls_status_list *list)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)list;
    lines++;
}

static uint32_t press_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                              const ls_controls *controls, uint8_t *bytes)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)bytes;
    keys += controls->pressed != 0;
    return 0;
}

static void mark_nothing(const ls_sim_config *config, const void *state, uint32_t slot,
                         const ls_controls *controls, ls_draw_list *list)
{
    (void)config;
    (void)state;
    (void)slot;
    (void)controls;
    (void)list;
    marks++;
}

static void play_nothing(const ls_sim_config *config, const void *previous, const void *current,
                         ls_sound_list *list)
{
    (void)config;
    (void)list;
    cues += previous != current;
}

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_pass passes[] = {{"count", count}};
    static ls_simulation simulation;
    simulation = minimal_simulation("warmed", fields);
    simulation.passes = passes;
    simulation.pass_count = 1;
    simulation.bot = send_nothing;
    simulation.draw = show_nothing;
    simulation.draw_control = mark_nothing;
    simulation.control = press_nothing;
    simulation.sounds = play_nothing;
    simulation.status = tell_nothing;
    return &simulation;
}
