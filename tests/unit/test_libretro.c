#define _GNU_SOURCE
/* The plug-in over libretro cores: Nestopia and Gambatte play cartridges of our own. */
#include "lockstep/common/simulation/sim_files.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/tests/support/plugin_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAD_B 0x01u
#define PAD_Y 0x02u
#define PAD_RIGHT 0x80u
#define PAD_A 0x01u /* in the second byte */

typedef struct cartridge {
    const char *core;
    const char *content;
    uint32_t columns;
    uint32_t rows;
} cartridge;

static const cartridge nes = {LS_TEST_NESTOPIA, LS_TEST_CARTRIDGES "/paint.nes", 256, 224};
static const cartridge game_boy = {LS_TEST_GAMBATTE, LS_TEST_CARTRIDGES "/paint.gb", 160, 144};
static const cartridge *const cartridges[] = {&nes, &game_boy};

enum {
    CARTRIDGES = sizeof cartridges / sizeof cartridges[0]
};

static void load(void)
{
    load_plugin(LS_TEST_LIBRETRO);
}

TestSuite(libretro, .init = load, .fini = unload_plugin);

static void add_file(ls_sim_files *files, const char *name, const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = keep_until_end(malloc(size), free);
    cr_assert_eq(fread(bytes, 1, size, file), size);
    fclose(file);
    cr_assert_eq(ls_sim_files_add(files, name, bytes, size, NULL), LS_OK);
}

static ls_sim_config config_of(const char *core, const char *content)
{
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    ls_sim_files files = {0};
    add_file(&files, "core", core);
    if (content) {
        add_file(&files, "content", content);
    }
    cr_assert_eq(ls_sim_files_decide(&files, loaded.simulation, &config, NULL), LS_OK);
    return config;
}

static sim_fixture *open_console(const cartridge *played)
{
    return sim_open(loaded.simulation, config_of(played->core, played->content));
}

static uint64_t hash_of(sim_fixture *sim)
{
    return ls_sim_instance_hash(sim->instance);
}

static uint8_t *save_of(const sim_fixture *sim, size_t *size)
{
    *size = ls_sim_instance_save_bytes(sim->instance);
    uint8_t *bytes = keep_until_end(malloc(*size), free);
    cr_assert_eq(ls_sim_instance_save(sim->instance, bytes), LS_OK);
    return bytes;
}

static void expect_fault(const ls_sim_config *config, ls_status expected, const char *words)
{
    ls_text why = {{0}};
    ls_sim_instance *instance = NULL;
    cr_assert_eq(
        ls_sim_instance_create(loaded.simulation, config, ls_allocator_heap(), &instance, &why),
        expected, "%s", why.bytes);
    cr_assert_not_null(strstr(why.bytes, words), "%s", why.bytes);
}

static void press_anything(sim_fixture *sim, ls_rng *rng)
{
    for (uint32_t slot = 0; slot < sim->config.players; slot++) {
        uint32_t bytes[3] = {ls_rng_next(rng), ls_rng_next(rng), ls_rng_next(rng)};
        sim_set_input(sim, slot, (const uint8_t *)bytes, ls_rng_below(rng, 11));
    }
}

Test(libretro, the_same_inputs_give_the_same_hashes_and_others_do_not)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *a = open_console(cartridges[i]);
        sim_fixture *b = open_console(cartridges[i]);
        for (int tick = 0; tick < 60; tick++) {
            sim_run_bots(a, 1);
            sim_run_bots(b, 1);
            cr_assert_eq(hash_of(a), hash_of(b));
        }
        a->bytes[0][0] = PAD_RIGHT;
        b->bytes[0][0] = PAD_RIGHT | PAD_B;
        sim_step(a, 2);
        sim_step(b, 2);
        cr_assert_neq(hash_of(a), hash_of(b));
    }
}

Test(libretro, a_state_that_is_loaded_is_saved_as_it_was_and_plays_on_alike)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *first = open_console(cartridges[i]);
        sim_run_bots(first, 90);
        size_t size = 0;
        const uint8_t *saved = save_of(first, &size);
        sim_fixture *late = open_console(cartridges[i]);
        cr_assert_eq(ls_sim_instance_load(late->instance, saved, size, 90), LS_OK);
        size_t late_size = 0;
        const uint8_t *again = save_of(late, &late_size);
        cr_assert_eq(late_size, size);
        cr_assert_eq(memcmp(again, saved, size), 0);
        for (int tick = 0; tick < 60; tick++) {
            sim_step(first, 1);
            memcpy(late->bytes, first->bytes, sizeof late->bytes);
            for (uint32_t slot = 0; slot < first->config.players; slot++) {
                late->slots[slot].size = first->slots[slot].size;
            }
            sim_step(late, 1);
            cr_assert_eq(hash_of(first), hash_of(late));
        }
    }
}

