#include "lockstep/common/simulation/save_image.h"

#include "lockstep/common/base/byte_io.h"
#include "lockstep/tests/support/counting_allocator.h"

#include <criterion/criterion.h>
#include <string.h>

static ls_field given[8];
static uint32_t given_count;
static size_t given_bytes;

static uint32_t give_fields(const ls_sim_config *config, ls_field *out, uint32_t capacity)
{
    (void)config;
    return ls_fields_copy(given, given_count, out, capacity);
}

static size_t give_bytes(const ls_sim_config *config)
{
    (void)config;
    return given_bytes;
}

static ls_status create(const ls_simulation *simulation, size_t first_bytes, ls_save_image **out,
                        ls_text *why)
{
    const ls_sim_config config = {.players = 1};
    return ls_save_image_create(simulation, &config, NULL, first_bytes, ls_allocator_heap(), out,
                                why);
}

static ls_save_image *image_of(uint32_t count, const ls_field *fields, size_t bytes)
{
    const ls_simulation simulation = {
        .name = "engine", .save_fields = give_fields, .save_bytes_max = give_bytes};
    ls_save_image *image = NULL;
    ls_text why = {{0}};
    given_count = count;
    given_bytes = bytes;
    memcpy(given, fields, count * sizeof *fields);
    cr_assert_eq(create(&simulation, bytes, &image, &why), LS_OK, "%s", why.bytes);
    return image;
}

static void expect_paths(const ls_save_image *image, uint32_t count, const char *const *paths)
{
    const ls_schema *schema = ls_save_image_schema(image);
    cr_assert_eq(ls_schema_field_count(schema), count);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_str_eq(ls_schema_field(schema, i)->path, paths[i]);
    }
}

Test(save_image, without_fields_a_save_is_its_bytes_with_room_to_grow)
{
    const ls_simulation simulation = {.name = "engine"};
    ls_save_image *image = NULL;
    cr_assert_eq(create(&simulation, 10000, &image, NULL), LS_OK);
    expect_paths(image, 2, (const char *const[]){"save_bytes", "save"});
    cr_expect_geq(ls_schema_state_bytes(ls_save_image_schema(image)), 8 + 12500);
    ls_save_image_destroy(image);
}

Test(save_image, what_the_fields_leave_out_is_named_by_its_place)
{
    const ls_field fields[] = {
        {"ram", "", LS_FIELD_U8, 16, 1, 4, 0},
        {"bodies.x", "", LS_FIELD_U32, 1, 3, 24, 8},
    };
    ls_save_image *image = image_of(2, fields, 50);
    cr_expect_eq(ls_schema_state_bytes(ls_save_image_schema(image)), 58);
    expect_paths(image, 8,
                 (const char *const[]){"save_bytes", "save", "ram", "save_20", "bodies.x",
                                       "save_28", "save_36", "save_44"});
    ls_save_image_destroy(image);
}

Test(save_image, fields_that_overlap_or_lie_beyond_the_save_are_refused)
{
    const ls_simulation simulation = {
        .name = "engine", .save_fields = give_fields, .save_bytes_max = give_bytes};
    const ls_field refused[][2] = {
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 1, 2, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U64, 1, 1, 30, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"a", "", LS_FIELD_U32, 1, 1, 8, 0}},
        {{"a", "", LS_FIELD_U32, 1, 1, 0, 0}, {"b", "", LS_FIELD_U32, 1, 4, 4, 0}},
    };
    given_count = 2;
    given_bytes = 32;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ls_save_image *image = NULL;
        ls_text why = {{0}};
        memcpy(given, refused[i], sizeof refused[i]);
        cr_expect_eq(create(&simulation, 32, &image, &why), LS_SCHEMA, "%zu", i);
        cr_expect_neq(why.bytes[0], '\0');
        cr_expect_null(image);
    }
}

Test(save_image, a_size_that_cannot_be_is_refused)
{
    const ls_simulation simulation = {.name = "engine", .save_bytes_max = give_bytes};
    ls_save_image *image = NULL;
    ls_text why = {{0}};
    given_bytes = 0;
    cr_expect_eq(create(&simulation, 0, &image, &why), LS_PLUGIN);
    given_bytes = LS_STATE_BYTES_MAX;
    cr_expect_eq(create(&simulation, 100, &image, &why), LS_PLUGIN);
}

Test(save_image, a_save_is_filled_up_with_zeros_or_refused)
{
    uint8_t save[12] = {0};
    uint8_t image[16];
    ls_store_u64(save, 4);
    memset(save + 8, 0xab, 4);
    memset(image, 0xff, sizeof image);
    cr_assert_eq(ls_save_image_fill(sizeof image, save, image), LS_OK);
    cr_expect_eq(memcmp(image, save, sizeof save), 0);
    for (size_t i = sizeof save; i < sizeof image; i++) {
        cr_expect_eq(image[i], 0);
    }
    ls_store_u64(save, 9);
    cr_expect_eq(ls_save_image_fill(sizeof image, save, image), LS_FULL);
}
