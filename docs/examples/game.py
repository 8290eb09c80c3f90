"""A networked game: ships on a line, the same as game.c, which it plays with.

usage: game.py PLAYERS TICKS hosts, game.py INVITE plays."""

import ctypes
import sys

import lockstep

SHIPS, LEFT, RIGHT = 4, 1, 2


class Ship(ctypes.Structure):
    _fields_ = [("place", ctypes.c_int32), ("speed", ctypes.c_int32)]  # mm, mm a tick


class State(ctypes.Structure):
    _fields_ = [("ships", Ship * SHIPS)]


def step(state, inputs):
    for ship, slot in zip(state.ships, inputs.slots):
        keys = slot.bytes[0] if slot.bytes else 0
        ship.speed += bool(keys & RIGHT) - bool(keys & LEFT)
        ship.place += ship.speed


units = {"ships.place": "mm", "ships.speed": "mm/tick"}
game = lockstep.Game("ships", State, step, players_max=SHIPS, units=units)

if len(sys.argv) > 2:
    with lockstep.Host(game, players=sys.argv[1], ticks=sys.argv[2]) as host:
        print(host.invite, flush=True)
        for event in host.run():
            print(event.text, flush=True)
else:
    with lockstep.Client(sys.argv[1], game) as client:
        while client.frame():
            if client.info.is_running:
                client.input(bytes([LEFT if client.info.tick // 60 % 2 else RIGHT]))
            for event in client.events():
                print(event.text)
        print(f"tick {client.info.tick}: the first ship is at {client['ships.place'][0]} mm")
