#!/usr/bin/env python3
"""Tests the platforms that are not this machine's own. For tools/test --platforms.

usage: tests/platforms/run.py [NAME...]

Each NAME.py in this folder is one platform: its play(report) has the stages played. Without names
all of them. Last line: N passed, N failed[, N skipped]. Exit code 0: none failed and one passed.
"""

import importlib
import pathlib
import sys

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
sys.stdout.reconfigure(line_buffering=True)

import stages  # noqa: E402


def main():
    shared = {"run", "stages", "mixed_match"}
    known = sorted({path.stem for path in FOLDER.glob("*.py")} - shared)
    names = sys.argv[1:] or known
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no platform {unknown[0]}: {', '.join(known)}", file=sys.stderr)
        return 2
    reports = []
    for name in names:
        reports.append(stages.Report(name))
        importlib.import_module(name).play(reports[-1])
    passed, failed, skipped = (
        sum(report.count(result) for report in reports)
        for result in (stages.PASSED, stages.FAILED, stages.SKIPPED)
    )
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1


sys.exit(main())
