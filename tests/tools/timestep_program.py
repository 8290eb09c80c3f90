"""lockstep-timestep as a program: the table and the JSON have every strategy on every trace with
the numbers that the rows T1 to T12 are known for, the page of plots holds every strategy's curve,
traces and simulations of the user's own can be given, and what cannot be is refused."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CLEAN, ENVIRONMENT, USAGE, FOUND = 0, 1, 2, 3
TRACES = ("60", "75", "144", "200", "50", "30", "spike", "walk", "overload")
STRATEGIES = ("fixed-per-frame", "variable", "semi-fixed", "substeps", "accumulator",
              "interpolated")
PANELS = 6
SVG = "{http://www.w3.org/2000/svg}"


def run(program, *arguments, **options):
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                          check=False, **options)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def near(value, wanted, most):
    return math.isfinite(value) and abs(value - wanted) <= most


def cells_of(report):
    return {(trace["name"], cell["strategy"]): cell
            for trace in report["traces"] for cell in trace["strategies"]}


def check_strategies(cells, result):
    for trace in TRACES:
        for strategy in STRATEGIES:
            cell = cells[trace, strategy]
            is_exact = strategy in ("fixed-per-frame", "accumulator", "interpolated")
            expect(cell["same_bits"] == is_exact, f"bits of {trace}, {strategy}", result)
            expect(cell["steps_compared"] > 100, f"{trace}, {strategy} compares", result)
    speeds = {"60": 1, "75": 1.25, "144": 2.4, "200": 10 / 3, "50": 5 / 6, "30": 0.5}
    for trace, speed in speeds.items():
        expect(near(cells[trace, "fixed-per-frame"]["speed"], speed, 1e-6), "T1", result)
        expect(near(cells[trace, "interpolated"]["stutter_ms"], 0, 1e-4), "T6", result)
    expect(cells["30", "variable"]["has_exploded"], "T2: springs explode", result)
    expect(cells["30", "variable"]["wall_misses"] > 0, "T2: bodies tunnel", result)
    expect(cells["50", "semi-fixed"]["step_min_ms"] < 4, "T3: the remaining step", result)
    expect(cells["overload", "semi-fixed"]["frame_last_ms"] > 1000, "T3: spirals", result)
    expect(near(cells["spike", "substeps"]["dropped_ms"], 300 - 6 * 16.667, 1e-6), "T4", result)
    for trace, stutter in (("60", 0), ("75", 6.67), ("144", 8.22)):
        found = cells[trace, "accumulator"]["stutter_ms"]
        expect(near(found, stutter, 0.01), f"T5: stutter at {trace} is {found}", result)
    expect(near(cells["spike", "interpolated"]["dropped_ms"], 50, 1e-6), "T6: cut", result)
    expect(near(cells["144", "interpolated"]["late_max_ms"], 1000 / 60, 1e-3), "T6: late", result)


def check_lessons(report, result):
    examples = [(e["row"], e["steps"], e["step_ms"], e["bank_ms"]) for e in report["examples"]]
    expect(examples == [("T4", 1, 16, 0), ("T4", 2, 16.5, 0), ("T4", 6, 16.667, 0),
                        ("T5", 1, 16, 8), ("T5", 2, 16, 0), ("T5", 1, 16, 8)], "examples", result)
    by_name = {entry["integrator"]: entry for entry in report["integrators"]}
    expect(not by_name["semi-implicit-euler"]["rope_at_1_ms"]["is_torn"], "T8: holds", result)
    expect(all(e["rope_at_frame"]["is_torn"] for e in by_name.values()), "T8: torn", result)
    expect(near(by_name["explicit-euler"]["order"], 1, 0.02), "T9: Euler", result)
    expect(near(by_name["rk4"]["order"], 4, 0.02), "T9: RK4", result)
    expect(by_name["explicit-euler"]["error_at_0.0001_s"] < 1e-4, "T9: Euler at 1e-4", result)
    expect(by_name["rk4"]["error_at_0.1_s"] < 1e-4, "T9: RK4 at 0.1", result)
    spirals = {entry["name"]: entry["is_spiral"] for entry in report["headroom"]}
    expect(sorted(spirals.values()) == [False] * 4 + [True] * 2, "T10: two spiral", result)
    forces = {entry["trace"]: entry for entry in report["forces"]}
    expect(near(forces["200"]["force_per_frame"], 4, 1e-9), "T11", result)
    expect(all(near(f["force_per_step"], 1, 1e-9) for f in forces.values()), "T11", result)
    lockstep = report["lockstep"]
    expect(lockstep["traces_same"] == lockstep["traces_played"] == len(TRACES), "T12", result)
    expect(lockstep["sim"] == "arena" and lockstep["ticks_compared"] > 2000, "T12: of what", result)
    expect(lockstep["apart_m"][0] < 1e-9 and lockstep["apart_m"][-1] > 1, "T12: grows", result)


def check_everything(program, folder):
    path = folder / "report.json"
    result = run(program, "--json", path)
    expect(result.returncode == CLEAN and result.stderr == "", "it runs", result)
    report = json.loads(path.read_text(encoding="utf-8"))
    expect(report["program"] == "lockstep-timestep" and report["sim"] is None, "the head", result)
    expect([trace["name"] for trace in report["traces"]] == list(TRACES), "traces", result)
    check_strategies(cells_of(report), result)
    check_lessons(report, result)
    for trace in TRACES:
        expect(f"\n{trace}: " in result.stdout, f"the table has {trace}", result)
    for number, strategy in enumerate(STRATEGIES, 1):
        head = f"  T{number} {strategy} "
        rows = [line for line in result.stdout.splitlines() if line.startswith(head)]
        expect(len(rows) == len(TRACES), f"the table has {strategy} on every trace", result)
    for lesson in ("T4, T5:", "T8:", "T9:", "T10:", "T11:", "T12:"):
        expect(lesson in result.stdout, f"the table has {lesson}", result)
    again = run(program, "--json", "-")
    expect(again.stdout == path.read_text(encoding="utf-8"), "twice the same", again)
    expect(again.stderr == result.stdout, "with --json - the table goes to stderr", again)


def check_choice(program, folder):
    result = run(program, "--strategy", "interpolated,variable", "--trace", "144", "--trace",
                 "spike", "--rate", "50", "--seconds", "4", "--json", "-", "--quiet")
    expect(result.returncode == CLEAN and result.stderr == "", "a choice, and quiet", result)
    report = json.loads(result.stdout)
    cells = cells_of(report)
    expect(set(cells) == {(trace, strategy) for trace in ("144", "spike")
                          for strategy in ("interpolated", "variable")}, "as chosen", result)
    expect(cells["144", "interpolated"]["step_max_ms"] == 20, "dt is 1/50 s", result)
    expect("headroom" not in report, "no lessons", result)
    result = run(program, "--trace", "60", "--step-cost", "120", "--steps-max", "4",
                 "--strategy", "accumulator", "--json", "-", "-q")
    cell = cells_of(json.loads(result.stdout))["60", "accumulator"]
    expect(near(cell["frame_last_ms"], 80, 1e-3), "costs and limits count", result)
    recorded = folder / "it's {a} \"trace\"_^1.txt"
    recorded.write_text("# two frames and a half\n" + "24000000\n" * 100 + "\n 24000000 # x\n")
    result = run(program, "--trace", recorded, "--rate", "60", "--json", "-", "--plot",
                 folder / "own.svg")
    expect(result.returncode == CLEAN, "a recorded trace", result)
    trace = json.loads(result.stdout)["traces"][0]
    expect(trace["name"] == recorded.name and trace["frames"] == 101, "is read", result)


def check_plots(program, folder):
    page = folder / "page.svg"
    result = run(program, "--plot", page, "--quiet")
    expect(result.returncode == CLEAN and result.stdout == result.stderr == "", "plots", result)
    root = xml.etree.ElementTree.parse(page).getroot()
    titles = [title.text for title in root.iter(f"{SVG}title")]
    for row, strategy in enumerate(STRATEGIES, 1):
        curves = titles.count(f"T{row} {strategy}")
        expect(curves == PANELS, f"{curves} curves of {strategy}, not {PANELS}", result)
    words = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    for panel in ("moving body", "Stutter", "Energy", "Steps in a frame", "Lengths of frames",
                  "Time dropped"):
        expect(panel in words, f"there is a panel {panel}", result)
    for arguments in (("--trace", "60", "--strategy", "interpolated"),
                      ("--trace", "overload", "--seconds", "2", "--step-cost", "1000"),
                      ("--trace", "144", "--rate", "1", "--frame-max", "1")):
        result = run(program, "--plot", page, "--quiet", *arguments)
        expect(result.returncode == CLEAN and result.stderr == "", f"{arguments}", result)
        root = xml.etree.ElementTree.parse(page).getroot()
        titles = [title.text for title in root.iter(f"{SVG}title")]
        expect(titles.count("T6 interpolated") == PANELS, f"{arguments}: curves", result)
    page = folder / "page.png"
    result = run(program, "--plot", page, "--quiet")
    content = page.read_bytes()
    expect(result.returncode == CLEAN and content.startswith(b"\x89PNG"), "PNG", result)
    expect(content[-8:-4] == b"IEND" and len(content) > 20000, "a whole PNG", result)


def check_without_gnuplot(program, folder):
    page = folder / "none.svg"
    environment = {**os.environ, "PATH": "/nonexistent"}
    result = run(program, "--plot", page, "--trace", "60", env=environment)
    expect(result.returncode == ENVIRONMENT, "without gnuplot there is no plot", result)
    expect("gnuplot-nox" in result.stderr, "which package it comes with", result)
    expect("interpolated" in result.stdout and not page.exists(), "the table is there", result)
    broken = folder / "bin"
    broken.mkdir()
    (broken / "gnuplot").write_text("#!/bin/sh\nexit 3\n")
    (broken / "gnuplot").chmod(0o755)
    environment["PATH"] = f"{broken}:/bin:/usr/bin"
    result = run(program, "--plot", page, "--trace", "60", env=environment)
    expect(result.returncode == ENVIRONMENT, "a gnuplot that fails", result)
    expect(str(page) in result.stderr and not page.exists(), "is told of", result)


def check_simulations(program):
    for sim in ("arena", "rope"):
        result = run(program, "--sim", sim, "--rate", "60", "--seconds", "3", "--trace", "75",
                     "--trace", "spike", "--json", "-")
        expect(result.returncode == CLEAN, f"{sim} runs", result)
        report = json.loads(result.stdout)
        cells = cells_of(report)
        expect(report["sim"] == sim, "its name", result)
        for (trace, strategy), cell in cells.items():
            can_play = strategy in ("fixed-per-frame", "accumulator", "interpolated")
            expect(cell["is_played"] == can_play, f"{trace}, {strategy}", result)
            if can_play:
                expect(cell["same_bits"] and cell["ticks_compared"] > 100, strategy, result)
        expect(near(cells["75", "interpolated"]["stutter_mm"], 0, 1e-2), "is smooth", result)
        expect(cells["75", "accumulator"]["stutter_mm"] > 0.1, "stutters", result)


def check_simulation_plots(program, folder, good):
    """A simulation's shape instead of the world; without one, what frames come to."""
    page = folder / "simulation.svg"
    for sim, panels in (("arena", 5), (good, 3)):
        result = run(program, "--sim", sim, "--seconds", "2", "--rate", "60", "--plot", page, "-q")
        expect(result.returncode == CLEAN and result.stderr == "", f"a plot of {sim}", result)
        titles = [title.text for title in
                  xml.etree.ElementTree.parse(page).getroot().iter(f"{SVG}title")]
        for curve in ("T1 fixed-per-frame", "T5 accumulator", "T6 interpolated"):
            expect(titles.count(curve) == panels, f"{panels} curves of {curve}", result)
        expect("T2 variable" not in titles, "and of no other", result)
    hitch = folder / "hitch.txt"
    hitch.write_text("2000000000\n")
    result = run(program, "--sim", "arena", "--trace", hitch, "--plot", page, "-q")
    expect(result.returncode == CLEAN and result.stderr == "", "a plot of one long frame", result)


