// The game of game.c in C++. It plays with those of game.c and game.py, and their hashes are equal.
// usage: game PLAYERS TICKS hosts, game INVITE plays. Built with -shared -DPLUGIN it is a plug-in.
#include <lockstep.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <type_traits>

namespace
{

enum Keys : uint8_t {
    LEFT = 1,
    RIGHT = 2,
    JUMP = 4
};
constexpr uint32_t SHIPS = 4;

struct Ship {
    int32_t place, speed; // millimetres; millimetres a tick
};

struct State {
    Ship ships[SHIPS];
};
static_assert(std::is_trivially_copyable<State>::value, "a state is bytes and nothing else");

void step(void *, void *state, const lockstep_inputs *inputs) noexcept
{
    for (uint32_t i = 0; i < inputs->setup->players; i++) {
        Ship &ship = static_cast<State *>(state)->ships[i];
        const lockstep_slot &slot = inputs->slots[i];
        unsigned keys = slot.size > 0 ? slot.bytes[0] : 0;
        ship.speed += (keys & RIGHT ? 1 : 0) - (keys & LEFT ? 1 : 0);
        ship.place += ship.speed + (keys & JUMP ? 1000 : 0);
    }
}

const lockstep_field fields[] = {LOCKSTEP_FIELDS(State, ships, place, "mm", LOCKSTEP_I32),
                                 LOCKSTEP_FIELDS(State, ships, speed, "mm/tick", LOCKSTEP_I32)};
const uint8_t edges[] = {JUMP}, buttons[] = {LEFT | RIGHT};
const lockstep_game game = {sizeof game, "ships",       1,      60,      SHIPS,
                            1,           sizeof(State), fields, 2,       nullptr,
                            step,        nullptr,       edges,  buttons, 0};

} // namespace

#ifdef PLUGIN
extern "C" LOCKSTEP_EXPORT const lockstep_game *lockstep_plugin()
{
    return &game;
}
#else
int main(int argc, char **argv)
{
    bool is_host = argc > 2; // else the argument is the invite that the host prints
    std::unique_ptr<lockstep, decltype(&lockstep_close)> owner(
        lockstep_create(is_host ? LOCKSTEP_HOST : LOCKSTEP_CLIENT, &game), lockstep_close);
    lockstep *me = owner.get();
    lockstep_event event = {};
    lockstep_info info = {};
    lockstep_view view = {};
    event.size = sizeof event;
    info.size = sizeof info;
    view.size = sizeof view;
    unsigned char held = 0;
    int result = lockstep_set(me, is_host ? "players" : "server", argc > 1 ? argv[1] : "");
    result = result == 0 && is_host ? lockstep_set(me, "ticks", argv[2]) : result;
    result = result == 0 ? lockstep_start(me) : result;
    if (result == 0 && is_host && lockstep_get_info(me, &info) == 0) {
        std::printf("%s\n", info.invite);
        std::fflush(stdout);
    }
    bool goes_on = result == 0;
    while (goes_on) {
        result = lockstep_frame(me, 16);
        goes_on = result > 0;
        if (!is_host && lockstep_get_view(me, &view) == 0) {
            unsigned char keys = view.tick / 60 % 2 ? LEFT : RIGHT, jump = keys | JUMP;
            if (keys != held) {
                lockstep_input(me, &jump, 1, 1); // in one tick
            }
            lockstep_input(me, &keys, 1, 0); // from now on
            held = keys;
        }
        while (lockstep_poll(me, &event) > 0) {
            std::printf("%s\n", event.text);
        }
    }
    if (!is_host && lockstep_get_view(me, &view) == 0) {
        std::printf("tick %u: the first ship is at %d mm\n", view.tick,
                    static_cast<const State *>(view.state)->ships[0].place);
    }
    if (result < 0) {
        std::fprintf(stderr, "%s\n", lockstep_error(me));
    }
    return result < 0;
}
#endif
