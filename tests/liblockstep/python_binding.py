#!/usr/bin/env python3
"""The Python binding, over UDP on this machine and beside the examples in C.

usage: python_binding.py LIBRARY GAME CLIENT SIMULATION [unittest's options...]

The library is liblockstep.so.0, and the rest are the programs of docs/examples of that name."""

import ctypes
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINDING = ROOT / "tools" / "bindings" / "python"
GAME_PY = ROOT / "docs" / "examples" / "game.py"
LIBRARY, GAME, CLIENT, SIMULATION = sys.argv[1:5]
# Also for the programs that are started from here.
os.environ["LOCKSTEP_LIBRARY"], os.environ["PYTHONPATH"] = LIBRARY, str(BINDING)
sys.path.insert(0, str(BINDING))

import lockstep  # noqa: E402  (it has just been made known)
from lockstep import EventKind, Status  # noqa: E402

FRAMES_MAX = 30000
LOCAL = {"invite_host": "127.0.0.1", "tick_rate": 240}


class Ship(ctypes.Structure):
    _fields_ = [("place", ctypes.c_int32), ("speed", ctypes.c_int32)]


class Ships(ctypes.Structure):
    _fields_ = [("ships", Ship * 4)]


def ships(flaw=0):
    """The game of game.c and game.py; with a flaw its ships are that much further in tick 20."""

    def step(state, inputs):
        for ship, slot in zip(state.ships, inputs.slots):
            keys = slot.bytes[0] if slot.bytes else 0
            ship.speed += bool(keys & 2) - bool(keys & 1)
            ship.place += ship.speed + (1000 if keys & 4 else 0)
            ship.place += flaw if inputs.tick == 20 else 0

    units = {"ships.place": "mm", "ships.speed": "mm/tick"}
    bits = {"edges": b"\4", "buttons": b"\3"}
    return lockstep.Game("ships", Ships, step, players_max=4, units=units, **bits)


def run_until(handles, is_reached):
    """Frames of all of them until it is so; returns every handle's events."""
    seen = [[] for _ in handles]
    for _ in range(FRAMES_MAX):
        for handle, events in zip(handles, seen):
            handle.frame(1)
            events += handle.events()
        if is_reached(seen):
            return seen
    raise AssertionError(f"it has not come so far: {seen}")


def has(events, kind, text=""):
    return any(event.kind == kind and text in event.text for event in events)


def end_of(handle):
    """The status with which it ends, and its last events."""
    events = []
    try:
        for event in handle.run(1):
            events.append(event)
    except lockstep.Error as error:
        return error.status, events
    return Status.OK, events


