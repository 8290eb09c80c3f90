"""A networked game: ships on a line, the same as game.c, which it plays with.

usage: game.py PLAYERS TICKS hosts, game.py INVITE plays."""

import ctypes
import sys

import lockstep

SHIPS, LEFT, RIGHT, JUMP = 4, 1, 2, 4


class Ship(ctypes.Structure):
    _fields_ = [("place", ctypes.c_int32), ("speed", ctypes.c_int32)]  # mm, mm a tick


class State(ctypes.Structure):
    _fields_ = [("ships", Ship * SHIPS)]


def step(state, inputs):
    for ship, slot in zip(state.ships, inputs.slots):
        keys = slot.bytes[0] if slot.bytes else 0
        ship.speed += bool(keys & RIGHT) - bool(keys & LEFT)
        ship.place += ship.speed + (1000 if keys & JUMP else 0)


units = {"ships.place": "mm", "ships.speed": "mm/tick"}
game = lockstep.Game(
    "ships", State, step, players_max=SHIPS, units=units, edges=bytes([JUMP]),
    buttons=bytes([LEFT | RIGHT]),
)

if len(sys.argv) > 2:
    with lockstep.Host(game, players=sys.argv[1], ticks=sys.argv[2]) as host:
        print(host.invite, flush=True)
        for event in host.run():
            print(event.text, flush=True)
else:
    with lockstep.Client(sys.argv[1], game) as client:
        held, goes_on = 0, True
        while goes_on:
            goes_on = client.frame()
            if client.info.is_running:
                keys = LEFT if client.info.tick // 60 % 2 else RIGHT
                if keys != held:
                    client.input(bytes([keys | JUMP]), once=True)  # in one tick
                client.input(bytes([keys]))  # from now on
                held = keys
            for event in client.events():
                print(event.text)
        print(f"tick {client.info.tick}: the first ship is at {client['ships.place'][0]} mm")
