/* The fields that lockstep-schema wrote for known structs, compiled in, against fields written by
 * hand. */
#include "lockstep/common/loader/plugin_loader.h"
#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/simulations/arena/arena_state.h"
#include "lockstep/common/simulations/units/units_state.h"
#include "lockstep/tests/schema/nasty_state.h"

#include <criterion/criterion.h>

static ls_schema *make(const ls_field *fields, uint32_t count, size_t state_bytes)
{
    ls_schema *schema = NULL;
    ls_text why = {{0}};
    ls_status status =
        ls_schema_create(fields, count, state_bytes, ls_allocator_heap(), &schema, &why);
    cr_assert_eq(status, LS_OK, "%s", why.bytes);
    return schema;
}

static ls_schema *make_own(const ls_simulation *simulation, const ls_sim_config *config)
{
    static ls_field fields[LS_FIELDS_MAX];
    uint32_t count = simulation->fields(config, fields, LS_FIELDS_MAX);
    return make(fields, count, simulation->state_bytes(config));
}

static void assert_same_field(const ls_field *a, const ls_field *b)
{
    cr_assert_str_eq(a->path, b->path);
    cr_expect_str_eq(a->unit, b->unit, "%s", a->path);
    cr_expect_eq(a->type, b->type, "%s: %d, %d", a->path, a->type, b->type);
    cr_expect_eq(a->length, b->length, "%s: %u, %u", a->path, a->length, b->length);
    cr_expect_eq(a->count, b->count, "%s: %u, %u", a->path, a->count, b->count);
    cr_expect_eq(a->offset, b->offset, "%s: %zu, %zu", a->path, a->offset, b->offset);
    cr_expect(a->count == 1 || a->stride == b->stride, "%s", a->path);
}

/* Takes both. */
static void assert_same(ls_schema *written, ls_schema *by_hand)
{
    uint32_t count = ls_schema_field_count(written);
    cr_assert_eq(count, ls_schema_field_count(by_hand));
    for (uint32_t i = 0; i < count; i++) {
        assert_same_field(ls_schema_field(written, i), ls_schema_field(by_hand, i));
    }
    cr_assert_eq(ls_schema_digest(written), ls_schema_digest(by_hand));
    ls_schema_destroy(written);
    ls_schema_destroy(by_hand);
}

static void assert_arena(uint32_t players, int64_t bodies)
{
    const ls_simulation *arena = ls_arena_simulation();
    ls_sim_config config = ls_sim_config_default(arena);
    config.players = players;
    config.params[LS_ARENA_PARAM_BODIES] = bodies;
    ls_arena_layout layout = ls_arena_layout_of(&config);
    const ls_field rows[] = {
#include ARENA_ROWS
    };
    assert_same(make(rows, sizeof rows / sizeof rows[0], layout.bytes), make_own(arena, &config));
}

Test(schema_writer, writes_the_arena_as_people_did)
{
    assert_arena(4, 100);
    assert_arena(1, 0);
}

Test(schema_writer, writes_units_as_people_did)
{
    const ls_simulation *units = ls_units_simulation();
    ls_sim_config config = ls_sim_config_default(units);
    uint32_t unit_count = ls_units_rules_of(&config).unit_count;
    const ls_field rows[] = {
#include UNITS_ROWS
    };
    assert_same(make(rows, sizeof rows / sizeof rows[0], units->state_bytes(&config)),
                make_own(units, &config));
}

/* ---- the nasty state ---- */

