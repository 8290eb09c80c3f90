/* The lua plug-in: scripts whose state is saved, loaded and hashed whole. */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/snapshot_ring.h"
#include "lockstep/tests/support/plugin_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define SAVE_BYTES_MAX (300u << 10)

static void load(void)
{
    load_plugin(LS_TEST_LUA);
}

TestSuite(lua, .init = load, .fini = unload_plugin);

static ls_sim_config config_of(const char *script)
{
    ls_sim_config config = ls_sim_config_default(loaded.simulation);
    size_t size = strlen(script);
    config.files[0] = (ls_sim_file){(const uint8_t *)script, size, ls_hash_bytes(script, size, 0)};
    return config;
}

static sim_fixture *open_script(const char *script)
{
    return sim_open(loaded.simulation, config_of(script));
}

static const char *pong(void)
{
    static char text[1 << 16];
    FILE *file = fopen(LS_TEST_PONG, "rb");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static uint64_t hash_of(const sim_fixture *sim)
{
    return loaded.simulation->hash(&sim->config, sim_state(sim));
}

static size_t save_of(const sim_fixture *sim, uint8_t *bytes)
{
    size_t size = loaded.simulation->save(&sim->config, sim_state(sim), bytes, SAVE_BYTES_MAX);
    cr_assert_leq(size, SAVE_BYTES_MAX);
    return size;
}

static ls_status load_into(const sim_fixture *sim, const uint8_t *bytes, size_t size)
{
    return loaded.simulation->load(&sim->config, sim_state(sim), bytes, size);
}

/* The failure that a state has: its save ends with the sentence. */
static const char *failure_of(const sim_fixture *sim)
{
    static uint8_t bytes[SAVE_BYTES_MAX + 1];
    size_t size = save_of(sim, bytes);
    uint32_t length = bytes[20] | (uint32_t)bytes[21] << 8;
    bytes[size] = '\0';
    return (const char *)bytes + size - length;
}

static void expect_failure(const char *script, const char *sentence)
{
    sim_fixture *sim = open_script(script);
    sim_step(sim, 2);
    cr_expect_str_eq(failure_of(sim), sentence);
}

static void expect_refused(const char *script, const char *sentence)
{
    ls_sim_config config = config_of(script);
    ls_text why = {{0}};
    uint64_t block[8] = {0};
    cr_assert_eq(loaded.simulation->init(&config, block, &why), LS_BAD_ARGUMENT);
    cr_expect_str_eq(why.bytes, sentence);
}

/* One that is saved and loaded after every tick stays with one that is not. */
static void expect_same_when_loaded(const char *script, uint32_t ticks)
{
    static uint8_t bytes[SAVE_BYTES_MAX];
    static uint8_t again[SAVE_BYTES_MAX];
    sim_fixture *straight = open_script(script);
    sim_fixture *here = open_script(script);
    uint64_t first = hash_of(straight);
    for (uint32_t i = 0; i < ticks; i++) {
        sim_step(straight, 1);
        sim_step(here, 1);
        size_t size = save_of(here, bytes);
        if (i % 8 == 3) {
            here = open_script(script);
            sim_step(here, i + 1);
            cr_assert_eq(hash_of(here), hash_of(straight));
        }
        cr_assert_eq(load_into(here, bytes, size), LS_OK, "tick %u", i);
        cr_assert_eq(save_of(here, again), size);
        cr_assert_arr_eq(again, bytes, size);
        cr_assert_eq(hash_of(here), hash_of(straight), "tick %u", i);
        cr_assert_eq(failure_of(straight)[0], '\0', "%s", failure_of(straight));
    }
    cr_assert_neq(hash_of(straight), first);
}

Test(lua, two_instances_of_the_sample_are_equal_and_other_inputs_differ)
{
    sim_fixture *a = open_script(pong());
    sim_fixture *b = open_script(pong());
    for (int i = 0; i < 400; i++) {
        sim_run_bots(a, 1);
        sim_run_bots(b, 1);
        cr_assert_eq(hash_of(a), hash_of(b));
    }
    cr_assert_str_empty(failure_of(a));
    sim_set_input(a, 0, (const uint8_t[]){1}, 1);
    sim_set_input(b, 0, (const uint8_t[]){2}, 1);
    sim_step(a, 1);
    sim_step(b, 1);
    cr_assert_neq(hash_of(a), hash_of(b));
}

Test(lua, the_sample_goes_on_from_a_save)
{
    expect_same_when_loaded(pong(), 400);
}

Test(lua, any_bytes_and_events_are_played_the_same_way_twice)
{
    sim_fixture *a = open_script(pong());
    sim_fixture *b = open_script(pong());
    ls_rng rng = ls_rng_make(3, 1);
    for (int i = 0; i < 400; i++) {
        for (uint32_t slot = 0; slot < a->config.players; slot++) {
            uint8_t bytes[2] = {(uint8_t)ls_rng_next(&rng), (uint8_t)i};
            a->slots[slot].events = ls_rng_below(&rng, 16) < 4 ? ls_rng_below(&rng, 4) : 0;
            b->slots[slot].events = a->slots[slot].events;
            sim_set_input(a, slot, bytes, bytes[0] % 3);
            sim_set_input(b, slot, bytes, bytes[0] % 3);
        }
        sim_step(a, 1);
        sim_step(b, 1);
        cr_assert_eq(hash_of(a), hash_of(b));
    }
}

Test(lua, values_tables_cycles_and_metatables_are_saved)
{
    expect_same_when_loaded(
        "Point = {} Point.__index = Point\n"
        "Point.__add = function(a, b) return setmetatable({x = a.x + b.x}, Point) end\n"
        "p, one = setmetatable({x = 0.25}, Point), setmetatable({x = 1}, Point)\n"
        "ring = {} ring.ring = {ring, [0.5] = 'half', [true] = -1, [-3] = 2 ^ 0.3}\n"
        "math.tau = 2 * math.pi; utf8 = nil; string.shout = function(s) return s .. '!' end\n"
        "bits = {1 / 0, -1 / 0, 0 / 0, -0.0, math.mininteger, '\\0\\xff', ''}\n"
        "function step(tick) p = p + one; said = ('x'):shout(); r = math.random(6)\n"
        "  ring.ring[tick % 7] = nil; ring.ring[tick % 5] = tick * math.tau; n = #ring.ring end\n",
        60);
}

Test(lua, functions_share_the_variables_that_they_shared)
{
    expect_same_when_loaded("local n = 0\n"
                            "local function up() n = n + 1 return n end\n"
                            "function more() return up(), n end function less() n = n - 2 end\n"
                            "makers = {} for i = 1, 3 do makers[i] = function() i = i + n "
                            "return function() i = i * 2 return i end end end\n"
                            "function step(t) a, b = more() less() more() more()\n"
                            "  made = makers[t % 3 + 1]() c = made() % 1000 end\n",
                            40);
}

/* Loops of every kind, calls within constructors, varargs, pcall, tail calls, shared variables. */
static const char coroutines[] =
    "local hidden, upvalue = 10, nil\n"
    "local function deep(n, ...)\n"
    "  if n == 0 then local got = coroutine.yield(...) hidden = hidden + 1 return got, hidden end\n"
    "  local t = {1, (deep(n - 1, n, ...)), 3, x = n} return t[2]\n"
    "end\n"
    "log, i = {}, 0\n"
    "gen = coroutine.wrap(function() while true do i = i + 1 coroutine.yield(i) end end)\n"
    "co = coroutine.create(function(...) local all = {...}\n"
    "  for k = 1, 100 do for f = 0.5, 1.5, 0.5 do for name, v in pairs({a = 1, b = 2, [3] = 4}) "
    "do\n"
    "    for _, w in ipairs({5, 6}) do local mine = 0\n"
    "      upvalue = function() mine = mine + 1 return mine + k end\n"
    "      local ok, err = pcall(function(z) local r = deep(3, k, f, name)\n"
    "        if r and r % 7 == 0 then error('seven ' .. r) end\n"
    "        coroutine.yield(z, v, w, mine) return r end, k)\n"
    "      log[#log % 5 + 1] = tostring(ok) .. tostring(err)\n"
    "    end end end end end)\n"
    "iter = coroutine.create(function()\n"
    "  for a in function(_, c) c = (c or 0) + 1 coroutine.yield(c) if c < 9 then return c end end "
    "do\n"
    "    coroutine.yield(a, (function(...) return select('#', ...) end)(coroutine.yield(1))) end\n"
    "  return (function(...) return coroutine.yield(...) end)(1, 2) end)\n"
    "dead = coroutine.create(error) coroutine.resume(dead, 'x')\n"
    "new = coroutine.create(deep)\n"
    "function step(tick) a = {coroutine.resume(co, tick)} assert(a[1], a[2])\n"
    "  b = {coroutine.resume(iter)} g = gen() u = upvalue() s = coroutine.status(iter) end\n";

Test(lua, coroutines_go_on_from_where_they_waited)
{
    expect_same_when_loaded(coroutines, 150);
}

Test(lua, a_coroutine_that_cannot_be_saved_is_a_failure_with_a_reason)
{
    expect_failure("c = coroutine.create(function() local t = setmetatable({}, {__index = "
                   "function() return coroutine.yield() end}) return t.x end)\n"
                   "function step() coroutine.resume(c) end",
                   "a coroutine that waits within a metamethod cannot be saved (in global 'c') "
                   "(tick 0)");
    expect_failure("c = coroutine.create(function() local t <close> = setmetatable({}, {__close = "
                   "print}) coroutine.yield() end)\n"
                   "function step() coroutine.resume(c) end",
                   "a coroutine that waits within the scope of a variable to be closed cannot be "
                   "saved (in global 'c') (tick 0)");
}

Test(lua, an_error_of_the_script_is_kept_with_its_line_and_tick)
{
    expect_failure("function step(tick)\n  if tick == 1 then x.y = 1 end\nend",
                   "script:2: attempt to index a nil value (global 'x') (tick 1)");
    expect_failure(
        "function step()\n  while true do pcall(function() while true do end end) end\nend",
        "script:2: more than 5000000 instructions in one step (tick 0)");
    expect_failure("function step() local function f() return 1 + f() end f() end",
                   "script:1: stack overflow (tick 0)");
    expect_failure("function step() t = {} t[t] = 1 end",
                   "a key that is no number, string or boolean has no order that is the same on "
                   "every machine (tick 0)");
    expect_failure("function step() it = ('a b'):gmatch('a') end",
                   "an iterator of string.gmatch cannot be saved (in global 'it') (tick 0)");
    expect_failure("function step() s = ('x'):rep(300000) end",
                   "the state takes more than 256 KiB (--param state=...) (tick 0)");
    expect_failure("function step() mt = {} y = setmetatable({}, mt) mt.__mode = 'k' end",
                   "a metatable with __mode cannot be saved (in global 'y') (tick 0)");
}

Test(lua, a_failed_state_is_saved_loaded_and_drawn)
{
    static uint8_t bytes[SAVE_BYTES_MAX];
    const char *script = "n = 0 function step(t) n = n + 1 if t == 3 then error('over') end end";
    sim_fixture *a = open_script(script);
    sim_fixture *b = open_script(script);
    size_t before = save_of(b, bytes);
    sim_step(a, 5);
    uint64_t failed = hash_of(a);
    cr_assert_str_eq(failure_of(a), "script:1: over (tick 3)");
    ls_draw_list list = sim_draw(a, sim_state(a), LS_FIXED_HALF);
    cr_assert_eq(list.count, 1);
    cr_assert_str_eq(list.shapes[0].text, "script:1: over (tick 3)");
    cr_assert_eq(load_into(a, bytes, before), LS_OK);
    cr_assert_eq(hash_of(a), hash_of(b));
    cr_assert_str_empty(failure_of(a));
    sim_step(b, 4);
    cr_assert_eq(hash_of(b), failed);
    cr_assert_eq(load_into(a, bytes, save_of(b, bytes)), LS_OK);
    cr_assert_eq(hash_of(a), failed);
}

Test(lua, a_script_that_cannot_start_is_refused_with_its_line)
{
    expect_refused("function step(\n\n", "script:3: <name> or '...' expected near <eof>");
    expect_refused("function step() end\nfunction init(c)\n  error('no map')\nend",
                   "script:3: no map");
    expect_refused("x = 1", "script: it has no function 'step'");
    expect_refused("x = os.time()", "script:1: attempt to index a nil value (global 'os')");
    expect_refused("\033Lua", "attempt to load a binary chunk (mode is 't')");
}

/* Addresses, the order of a table, the length of one with holes, clocks: nothing of it is seen. */
Test(lua, what_depends_on_the_machine_is_the_same_everywhere)
{
    static const char script[] =
        "function init()\n"
        "  text = tostring({}) .. tostring(print) .. tostring(0 / 0) .. string.format('%p', {})\n"
        "  text = text .. string.format('%.1f %s', 0 / 0, coroutine.create(print))\n"
        "  order = '' for k in pairs({b = 1, a = 2, [2.5] = 0, [10] = 0, [-1] = 0, [false] = 0}) do"
        " order = order .. tostring(k) .. ' ' end\n"
        "  t = {1, 2, nil, 4, n = 1} first = next({z = 1, y = 2})\n"
        "  assert(text == 'tablefunctionnan(null)nan thread', text)\n"
        "  assert(order == '-1 2.5 10 a b false ', order)\n"
        "  assert(first == 'y' and #t == 4 and collectgarbage == nil and load == nil)\n"
        "  local minus, plus = -(0 / 0), 0 / 0\n"
        "  assert(minus .. plus == 'nannan' and #table.concat({minus, plus}) == 6)\n"
        "  assert(string.pack('<dd', minus, plus) == ('\\0\\0\\0\\0\\0\\0\\xf8\\x7f'):rep(2))\n"
        "end\nfunction step() end";
    ls_text why = {{0}};
    ls_sim_config config = config_of(script);
    uint64_t block[8] = {0};
    cr_assert_eq(loaded.simulation->init(&config, block, &why), LS_OK, "%s", why.bytes);
    loaded.simulation->deinit(&config, block);
}

static void alter(ls_rng *rng, uint8_t *bytes, size_t *size)
{
    uint32_t count = 1 + ls_rng_below(rng, 3);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = ls_rng_below(rng, (uint32_t)*size);
        uint32_t other = ls_rng_below(rng, (uint32_t)*size);
        uint32_t kind = ls_rng_below(rng, 4);
        bytes[place] = kind == 0   ? (uint8_t)(bytes[place] + 1)
                       : kind == 1 ? bytes[other]
                       : kind == 2 ? (uint8_t)(bytes[place] ^ (1u << other % 8))
                                   : (uint8_t)ls_rng_next(rng);
    }
    *size = ls_rng_below(rng, 16) == 0 ? ls_rng_below(rng, (uint32_t)*size) : *size;
}

