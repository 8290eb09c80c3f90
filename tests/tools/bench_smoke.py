"""lockstep-bench runs: every section prints figures, the JSON says the same, bad arguments are
refused. No timing is asserted: the figures of a smoke run mean nothing."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

SECTIONS = (
    "sims", "hash", "session", "net", "client", "watch", "start", "join", "journal", "timestep",
    "view", "math", "matches", "causes", "sealed", "service", "rooms", "relay", "growth",
)
VERDICTS = ("ok", "MISSED")


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def check_figures(report, sections, result):
    figures = report["figures"]
    expect({figure["section"] for figure in figures} == set(sections), "sections in JSON", result)
    names = [(figure["section"], figure["name"]) for figure in figures]
    expect(len(set(names)) == len(names), "a figure's name is there twice", result)
    for figure in figures:
        numbers = [figure[key] for key in ("median", "best", "held")]
        expect(all(math.isfinite(number) for number in numbers), f"{figure} is finite", result)
        rules = [rule for rule in ("at_most", "at_least") if rule in figure]
        expect(len(rules) <= 1, f"{figure} has one budget", result)
        expect(("verdict" in figure) == (len(rules) == 1), f"{figure} has a verdict", result)
        if rules:
            is_within = (
                figure["held"] <= figure["at_most"]
                if rules[0] == "at_most"
                else figure["held"] >= figure["at_least"]
            )
            expect(figure["verdict"] == VERDICTS[0 if is_within else 1], f"{figure}", result)
    missed = sum(figure.get("verdict") == "MISSED" for figure in figures)
    expect(report["budgets_missed"] == missed, "the count of missed budgets", result)


PICTURES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures"


def check_pictures(program, folder):
    """The pictures of docs/performance.md are those that the program draws of the figures there."""
    path = pathlib.Path(folder) / "performance.json"
    report = json.loads((PICTURES / path.name).read_text(encoding="utf-8"))
    path.write_text(json.dumps(report), encoding="utf-8")
    result = run(program, "--draw", str(path))
    expect(result.returncode == 0, "pictures are drawn", result)
    for name in ("players", "state", "rooms"):
        drawn = path.with_name(f"performance-{name}.svg").read_text(encoding="utf-8")
        expect(drawn == (PICTURES / f"performance-{name}.svg").read_text(encoding="utf-8"),
               f"docs/pictures/performance-{name}.svg is that of its figures", result)
    gone = "8 players: a client up"
    report["figures"] = [row for row in report["figures"] if row["name"] != gone]
    path.write_text(json.dumps(report), encoding="utf-8")
    result = run(program, "--draw", str(path))
    expect(result.returncode != 0 and f'"{gone}"' in result.stderr,
           "a figure that is not there is named", result)


def check_everything(program, folder):
    path = pathlib.Path(folder) / "bench.json"
    result = run(program, "--smoke", "--json", str(path))
    expect(result.returncode == 0, "a smoke run ends with 0", result)
    for section in SECTIONS:
        expect(f"\n{section}: " in result.stdout, f"the table has {section}", result)
    report = json.loads(path.read_text(encoding="utf-8"))
    expect(report["program"] == "lockstep-bench" and report["is_smoke"], "the head", result)
    check_figures(report, SECTIONS, result)
    for figure in report["figures"]:
        expect(figure["name"] in result.stdout, f"the table has {figure['name']}", result)


def check_share(program):
    """Keeping states is told as a ratio and as a share of a tick, of either side of each match."""
    result = run(program, "--smoke", "--json", "-", "causes")
    figures = {figure["name"]: figure for figure in json.loads(result.stdout)["figures"]}
    sides = [name.removesuffix(", against without") for name in figures
             if name.endswith(", against without")]
    expect({"arena: match", "arena: session", "1 MiB: match"} < set(sides), f"{sides}", result)
    for side in sides:
        share = figures.get(f"{side}, of a tick of 16.7 ms", {})
        expect(share.get("unit") == "%" and share.get("at_most") == 2, f"the share of {side}",
               result)


def check_selection(program):
    result = run(program, "--smoke", "--json", "-", "math", "timestep")
    expect(result.returncode == 0, "two sections end with 0", result)
    check_figures(json.loads(result.stdout), ("math", "timestep"), result)
    expect("\nmath: " in result.stderr, "with --json - the table goes to stderr", result)
    positive = [figure["median"] > 0 for figure in json.loads(result.stdout)["figures"]]
    expect(len(positive) > 10 and all(positive), "nothing takes no time", result)


def count_figures(program, sections):
    result = run(program, "--smoke", "--json", "-", *sections)
    expect(result.returncode == 0, f"{len(sections)} sections end with 0", result)
    return len(json.loads(result.stdout)["figures"])


def check_long_run(program):
    """A run may have more figures than any that the sections make today."""
    times = 50
    one = count_figures(program, ["math"])  # which takes next to no time
    many = count_figures(program, ["math"] * times)
    if many < 1000 or many != times * one:
        sys.exit(f"{one} figures of one section, {many} of {times}")


def check_refusals(program):
    for arguments in (("nonsense",), ("--rounds", "0"), ("--rounds", "102"), ("--bogus",)):
        result = run(program, *arguments)
        expect(result.returncode == 2, f"{arguments} is a usage error", result)
        expect(result.stdout == "", f"{arguments} runs nothing", result)
    result = run(program, "--smoke", "--json", "/nonexistent/bench.json", "timestep")
    expect(result.returncode == 1, "a file that cannot be written ends with 1", result)
    expect("/nonexistent/bench.json" in result.stderr, "and is named", result)
    expect(result.stdout == "", "before anything is measured", result)
    result = run(program, "--version")
    expect(result.returncode == 0, "--version ends with 0", result)
    expect(result.stdout.startswith("lockstep-bench "), "--version names the program", result)
    result = run(program, "--help")
    expect(result.returncode == 0, "--help ends with 0", result)
    expect(all(name in result.stdout for name in SECTIONS), "--help names the sections", result)


def check_comparison(program, folder):
    """A run is held against one that was ten times as good, and against one that was as bad."""
    old = pathlib.Path(folder) / "old.json"
    result = run(program, "--smoke", "hash", "--json", str(old))
    expect(result.returncode == 0, "a section for the comparison", result)
    report = json.loads(old.read_text(encoding="utf-8"))
    count = len(report["figures"])
    for figure in report["figures"]:
        is_more_better = "at_least" in figure
        figure["held"] *= 1e6 if is_more_better else 1e-6
    old.write_text(json.dumps(report), encoding="utf-8")
    result = run(program, "--smoke", "hash", "--compare", str(old))
    with_direction = sum(
        bool(figure["unit"]) or "at_most" in figure or "at_least" in figure
        for figure in report["figures"]
    )
    sum_line = f"{count} figures compared, {with_direction} worse"
    expect(sum_line in result.stdout, "all are worse", result)
    expect(result.stdout.count("WORSE") == with_direction, "each is marked", result)
    expect(result.returncode == 0, "the figures of a smoke run mean nothing", result)
    old.write_text("{}", encoding="utf-8")
    result = run(program, "--smoke", "hash", "--compare", str(old))
    expect(result.returncode == 1 and "is no report" in result.stderr, "another file", result)


def check_exit_codes(program, folder):
    """A measured run ends with 3 as soon as one figure is worse than before."""
    old = pathlib.Path(folder) / "measured.json"
    result = run(program, "--rounds", "1", "timestep", "--json", str(old))
    report = json.loads(old.read_text(encoding="utf-8"))
    wanted = 3 if report["budgets_missed"] else 0
    expect(result.returncode == wanted, "missed budgets end with 3", result)
    for figure in report["figures"]:
        figure["held"] *= 1e6 if "at_least" in figure else 1e-6
    old.write_text(json.dumps(report), encoding="utf-8")
    result = run(program, "--rounds", "1", "timestep", "--compare", str(old))
    expect(result.returncode == 3, "worse figures end with 3", result)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        check_pictures(program, folder)
        check_everything(program, folder)
        check_comparison(program, folder)
        check_exit_codes(program, folder)
    check_share(program)
    check_selection(program)
    check_long_run(program)
    check_refusals(program)


main()