def check_plugins(program, good, faulty):
    """Plug-ins are played too; of one whose second match in a process differs, the bits do."""
    arguments = ("--trace", "144", "--seconds", "2", "--json", "-", "--sim")
    result = run(program, *arguments, good)
    expect(result.returncode == CLEAN, "a plug-in runs", result)
    cell = cells_of(json.loads(result.stdout))["144", "interpolated"]
    expect(cell["same_bits"] and cell["stutter_mm"] is None, "and draws nothing", result)
    if faulty:
        result = run(program, *arguments, faulty)
        expect(result.returncode == FOUND, "other bits end with 3", result)
        cell = cells_of(json.loads(result.stdout))["144", "interpolated"]
        expect(not cell["same_bits"], "and are reported", result)
        expect("lockstep-synctest" in result.stderr, "who finds out why", result)


def check_refusals(program, folder):
    empty = folder / "empty.txt"
    empty.write_text("# nothing\n")
    bad = folder / "bad.txt"
    bad.write_text("1000\nsoon\n")
    for arguments, words in (
            (("nonsense",), "unexpected argument"),
            (("--strategy", "rk4"), "interpolated"),
            (("--strategy", ""), "there is no ''"),
            (("--rate", "0"), "1 to 1000"),
            (("--rate", "1001"), "1 to 1000"),
            (("--seconds", "1"), "2 to 3600"),
            (("--step-cost", "1001"), "0 to 1000"),
            (("--steps-max", "0"), "substeps need a limit"),
            (("--plot", "page.pdf"), ".svg or .png"),
            (("--param", "a=1"), "needs --sim"),
            (("--sim", "chess"), "arena"),
            (("--sim", "arena", "--param", "x=1"), "x"),
            (("--trace", bad), "line 2"),
            (("--trace", empty), "holds no frames")):
        result = run(program, *arguments)
        expect(result.returncode == USAGE, f"{arguments} is a usage error", result)
        expect(result.stdout == "" and words in result.stderr, f"{arguments}: {words}", result)
    for arguments in (("--trace", "/nonexistent/trace"), ("--json", "/nonexistent/report"),
                      ("--plot", "/nonexistent/page.svg", "--trace", "60")):
        result = run(program, *arguments)
        expect(result.returncode == ENVIRONMENT, f"{arguments} is no usage error", result)
        expect("/nonexistent/" in result.stderr, f"{arguments} is named", result)
        expect(result.stdout == "", f"{arguments} is found out before anything is computed", result)
    result = run(program, "--help")
    expect(result.returncode == CLEAN, "--help ends with 0", result)
    expect(all(f"  {name} " in result.stdout for name in TRACES + STRATEGIES), "names", result)
    result = run(program, "--version")
    expect(result.stdout.startswith("lockstep-timestep "), "--version", result)


def main():
    program = sys.argv[1]
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        if not shutil.which("gnuplot"):
            sys.exit("there is no gnuplot: tools/install-dependencies test")
        check_everything(program, folder)
        check_choice(program, folder)
        check_plots(program, folder)
        check_without_gnuplot(program, folder)
        check_simulations(program)
        check_simulation_plots(program, folder, sys.argv[2])
        check_plugins(program, sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
        check_refusals(program, folder)
    finally:
        shutil.rmtree(folder)


main()