/* The state is in variables of functions: no watched global's hash refuses what is altered. */
Test(lua, hostile_saves_are_refused_or_played)
{
    static char script[8192];
    static uint8_t good[SAVE_BYTES_MAX];
    static uint8_t bad[SAVE_BYTES_MAX];
    (void)snprintf(script, sizeof script,
                   "local log, i, gen, co, iter, dead, new, a, b, g, u, s\n%s", coroutines);
    sim_fixture *sim = open_script(script);
    ls_rng rng = ls_rng_make(5, 1);
    uint32_t played = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        if (round % 100 == 0) {
            sim = open_script(script);
            sim_step(sim, 5 + round / 100);
        }
        size_t size = save_of(sim, good);
        memcpy(bad, good, size);
        alter(&rng, bad, &size);
        uint64_t before = hash_of(sim);
        if (load_into(sim, bad, size) == LS_OK) {
            sim_step(sim, 3);
            played++;
        } else {
            cr_assert_eq(hash_of(sim), before);
        }
    }
    cr_assert_gt(played, 0);
}

Test(lua, what_a_bot_or_a_picture_changes_is_not_seen_by_the_match)
{
    sim_fixture *a =
        open_script("n = 0 function step() n = n + 1 end\n"
                    "function bot(slot) n = n + 100 math.random() return 'b' .. slot end\n"
                    "function draw(on) n = n + 1000 on.disc(1, n, 2, 3, 0xff) end\n"
                    "function control(slot, c) n = nil return c.up and 'u' or '' end");
    sim_fixture *b = open_script("n = 0 function step() n = n + 1 end");
    uint8_t bytes[LS_INPUT_BYTES_MAX];
    ls_controls controls = {.held = LS_CONTROL_UP};
    ls_rng rng = ls_rng_make(1, 1);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(loaded.simulation->bot(&a->config, sim_state(a), 1, &rng, bytes), 2);
        cr_assert_arr_eq(bytes, "b1", 2);
        cr_assert_eq(loaded.simulation->control(&a->config, sim_state(a), 1, &controls, bytes), 1);
        ls_draw_list list = sim_draw(a, sim_state(a), LS_FIXED_ONE);
        cr_assert_eq(list.count, 1);
        sim_step(a, 1);
        sim_step(b, 1);
    }
    uint8_t save[2][512];
    size_t size = save_of(a, save[0]);
    cr_assert_gt(size, save_of(b, save[1]));         /* it has more functions */
    cr_assert_arr_eq(save[0] + 24, save[1] + 24, 8); /* the watched n */
}

