/* Cause 6: what is drawn is counted in the state, which belongs to the steps alone. */
#include "lockstep/tests/zoo/zoo.h"

static void draw(const ls_sim_config *config, const void *previous, const void *current,
                 ls_fixed alpha, ls_draw_list *list)
{
    (void)config;
    (void)previous;
    (void)alpha;
    const zoo_state *state = current;
    for (uint32_t i = 0; i < ZOO_UNITS; i++) {
        ls_draw_push(list, (ls_draw_shape){.id = i, .x = state->units[i].position});
    }
#if ZOO_FAULTY
    ((zoo_state *)(uintptr_t)state)->bonus++;
#endif
}

static void rest(const ls_step *step)
{
    (void)step;
}

ZOO_PASSES("rest", rest);
ZOO_PLUGIN("drawing", .fields = zoo_fields, .init = zoo_init, .draw = draw)
