"""catches.py PROGRAM FAULT INVARIANT SEEDS [BOUND]: over cores that are broken in one place the
fault simulation ends with exit code 3, names that place's invariant, and measures more than the
bound. FAULT none: all is well, and the bounds are all that it measures."""

import json
import subprocess
import sys

CLEAN = 0
BROKEN = 3


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def main():
    program, fault, invariant, seeds, *bounds = sys.argv[1:]
    result = subprocess.run(
        [program, fault, "1", seeds], capture_output=True, text=True, check=False, errors="replace"
    )
    is_broken = fault != "none"
    expect(result.returncode == (BROKEN if is_broken else CLEAN), "exit code", result)
    report = json.loads(result.stdout)
    expect(report["hashes_compared"] > 0, "nothing was compared", result)
    named = [failure["invariant"] for failure in report["failures"]]
    if not is_broken:
        expect(not named, "a broken invariant where none was broken", result)
        unbroken = set(report["bounds"]) ^ set(bounds)
        expect(not unbroken, f"no fault passes these bounds: {sorted(unbroken)}", result)
        return
    expect(invariant in named, f"{invariant} is not named, but {sorted(set(named))}", result)
    for bound in bounds:
        share = report["bounds"][bound]
        expect(share > 1, f"{bound} is at {share} of what it may be", result)
    expect("again: lockstep-faultsim --seed " in result.stderr, "how to play it again", result)
    print(f"{fault}: {report['failure_count']} of {report['matches']}, {sorted(set(named))}")


main()
