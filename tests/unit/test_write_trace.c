#include "lockstep/tools/desync/write_trace.h"

#include "lockstep/common/simulations/arena/arena.h"
#include "lockstep/common/system/ability.h"
#include "lockstep/tests/support/diagnosed_match.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    TICKS = 150,
};

/* A step of a match, traced. */
typedef struct traced {
    diagnosed_match match;
    ls_replay_stretch stretch;
    const ls_schema *schema;
    explain_write_trace trace;
} traced;

static void open_traced(traced *made, const ls_simulation *simulation)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    diagnosed_match_open(&made->match, simulation, &config);
    diagnosed_match_run(&made->match, TICKS);
    cr_assert_eq(
        ls_replay_window_stretch(made->match.server.window, TICKS - 1, TICKS, &made->stretch),
        LS_OK);
    made->schema = ls_sim_instance_schema(made->match.server.instance);
}

static void close_traced(traced *made)
{
    diagnosed_match_close(&made->match);
}

static void trace_field(traced *made, const char *name, bool wants_watch)
{
    const ls_sim_instance *instance = made->match.server.instance;
    explain_field_choice choice;
    ls_text why = {{0}};
    cr_assert_eq(explain_field_choice_parse(made->schema, name, &choice, &why), LS_OK, "%s",
                 why.bytes);
    const explain_write_request request = {
        .choices = &choice, .choice_count = 1, .wants_watch = wants_watch};
    cr_assert_eq(explain_write_trace_run(ls_sim_instance_simulation(instance),
                                         ls_sim_instance_config(instance), &made->stretch, &request,
                                         &made->trace, &why),
                 LS_OK, "%s", why.bytes);
}

Test(write_trace, every_write_is_told_with_its_pass_and_instruction)
{
    traced made;
    if (!ls_ability_is_there(LS_ABILITY_WRITE_TRACES, NULL)) {
        cr_skip_test("writes cannot be watched on this platform");
    }
    open_traced(&made, fault_simulation());
    trace_field(&made, "sum", true);
    /* gather: once for each slot's size, and once for each of its two bytes */
    cr_expect(made.trace.is_watched);
    cr_assert_geq(made.trace.count, 1, "the compiler may keep the sum in a register");
    for (uint32_t i = 0; i < made.trace.list_count; i++) {
        const explain_field_write *write = &made.trace.writes[i];
        cr_expect_eq(write->pass, 0);
        cr_expect_str_eq(write->place.field->path, "sum");
        cr_expect_neq(write->instruction, 0);
        cr_expect(i == 0 || memcmp(write->before, write[-1].after, 8) == 0,
                  "each write begins with what the last one left");
    }
    explain_write_trace_release(&made.trace);
    trace_field(&made, "ticks", true);
    cr_assert_eq(made.trace.count, 1);
    cr_expect_eq(made.trace.writes[0].pass, 2);
    char text[64];
    explain_field_write_value(&made.trace.writes[0], false, text, sizeof text);
    cr_expect_str_eq(text, "149 ticks");
    explain_field_write_value(&made.trace.writes[0], true, text, sizeof text);
    cr_expect_str_eq(text, "150 ticks");
    explain_write_trace_release(&made.trace);
    close_traced(&made);
}

Test(write_trace, a_write_of_the_old_value_is_told_too)
{
    traced made;
    if (!ls_ability_is_there(LS_ABILITY_WRITE_TRACES, NULL)) {
        cr_skip_test("writes cannot be watched on this platform");
    }
    open_traced(&made, fault_simulation());
    trace_field(&made, "wrong", true); /* stays 0 */
    cr_assert_eq(made.trace.count, 1);
    cr_expect_eq(made.trace.writes[0].pass, FAULT_PASS);
    cr_expect_eq(memcmp(made.trace.writes[0].before, made.trace.writes[0].after, 4), 0);
    explain_write_trace_release(&made.trace);
    trace_field(&made, "wrong", false);
    cr_expect_eq(made.trace.count, 0, "a pass that changes nothing cannot be seen from outside");
    explain_write_trace_release(&made.trace);
    close_traced(&made);
}

/* Replays the list on the field's bytes and compares with the state after the step. */
static void expect_leads_to_the_end(traced *made, const char *name)
{
    const ls_sim_instance *instance = made->match.server.instance;
    size_t bytes = ls_sim_instance_state_bytes(instance);
    explain_field_choice choice;
    cr_assert_eq(explain_field_choice_parse(made->schema, name, &choice, NULL), LS_OK);
    static uint8_t state[1 << 17];
    cr_assert_leq(bytes, sizeof state);
    ls_sim_instance *before = made->match.client.instance;
    cr_assert_eq(ls_replay_stretch_load(&made->stretch, before), LS_OK);
    cr_assert_eq(ls_replay_stretch_run(&made->stretch, before, TICKS - 1), LS_OK);
    memcpy(state, ls_sim_instance_view(before), bytes);
    for (uint32_t i = 0; i < made->trace.list_count; i++) {
        const explain_field_write *write = &made->trace.writes[i];
        size_t size = ls_field_type_bytes(write->place.field->type);
        cr_assert_eq(memcmp(state + write->place.offset, write->before, size), 0);
        memcpy(state + write->place.offset, write->after, size);
    }
    const uint8_t *after = ls_sim_instance_view(instance);
    for (size_t offset = 0; offset < bytes; offset++) {
        ls_schema_place place = ls_schema_at(made->schema, offset);
        if (explain_field_choice_has(&choice, &place)) {
            cr_assert_eq(state[offset], after[offset], "%s, byte %zu", name, offset);
        }
    }
}

Test(write_trace, the_writes_lead_from_the_old_state_to_the_new_one)
{
    static const char *const names[] = {"bodies.position.x", "bodies.angle", "ships.buttons",
                                        "shots.ticks_left", "match.pairs"};
    uint64_t writes = 0;
    traced made;
    open_traced(&made, ls_arena_simulation());
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (uint32_t way = 0; way < 2; way++) {
            trace_field(&made, names[i], way == 1);
            expect_leads_to_the_end(&made, names[i]);
            writes += made.trace.count;
            explain_write_trace_release(&made.trace);
        }
    }
    cr_expect_gt(writes, 100, "something moved");
    close_traced(&made);
}
