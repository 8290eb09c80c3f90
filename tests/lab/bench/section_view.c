#include "lockstep/client/bots.h"
#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/client/view/view.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <stdio.h>

enum {
    WIDTH = 1280,
    HEIGHT = 720
};

#define FRAME_MS (1000.0 / 60.0)

typedef struct view_scene {
    const ls_simulation *(*simulation)(void);
    const char *assignment;
    double budget_ms; /* 0: none */
    bool moves; /* a tick a frame, of which only what changes is painted, as a window has it */
} view_scene;

static const view_scene scenes[] = {
    {ls_arena_simulation, "bodies=200", 0, false},
    {ls_arena_simulation, "bodies=200", 0, true},
    {ls_arena_simulation, "bodies=20000", FRAME_MS, false},
    {ls_units_simulation, "units=20000", FRAME_MS, false},
    {ls_units_simulation, "units=200", 0, true},
    {ls_tumble_simulation, "bodies=32", 0, false},
};

typedef struct view_stage {
    ls_sim_instance *instance;
    ls_bot_crew crew;
    ls_view *view;
    ls_scene scene;
    ls_canvas canvas;
    uint64_t now_ns;
} view_stage;

static void fill_hud(void *user, ls_hud_model *hud)
{
    const view_stage *stage = user;
    hud->tick = ls_sim_instance_tick(stage->instance);
    hud->owner = 1;
}

static void draw(void *user, ls_fixed alpha, ls_draw_list *list)
{
    const view_stage *stage = user;
    const void *state = ls_sim_instance_view(stage->instance);
    ls_sim_instance_simulation(stage->instance)
        ->draw(ls_sim_instance_config(stage->instance), state, state, alpha, list);
}

static void paint(void *user, uint64_t repetitions)
{
    view_stage *stage = user;
    for (uint64_t i = 0; i < repetitions; i++) {
        stage->now_ns += 1000000;
        if (stage->canvas.tiles) {
            ls_tick_inputs inputs = ls_bot_crew_inputs(&stage->crew, stage->instance);
            ls_sim_instance_step(stage->instance, &inputs);
        }
        ls_view_frame frame = {.now_ns = stage->now_ns, .width = WIDTH, .height = HEIGHT};
        ls_view_compose(stage->view, &frame, &stage->scene);
        ls_scene_paint(&stage->scene, NULL, &stage->canvas);
    }
    bench_keep(stage->canvas.pixels[0]);
}

static ls_status set_stage(const view_scene *scene, view_stage *stage, ls_text *why)
{
    const ls_simulation *simulation = scene->simulation();
    const ls_allocator *heap = ls_allocator_heap();
    ls_sim_config config = ls_sim_config_default(simulation);
    ls_status status = ls_sim_config_set(simulation, &config, scene->assignment, why);
    if (status == LS_OK) {
        status = ls_sim_instance_create(simulation, &config, heap, &stage->instance, why);
    }
    if (status == LS_OK) {
        ls_view_config view = {.source = {.user = stage, .fill_hud = fill_hud, .draw = draw},
                               .interpolates = true};
        status = ls_view_create(&view, heap, &stage->view);
    }
    if (status == LS_OK) {
        status = ls_scene_init(&stage->scene, heap);
    }
    ls_bot_crew_init(&stage->crew, 1);
    stage->canvas =
        (ls_canvas){.pixels = ls_allocate_array(heap, (size_t)WIDTH * HEIGHT, sizeof(uint32_t)),
                    .width = WIDTH,
                    .height = HEIGHT,
                    .tiles = scene->moves ? ls_canvas_tiles_create(WIDTH, HEIGHT, heap) : NULL};
    bool has_all = stage->canvas.pixels && (stage->canvas.tiles || !scene->moves);
    return has_all ? status : LS_NO_MEMORY;
}

static void clear_stage(view_stage *stage)
{
    ls_scene_deinit(&stage->scene);
    ls_view_destroy(stage->view);
    ls_sim_instance_destroy(stage->instance);
    ls_canvas_tiles_destroy(stage->canvas.tiles, ls_allocator_heap());
    ls_release(ls_allocator_heap(), stage->canvas.pixels);
}

ls_status bench_view(const bench_plan *plan, bench_report *report, ls_text *why)
{
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof scenes / sizeof scenes[0]; i++) {
        const view_scene *scene = &scenes[i];
        view_stage stage = {.now_ns = 1};
        status = set_stage(scene, &stage, why);
        if (status == LS_OK) {
            char name[LS_NAME_BYTES_MAX];
            bench_times times = bench_measure(plan, (bench_work){paint, &stage});
            snprintf(name, sizeof name, "%s, %s%s", scene->simulation()->name, scene->assignment,
                     scene->moves ? ", ticks" : "");
            bench_report_times(report, name, "ms", 1e6, &times,
                               scene->budget_ms > 0 ? BENCH_MOST(scene->budget_ms)
                                                    : BENCH_UNBUDGETED);
        }
        clear_stage(&stage);
    }
    return status;
}
