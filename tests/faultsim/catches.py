"""catches.py PROGRAM FAULT INVARIANT SEEDS [BOUND]: over cores that are broken in one place the
fault simulation ends with exit code 3, names that place's invariant, and measures more than the
bound, within SEEDS seeds. FAULT none: all is well, and the bounds are all that it measures."""

import json
import subprocess
import sys

CLEAN = 0
BROKEN = 3
PARTS = 8


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def parts_of(seeds):
    """(first, last) of about eight parts of 1..seeds: what the first ones show need not be shown
    again."""
    step = -(-seeds // PARTS)
    return [(first, min(first + step - 1, seeds)) for first in range(1, seeds + 1, step)]


def play(program, fault, first, last):
    return subprocess.run([program, fault, str(first), str(last)], capture_output=True, text=True,
                          check=False, errors="replace")


def check_unbroken(result, bounds):
    expect(result.returncode == CLEAN, "exit code", result)
    report = json.loads(result.stdout)
    expect(report["hashes_compared"] > 0, "nothing was compared", result)
    expect(not report["failures"], "a broken invariant where none was broken", result)
    unbroken = set(report["bounds"]) ^ set(bounds)
    expect(not unbroken, f"no fault passes these bounds: {sorted(unbroken)}", result)


def check_found(result, report, invariant, bounds):
    named = {failure["invariant"] for failure in report["failures"]}
    expect(result.returncode == BROKEN, "exit code", result)
    expect(invariant in named, f"{invariant} is not named, but {sorted(named)}", result)
    for bound in bounds:
        share = report["bounds"][bound]
        expect(share > 1, f"{bound} is at {share} of what it may be", result)
    expect("again: lockstep-faultsim --seed " in result.stderr, "how to play it again", result)


def is_found(report, invariant, bounds):
    return (any(failure["invariant"] == invariant for failure in report["failures"])
            and all(report["bounds"][bound] > 1 for bound in bounds))


def main():
    program, fault, invariant, seeds, *bounds = sys.argv[1:]
    if fault == "none":
        check_unbroken(play(program, fault, 1, int(seeds)), bounds)
        return
    for first, last in parts_of(int(seeds)):
        result = play(program, fault, first, last)
        expect(result.returncode in (CLEAN, BROKEN), "exit code", result)
        report = json.loads(result.stdout)
        expect(report["hashes_compared"] > 0, "nothing was compared", result)
        if is_found(report, invariant, bounds):
            break
    check_found(result, report, invariant, bounds)
    print(f"{fault}: {report['failure_count']} of {report['matches']} in {first}..{last}")


main()