class Simulations(unittest.TestCase):
    def test_arenas_in_one_call_come_to_the_hash_of_c(self):
        printed = simulation_of_c.communicate()[0]
        sims = [lockstep.Simulation("arena", players=2, seed=seed) for seed in range(20)]
        batch = lockstep.Batch(sims)
        for tick in range(60):
            batch.step(bytes([tick]) * batch.input_bytes)
        self.assertIn(f"hash {sims[0].hash():016x}, ", printed)
        field = sims[0].fields()[0]
        self.assertIn(f"{field.path}: {field.count} of type {int(field.type)}, ", printed)
        for sim in sims:
            sim.close()

    def test_batch_steps_each_as_by_itself(self):
        many = [lockstep.Simulation("arena", players=2, seed=seed) for seed in range(3)]
        alone = [lockstep.Simulation("arena", players=2, seed=seed) for seed in range(3)]
        size = many[0].input_bytes
        for tick in range(30):
            inputs = bytearray((tick * 5 + i * 3) % 32 for i in range(6 * size))
            sizes = [size, 0] * 3 if tick % 2 else None
            lockstep.step_many(many, inputs, sizes)
            for place, sim in enumerate(alone):
                slots = [inputs[(place * 2 + slot) * size :][:size] for slot in range(2)]
                sim.step([slots[0], b""] if tick % 2 else slots)
        self.assertEqual([sim.hash() for sim in many], [sim.hash() for sim in alone])
        self.assertEqual(len({sim.hash() for sim in many}), 3)

    def test_saved_state_leads_to_the_same_hash_again(self):
        with lockstep.Simulation("units", players=2, seed=7) as sim:
            first = sim.hash()
            sim.step()
            saved = sim.save()
            sim.step()
            hash_then = sim.hash()
            sim.load(saved, tick=1)
            self.assertNotEqual(sim.hash(), hash_then)
            sim.step()
            self.assertEqual((sim.hash(), sim.info.tick), (hash_then, 2))
            with self.assertRaises(lockstep.Error) as raised:
                sim.load(saved[:-1], tick=1)
            self.assertEqual(raised.exception.status, Status.MALFORMED)
            self.assertEqual(sim.hash(), hash_then)
            sim.rewind()
            self.assertEqual(sim.hash(), first)

    def test_step_that_goes_by_more_than_its_state_is_found_with_its_field(self):
        with lockstep.Simulation(ships(), players=2) as sim:
            sim.check_steps(30)
        counted = []

        def step(state, inputs):
            counted.append(inputs.tick)
            state.ships[1].speed += len(counted)

        with lockstep.Simulation(lockstep.Game("counts", Ships, step), players=2) as sim:
            with self.assertRaises(lockstep.Error) as raised:
                sim.check_steps(30)
        self.assertEqual(raised.exception.status, Status.DESYNCED)
        self.assertIn("the step of tick 0", raised.exception.sentence)
        self.assertIn("ships[1].speed is 1, then 2;", raised.exception.sentence)

    def test_fields_read_what_the_state_holds(self):
        with lockstep.Simulation(ships(), players=2) as sim:
            for _ in range(3):
                sim.step([b"\2", b"\1"])
            self.assertEqual(sim["ships.place"], [6, -6, 0, 0])
            self.assertEqual(sim["ships.speed"], [3, -3, 0, 0])
            self.assertEqual(bytes(sim.state), struct.pack("=8i", 6, 3, -6, -3, 0, 0, 0, 0))
            self.assertEqual(sim.field("ships.place").unit, "mm")
            self.assertTrue(sim.state.readonly)
        with lockstep.Simulation("arena", players=2) as sim:
            field = sim.field("bodies.angle")
            self.assertEqual(field.type, lockstep.Type.ANGLE)
            turns, raw = field.read(sim.state), field.read(sim.state, raw=True)
            self.assertEqual([int(turn * 2**32) for turn in turns], raw)
            offset = field.offset + field.stride
            self.assertEqual(raw[1], struct.unpack_from("=I", sim.state, offset)[0])

    def test_arrays_are_views_of_the_state(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        with lockstep.Simulation(ships(), players=2) as sim:
            sim.step([b"\2", b"\1"])
            self.assertEqual(sim.array("ships.speed").tolist(), [[1], [-1], [0], [0]])
            self.assertEqual(numpy.frombuffer(sim.state, "i4").tolist()[:4], [1, 1, -1, -1])

    def test_python_struct_with_every_type_covers_its_state(self):
        kinds = [(f"m{i}", kind) for i, kind in enumerate((
            ctypes.c_uint8, ctypes.c_int64, ctypes.c_uint16, ctypes.c_float, ctypes.c_double,
            ctypes.c_int8, ctypes.c_uint64 * 2, Ship, ctypes.c_uint32 * 3, Ship * 2))]
        every = type("Every", (ctypes.Structure,), {"_fields_": kinds})

        def init(state, inputs):
            state.m1, state.m4, state.m6[1] = inputs.seed, 0.5, 2**63
            state.m9[1].speed = -3

        game = lockstep.Game("every", every, lambda state, inputs: None, init=init)
        with lockstep.Simulation(game, players=1, seed=9) as sim:
            self.assertEqual(sim["m1"] + sim["m4"] + sim["m6"], [9, 0.5, 0, 2**63])
            self.assertEqual(sim["m9.speed"], [0, -3])
            self.assertIn(lockstep.Type.PADDING, {field.type for field in sim.fields()})
        nested = type("Nested", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_void_p)]})
        bits = type("Bits", (Ship,), {"_fields_": [("b", ctypes.c_uint8, 3)]})
        for refused, text in ((nested, "a: a state holds num"), (bits, "b: a state holds whole")):
            with self.assertRaisesRegex(TypeError, text):
                lockstep.Game("refused", refused, lambda state, inputs: None)
        longer = type("Longer", (Ship,), {"_fields_": [("more", ctypes.c_uint8)]})
        with lockstep.Simulation(lockstep.Game("longer", longer, print), players=1) as sim:
            self.assertEqual([field.path for field in sim.fields()][:3], ["place", "speed", "more"])

    def test_masks_reach_the_library_at_the_size_of_an_input(self):
        game = lockstep.Game("masks", Ships, print, input_bytes=3, edges=b"\0\1")
        self.assertEqual(ctypes.string_at(game.c_game.edges, 3), b"\0\1\0")
        self.assertIsNone(game.c_game.buttons)
        with self.assertRaisesRegex(ValueError, "2 bytes .* input of 1"):
            lockstep.Game("masks", Ships, print, buttons=b"\0\1")

    def test_exception_of_a_step_reaches_the_caller(self):
        def step(state, inputs):
            raise ZeroDivisionError(f"in tick {inputs.tick}")

        game = lockstep.Game("broken", Ships, step, players_max=4)
        sim = lockstep.Simulation(game)
        with self.assertRaisesRegex(ZeroDivisionError, "in tick 0"):
            sim.step()
        with self.assertRaisesRegex(ZeroDivisionError, "in tick 1"):
            lockstep.step_many([sim], bytes(4))
        sim.close()

    def test_step_cannot_close_what_makes_it(self):
        class State(ctypes.Structure):
            _fields_ = [("steps", ctypes.c_uint32)]

        def step(state, inputs):
            state.steps += 1
            if state.steps == 1:
                simulation.close()

        with lockstep.Simulation(lockstep.Game("closer", State, step)) as simulation:
            with self.assertRaisesRegex(lockstep.Error, "a step of this handle's own") as raised:
                simulation.step()
            self.assertEqual(raised.exception.status, Status.BAD_ARGUMENT)
            simulation.step()
            self.assertEqual(simulation["steps"], [2])

    def test_misuse_raises_with_status_and_sentence(self):
        def refused(status, pattern, call):
            with self.assertRaisesRegex(lockstep.Error, pattern) as raised:
                call()
            self.assertEqual(raised.exception.status, status)

        bad = Status.BAD_ARGUMENT
        refused(Status.NOT_FOUND, "playes", lambda: lockstep.Host("arena", playes=2))
        refused(bad, "players.*128", lambda: lockstep.Host("arena", players=999))
        refused(Status.NOT_FOUND, "arena", lambda: lockstep.Simulation("no-such"))
        refused(bad, "set \"sim\"", lambda: lockstep.Simulation(None))
        sim = lockstep.Simulation("arena", players=2)
        batch = lockstep.Batch([sim])
        refused(Status.NOT_FOUND, "", lambda: sim["no.such"])
        refused(bad, "2 slots", lambda: sim.step([b""] * 3))
        refused(bad, "2 slots", lambda: sim.step([b"x" * (sim.input_bytes + 1)]))
        refused(bad, "inputs are", lambda: batch.step(b"x"))
        sim.close()
        sim.close()
        for call in (sim.step, sim.save, sim.hash, sim.rewind, lambda: sim.state, sim.fields,
                     lambda: batch.step(bytes(batch.input_bytes)), lambda: sim.info):
            refused(bad, "the handle is closed", call)

    def test_settings_are_listed(self):
        self.assertIn("players", lockstep.settings(lockstep.Kind.HOST))
        self.assertIn("predict", lockstep.settings(lockstep.Kind.CLIENT))


