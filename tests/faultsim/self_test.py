"""self_test.py FAULTSIM BROKEN: a part of the detector's self-test is perfect and not vacuous; and
over cores that are broken in one place the self-test says so with exit code 3."""

import json
import subprocess
import sys

CLEAN = 0
USAGE = 2
BROKEN = 3
EVERY = 45  # odd, so that each bit of a byte has its turn
CLEAN_TICKS = 20000
LATE_MS = 1000
BIT_POSITIONS = {"test": 4224, "arena": 13888}
JUDGED = ("made", "caught", "tick_right", "field_right", "values_right", "class_right")


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=False, errors="replace")


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def check_score(score, result):
    name = score["simulation"]
    expect(score["bit_positions"] == BIT_POSITIONS[name], f"{name}: bit positions", result)
    expect(score["flips"] == -(-BIT_POSITIONS[name] // EVERY), f"{name}: flips", result)
    for key in JUDGED:
        expect(score[key] == score["flips"], f"{name}: {key}", result)
    expect((score["padding"] > 0) == (name == "arena"), f"{name}: padding", result)
    for latency in (score["notice"], score["cause"]):
        # Nothing is known before half a round trip; everything is within two seconds.
        expect(score["rtt_ms"] / 2 <= latency["p50_ms"], f"{name}: latency", result)
        expect(latency["p50_ms"] <= latency["worst_ms"] <= 2000, f"{name}: latency", result)
        expect(latency["worst_ticks"] > 0, f"{name}: latency in ticks", result)
    expect(score["notice"]["p50_ms"] < score["cause"]["p50_ms"], f"{name}: order", result)
    expect(score["clean_ticks"] >= CLEAN_TICKS, f"{name}: clean ticks", result)
    expect(score["false_alarms"] == score["unsound"] == score["deaths"] == 0, f"{name}", result)


def check_part(program):
    part = ("--self-test", "--every", str(EVERY), "--clean-ticks", str(CLEAN_TICKS))
    result = run(program, *part, "--json", "-")
    expect(result.returncode == CLEAN, "exit code", result)
    scores = json.loads(result.stdout)["self_test"]
    expect([score["simulation"] for score in scores] == list(BIT_POSITIONS), "names", result)
    for score in scores:
        check_score(score, result)
    expect(result.stderr.count("caught 94 (100.00 %)") == 1, "the first score", result)
    for wrong in (("--every", "0"), ("--clean-ticks", "x")):
        refused = run(program, "--self-test", *wrong)
        expect(refused.returncode == USAGE, f"{wrong} is refused", refused)


def score_of_broken(program, fault, code):
    result = run(program, fault, "--self-test")
    expect(result.returncode == code, f"{fault}: exit code", result)
    score = json.loads(result.stdout)["self_test"][0]
    expect(score["flips"] == score["made"] > 0, f"{fault}: flips", result)
    return score, result


def check_broken(program):
    score, result = score_of_broken(program, "none", CLEAN)
    expect(all(score[key] == score["flips"] for key in JUDGED), "unbroken", result)
    score, result = score_of_broken(program, "DIFFERENCE_UNREPORTED", BROKEN)
    # What the hashes do not tell is found at the end of the match, at its last tick.
    expect(score["tick_right"] == 0, "nothing is compared and ticks are right", result)
    expect(score["notice"]["p50_ms"] > LATE_MS, "what was found late counts as soon", result)
    expect("was found at another tick" in result.stderr, "what was wrong", result)
    score, result = score_of_broken(program, "WRONG_FIRST_TICK", BROKEN)
    expect(score["tick_right"] == 0, "wrong ticks pass as right", result)
    score, result = score_of_broken(program, "FALSE_ALARM", BROKEN)
    expect(score["false_alarms"] > 0, "false alarms are not counted", result)


def main():
    check_part(sys.argv[1])
    check_broken(sys.argv[2])


main()
