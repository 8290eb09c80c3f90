#include "lockstep/client/bots.h"
#include "lockstep/client/view/canvas_tiles.h"
#include "lockstep/client/view/view.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/sim_instance.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/rope/rope.h"
#include "lockstep/common/simulations/tumble/tumble_state.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/lab/bench/child.h"
#include "lockstep/tests/lab/bench/sections.h"

#include <stdio.h>
#include <string.h>

/* ==== section_sims ==== */

enum {
    BOTS = 4,
    SIZES = 3,
    ROUNDS_MIN = 3,
};

#define CASE_BUDGET_NS (UINT64_C(1500) * LS_NS_PER_MS) /* after the least rounds no more begin */
#define FRAME_NS (1e9 / 60.0)
#define LINEARITY_BUDGET 2.0

/* One simulation at one size, from a state in which much is going on. */
typedef struct sim_scene {
    const char *what;                         /* "bodies" */
    const ls_simulation *(*simulation)(void); /* gives NULL when there is none */
    const char *size_param;
    uint32_t sizes[SIZES];
    uint32_t (*count_of)(uint32_t size); /* of what there is; NULL: as many as the size says */
    uint32_t first_tick;                 /* played before the clock is read */
    uint32_t ticks;                      /* measured */
} sim_scene;

/* The plug-in over Box2D 2.4, where it was built. It stays loaded. */
static const ls_simulation *find_box2d(void)
{
    static ls_loaded_simulation loaded;
    char path[BENCH_PATH_BYTES_MAX];
    bool is_there = loaded.simulation ||
                    (bench_child_find_program("../plugins/box2d.so", path, NULL) == LS_OK &&
                     ls_simulation_load(path, &loaded, NULL) == LS_OK);
    return is_there ? loaded.simulation : NULL;
}

static uint32_t crates_of(uint32_t rows)
{
    return rows * (rows + 1) / 2;
}

/* Bodies come to rest one by one, so the first ticks cost most; the largest armies are in contact
 * on all sides after half a minute. */
static const sim_scene scenes[] = {
    {"bodies", ls_arena_simulation, "bodies", {200, 2000, 20000}, NULL, 0, 300},
    {"units", ls_units_simulation, "units", {1500, 5000, 20000}, NULL, 900, 150},
    {"bodies", ls_tumble_simulation, "bodies", {128, 500, 5000}, NULL, 0, 300},
    {"particles", ls_rope_simulation, "particles", {80, 256, 1024}, NULL, 0, 1000},
    {"crates", find_box2d, "rows", {6, 12, 24}, crates_of, 0, 300},
};

typedef struct sim_stage {
    ls_sim_instance *instance;
    uint8_t *saved; /* NULL: it cannot be saved, and is made anew */
    ls_bot_crew bots;
} sim_stage;

/* Returns the nanoseconds that the steps took; the bots think outside. */
static uint64_t play(sim_stage *stage, uint32_t ticks)
{
    uint64_t spent_ns = 0;
    for (uint32_t i = 0; i < ticks; i++) {
        ls_tick_inputs inputs = ls_bot_crew_inputs(&stage->bots, stage->instance);
        uint64_t start_ns = bench_processor_ns();
        ls_sim_instance_step(stage->instance, &inputs);
        spent_ns += bench_processor_ns() - start_ns;
    }
    return spent_ns;
}

static ls_status set_stage(const sim_scene *scene, uint32_t size, sim_stage *stage, ls_text *why)
{
    ls_sim_config config = ls_sim_config_default(scene->simulation());
    config.players = LS_MIN(BOTS, scene->simulation()->players_max);
    for (uint32_t i = 0; i < config.param_count; i++) {
        if (strcmp(scene->simulation()->params[i].name, scene->size_param) == 0) {
            config.params[i] = size;
        }
    }
    const ls_allocator *heap = ls_allocator_heap();
    ls_status status =
        ls_sim_instance_create(scene->simulation(), &config, heap, &stage->instance, why);
    if (status != LS_OK) {
        return status;
    }
    size_t bytes = ls_sim_instance_save_bytes(stage->instance);
    stage->saved = bytes > 0 ? ls_allocate(heap, bytes) : NULL;
    if (bytes > 0 && !stage->saved) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    return LS_OK;
}

static void clear_stage(sim_stage *stage)
{
    ls_sim_instance_destroy(stage->instance);
    ls_release(ls_allocator_heap(), stage->saved);
    stage->instance = NULL;
    stage->saved = NULL;
}

/* To the state that is measured from. */
static ls_status begin_round(const sim_scene *scene, uint32_t size, sim_stage *stage, ls_tick first,
                             ls_text *why)
{
    ls_bot_crew_init(&stage->bots, 1);
    if (stage->saved) {
        return ls_sim_instance_load(stage->instance, stage->saved,
                                    ls_sim_instance_save_bytes(stage->instance), first);
    }
    clear_stage(stage);
    ls_status status = set_stage(scene, size, stage, why);
    if (status == LS_OK) {
        play(stage, first);
    }
    return status;
}