#define STATE(member, type, unit) LS_FIELD_OF(nasty_state, member, LS_FIELD_##type, unit)
#define ARRAY(member, length, type)                                                                \
    LS_FIELD_ARRAY_OF(nasty_state, member, length, LS_FIELD_##type, "")
#define UNIT(path, place, length, type, unit)                                                      \
    {                                                                                              \
        path, unit, LS_FIELD_##type, length, NASTY_UNITS, sizeof(nasty_state) + (place),           \
            sizeof(nasty_unit)                                                                     \
    }
#define UNIT_AT(member) offsetof(nasty_unit, member)
#define TEAM(path, place, length, type)                                                            \
    {                                                                                              \
        path, "", LS_FIELD_##type, length, 6, offsetof(nasty_state, league) + (place),             \
            sizeof(struct nasty_team)                                                              \
    }
#define NAMELESS(path, place, length, type)                                                        \
    {                                                                                              \
        path, "", LS_FIELD_##type, length, 3, offsetof(nasty_state, nameless) + (place), 4         \
    }
#define FEW(path, place, length, type)                                                             \
    {                                                                                              \
        path, "", LS_FIELD_##type, length, 2, offsetof(nasty_state, few) + (place),                \
            sizeof(nasty_slot)                                                                     \
    }

static ls_schema *make_nasty_by_hand(void)
{
    const ls_field fields[] = {
        STATE(serial, U64, ""),
        STATE(rules, U16, ""),
        ARRAY(padding, 2, PADDING),
        STATE(side, I32, ""),
        STATE(heat, F32, ""),
        {"padding_at_20", "", LS_FIELD_PADDING, 4, 1, 20, 0},
        ARRAY(grid, 12, F64),
        STATE(deep, I32, ""),
        {"padding_at_124", "", LS_FIELD_PADDING, 4, 1, offsetof(nasty_state, deep) + 4, 0},
        STATE(inner.wage, FIXED, ""),
        ARRAY(either, 4, U8),
        TEAM("league.teams[].name", 0, 7, U8),
        TEAM("league.teams[].bonus", 7, 1, I8),
        TEAM("league.teams[].mood", 8, 1, U32),
        NAMELESS("nameless.a", 0, 1, U16),
        NAMELESS("nameless.b", 2, 1, U8),
        NAMELESS("nameless.padding_at_3", 3, 1, PADDING),
        FEW("few.kind", 0, 1, U8),
        FEW("few.padding_at_1", 1, 3, PADDING),
        FEW("few.uses", 4, 1, U32),
        STATE(rng.state, U64, ""),
        STATE(rng.increment, U64, ""),
        UNIT("units.position.x", UNIT_AT(position.x), 1, FIXED, "m"),
        UNIT("units.position.y", UNIT_AT(position.y), 1, FIXED, ""),
        UNIT("units.facing", UNIT_AT(facing), 1, ANGLE, ""),
        UNIT("units.path", UNIT_AT(path), 6, I16, ""),
        UNIT("units.flags", UNIT_AT(flags), 4, U8, ""),
        UNIT("units.slots[0].kind", UNIT_AT(slots[0].kind), 1, U8, ""),
        UNIT("units.slots[0].padding_at_37", UNIT_AT(slots[0]) + 1, 3, PADDING, ""),
        UNIT("units.slots[0].uses", UNIT_AT(slots[0].uses), 1, U32, "times"),
        UNIT("units.slots[1].kind", UNIT_AT(slots[1].kind), 1, U8, ""),
        UNIT("units.slots[1].padding_at_45", UNIT_AT(slots[1]) + 1, 3, PADDING, ""),
        UNIT("units.slots[1].uses", UNIT_AT(slots[1].uses), 1, U32, "times"),
        UNIT("units.is_alive", UNIT_AT(is_alive), 1, U8, ""),
        UNIT("units.padding_at_53", 53, 3, PADDING, ""),
    };
    return make(fields, sizeof fields / sizeof fields[0],
                sizeof(nasty_state) + NASTY_UNITS * sizeof(nasty_unit));
}

/* Loading checks that the fields cover every byte once. */
Test(schema_writer, a_plugin_with_a_written_schema_loads_and_says_what_a_person_would)
{
    ls_loaded_simulation loaded = {0};
    ls_text why = {{0}};
    cr_assert_eq(ls_simulation_load(NASTY_PLUGIN, &loaded, &why), LS_OK, "%s", why.bytes);
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    assert_same(make_own(loaded.simulation, &config), make_nasty_by_hand());
    ls_simulation_unload(&loaded);
}
