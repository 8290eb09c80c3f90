// A plug-in in C++: the contract is C, its headers say so, and its functions link.
#include <lockstep/fixed_trig.h>
#include <lockstep/rng.h>
#include <lockstep/simulation.h>
#include <lockstep/strict_libm.h> // std::sin with the same bits everywhere

extern "C" double orbit_height(double angle); // of a library that is copied by ls_strict_archive

namespace {

struct State {
    ls_rng dice;
    ls_fixed sum;
    double swing;
};

size_t state_bytes(const ls_sim_config *)
{
    return sizeof(State);
}

uint32_t fields(const ls_sim_config *, ls_field *out, uint32_t capacity)
{
    const ls_field all[] = {LS_FIELD_OF(State, dice.state, LS_FIELD_U64, ""),
                            LS_FIELD_OF(State, dice.increment, LS_FIELD_U64, ""),
                            LS_FIELD_OF(State, sum, LS_FIELD_FIXED, ""),
                            LS_FIELD_OF(State, swing, LS_FIELD_F64, "")};
    for (uint32_t i = 0; i < 4 && i < capacity; i++) {
        out[i] = all[i];
    }
    return 4;
}

ls_status init(const ls_sim_config *config, void *state, ls_text *why)
{
    (void)why;
    static_cast<State *>(state)->dice = ls_rng_make(config->seed, 1);
    return LS_OK;
}

void roll(const ls_step *step)
{
    auto *state = static_cast<State *>(step->state);
    state->sum = ls_fixed_add(state->sum, ls_fixed_sin(ls_rng_next(&state->dice)));
    state->swing = std::atan2(std::sin(state->swing + 1), std::pow(2.0f, std::cosf(0.5f)));
    state->swing += orbit_height(state->swing);
}

const ls_pass passes[] = {{"roll", roll}};

ls_simulation make()
{
    ls_simulation game = {};
    game.abi = LS_SIMULATION_ABI;
    game.size = sizeof game;
    game.version = 1;
    game.name = "dice";
    game.summary = "the sum of sines";
    game.default_tick_rate_hz = 60;
    game.default_players = 1;
    game.players_max = 1;
    game.input_bytes_max = 1;
    game.passes = passes;
    game.pass_count = 1;
    game.state_bytes = state_bytes;
    game.fields = fields;
    game.init = init;
    return game;
}

} // namespace

LS_SIMULATION_EXPORT const ls_simulation *lockstep_simulation(void)
{
    static const ls_simulation game = make();
    return &game;
}