static ls_status measure(const sim_scene *scene, uint32_t size, const bench_plan *plan,
                         sim_stage *stage, bench_times *tick_times, ls_text *why)
{
    uint32_t ticks = plan->is_smoke ? 2 : scene->ticks;
    ls_bot_crew_init(&stage->bots, 1);
    play(stage, plan->is_smoke ? 2 : scene->first_tick);
    ls_tick first = ls_sim_instance_tick(stage->instance);
    ls_status status = stage->saved ? ls_sim_instance_save(stage->instance, stage->saved) : LS_OK;
    uint64_t start_ns = bench_now_ns();
    for (uint32_t round = 0; status == LS_OK && round < plan->rounds; round++) {
        if (round >= ROUNDS_MIN && bench_now_ns() - start_ns > CASE_BUDGET_NS) {
            break;
        }
        status = begin_round(scene, size, stage, first, why);
        if (status == LS_OK) {
            double slowdown = bench_slowdown();
            bench_times_add(tick_times, (double)play(stage, ticks) / ticks, slowdown);
        }
    }
    return status;
}

static uint32_t count_of(const sim_scene *scene, uint32_t size)
{
    return scene->count_of ? scene->count_of(size) : size;
}

static void report_size(const sim_scene *scene, uint32_t size, const sim_stage *stage,
                        const bench_times *tick_times, bench_report *report)
{
    char name[LS_NAME_BYTES_MAX];
    const char *simulation = scene->simulation()->name;
    size = count_of(scene, size);
    snprintf(name, sizeof name, "%s, %u %s: one of them, one tick", simulation, size, scene->what);
    bench_report_times(report, name, "ns", size, tick_times, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s, %u %s: tick", simulation, size, scene->what);
    bench_report_times(report, name, "us", 1000, tick_times, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s, %u %s: share of a 60 Hz frame", simulation, size, scene->what);
    bench_report_times(report, name, "%", FRAME_NS / 100, tick_times, BENCH_UNBUDGETED);
    snprintf(name, sizeof name, "%s, %u %s: state", simulation, size, scene->what);
    bench_report_number(report, name, "B", (double)ls_sim_instance_state_bytes(stage->instance),
                        BENCH_UNBUDGETED);
}

static ls_status run_scene(const sim_scene *scene, const bench_plan *plan, sim_stage *stage,
                           bench_report *report, ls_text *why)
{
    double ns_each[SIZES] = {0};
    if (!scene->simulation()) {
        fprintf(report->table, "  %s: the plug-in is not there\n", scene->what);
        return LS_OK;
    }
    for (uint32_t i = 0; i < SIZES; i++) {
        bench_times tick_times = {{0}, {0}};
        memset(stage, 0, sizeof *stage);
        ls_status status = set_stage(scene, scene->sizes[i], stage, why);
        if (status == LS_OK) {
            status = measure(scene, scene->sizes[i], plan, stage, &tick_times, why);
        }
        if (status == LS_OK) {
            report_size(scene, scene->sizes[i], stage, &tick_times, report);
        }
        clear_stage(stage);
        if (status != LS_OK) {
            return status;
        }
        /* Two figures that are compared must both be undisturbed: the best of each. */
        ns_each[i] = bench_series_min(&tick_times.ns) / (double)count_of(scene, scene->sizes[i]);
    }
    char name[LS_NAME_BYTES_MAX];
    snprintf(name, sizeof name, "%s: one of %u against one of %u", scene->simulation()->name,
             count_of(scene, scene->sizes[SIZES - 1]), count_of(scene, scene->sizes[0]));
    bool is_ours = !scene->count_of;
    bench_report_number(report, name, "", ns_each[SIZES - 1] / ns_each[0],
                        is_ours ? BENCH_MOST(LINEARITY_BUDGET) : BENCH_UNBUDGETED);
    return LS_OK;
}

ls_status bench_sims(const bench_plan *plan, bench_report *report, ls_text *why)
{
    sim_stage *stage = ls_allocate(ls_allocator_heap(), sizeof *stage);
    if (!stage) {
        return ls_fail(LS_NO_MEMORY, why, "%s", ls_status_text(LS_NO_MEMORY));
    }
    ls_status status = LS_OK;
    for (uint32_t i = 0; status == LS_OK && i < sizeof scenes / sizeof scenes[0]; i++) {
        status = run_scene(&scenes[i], plan, stage, report, why);
    }
    ls_release(ls_allocator_heap(), stage);
    return status;
}

/* ==== section_view ==== */

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

static const view_scene view_scenes[] = {
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

static ls_status view_set_stage(const view_scene *scene, view_stage *stage, ls_text *why)
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

static void view_clear_stage(view_stage *stage)
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
    for (uint32_t i = 0; status == LS_OK && i < sizeof view_scenes / sizeof view_scenes[0]; i++) {
        const view_scene *scene = &view_scenes[i];
        view_stage stage = {.now_ns = 1};
        status = view_set_stage(scene, &stage, why);
        if (status == LS_OK) {
            char name[LS_NAME_BYTES_MAX];
            bench_times times = bench_measure(plan, (bench_work){paint, &stage});
            snprintf(name, sizeof name, "%s, %s%s", scene->simulation()->name, scene->assignment,
                     scene->moves ? ", ticks" : "");
            bench_report_times(report, name, "ms", 1e6, &times,
                               scene->budget_ms > 0 ? BENCH_MOST(scene->budget_ms)
                                                    : BENCH_UNBUDGETED);
        }
        view_clear_stage(&stage);
    }
    return status;
}
