"""lockstep-faultsim as a program: the same seed plays the same match, a replay says what happens,
wrong lines are refused, and a run that compares nothing is no pass."""

import json
import subprocess
import sys

USAGE = 2


def run(*arguments):
    return subprocess.run(
        [sys.argv[1], *arguments], capture_output=True, text=True, check=False, errors="replace"
    )


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def played(*arguments):
    result = run(*arguments, "--json", "-")
    expect(result.returncode == 0, "exit code", result)
    return json.loads(result.stdout)


def check_digests():
    once = played("--seeds", "11..30", "--jobs", "1")
    again = played("--seeds", "11..30", "--jobs", "3")
    other = played("--seeds", "31..50", "--jobs", "1")
    assert once["digest"] == again["digest"], "the same seeds, another digest"
    assert once["digest"] != other["digest"], "other seeds, the same digest"
    assert once["matches"] == 20 and once["hashes_compared"] > 0


def check_replay():
    first = run("--seed", "17")
    second = run("--seed", "17")
    expect(first.returncode == 0, "exit code", first)
    expect("seed 17: test" in first.stdout, "the scenario", first)
    expect("server: the match starts" in first.stdout, "the log", first)
    expect("every invariant held" in first.stdout, "the verdict", first)
    # The closing line has times in it.
    assert first.stdout.splitlines()[:-1] == second.stdout.splitlines()[:-1]


def check_classes():
    baseline = played("--seeds", "1..20", "--faults", "none")
    assert not any(baseline["faults"].values()), baseline["faults"]
    for count in ("desyncs", "players_left", "packets_rejected"):
        assert baseline[count] == 0, count
    lossy = played("--seeds", "1..20", "--faults", "loss,flip")
    assert lossy["faults"]["loss"] > 0 and lossy["faults"]["flip"] > 0
    assert lossy["desyncs"] == lossy["faults"]["flip"], "each flip is a desync"
    others = set(lossy["faults"]) - {"loss", "flip"}
    assert not any(lossy["faults"][name] for name in others), lossy["faults"]


def check_datagrams():
    over_udp = ("--transport", "udp", "--seeds", "1..12")
    once = played(*over_udp, "--jobs", "1")
    again = played(*over_udp, "--jobs", "3")
    assert once["digest"] == again["digest"], "the same seeds over datagrams, another digest"
    moved = played(*over_udp, "--faults", "move,flood")
    assert moved["faults"]["move"] > 0 and moved["faults"]["flood"] > 0
    for count in ("joins", "players_left", "packets_rejected"):
        assert moved[count] == 0, f"{count}: a player that moved did not play on"


def check_refusals():
    wrong = (
        ("--seeds", "5"),
        ("--seeds", "9..3"),
        ("--seed", "x"),
        ("--players", "33"),
        ("--faults", "rain"),
        ("--sim", "none"),
        ("--jobs", "0"),
        ("--transport", "tcp"),
        ("more",),
    )
    for arguments in wrong:
        result = run(*arguments)
        expect(result.returncode == USAGE, f"{arguments} is refused", result)


def main():
    check_digests()
    check_replay()
    check_classes()
    check_datagrams()
    check_refusals()


main()
