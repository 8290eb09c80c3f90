#include "lockstep/tests/lab/faultsim/self_test_match.h"

#include "lockstep/common/simulation/state_schema.h"
#include "lockstep/server/investigation/desync_finding.h"
#include "lockstep/tests/lab/faultsim/match_check.h"

#include <string.h>

enum {
    SPACING_TICKS = 32, /* a player's stretch, in which it flips its bit */
    WARM_UP_TICKS = 2,  /* before the first */
    TAIL_TICKS = 30,    /* after the last */
    LOSS_PPM = 20000,   /* of matches that lose packets */
};

#define JITTER_NS (5 * LS_NS_PER_MS)

/* ---- the match ---- */

static void make_small(ls_sim_config *config, const ls_simulation *simulation)
{
    static const char *const sizes[] = {"bodies", "shots", "units"};
    static const int64_t small[] = {8, 1, 0};
    for (uint32_t i = 0; i < simulation->param_count; i++) {
        const ls_param *param = &simulation->params[i];
        for (uint32_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++) {
            if (strcmp(param->name, sizes[j]) == 0) {
                config->params[i] = small[j] > param->min ? small[j] : param->min;
            }
        }
    }
}

ls_sim_config faultsim_self_test_sim_config(const ls_simulation *simulation, uint64_t seed)
{
    ls_sim_config config = ls_sim_config_default(simulation);
    config.seed = seed;
    config.players = FAULTSIM_SELF_TEST_PLAYERS;
    make_small(&config, simulation);
    return config;
}

size_t faultsim_self_test_state_bytes(const ls_simulation *simulation)
{
    ls_sim_config config = faultsim_self_test_sim_config(simulation, 1);
    return simulation->state_bytes(&config);
}

static virtual_setup setup_of(ls_match_memory *memory, const ls_simulation *simulation,
                              uint64_t seed, uint32_t ticks)
{
    faultsim_match_memory_reset(memory);
    virtual_setup setup = virtual_setup_default(simulation, FAULTSIM_SELF_TEST_PLAYERS, ticks);
    setup.seed = seed;
    setup.match.sim = faultsim_self_test_sim_config(simulation, seed);
    setup.link.delay_ns = FAULTSIM_SELF_TEST_RTT_MS * LS_NS_PER_MS / 2;
    setup.allocator = faultsim_match_memory_of_cores(memory);
    setup.storage = faultsim_match_memory_of_harness(memory);
    return setup;
}

static void count_match(virtual_match *run, uint32_t planted, faultsim_self_test_counts *counts)
{
    uint32_t told = virtual_match_count(run, LS_MATCH_DESYNC, LS_PLAYERS_MAX);
    counts->matches++;
    counts->false_alarms += told > planted ? told - planted : 0;
    counts->unsound += !virtual_match_is_over(run) || !match_check_is_sound(check_of(run));
}

/* ---- flips ---- */