/* Each of them needs something done about it for this: see libretro_surroundings.c. */
Test(libretro, guessed_ticks_leave_nothing_behind)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *straight = open_console(cartridges[i]);
        sim_fixture *guessing = open_console(cartridges[i]);
        ls_rng inputs = ls_rng_make(1, 1), guesses = ls_rng_make(2, 1);
        for (uint32_t tick = 0; tick < 150; tick++) {
            size_t size = 0;
            const uint8_t *saved = save_of(guessing, &size);
            press_anything(guessing, &guesses);
            sim_step(guessing, 1 + ls_rng_below(&guesses, 3));
            cr_assert_eq(ls_sim_instance_load(guessing->instance, saved, size, tick), LS_OK);
            ls_rng same = inputs;
            press_anything(straight, &inputs);
            press_anything(guessing, &same);
            sim_step(straight, 1);
            sim_step(guessing, 1);
            cr_assert_eq(hash_of(straight), hash_of(guessing), "tick %u", tick);
        }
    }
}

Test(libretro, memory_of_the_machine_has_a_name_in_the_save)
{
    sim_fixture *sim = open_console(&nes);
    const ls_schema *schema = ls_sim_instance_image_schema(sim->instance);
    uint8_t *image = keep_until_end(malloc(ls_sim_instance_image_bytes(sim->instance)), free);
    sim_join(sim);
    sim_set_input(sim, 0, (const uint8_t[]){PAD_RIGHT, 0}, 2);
    sim_step(sim, 30);
    cr_assert_eq(ls_sim_instance_image(sim->instance, image), LS_OK);
    bool is_found = false;
    for (size_t at = 0; at < ls_sim_instance_image_bytes(sim->instance); at++) {
        ls_schema_place place = ls_schema_at(schema, at);
        if (strcmp(place.field->path, "system_ram") == 0) {
            cr_assert_eq(place.field->length, 2048);
            cr_assert_eq(image[at + 6],
                         0x01); /* the pad of the first player, as paint.nes has it */
            is_found = true;
            break;
        }
    }
    cr_assert(is_found);
}

Test(libretro, bytes_that_are_no_save_are_refused_and_change_nothing)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *sim = open_console(cartridges[i]);
        sim_run_bots(sim, 40);
        uint64_t before = hash_of(sim);
        ls_rng rng = ls_rng_make(5, 1);
        uint8_t bytes[512];
        for (size_t size = 0; size < sizeof bytes; size++) {
            bytes[size] = (uint8_t)ls_rng_next(&rng);
            cr_assert_neq(loaded.simulation->load(&sim->config, sim_state(sim), bytes, size),
                          LS_OK);
            cr_assert_eq(hash_of(sim), before);
        }
    }
}

Test(libretro, damaged_saves_do_no_harm)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *sim = open_console(cartridges[i]);
        sim_run_bots(sim, 40);
        size_t size = 0;
        uint8_t *saved = save_of(sim, &size);
        size_t head = ls_sim_instance_save_head_bytes(sim->instance);
        size = loaded.simulation->save(&sim->config, sim_state(sim), NULL, 0);
        ls_rng rng = ls_rng_make(7, 1);
        for (int damage = 0; damage < 40; damage++) {
            uint8_t *byte = &saved[head + ls_rng_below(&rng, (uint32_t)size)];
            uint8_t kept = *byte;
            *byte ^= (uint8_t)(1u << ls_rng_below(&rng, 8));
            if (loaded.simulation->load(&sim->config, sim_state(sim), saved + head, size) ==
                LS_OK) {
                sim_step(sim, 2);
            }
            *byte = kept;
        }
        cr_assert_eq(loaded.simulation->load(&sim->config, sim_state(sim), saved + head, size),
                     LS_OK);
    }
}

/* The save ends where memory does that cannot be read. */
Test(libretro, a_core_reads_nothing_behind_the_end_of_a_save_that_is_too_short)
{
    sim_fixture *sim =
        sim_open(loaded.simulation, config_of(LS_TEST_TRUSTING_CORE, game_boy.content));
    sim_run_bots(sim, 3);
    size_t size = 0;
    const uint8_t *saved = save_of(sim, &size) + ls_sim_instance_save_head_bytes(sim->instance);
    size = loaded.simulation->save(&sim->config, sim_state(sim), NULL, 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    memcpy(pages + page - 100, saved, 100);
    (void)loaded.simulation->load(&sim->config, sim_state(sim), pages + page - 100, 100);
    cr_assert_eq(loaded.simulation->load(&sim->config, sim_state(sim), saved, size), LS_OK);
    munmap(pages, 2 * page);
}

Test(libretro, the_picture_is_what_the_core_has_shown)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *sim = open_console(cartridges[i]);
        sim_run_bots(sim, 60);
        ls_draw_list list = sim_draw(sim, sim_state(sim), LS_FIXED_ONE);
        cr_assert_eq(list.count, 1);
        const ls_draw_shape *screen = &list.shapes[0];
        cr_assert(ls_draw_is_bitmap(screen));
        cr_assert_eq(screen->columns, cartridges[i]->columns);
        cr_assert_eq(screen->rows, cartridges[i]->rows);
        uint32_t others = 0;
        for (uint32_t pixel = 1; pixel < screen->columns * screen->rows; pixel++) {
            others += screen->pixels[pixel] != screen->pixels[0];
        }
        cr_assert_gt(others, 100);
        cr_assert_gt(screen->half_width, screen->half_height);
    }
}

