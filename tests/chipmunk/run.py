"""Chipmunk calls sincos, pow and exp. Over the C library's the plug-in is found before any match:
by the lint, and by a processor without FMA, in the pass that steps the engine. The plug-in that is
shipped calls strict maths: nothing is found, and the cpu perturbation did compare states.
usage: run.py LOCKSTEP_SYNCTEST CHIPMUNK_PLUGIN PLUGIN_OVER_LIBM
"""

import os
import pathlib
import platform
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "known_bad"))
import run as known_bad

ENGINE = {"topic": "libm", "kind": "call"}
LIBM = [dict(ENGINE, name=name) for name in ("sincos", "pow", "exp")]
CPU = {"perturbation": "cpu", "result": "differs", "pass": "engine", "class": "processor"}


def has_fma():
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    return platform.machine() == "x86_64" and " fma " in flags


def main():
    program, strict, libm = (os.path.abspath(path) for path in sys.argv[1:])
    folder = os.path.dirname(libm)
    found = known_bad.Run(program, folder, [libm, "--players", "4"])
    problems = known_bad.find_problems(found, {"lint": LIBM, "finds": [CPU] if has_fma() else []})
    clean = known_bad.Run(program, folder, [strict, "--players", "4"])
    problems += known_bad.healthy_problems(clean)
    compared = {run["name"]: run for run in clean.report["perturbations"]}["cpu"]
    if has_fma() and (compared["result"] != "same" or compared["hashes_compared"] < 600):
        problems.append(clean.problem(f"the cpu perturbation: {compared}"))
    if problems:
        sys.exit("\n".join(problems))
    print(f"{len(LIBM)} names by the lint, {len(found.bad_perturbations())} perturbation;"
          f" {clean.report['hashes_compared']} states of strict maths compared")


if __name__ == "__main__":
    main()