/* Ticks that the server closed between two moments. */
static uint32_t closed_between(const virtual_match *run, uint64_t from_ns, uint64_t to_ns)
{
    const match_check *check = check_of(run);
    uint32_t count = 0;
    for (ls_tick tick = 0; tick < check->tick_count; tick++) {
        uint64_t closed_ns = check->ticks[tick].closed_ns;
        count += closed_ns > from_ns && closed_ns <= to_ns;
    }
    return count;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void judge_finding(const virtual_client *client, const ls_desync_finding *finding,
                          faultsim_self_test_flip *out)
{
    if (finding->place_count > 0) {
        out->found = finding->places[0];
    }
    const ls_difference_text *planted = &out->planted;
    const ls_difference_text *found = &out->found;
    out->is_tick_right = out->is_tick_right && finding->tick == client->flip.tick;
    out->is_field_right = finding->elements == 1 && finding->place_count == 1 &&
                          !finding->is_lower_bound && is_same(found->name, planted->name);
    out->are_values_right = is_same(found->a, planted->a) && is_same(found->b, planted->b) &&
                            !is_same(found->a, found->b);
    out->is_class_right = finding->verdict.kind == LS_DESYNC_CLASS_ONE_OFF &&
                          finding->verdict.culprit == LS_DESYNC_CULPRIT_CLIENT;
}

static void judge(const virtual_match *run, const virtual_client *client,
                  faultsim_self_test_flip *out)
{
    *out = (faultsim_self_test_flip){.seed = run->setup.seed};
    out->is_made = client->flip.is_done && client->flip.flipped_byte == client->flip.byte;
    const ls_schema *schema = ls_sim_instance_schema(ls_match_instance(run->match));
    out->is_padding = ls_schema_at(schema, client->flip.byte).field->type == LS_FIELD_PADDING;
    uint32_t slot = ls_session_report_of(client->session).slot;
    const virtual_event *caught = virtual_match_find_slot(run, LS_MATCH_DESYNC, slot);
    if (!out->is_made) {
        return;
    }
    out->planted = client->flip.text;
    if (!caught || caught->at_ns < client->flip.at_ns) {
        return;
    }
    out->is_caught = true;
    out->is_tick_right = caught->event.tick == client->flip.tick;
    out->caught_ns = caught->at_ns - client->flip.at_ns;
    out->caught_ticks = closed_between(run, client->flip.at_ns, caught->at_ns);
    const virtual_event *named = virtual_match_find_slot(run, LS_MATCH_DESYNC_CAUSE, slot);
    const ls_desync_finding *finding = ls_match_desync_of(run->match, slot);
    if (!named || !finding) {
        out->is_tick_right = false;
        return;
    }
    out->named_ns = named->at_ns - client->flip.at_ns;
    out->named_ticks = closed_between(run, client->flip.at_ns, named->at_ns);
    judge_finding(client, finding, out);
}

void faultsim_self_test_play_flips(ls_match_memory *memory, const ls_simulation *simulation,
                                   uint64_t seed, size_t first_bit, uint32_t every, size_t bit_end,
                                   faultsim_self_test_flip *out, faultsim_self_test_counts *counts)
{
    uint32_t ticks = WARM_UP_TICKS + FAULTSIM_SELF_TEST_PLAYERS * SPACING_TICKS + TAIL_TICKS;
    virtual_setup setup = setup_of(memory, simulation, seed, ticks);
    virtual_match *run = checked_match_create(&setup);
    ls_rng rng = ls_rng_make(seed, 3);
    uint32_t planted = 0;
    for (uint32_t i = 0; i < FAULTSIM_SELF_TEST_PLAYERS; i++) {
        size_t bit = first_bit + (size_t)i * every;
        if (bit >= bit_end) {
            break;
        }
        virtual_client *client = run->clients[i];
        client->flip.byte = bit / 8;
        client->flip.bit = (uint32_t)(bit % 8);
        client->flip.tick =
            WARM_UP_TICKS + i * SPACING_TICKS + (ls_tick)ls_rng_below(&rng, SPACING_TICKS);
        planted++;
    }
    virtual_match_run_to_end(run);
    for (uint32_t i = 0; i < planted; i++) {
        judge(run, run->clients[i], &out[i]);
    }
    count_match(run, planted, counts);
    virtual_match_destroy(run);
}

/* ---- no flips ---- */

void faultsim_self_test_play_clean(ls_match_memory *memory, const ls_simulation *simulation,
                                   uint64_t seed, faultsim_self_test_counts *counts)
{
    virtual_setup setup = setup_of(memory, simulation, seed, FAULTSIM_SELF_TEST_CLEAN_TICKS);
    if (seed % 2 == 1) {
        setup.link.loss_ppm = LOSS_PPM;
        setup.link.jitter_ns = JITTER_NS;
    }
    virtual_match *run = checked_match_create(&setup);
    virtual_match_run_to_end(run);
    uint64_t compared = UINT64_MAX;
    for (uint32_t slot = 0; slot < FAULTSIM_SELF_TEST_PLAYERS; slot++) {
        uint64_t its = ls_match_slot_of(run->match, slot).hashes_compared;
        compared = its < compared ? its : compared;
    }
    /* The state before the first tick is compared too. */
    counts->clean_ticks += compared > 0 ? compared - 1 : 0;
    count_match(run, 0, counts);
    virtual_match_destroy(run);
}
