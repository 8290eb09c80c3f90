-- Pong: the sample game of Lockstep's lua plug-in. Two players (more share the sides), a ball that
-- is faster with every hit and curves with its spin. One coroutine serves, one moves the bumper.
--
--   lockstep-server --sim lua.so --param script=pong.lua

local WIDTH, HEIGHT = 16, 9          -- metres from the middle to a wall
local PADDLE, SPEED = 1.5, 14        -- half of its length, m/s
local COLOURS = {[0] = 0xe6194bff, 0x4363d8ff, 0xf58231ff, 0x42d4f4ff}

local function wait(seconds)
    for _ = 1, math.ceil(seconds * rate) do coroutine.yield() end
end

-- Serves for ever: waits, counts down, throws the ball, waits until it is out.
local function serve()
    local towards = 1
    while true do
        ball.live = false
        ball.x, ball.y, ball.vx, ball.vy, ball.spin = 0, 0, 0, 0, 0
        for count = 3, 1, -1 do
            countdown = count
            wait(0.5)
        end
        countdown = 0
        local angle = (math.random() - 0.5) * math.pi / 3
        ball.vx, ball.vy = towards * 9 * math.cos(angle), 9 * math.sin(angle)
        ball.live = true
        while math.abs(ball.x) < WIDTH do coroutine.yield() end
        local side = ball.x > 0 and 0 or 1
        score[side] = score[side] + 1
        sound(2)
        towards = -towards
    end
end

-- A bumper in the middle that goes up and down, and rests now and then.
local function patrol()
    local t = 0
    while true do
        for _ = 1, 4 * rate do
            t = t + 1 / rate
            bumper.y = 6 * math.sin(t) * 0.5 ^ (0.5 + 0.5 * math.cos(t / 3))
            coroutine.yield()
        end
        wait(1)
    end
end

function init(config)
    players, rate = config.players, config.rate
    paddles, score = {}, {[0] = 0, 0}
    ball = {x = 0.0, y = 0.0, vx = 0.0, vy = 0.0, spin = 0.0, live = false}
    bumper = {y = 0.0}
    countdown = 0
    for slot = 0, players - 1 do
        local side = slot % 2 == 0 and -1 or 1
        paddles[slot] = {x = side * (WIDTH - 1 - slot // 2 * 2), y = 0.0, vy = 0.0, here = false}
    end
    routines = {coroutine.create(serve), coroutine.create(patrol)}
end

local function move_paddle(paddle, input)
    if input.left then paddle.here = false end
    if input.joined then paddle.here = true end
    local buttons = input.bytes:byte(1) or 0 -- 1 is up, 2 is down
    local way = (buttons & 1) - (buttons >> 1 & 1)
    paddle.vy = way * SPEED
    paddle.y = math.max(PADDLE - HEIGHT, math.min(HEIGHT - PADDLE, paddle.y + paddle.vy / rate))
end

local function bounce(normal, spin)
    ball.vx = normal * math.abs(ball.vx) * 1.05
    ball.spin = math.max(-6, math.min(6, ball.spin + spin))
    sound(1, 0.7, ball.x, ball.y)
end

local function move_ball()
    local before = ball.x
    local speed = math.sqrt(ball.vx ^ 2 + ball.vy ^ 2)
    local angle = math.atan(ball.vy, ball.vx) + ball.spin * 0.1 / rate * (ball.vx > 0 and 1 or -1)
    ball.vx, ball.vy = speed * math.cos(angle), speed * math.sin(angle)
    ball.x, ball.y = ball.x + ball.vx / rate, ball.y + ball.vy / rate
    if math.abs(ball.y) > HEIGHT - 0.3 then
        ball.vy = ball.y > 0 and -math.abs(ball.vy) or math.abs(ball.vy)
        ball.spin = -ball.spin / 2
    end
    for _, paddle in pairs(paddles) do
        local is_crossed = (before - paddle.x) * (ball.x - paddle.x) <= 0
        if paddle.here and is_crossed and math.abs(ball.y - paddle.y) < PADDLE + 0.3 then
            bounce(paddle.x > 0 and -1 or 1, paddle.vy * 0.3)
            ball.vy = ball.vy + 4 * (ball.y - paddle.y)
        end
    end
    if before * ball.x <= 0 and math.abs(ball.y - bumper.y) < 1 then
        bounce(before < 0 and -1 or 1, 0)
    end
end

function step(tick, inputs)
    for slot, paddle in pairs(paddles) do move_paddle(paddle, inputs[slot]) end
    for _, routine in ipairs(routines) do assert(coroutine.resume(routine)) end
    if ball.live then move_ball() end
end

function bot(slot)
    local paddle = paddles[slot]
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

function draw(on)
    on.view(-WIDTH - 1, -HEIGHT - 1, WIDTH + 1, HEIGHT + 1)
    on.box(1, 0, HEIGHT + 0.25, WIDTH, 0.25, 0x55606eff)
    on.box(2, 0, -HEIGHT - 0.25, WIDTH, 0.25, 0x55606eff)
    on.box(3, 0, bumper.y, 0.2, 1, 0xc8a06aff)
    for slot, paddle in pairs(paddles) do
        local colour = paddle.here and COLOURS[slot % 4] or 0x303840ff
        on.box(10 + slot, paddle.x, paddle.y, 0.25, PADDLE, colour, 0, slot)
    end
    on.disc(4, ball.x, ball.y, 0.35, 0xf0f0f0ff, ball.spin)
    on.text(5, -2, HEIGHT - 1.2, 1.4, score[0] .. " : " .. score[1], 0xb0b8c0ff)
    if countdown > 0 then on.text(6, -0.3, 2.5, 2, tostring(countdown), 0xffe080ff) end
end
