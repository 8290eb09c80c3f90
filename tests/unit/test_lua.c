#define _POSIX_C_SOURCE 200809L
/* The lua plug-in: scripts whose `storage` is saved, loaded and hashed, and nothing else changes.
 */
#include "lockstep/common/base/hash.h"
#include "lockstep/common/simulation/snapshot_ring.h"
#include "lockstep/tests/support/plugin_fixture.h"
#include "lockstep/tests/support/sim_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

Test(lua, values_and_shared_and_cyclic_tables_are_saved)
{
    expect_same_when_loaded(
        "local Point = {} Point.__index = Point\n"
        "Point.__add = function(a, b) return {x = a.x + b.x} end\n"
        "math.tau = 2 * math.pi; utf8 = nil; string.shout = function(s) return s .. '!' end\n"
        "function init()\n"
        "  storage.p, storage.one = {x = 0.25}, {x = 1}\n"
        "  local ring = {} ring.ring = {ring, home = storage, [0.5] = 'half', [true] = -1, [-3] = "
        "2 ^ "
        "0.3}\n"
        "  storage.ring, storage.again = ring, ring.ring\n"
        "  storage.bits = {1 / 0, -1 / 0, 0 / 0, -0.0, math.mininteger, '\\0\\xff', ''}\n"
        "  storage[1] = storage.bits end\n"
        "function step(tick) local s = storage\n"
        "  s.p = getmetatable(setmetatable(s.p, nil)) or Point.__add(s.p, s.one)\n"
        "  s.said = ('x'):shout(); s.r = math.random(6); s.again.home.twice = 2 * s.r\n"
        "  s.ring.ring[tick % 7] = nil; s.again[tick % 5] = tick * math.tau; s.n = #s.again end\n",
        60);
}

Test(lua, deep_lists_take_no_deep_stack)
{
    expect_same_when_loaded("function step(t) for i = 1, 900 do storage.list = "
                            "{next = storage.list} end\n"
                            "  if t % 4 == 3 then storage.list = nil end end",
                            18);
}

/* A step may make anything that is gone at its end. */
Test(lua, coroutines_and_closures_work_within_a_step)
{
    expect_same_when_loaded("function step(tick) local n = 0\n"
                            "  local co = coroutine.wrap(function() for i = 1, 5 do n = n + i "
                            "coroutine.yield(n) end end)\n"
                            "  storage.sum = co() + co() + co() storage.left = tick\n"
                            "  storage.f = co storage.f = nil\n"
                            "  local weird = {[co] = 1, [{}] = 2} storage.count = weird[co]\n"
                            "  for word in ('a b c'):gmatch('%a') do storage[word] = n end end\n",
                            10);
}

