#!/usr/bin/env python3
"""Are the innocent left in peace? Virtual matches of all built-in simulations, with loss, jitter,
late joiners, reconnects, spectators and slow computers, and with no fault in any state: each
simulation in turn gets the same time, and every hash that the server compares has to agree.

    nice tests/soak/innocents.py build/release/bin/lockstep-faultsim --minutes 60 --hashes 10000000

Prints a line for each turn and a table at the end. Ends with 0, or with 1 when a difference was
reported or an invariant broke; the seeds are said, and play the same match again."""

import argparse
import json
import subprocess
import sys
import time

SIMULATIONS = ("arena", "units", "tumble", "rope", "spring")
PLAYERS = {"arena": 8, "units": 4, "tumble": 4, "rope": 2, "spring": 2}
# Not `alter`: without a seal a flipped bit of a packet can be another input, and a real difference.
FAULTS = "loss,burst,jitter,duplicate,partition,slow,clock,vanish,join,reconnect,watch"
TICKS = 3000
TURN_S = 20  # a turn of one simulation, about


class Played:
    """What one simulation has been put through so far."""

    def __init__(self, name, first_seed):
        self.name = name
        self.next_seed = first_seed
        self.seeds_a_turn = 1
        self.matches = self.hashes = self.alarms = 0
        self.failures = []

    def command(self, faultsim):
        last = self.next_seed + self.seeds_a_turn - 1
        return [faultsim, "--sim", self.name, f"--seeds={self.next_seed}..{last}", "--jobs=1",
                f"--players={PLAYERS[self.name]}", f"--ticks={TICKS}", f"--faults={FAULTS}",
                "--json=-", "--quiet"]

    def play(self, faultsim):
        began = time.monotonic()
        done = subprocess.run(self.command(faultsim), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        took_s = time.monotonic() - began
        try:
            report = json.loads(done.stdout)
        except ValueError:
            sys.exit(f"{' '.join(self.command(faultsim))} said: {done.stderr[-2000:]}")
        totals = report.get("totals", report)
        self.matches += self.seeds_a_turn
        self.hashes += totals["hashes_compared"]
        self.alarms += totals["desyncs"]
        self.failures += report["failures"]
        print(f"{self.name}: seeds from {self.next_seed}, {self.hashes:,} hashes in "
              f"{self.matches} matches, {self.alarms} alarms, {len(self.failures)} failures",
              flush=True)
        self.next_seed += self.seeds_a_turn
        self.seeds_a_turn = max(1, int(self.seeds_a_turn * min(8, TURN_S / max(took_s, 0.01))))


def main():
    arguments = argparse.ArgumentParser(description=__doc__,
                                        formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("faultsim")
    arguments.add_argument("--minutes", type=float, default=60)
    arguments.add_argument("--hashes", type=int, default=10_000_000, help="enough of them")
    arguments.add_argument("--seed", type=int, default=1, help="the first one")
    given = arguments.parse_args()
    end = time.monotonic() + given.minutes * 60
    all_played = [Played(name, given.seed) for name in SIMULATIONS]
    while time.monotonic() < end and sum(p.hashes for p in all_played) < given.hashes:
        for played in all_played:
            if time.monotonic() < end:
                played.play(given.faultsim)
    for played in all_played:
        print(f"{played.name:8} {played.hashes:>12,} hashes {played.matches:>7,} matches "
              f"{played.alarms:>3} alarms")
        for failure in played.failures:
            print(f"  {failure}")
    hashes = sum(p.hashes for p in all_played)
    print(f"{hashes:,} hashes compared, {sum(p.alarms for p in all_played)} alarms")
    is_wrong = any(p.alarms or p.failures or not p.hashes for p in all_played)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
