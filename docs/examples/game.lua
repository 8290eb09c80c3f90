-- The game of game.c for LuaJIT, and so for LÖVE. It plays with those of the other languages.
-- usage: luajit game.lua PLAYERS TICKS hosts, luajit game.lua INVITE plays.
-- LOCKSTEP_HEADER and LOCKSTEP_LIBRARY name lockstep.h and liblockstep.so.0.
local ffi, bit = require("ffi"), require("bit")

-- The header without what is for a preprocessor alone.
local header = assert(io.open(os.getenv("LOCKSTEP_HEADER"))):read("*a")
header = header:gsub("/%*.-%*/", ""):gsub("\\\n", ""):gsub("#ifdef __cplusplus.-#endif", "")
ffi.cdef((header:gsub("\n#[^\n]*", ""):gsub("LOCKSTEP_API", "")))
ffi.cdef("typedef struct { struct { int32_t place, speed; } ships[4]; } fleet;")
local C = ffi.load(os.getenv("LOCKSTEP_LIBRARY"))

local LEFT, RIGHT, JUMP = 1, 2, 4

local function step(_, state, inputs)
    local ships = ffi.cast("fleet *", state).ships
    for i = 0, inputs.setup.players - 1 do
        local slot, ship = inputs.slots[i], ships[i]
        local keys = slot.size > 0 and slot.bytes[0] or 0
        ship.speed = ship.speed + bit.band(bit.rshift(keys, 1), 1) - bit.band(keys, 1)
        ship.place = ship.place + ship.speed + (bit.band(keys, JUMP) ~= 0 and 1000 or 0)
    end
end

-- What the library is handed stays as long as the handle: Lua must not collect it.
local texts = {"ships", "ships.place", "ships.speed", "mm", "mm/tick"}
local kept = {
    fields = ffi.new("lockstep_field[2]", {{texts[2], texts[4], C.LOCKSTEP_I32, 1, 4, 0, 8},
                                           {texts[3], texts[5], C.LOCKSTEP_I32, 1, 4, 4, 8}}),
    step = ffi.cast("void (*)(void *, void *, const lockstep_inputs *)", step),
    edges = ffi.new("uint8_t[1]", JUMP),
    buttons = ffi.new("uint8_t[1]", LEFT + RIGHT),
}
local game = ffi.new("lockstep_game", {
    size = ffi.sizeof("lockstep_game"), name = texts[1], version = 1, tick_rate_hz = 60,
    players_max = 4, input_bytes = 1, state_bytes = ffi.sizeof("fleet"), fields = kept.fields,
    field_count = 2, step = kept.step, edges = kept.edges, buttons = kept.buttons})

-- Compiled code cannot be called back: whatever steps the game is left to the interpreter.
local function frame(handle, wait_ms)
    return C.lockstep_frame(handle, wait_ms)
end
jit.off(frame)

local function sized(name)
    return ffi.new(name, {size = ffi.sizeof(name)})
end

local is_host = #arg > 1
local me = C.lockstep_create(is_host and C.LOCKSTEP_HOST or C.LOCKSTEP_CLIENT, game)
local event, info, view = sized("lockstep_event"), sized("lockstep_info"), sized("lockstep_view")
local function check(result)
    return result >= 0 and result or error(ffi.string(C.lockstep_error(me)), 0)
end

check(C.lockstep_set(me, is_host and "players" or "server", arg[1]))
check(is_host and C.lockstep_set(me, "ticks", arg[2]) or 0)
check(C.lockstep_start(me))
if is_host then
    C.lockstep_get_info(me, info)
    print(ffi.string(info.invite))
    io.flush()
end
local held, result, keys, jump = 0, 1, ffi.new("uint8_t[1]"), ffi.new("uint8_t[1]")
while result > 0 do
    result = frame(me, 16)
    if not is_host and C.lockstep_get_view(me, view) == 0 then
        keys[0] = math.floor(view.tick / 60) % 2 == 1 and LEFT or RIGHT
        if keys[0] ~= held then
            jump[0] = keys[0] + JUMP
            C.lockstep_input(me, jump, 1, 1) -- in one tick
        end
        C.lockstep_input(me, keys, 1, 0) -- from now on
        held = keys[0]
    end
    while C.lockstep_poll(me, event) > 0 do
        print(ffi.string(event.text))
    end
end
check(result)
if not is_host then
    C.lockstep_get_view(me, view)
    local ships = ffi.cast("const fleet *", view.state).ships
    print(("tick %d: the first ship is at %d mm"):format(view.tick, ships[0].place))
end
C.lockstep_close(me)