Test(lua, a_shape_is_blended_with_its_own_past)
{
    sim_fixture *sim = open_script("x = 0 function step() x = x + 4 end\n"
                                   "function draw(on) if x < 8 then on.disc(9, 0, 0, 1, 1) end\n"
                                   "  on.disc(1, x, -x, 1, 0xffffffff) end");
    sim_step(sim, 2);
    ls_draw_list list = sim_draw(sim, sim_state(sim), LS_FIXED_HALF);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(list.shapes[0].x, LS_FIXED_INT(6));
    cr_assert_eq(list.shapes[0].y, LS_FIXED_INT(-6));
}

Test(lua, a_sound_is_a_cue_of_the_newest_step)
{
    sim_fixture *sim = open_script("function step(t) if t == 1 then sound(7, 0.5, 1, 2) end end");
    ls_sound sounds[4];
    for (uint32_t tick = 0; tick < 3; tick++) {
        sim_step(sim, 1);
        ls_sound_list list = {.sounds = sounds, .capacity = 4};
        loaded.simulation->sounds(&sim->config, sim_state(sim), sim_state(sim), &list);
        cr_assert_eq(list.count, tick == 1);
    }
    cr_assert_eq(sounds[0].id, 7);
    cr_assert(sounds[0].has_place);
}