class Matches(unittest.TestCase):
    def test_python_host_and_client_play_with_the_c_game(self):
        with lockstep.Host(ships(), players=2, ticks=60, **LOCAL) as host:
            with subprocess.Popen([GAME, host.invite], stdout=subprocess.PIPE, text=True) as other:
                with lockstep.Client(host.invite, ships(), thread=True) as client:
                    client.input(b"\2")
                    for handle in (host, client):
                        self.assertTrue(handle.frame(-5), "a negative time is none")
                    self.assertEqual(end_of(host)[0], Status.OK)
                    status, events = end_of(client)
                    self.assertEqual(status, Status.OK)
                    self.assertEqual(host.hash(), client.hash())
                    places = client["ships.place"]
                    self.assertEqual(client.info.tick, 60)
                    slot = client.info.slot
                printed = other.stdout.read()
            # The C game prints where slot 0 is; whoever sits there flies to the right.
            self.assertIn(f"tick 60: the first ship is at {places[0]} mm", printed)
            self.assertIn(events[-1].text, printed, "the game's loop sees the last event")
            self.assertGreater(places[slot], 0)
            self.assertEqual(host.info.desyncs, 0)
            agreed = [host.player(slot).agreed_tick for slot in range(2)]
            self.assertEqual(agreed, [60, 60])

    def test_python_step_that_differs_from_c_is_found(self):
        with lockstep.Host(ships(flaw=1), players=1, ticks=60, **LOCAL) as host:
            with subprocess.Popen([GAME, host.invite], stdout=subprocess.DEVNULL):
                events = end_of(host)[1]
            self.assertGreater(host.info.desyncs, 0)
            self.assertEqual([e.tick for e in events if e.kind == EventKind.DESYNC][:1], [21])

    def test_example_hosts_the_c_game(self):
        command = [sys.executable, "-B", GAME_PY, "2", "20"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as host:
            invite = host.stdout.readline().strip()
            players = [
                subprocess.Popen(start + [invite], stdout=subprocess.PIPE, text=True)
                for start in ([GAME], command[:3])
            ]
            printed = [player.communicate()[0] for player in players]
            rest = host.stdout.read()
        ends = [re.findall("^tick 20: .*", text, re.MULTILINE) for text in printed]
        self.assertEqual(ends[0], ends[1])
        self.assertEqual(len(ends[0]), 1, printed)
        self.assertIn("final tick is 20", rest)
        self.assertEqual(host.returncode, 0)

    def test_arena_client_has_the_hash_of_the_c_client(self):
        with lockstep.Host("arena", players=2, ticks=60, thread=True, **LOCAL) as host:
            command = [CLIENT, host.invite]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
                with lockstep.Client(host.invite) as client:
                    pictures = 0
                    while client.frame():
                        client.input(b"\x10")
                        if client.info.is_running:
                            previous, state, alpha = client.view
                            self.assertEqual(len(previous), len(state))
                            self.assertTrue(0 <= alpha <= 1)
                            pictures += len(client.draw()) > 0
                    printed = other.stdout.read()
                    self.assertIn(f"over at tick 60, hash {client.hash():016x}", printed)
                    self.assertGreater(pictures, 0)

    def test_program_that_leaves_its_threads_open_ends(self):
        program = (
            "import sys; sys.argv = ['game.py', '1', '9000']\n"
            f"source = open({str(GAME_PY)!r}).read().split('if len')[0]\n"
            "exec(source)\n"
            "host = lockstep.Host(game, players=1, thread=True, tick_rate=240)\n"
            "client = lockstep.Client(f'127.0.0.1:{host.info.port}', game, thread=True)\n"
            "while client.info.tick < 20: client.frame(4)\n"
            "print('ends')\n"
        )
        command = [sys.executable, "-B", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        self.assertEqual((done.stdout, done.stderr), ("ends\n", ""))

    def test_chat_pause_and_kick_reach_the_player(self):
        with lockstep.Host("arena", players=1, **LOCAL) as host:
            with lockstep.Client(host.invite, name="ann") as client:
                both = [host, client]
                run_until(both, lambda seen: has(seen[1], EventKind.STARTED))
                self.assertEqual(host.player(0).name, "ann")
                host.say("hello")
                client.say("well met")
                run_until(both, lambda seen: has(seen[1], EventKind.SAID, "hello")
                          and has(seen[0], EventKind.CHAT, "well met"))
                host.pause("wait")
                run_until(both, lambda seen: has(seen[1], EventKind.PAUSED))
                host.resume("on")
                run_until(both, lambda seen: has(seen[1], EventKind.UNPAUSED))
                host.kick(0, "too late")
                with self.assertRaisesRegex(lockstep.Error, "too late") as raised:
                    run_until(both, lambda seen: False)
                self.assertEqual(raised.exception.status, Status.KICKED)
                with self.assertRaises(lockstep.Error) as raised:
                    host.kick(7, "who?")
                self.assertEqual(raised.exception.status, Status.NOT_FOUND)

    def test_saved_match_goes_on_from_its_journal(self):
        with tempfile.TemporaryDirectory() as folder:
            with lockstep.Host("arena", players=1, journal=folder, **LOCAL) as host:
                with lockstep.Client(host.invite) as client:
                    run_until([host, client], lambda seen: client.info.tick > 5)
                    host.save()
                    with self.assertRaises(lockstep.Error) as raised:
                        run_until([host, client], lambda seen: False)
                    self.assertEqual(raised.exception.status, Status.SAVED)
                tick = host.info.tick
            (journal,) = pathlib.Path(folder).iterdir()
            with lockstep.Host("arena", resume=journal, **LOCAL) as host:
                self.assertGreaterEqual(host.info.tick, tick)


class Environments(unittest.TestCase):
    def test_episodes_repeat_and_follow_their_actions(self):
        def played(environment, keys):
            seen = [list(environment.reset()[0])]
            for _ in range(3):
                observation, reward, is_done, is_late, info = environment.step(keys)
                seen.append((list(observation), reward, is_done, is_late, info["tick"]))
            return seen

        with lockstep.Environment(
            ships(), ["ships.place", "ships.speed"], players=2, ticks_a_step=2, ticks_max=6,
            reward=lambda sim: sim["ships.place"][0], is_done=lambda sim: sim["ships.speed"][0] > 5,
        ) as environment:
            right = played(environment, b"\2")
            self.assertEqual(right[0], [0.0] * 8)
            self.assertEqual(right[1], ([3, 0, 0, 0, 2, 0, 0, 0], 3.0, False, False, 2))
            self.assertEqual(right[3][1:], (21.0, True, True, 6))
            self.assertEqual(played(environment, b"\2"), right)
            self.assertNotEqual(played(environment, [b"\2", b"\1"]), right)

    def test_seed_makes_another_start(self):
        with lockstep.Environment("arena", ["bodies.angle"], players=2) as environment:
            hashes = []
            for seed in (1, 2, 1):
                environment.reset(seed=seed)
                hashes.append(environment.simulation.hash())
            self.assertEqual(hashes[0], hashes[2])
            self.assertNotEqual(hashes[0], hashes[1])


if __name__ == "__main__":
    # It steps while matches wait for their ticks.
    simulation_of_c = subprocess.Popen([SIMULATION], stdout=subprocess.PIPE, text=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
