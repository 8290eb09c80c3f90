/* Painted: every simulation that comes with Lockstep, after the same ticks of the same bots, with
 * seats, status and keys beside it, as the software painter shows it: a PPM each. Letters are
 * patterns, so that no font of a machine has a part in the pictures. painted.py compares them with
 * those that are stored. With a second argument something is painted that must be noticed. */
#include "lockstep/client/bots.h"
#include "lockstep/client/view/view.h"
#include "lockstep/common/base/clock.h"
#include "lockstep/common/simulations/builtin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 640,
    HEIGHT = 360,
    TICKS = 300,
};

typedef struct stage {
    ls_sim_instance *before;
    ls_sim_instance *now;
} stage;

static void fail(const char *what)
{
    fprintf(stderr, "painted: %s\n", what);
    exit(1);
}

/* ---- letters that are patterns ---- */

static ls_canvas_font font_of(uint32_t width, uint32_t height)
{
    uint8_t *coverage = calloc(LS_CANVAS_GLYPHS, (size_t)width * height);
    if (!coverage) {
        fail("no memory");
    }
    for (uint32_t glyph = 1; glyph < LS_CANVAS_GLYPHS; glyph++) { /* the first is the space */
        for (uint32_t y = height / 4; y < height - height / 5; y++) {
            for (uint32_t x = 0; x < width - width / 6 - 1; x++) {
                uint32_t bit = y * 4 / height * 4 + x * 4 / width;
                bool is_dark = (glyph * 40503u >> bit & 1u) != 0;
                coverage[((size_t)glyph * height + y) * width + x] = is_dark ? 255 : 100;
            }
        }
    }
    return (ls_canvas_font){.width = width, .height = height, .coverage = coverage};
}

/* ---- a match ---- */

static ls_sim_instance *play(const ls_simulation *simulation, ls_tick ticks)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    ls_sim_instance *instance = NULL;
    if (ls_sim_instance_create(simulation, &config, ls_allocator_heap(), &instance, NULL) !=
        LS_OK) {
        fail(simulation->name);
    }
    ls_bot_crew crew;
    ls_bot_crew_init(&crew, 1);
    while (ls_sim_instance_tick(instance) < ticks) {
        ls_tick_inputs inputs = ls_bot_crew_inputs(&crew, instance);
        ls_sim_instance_step(instance, &inputs);
    }
    return instance;
}

static void fill_hud(void *user, ls_hud_model *hud)
{
    const stage *shown = user;
    hud->alpha = LS_FIXED_HALF;
    hud->owner = 1;
    hud->seat_count = ls_sim_instance_config(shown->now)->players;
    for (uint32_t i = 0; i < hud->seat_count; i++) {
        snprintf(hud->seats[i].name, sizeof hud->seats[i].name, "player-%u", i + 1);
    }
    ls_hud_model_add_status(hud, shown->now, 0);
    ls_hud_model_add(hud, "a line of the figures, which F3 shows");
}

static void draw(void *user, ls_fixed alpha, ls_draw_list *list)
{
    const stage *shown = user;
    ls_sim_instance_simulation(shown->now)
        ->draw(ls_sim_instance_config(shown->now), ls_sim_instance_view(shown->before),
               ls_sim_instance_view(shown->now), alpha, list);
}

/* ---- pictures ---- */

/* A mistake that a person would see, as small as it may be. */
static void plant(const char *mistake, ls_scene *scene)
{
    if (strcmp(mistake, "shifted") == 0) {
        scene->camera.x += 0.5 / scene->camera.pixels_per_m;
    } else if (strcmp(mistake, "darker") == 0) {
        for (uint32_t i = 0; i < scene->list.count; i++) {
            scene->list.shapes[i].colour -= scene->list.shapes[i].colour >> 4 & 0x0F0F0F00u;
        }
    } else if (strcmp(mistake, "nameless") == 0) {
        scene->hud.seats[1].name[6]++;
    } else if (mistake[0] != '\0') {
        fail(mistake);
    }
}

static void write_picture(const char *folder, const char *name, const ls_canvas *canvas)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.ppm", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file) {
        fail(path);
    }
    fprintf(file, "P6 %u %u 255\n", canvas->width, canvas->height);
    for (uint32_t i = 0; i < canvas->width * canvas->height; i++) {
        const uint8_t bytes[] = {(uint8_t)(canvas->pixels[i] >> 16),
                                 (uint8_t)(canvas->pixels[i] >> 8), (uint8_t)canvas->pixels[i]};
        fwrite(bytes, 1, sizeof bytes, file);
    }
    if (fclose(file) != 0) {
        fail(path);
    }
}

static void paint(const char *folder, const ls_simulation *simulation, const ls_canvas_fonts *fonts,
                  const char *mistake)
{
    static uint32_t pixels[WIDTH * HEIGHT];
    ls_canvas canvas = {.pixels = pixels, .width = WIDTH, .height = HEIGHT};
    stage shown = {play(simulation, TICKS - 1), play(simulation, TICKS)};
    ls_view_config config = {
        .source = {&shown, fill_hud, draw, NULL}, .interpolates = true, .has_chat = true};
    ls_view *view = NULL;
    ls_scene scene = {0};
    if (ls_view_create(&config, ls_allocator_heap(), &view) != LS_OK ||
        ls_scene_init(&scene, ls_allocator_heap()) != LS_OK) {
        fail("no memory");
    }
    ls_view_receive(view,
                    &(ls_view_event){.kind = LS_VIEW_EVENT_KEY, .key = LS_KEY_F3, .is_down = true});
    ls_view_add_chat(view, "player-2: well played");
    ls_view_frame frame = {LS_NS_PER_SECOND, LS_NS_PER_MS, WIDTH, HEIGHT, fonts};
    ls_view_compose(view, &frame, &scene);
    plant(mistake, &scene);
    ls_scene_paint(&scene, fonts, &canvas);
    write_picture(folder, simulation->name, &canvas);
    ls_scene_deinit(&scene);
    ls_view_destroy(view);
    ls_sim_instance_destroy(shown.before);
    ls_sim_instance_destroy(shown.now);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fail("usage: painted FOLDER [MISTAKE]");
    }
    const ls_canvas_fonts fonts = {font_of(6, 12), font_of(8, 16), font_of(16, 30),
                                   font_of(32, 60)};
    const ls_simulation *simulation;
    for (uint32_t i = 0; (simulation = ls_builtin_simulation(i)) != NULL; i++) {
        if (simulation->draw) {
            paint(argv[1], simulation, &fonts, argc > 2 ? argv[2] : "");
        }
    }
    const ls_canvas_font *sizes[] = {&fonts.figures, &fonts.text, &fonts.title, &fonts.world};
    for (uint32_t i = 0; i < 4; i++) {
        free((void *)(uintptr_t)sizes[i]->coverage);
    }
    return 0;
}
