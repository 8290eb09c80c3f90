-- Pong: the sample game of Lockstep's lua plug-in. Two players (more share the sides), a ball that
-- is faster with every hit and curves with its spin. All that a tick leaves for the next lies in
-- `storage`: plain data, so that it can be saved, sent and compared.
--
--   lockstep-server --sim lua.so --param script=pong.lua

local WIDTH, HEIGHT = 16, 9          -- metres from the middle to a wall
local PADDLE, SPEED = 1.5, 14        -- half of its length, m/s
local COLOURS = {[0] = 0xe6194bff, 0x4363d8ff, 0xf58231ff, 0x42d4f4ff}
local PATROL, REST = 4, 1            -- seconds that the bumper moves, and stands

function init(config)
    local rate, paddles = config.rate, {}
    for slot = 0, config.players - 1 do
        local side = slot % 2 == 0 and -1 or 1
        paddles[slot] = {x = side * (WIDTH - 1 - slot // 2 * 2), y = 0.0, vy = 0.0, here = false}
    end
    storage = {
        rate = rate,
        paddles = paddles,
        score = {[0] = 0, 0},
        ball = {x = 0.0, y = 0.0, vx = 0.0, vy = 0.0, spin = 0.0, live = false},
        bumper = {y = 0.0, time = 0.0, ticks = 0},
        serve = {towards = 1, ticks = 0},
        countdown = 3,
    }
end

-- Counts down, throws the ball, waits until it is out.
local function serve(ball, serving)
    if ball.live then
        if math.abs(ball.x) < WIDTH then return end
        local side = ball.x > 0 and 0 or 1
        storage.score[side] = storage.score[side] + 1
        sound(2)
        serving.towards = -serving.towards
        serving.ticks = 0
        ball.live = false
        ball.x, ball.y, ball.vx, ball.vy, ball.spin = 0.0, 0.0, 0.0, 0.0, 0.0
    end
    storage.countdown = 3 - math.floor(serving.ticks / storage.rate * 2)
    serving.ticks = serving.ticks + 1
    if storage.countdown > 0 then return end
    local angle = (math.random() - 0.5) * math.pi / 3
    ball.vx, ball.vy = serving.towards * 9 * math.cos(angle), 9 * math.sin(angle)
    ball.live = true
end

-- A bumper in the middle that goes up and down, and rests now and then.
local function patrol(bumper)
    bumper.ticks = bumper.ticks + 1
    if bumper.ticks % ((PATROL + REST) * storage.rate) > PATROL * storage.rate then return end
    bumper.time = bumper.time + 1 / storage.rate
    local t = bumper.time
    bumper.y = 6 * math.sin(t) * 0.5 ^ (0.5 + 0.5 * math.cos(t / 3))
end

local function move_paddle(paddle, input)
    if input.left then paddle.here = false end
    if input.joined then paddle.here = true end
    local buttons = input.bytes:byte(1) or 0 -- 1 is up, 2 is down
    local way = (buttons & 1) - (buttons >> 1 & 1)
    paddle.vy = way * SPEED
    local y = paddle.y + paddle.vy / storage.rate
    paddle.y = math.max(PADDLE - HEIGHT, math.min(HEIGHT - PADDLE, y))
end

local function bounce(ball, normal, spin)
    ball.vx = normal * math.abs(ball.vx) * 1.05
    ball.spin = math.max(-6, math.min(6, ball.spin + spin))
    sound(1, 0.7, ball.x, ball.y)
end

local function move_ball(ball)
    local before, rate = ball.x, storage.rate
    local speed = math.sqrt(ball.vx ^ 2 + ball.vy ^ 2)
    local angle = math.atan(ball.vy, ball.vx) + ball.spin * 0.1 / rate * (ball.vx > 0 and 1 or -1)
    ball.vx, ball.vy = speed * math.cos(angle), speed * math.sin(angle)
    ball.x, ball.y = ball.x + ball.vx / rate, ball.y + ball.vy / rate
    if math.abs(ball.y) > HEIGHT - 0.3 then
        ball.vy = ball.y > 0 and -math.abs(ball.vy) or math.abs(ball.vy)
        ball.spin = -ball.spin / 2
    end
    for _, paddle in pairs(storage.paddles) do
        local is_crossed = (before - paddle.x) * (ball.x - paddle.x) <= 0
        if paddle.here and is_crossed and math.abs(ball.y - paddle.y) < PADDLE + 0.3 then
            bounce(ball, paddle.x > 0 and -1 or 1, paddle.vy * 0.3)
            ball.vy = ball.vy + 4 * (ball.y - paddle.y)
        end
    end
    if before * ball.x <= 0 and math.abs(ball.y - storage.bumper.y) < 1 then
        bounce(ball, before < 0 and -1 or 1, 0)
    end
end

function step(tick, inputs)
    for slot, paddle in pairs(storage.paddles) do move_paddle(paddle, inputs[slot]) end
    serve(storage.ball, storage.serve)
    patrol(storage.bumper)
    if storage.ball.live then move_ball(storage.ball) end
end

function bot(slot)
    local ball, paddle = storage.ball, storage.paddles[slot]
    local is_coming = ball.vx * paddle.x > 0
    local goal = is_coming and ball.y + math.random() - 0.5 or 0
    if goal > paddle.y + 0.5 then return "\1" end
    return goal < paddle.y - 0.5 and "\2" or "\0"
end

function control(slot, controls)
    local up = controls.up or controls.stick_y > 0.5
    local down = controls.down or controls.stick_y < -0.5
    return string.char((up and 1 or 0) + (down and 2 or 0))
end

-- A score behind each name, and for the person at `slot` (a spectator has none) the keys.
function status(on, slot)
    for seat, paddle in pairs(storage.paddles) do
        on.seat(seat, tostring(storage.score[seat % 2]), COLOURS[seat % 4])
    end
    if slot then on.keys("up and down or W and S move the paddle") end
end

function draw(on)
    local ball = storage.ball
    on.view(-WIDTH - 1, -HEIGHT - 1, WIDTH + 1, HEIGHT + 1)
    on.box(1, 0, HEIGHT + 0.25, WIDTH, 0.25, 0x55606eff)
    on.box(2, 0, -HEIGHT - 0.25, WIDTH, 0.25, 0x55606eff)
    on.box(3, 0, storage.bumper.y, 0.2, 1, 0xc8a06aff)
    for slot, paddle in pairs(storage.paddles) do
        local colour = paddle.here and COLOURS[slot % 4] or 0x303840ff
        on.box(10 + slot, paddle.x, paddle.y, 0.25, PADDLE, colour, 0, slot)
    end
    on.disc(4, ball.x, ball.y, 0.35, 0xf0f0f0ff, ball.spin)
    local count = storage.countdown
    if count > 0 then on.text(6, -0.3, 2.5, 2, tostring(count), 0xffe080ff) end
end