/* A desync is told by these names. */
Test(lua, the_values_of_globals_have_names_in_a_save)
{
    static uint8_t bytes[SAVE_BYTES_MAX];
    sim_fixture *sim =
        open_script("ball = {at = {x = 0.5}, 7} text = 'a' late = nil\n"
                    "function step(t) ball.at.x = 0.5 * t ball[1] = t text = t .. ''\n"
                    "  late = t end");
    ls_field fields[64];
    uint32_t count = loaded.simulation->save_fields_of(&sim->config, sim_state(sim), fields, 64);
    static const char *const paths[] = {"random.state", "random.increment", "ball",
                                        "ball[1]",      "ball.at.x",        "text"};
    cr_assert_eq(count, 6);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_str_eq(fields[i].path, paths[i]);
    }
    sim_step(sim, 4);
    (void)save_of(sim, bytes);
    double x = 0;
    memcpy(&x, bytes + fields[4].offset, sizeof x);
    cr_expect_eq(fields[4].type, LS_FIELD_F64);
    cr_expect_eq(x, 1.5);
    cr_expect_eq(bytes[fields[3].offset], 3);
}

Test(lua, a_state_that_grows_has_room_for_prediction)
{
    sim_fixture *sim =
        open_script("t = {} function step(n) for i = 1, 50 do t[#t + 1] = i end end");
    ls_snapshot_ring *ring = NULL;
    cr_assert_eq(ls_snapshot_ring_create(sim->instance, 4, ls_allocator_heap(), &ring), LS_OK);
    for (int i = 0; i < 100; i++) {
        sim_step(sim, 1);
        cr_assert_eq(ls_snapshot_ring_save(ring, hash_of(sim)), LS_OK, "%d", i);
    }
    ls_snapshot_ring_destroy(ring);
}

/* The same on every platform and with every compiler: strict maths, and an image without layout. */
Test(lua, the_sample_has_the_state_that_it_always_had)
{
    sim_fixture *sim = open_script(pong());
    sim_join(sim);
    for (uint8_t i = 0; i < 200; i++) {
        sim_set_input(sim, 0, (const uint8_t[]){i / 16 % 3}, 1);
        sim_set_input(sim, 1, (const uint8_t[]){i / 24 % 3}, 1);
        sim_step(sim, 2);
    }
    cr_assert_eq(hash_of(sim), 0x4a2c1985612dc918u, "0x%016llx", (unsigned long long)hash_of(sim));
}