/* A second of it. */
Test(libretro, the_sound_is_what_the_core_has_played_in_the_tick)
{
    for (uint32_t i = 0; i < CARTRIDGES; i++) {
        sim_fixture *sim = open_console(cartridges[i]);
        uint32_t frames = 0, loud = 0;
        ls_sound sounds[LS_SOUNDS_MAX];
        sim_set_input(sim, 0, (const uint8_t[]){0, PAD_A}, 2);
        for (int tick = 0; tick < 60; tick++) {
            sim_step(sim, 1);
            ls_sound_list list = {.sounds = sounds, .capacity = LS_SOUNDS_MAX};
            loaded.simulation->sounds(&sim->config, sim_state(sim), sim_state(sim), &list);
            cr_assert_leq(list.count, 1);
            for (uint32_t at = 0; list.count > 0 && at < sounds[0].frames; at++) {
                loud += abs(sounds[0].samples[at * 2]) > 500;
            }
            frames += list.count > 0 ? sounds[0].frames : 0;
        }
        cr_assert(ls_sound_is_samples(&sounds[0]));
        cr_assert_lt(abs((int)frames - (int)sounds[0].rate_hz), (int)sounds[0].rate_hz / 50);
        cr_assert_gt(loud, 1000);
    }
}

Test(libretro, what_cannot_be_played_is_refused_with_the_reason)
{
    ls_sim_config config = config_of(nes.content, nes.content);
    expect_fault(&config, LS_PLUGIN, "core: it cannot be loaded");
    config = config_of(LS_TEST_LIBRETRO, nes.content);
    expect_fault(&config, LS_PLUGIN, "so it is no libretro core");
    config = config_of(nes.core, NULL);
    expect_fault(&config, LS_BAD_ARGUMENT, "content: Nestopia needs one");
    config = config_of(nes.core, game_boy.content);
    expect_fault(&config, LS_BAD_ARGUMENT, "does not take it");
}

Test(libretro, a_core_that_was_cut_off_is_refused)
{
    ls_sim_config config = config_of(nes.core, nes.content);
    config.files[0].size /= 2;
    expect_fault(&config, LS_PLUGIN, "core: it is cut off");
}

Test(libretro, options_are_the_core_s_own)
{
    ls_sim_config config = config_of(game_boy.core, game_boy.content);
    sim_set(&config, loaded.simulation, "options=gambatte_gb_colorization=no colour");
    expect_fault(&config, LS_BAD_ARGUMENT, "cannot be 'no colour'; it can be ");
    sim_set(&config, loaded.simulation, "options=colour=1");
    expect_fault(&config, LS_BAD_ARGUMENT, "the core has no 'colour'; it has gambatte_");
    sim_set(&config, loaded.simulation, "options=gambatte_gb_colorization=disabled");
    sim_fixture *sim = sim_open(loaded.simulation, config);
    sim_run_bots(sim, 1);
}

Test(libretro, a_rate_that_is_not_the_core_s_is_refused_with_the_one_that_is)
{
    ls_sim_config config = config_of(game_boy.core, game_boy.content);
    config.tick_rate_hz = 30;
    expect_fault(&config, LS_BAD_ARGUMENT, "host with --tick-rate 59.7275");
}

/* The turbo buttons of Nestopia count in a place that its saves do not bring back. */
Test(libretro, buttons_that_a_core_cannot_take_back_do_nothing)
{
    sim_fixture *with = open_console(&nes);
    sim_fixture *without = open_console(&nes);
    sim_set_input(with, 0, (const uint8_t[]){PAD_Y, 2}, 2);
    sim_step(with, 30);
    sim_step(without, 30);
    cr_assert_eq(hash_of(with), hash_of(without));
}

Test(libretro, every_button_of_a_pad_has_its_place)
{
    uint8_t bytes[16] = {0};
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    ls_controls controls = {.pad_held = LS_PAD_SOUTH | LS_PAD_WEST};
    cr_expect_eq(loaded.simulation->control(&config, NULL, 0, &controls, bytes), 2);
    cr_expect_eq(bytes[0], PAD_B | PAD_Y);
    controls = (ls_controls){.pad_pressed = LS_PAD_EAST, .held = LS_CONTROL_RIGHT};
    loaded.simulation->control(&config, NULL, 0, &controls, bytes);
    cr_expect_eq(bytes[0], PAD_RIGHT);
    cr_expect_eq(bytes[1], PAD_A);
    controls = (ls_controls){.right_stick = {-LS_FIXED_ONE, LS_FIXED_ONE}};
    cr_expect_eq(loaded.simulation->control(&config, NULL, 0, &controls, bytes), 10);
    cr_expect_eq(bytes[6] | bytes[7] << 8, 0x8001, "to the left");
    cr_expect_eq(bytes[8] | bytes[9] << 8, 0x8001, "up");
}

Test(libretro, status_says_the_keys)
{
    sim_expect_keys(open_console(&nes), "start: enter");
}