Test(lua, what_cannot_be_kept_is_refused_with_its_line_and_path)
{
#define KEPT " cannot be kept in 'storage' (tick 1)"
    static const char *const cases[][2] = {
        {"function step(t) if t == 1 then\n storage.f = print end end",
         "script:2: storage.f: a function" KEPT},
        {"function step(t)\n local x = {} storage.a = {x, {y = x}}\n if t == 1 then\n"
         "  x.co = coroutine.create(print) end end",
         "script:4: storage.a[1].co: a coroutine" KEPT},
        {"function step(t) if t == 1 then storage.it = ('a b'):gmatch('a') end end",
         "script:1: storage.it: a function" KEPT},
        {"local mt = {} function step(t) if t == 1 then\n\n\n storage.y = setmetatable({}, mt) end "
         "end",
         "script:4: storage.y: a table with a metatable" KEPT},
        {"local LEVEL = {1} function step(t) if t == 1 then\n storage.y = LEVEL end end",
         "script:2: storage.y: a table that is reached from elsewhere too" KEPT},
        {"function step(t) if t == 1 then\n storage[true] = {}\n storage[true][math] = 1 end end",
         "script:3: storage[true]: a key that is no number, string or boolean has no order that is "
         "the same on every machine (tick 1)"},
        {"local function f(t)\n if t == 1 then return print end end\nfunction step(t)\n"
         " storage.a =\n  f(t) end",
         "script:5: storage.a: a function" KEPT},
        {"function step(t) if t == 1 then\n storage.a = print\n storage.a = nil\n"
         "storage.b = print end end",
         "script:4: storage.b: a function" KEPT},
        {"function step(t) if t == 1 then\n storage = 7 end end",
         "script:2: 'storage' is no table (tick 1)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_failure(cases[i][0], cases[i][1]);
    }
}

Test(lua, all_but_storage_is_fixed_after_load)
{
#define CHANGED                                                                                    \
    " has changed since the script was loaded: a script keeps its state in 'storage' (tick 1)"
    static const char *const cases[][2] = {
        {"function step(t)\n if t == 1 then n = 1 end end", "script:2: a global" CHANGED},
        {"local n = 0\nfunction step(t)\n n = t end", "script:3: a variable of a function" CHANGED},
        {"local cache = {}\nlocal function keep(t)\n cache.x = t ~= 0 or nil end\n"
         "function step(t)\n keep(t) end",
         "script:3: variable 'cache'" CHANGED},
        {"A = {b = {1}}\nfunction step(t)\n if t == 1 then\n  table.insert(A.b, 2) end end",
         "script:4: global 'A.b'" CHANGED},
        {"function step(t) if t == 1 then\n math.x = 1 end end", "script:2: global 'math'" CHANGED},
        {"A = {}\nfunction step(t) if t == 1 then\n rawset(_G, 'A', nil) end end",
         "script:3: a global" CHANGED},
        {"A = {}\nfunction step(t) if t == 1 then\n setmetatable(A, {}) end end",
         "script:3: global 'A'" CHANGED},
        {"function step(t) if t == 1 then\n getmetatable('').__len = print end end",
         "script:2: metatable of strings ''" CHANGED},
        {"function step(t) if t == 1 then\n step = print end end", "script:2: a global" CHANGED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_failure(cases[i][0], cases[i][1]);
    }
}

/* A guess that broke a rule leaves nothing behind when the match goes back to before it. */
Test(lua, a_state_that_is_loaded_after_a_failure_has_the_outside_of_the_start)
{
    static uint8_t bytes[SAVE_BYTES_MAX];
    const char *script = "local n = {5} function step(t, inputs) storage.n = n[1] + t\n"
                         "  if inputs[0].bytes == 'x' then n[1] = 7 end end";
    sim_fixture *guesses = open_script(script);
    sim_fixture *straight = open_script(script);
    sim_step(guesses, 3);
    sim_step(straight, 3);
    size_t size = save_of(guesses, bytes);
    sim_set_input(guesses, 0, (const uint8_t *)"x", 1);
    sim_step(guesses, 1);
    cr_assert_str_not_empty(failure_of(guesses));
    sim_set_input(guesses, 0, (const uint8_t *)"", 0);
    cr_assert_eq(ls_sim_instance_load(guesses->instance, bytes, size, 3), LS_MALFORMED);
    cr_assert_eq(load_into(guesses, bytes, size), LS_OK);
    cr_assert_eq(hash_of(guesses), hash_of(straight));
    const ls_slot_input slots[2] = {{0}};
    const ls_tick_inputs inputs = {3, 2, slots};
    const ls_step step = {&guesses->config, &inputs, sim_state(guesses), NULL, NULL, NULL};
    loaded.simulation->passes[0].run(&step);
    sim_step(straight, 1);
    cr_assert_str_empty(failure_of(guesses));
    cr_assert_eq(hash_of(guesses), hash_of(straight));
}

Test(lua, an_error_of_the_script_is_kept_with_its_line_and_tick)
{
    expect_failure("function step(tick)\n  if tick == 1 then x.y = 1 end\nend",
                   "script:2: attempt to index a nil value (global 'x') (tick 1)");
    expect_failure(
        "function step()\n  while true do pcall(function() while true do end end) end\nend",
        "script:2: more than 5000000 instructions in one step (tick 0)");
    expect_failure("function step()\n  while true do coroutine.wrap(function() end)() end\nend",
                   "script:2: more than 5000000 instructions in one step (tick 0)");
    expect_failure("function step() pcall(coroutine.wrap(function() while true do end end)) end",
                   "more than 5000000 instructions in one step (tick 0)");
    expect_failure("function step() local function f() return 1 + f() end f() end",
                   "script:1: stack overflow (tick 0)");
    expect_failure("function step()\n for k in pairs({[{}] = 1}) do end end",
                   "script:2: a key that is no number, string or boolean has no order that is the "
                   "same on every machine (tick 0)");
    expect_failure("function step() storage.s = ('x'):rep(300000) end",
                   "script:1: the state takes more than 256 KiB (--param state=...) (tick 0)");
}

Test(lua, a_failed_state_is_saved_loaded_and_drawn)
{
    static uint8_t bytes[SAVE_BYTES_MAX];
    const char *script = "storage.n = 0 function step(t) storage.n = storage.n + 1\n"
                         "if t == 3 then error('over') end end";
    sim_fixture *a = open_script(script);
    sim_fixture *b = open_script(script);
    size_t before = save_of(b, bytes);
    sim_step(a, 5);
    uint64_t failed = hash_of(a);
    cr_assert_str_eq(failure_of(a), "script:2: over (tick 3)");
    ls_draw_list list = sim_draw(a, sim_state(a), LS_FIXED_HALF);
    cr_assert_eq(list.count, 1);
    cr_assert_str_eq(list.shapes[0].text, "script:2: over (tick 3)");
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
    expect_refused("storage.a = {print} function step() end",
                   "storage.a[1]: a function cannot be kept in 'storage'");
    expect_refused(
        "local A = {co = coroutine.wrap(print)} function step() return A end",
        "script: variable '' is a coroutine, which changes by itself: a script keeps its "
        "state in 'storage'");
    expect_refused("A = {it = ('a'):gmatch('a')} function step() end",
                   "script: variable '' is an iterator of string.gmatch, which changes by itself: "
                   "a script keeps its state in 'storage'");
    expect_refused("A = {[print] = 1} function step() end",
                   "global 'A': a key that is no number, string or boolean has no order that is "
                   "the same on every machine");
}

Test(lua, marks_of_editors_and_shells_are_no_part_of_a_script)
{
    expect_failure("\xef\xbb\xbf#!/usr/bin/lua\nfunction step()\n error('here') end",
                   "script:3: here (tick 0)");
}

/* Addresses, the order of a table, the length of one with holes, clocks: nothing of it is seen. */
Test(lua, what_depends_on_the_machine_is_the_same_everywhere)
{
    static const char script[] =
        "function init()\n"
        "  local text = tostring({}) .. tostring(print) .. tostring(0 / 0) .. string.format('%p', "
        "{})\n"
        "  text = text .. string.format('%.1f %s', 0 / 0, coroutine.create(print))\n"
        "  local order = '' for k in pairs({b = 1, a = 2, [2.5] = 0, [10] = 0, [-1] = 0, [false] = "
        "0}) do"
        " order = order .. tostring(k) .. ' ' end\n"
        "  local t, first = {1, 2, nil, 4, n = 1}, next({z = 1, y = 2})\n"
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

/* A table that was loaded has another past than one that was played: `#` is the same all the same.
 */
Test(lua, the_length_of_a_table_with_holes_follows_from_its_content)
{
    expect_same_when_loaded(
        "storage.t = {} function step(tick) local t, s = storage.t, storage\n"
        "  for i = 1, 3 do local k = math.random(40)\n"
        "    if math.random(3) > 1 then t[k] = tick else t[k] = nil end\n"
        "    if tick % 9 == 0 then t['k' .. k] = k end\n"
        "    s[i] = #t s.sum = (s.sum or 0) * 31 + #t end\n"
        "  if tick % 50 == 0 then storage.t = {1, 2, 3, nil, 5, nil, nil, 8} end end\n",
        400);
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

Test(lua, hostile_saves_are_refused_or_played)
{
    static uint8_t good[SAVE_BYTES_MAX];
    static uint8_t bad[SAVE_BYTES_MAX];
    const char *script = "storage.a = {text = 'text', list = {1, 2.5, true, {}}, [0.5] = 'half'}\n"
                         "storage.b = storage.a.list\n"
                         "function step(t) storage.a[t % 9] = {t, 'x' .. t, storage.b}\n"
                         "  storage.n = #storage.b end";
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
    sim_fixture *a = open_script(
        "storage.n = 0 function step() storage.n = storage.n + 1 end\n"
        "function bot(slot) storage.n = storage.n + 100 math.random() return 'b' .. slot end\n"
        "function draw(on) storage.n = storage.n + 1000 on.disc(1, storage.n, 2, 3, 0xff) end\n"
        "function control(slot, c) storage.n = nil return c.up and 'u' or '' end");
    sim_fixture *b = open_script("storage.n = 0 function step() storage.n = storage.n + 1 end");
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
    cr_assert_eq(hash_of(a), hash_of(b));
}

Test(lua, a_script_says_what_stands_beside_the_picture)
{
    sim_fixture *sim =
        open_script("storage.n = 0 function step() storage.n = storage.n + 1 end\n"
                    "function status(on, slot)\n"
                    "  storage.n = storage.n + 100\n"
                    "  on.seat(1, 'n ' .. storage.n, 0x112233ff)\n"
                    "  on.match('a\\27b')\n"
                    "  if slot then on.person('back in ' .. slot) on.keys('W jumps') end\n"
                    "end");
    const ls_sim_instance *instance = sim->instance;
    sim_expect_keys(sim, "W jumps");
    cr_expect_str_eq(sim_status(instance, 1, LS_STATUS_PERSON, 0), "back in 1");
    cr_expect_str_eq(sim_status(instance, 0, LS_STATUS_PERSON, 0), "back in 0");
    cr_expect_null(sim_status(instance, 2, LS_STATUS_PERSON, 0), "a spectator");
    cr_expect_str_eq(sim_status(instance, 2, LS_STATUS_MATCH, 0), "a?b");
    cr_expect_str_eq(sim_status(instance, 0, LS_STATUS_SEAT, 1), "n 100");
    cr_expect_null(sim_status(instance, 0, LS_STATUS_SEAT, 0));
    sim_step(sim, 2);
    cr_expect_str_eq(sim_status(instance, 0, LS_STATUS_SEAT, 1), "n 102");
}

/* More lines than a view has room for are left out, and the match goes on. */
Test(lua, a_script_may_say_too_much)
{
    sim_fixture *sim = open_script("function step() end function status(on)\n"
                                   "for i = 0, 999 do on.seat(i, ('x'):rep(2000)) end end");
    cr_expect_eq(strlen(sim_status(sim->instance, 0, LS_STATUS_SEAT, LS_PLAYERS_MAX)), 511u);
    cr_expect_null(sim_status(sim->instance, 0, LS_STATUS_SEAT, LS_PLAYERS_MAX + 8));
}

/* ---- standard error ---- */

static FILE *heard;
static int own_errors;

static void begin_listening(void)
{
    heard = tmpfile();
    own_errors = dup(STDERR_FILENO);
    cr_assert(heard && dup2(fileno(heard), STDERR_FILENO) >= 0);
}

static void end_listening(char *said, size_t capacity)
{
    cr_assert(dup2(own_errors, STDERR_FILENO) >= 0);
    rewind(heard);
    said[fread(said, 1, capacity - 1, heard)] = '\0';
    (void)fclose(heard);
    (void)close(own_errors);
}

/* The words go to standard error, once; bots press any button then. */
Test(lua, a_bot_that_fails_is_told_of_once_and_not_asked_again)
{
    static const char *const cases[][2] = {
        {"function bot() return 7 end", "bot returns a number, which is no string"},
        {"function bot() return ('x'):rep(65) end", "bot returns 65 bytes; an input has up to 64"},
        {"function bot()\n error('lost') end", "script:2: lost"},
        {"function bot() while true do end end", "more than 5000000 instructions in one step"},
        {"local n = 0 function bot()\n n = n + 1 return '' end",
         "script:2: a variable of a function has changed since the script was loaded"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char script[256], said[1024] = "";
        (void)snprintf(script, sizeof script, "function step() end %s", cases[i][0]);
        sim_fixture *sim = open_script(script);
        ls_rng rng = ls_rng_make(1, 1);
        uint8_t bytes[LS_INPUT_BYTES_MAX];
        begin_listening();
        for (int tick = 0; tick < 3; tick++) {
            cr_expect_eq(loaded.simulation->bot(&sim->config, sim_state(sim), 0, &rng, bytes), 1);
        }
        end_listening(said, sizeof said);
        const char *words = strstr(said, cases[i][1]);
        cr_expect(words && !strstr(words + 1, cases[i][1]), "%s", said);
    }
}

Test(lua, a_status_that_fails_is_told_of_once_and_says_nothing)
{
    char said[1024] = "";
    sim_fixture *sim = open_script("function step() end\n"
                                   "function status(on) on.match('here') on.seat({}) end");
    begin_listening();
    for (int tick = 0; tick < 3; tick++) {
        cr_expect_null(sim_status(sim->instance, 0, LS_STATUS_MATCH, 0));
        sim_step(sim, 1);
    }
    end_listening(said, sizeof said);
    const char *words = strstr(said, "'status' has failed");
    cr_expect(words && !strstr(words + 1, "'status' has failed"), "%s", said);
}

Test(lua, a_step_prints_once_and_a_picture_not_at_all)
{
    char said[256] = "";
    sim_fixture *sim = open_script("function step(t) print('tick', t, {}) end\n"
                                   "function draw() print('drawn') end");
    begin_listening();
    sim_step(sim, 2);
    (void)sim_draw(sim, sim_state(sim), LS_FIXED_HALF);
    end_listening(said, sizeof said);
    cr_expect_str_eq(said, "lua: tick\t0\ttable\nlua: tick\t1\ttable\n");
}

/* Its log may be a pipe that nobody reads, or whose reader has left. */
Test(lua, a_failing_script_does_not_wait_for_its_log)
{
    (void)signal(SIGPIPE, SIG_IGN); /* as the programs have it */
    char bytes[4096] = "";
    for (int has_left = 0; has_left < 2; has_left++) {
        int ends[2];
        int before = dup(STDERR_FILENO);
        cr_assert_eq(pipe(ends), 0);
        cr_assert_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
        while (write(ends[1], bytes, sizeof bytes) > 0) {
        }
        cr_assert_eq(fcntl(ends[1], F_SETFL, 0), 0);
        if (has_left) {
            (void)close(ends[0]);
        }
        cr_assert(dup2(ends[1], STDERR_FILENO) >= 0);
        sim_fixture *sim = open_script("function step() error('over') end");
        sim_step(sim, 2);
        cr_assert(dup2(before, STDERR_FILENO) >= 0);
        cr_expect_str_eq(failure_of(sim), "script:1: over (tick 0)");
        (void)close(before);
        (void)close(ends[1]);
        if (!has_left) {
            (void)close(ends[0]);
        }
    }
}

/* No counter of a picture survives: it would be another one after a rollback. */
Test(lua, a_picture_that_keeps_something_outside_storage_shows_the_rule)
{
    sim_fixture *sim = open_script("frame = 0 function step() end\n"
                                   "function draw(on)\n frame = frame + 1\n"
                                   " on.disc(1, 0, 0, 1, 1) end");
    for (int i = 0; i < 3; i++) {
        sim_step(sim, 1);
        ls_draw_list list = sim_draw(sim, sim_state(sim), LS_FIXED_HALF);
        cr_assert_eq(list.count, 2);
        cr_expect(strstr(list.shapes[0].text, "script:3: a global has changed"), "%s",
                  list.shapes[0].text);
    }
}

Test(lua, a_shape_is_blended_with_its_own_past)
{
    sim_fixture *sim = open_script(
        "storage.x = 0 function step() storage.x = storage.x + 4 end\n"
        "function draw(on) local x = storage.x if x < 8 then on.disc(9, 0, 0, 1, 1) end\n"
        "  on.disc(1, x, -x, 1, 0xffffffff) end");
    sim_step(sim, 2);
    ls_draw_list list = sim_draw(sim, sim_state(sim), LS_FIXED_HALF);
    cr_assert_eq(list.count, 1);
    cr_assert_eq(list.shapes[0].x, LS_FIXED_INT(6));
    cr_assert_eq(list.shapes[0].y, LS_FIXED_INT(-6));
}

static void expect_bits(const char *script, const char *edges, const char *buttons)
{
    uint8_t masks[2][64] = {{0}};
    sim_fixture *sim = open_script(script);
    cr_assert(ls_sim_instance_input_bits(sim->instance, &(ls_input_bits){masks[0], masks[1]}));
    cr_expect_arr_eq(masks[0], edges, 2, "%s", script);
    cr_expect_arr_eq(masks[1], buttons, 2, "%s", script);
}

Test(lua, a_script_says_which_bits_of_an_input_are_moves)
{
    const char *nothing = "function step() end";
    expect_bits(nothing, "\x00\x00", "\xFF\x00");
    expect_bits("input_edges = '\\x10' function step() end", "\x10\x00", "\xFF\x00");
    expect_bits("input_edges = '\\x00\\x01' input_buttons = '\\x0F' function control() end"
                " function step() end",
                "\x00\x01", "\x0F\x00");
    expect_bits("input_edges = 7 function control() end function step() end", "\x00\x00",
                "\x00\x00");
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
Test(lua, the_values_of_storage_have_names_in_a_save)
{
    static uint8_t bytes[SAVE_BYTES_MAX];
    sim_fixture *sim =
        open_script("storage = {ball = {at = {x = 0.5}, 7}, text = 'a'}\n"
                    "function step(t) local s = storage s.ball.at.x = 0.5 * t s.ball[1] = t\n"
                    "  s.text = s.text .. '' s.late = t end");
    ls_field fields[64];
    uint32_t count = loaded.simulation->save_fields_of(&sim->config, sim_state(sim), fields, 64);
    static const char *const paths[] = {"random.state",    "random.increment",  "storage.ball",
                                        "storage.ball[1]", "storage.ball.at.x", "storage.text"};
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
    sim_fixture *sim = open_script("storage.t = {} function step(n) local t = storage.t\n"
                                   "for i = 1, 50 do t[#t + 1] = i end end");
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
    cr_assert_eq(hash_of(sim), 0xa0b1feab5e08defdu, "0x%016llx", (unsigned long long)hash_of(sim));
}
