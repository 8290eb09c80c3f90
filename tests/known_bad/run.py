"""The test of known-bad simulations: every faulty plug-in must be found out, by the right tool, at
the right tick, in the right pass and field, with the right class and cause, and every healthy
twin must pass. What is right of a simulation stands in NAME.json. Prints a table: cause, plug-in,
found by, tick, pass, field, class, seconds.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
CLEAN, FOUND = 0, 3
BAD_RESULTS = {"differs", "fault", "crashed", "hung", "failed"}
# What an expectation of a perturbation may say, besides its name.
KEYS = {"perturbation", "result", "tick", "pass", "field", "expected", "found", "class", "cause",
        "words", "signal", "text", "same_as", "played", "differing"}
LINT_KEYS = {"topic", "name", "function", "kind"}
SECONDS_MAX = 1800
TICKS = 300


class Run:
    """One call of lockstep-synctest and what came of it."""

    def __init__(self, program, plugins, arguments, ticks=TICKS, environment=None):
        self.arguments = arguments
        length = [] if ticks is None else ["--ticks", str(ticks)]
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "result.json")
            done = subprocess.run(
                [program, *arguments, *length, "--jobs", "1", "--json", path],
                cwd=plugins, capture_output=True, text=True, check=False, timeout=SECONDS_MAX,
                env={**os.environ, **{name: value.replace("{folder}", folder)
                                      for name, value in (environment or {}).items()}},
            )
            self.report = {}
            if os.path.exists(path) and os.path.getsize(path) > 0:
                with open(path, encoding="utf-8") as file:
                    self.report = json.load(file)
        self.seconds = time.monotonic() - started
        self.code = done.returncode
        self.output = done.stderr

    def bad_perturbations(self):
        bad = {run["name"]: run for run in self.report.get("perturbations", [])
               if run["result"] in BAD_RESULTS}
        reference = self.report.get("reference", {})
        if reference.get("result") in BAD_RESULTS:
            bad["reference"] = reference
        return bad

    def lint_items(self, severity):
        items = (self.report.get("lint") or {}).get("items", [])
        return [item for item in items if item["severity"] == severity]

    def lint_errors(self):
        return self.lint_items("error")

    def problem(self, words):
        return f"{' '.join(self.arguments)}: {words}\n{self.output}"


def fits(expected, actual):
    """Texts with a leading ~ are patterns; all others must be the same."""
    if isinstance(expected, str) and expected.startswith("~"):
        return actual is not None and re.search(expected[1:], str(actual)) is not None
    return expected == actual


def misfits(expectation, actual, names):
    return [f"{key} is {actual.get(names.get(key, key))!r}, not {value!r}"
            for key, value in expectation.items()
            if key != "perturbation" and not fits(value, actual.get(names.get(key, key)))]


def find_problems(run, expected):
    """Exactly the perturbations and lint errors that are expected, each as expected."""
    problems = []
    bad = run.bad_perturbations()
    wanted = {find["perturbation"] for find in expected.get("finds", [])}
    wanted |= set(expected.get("also", []))
    if set(bad) != wanted:
        problems.append(
            f"perturbations that found something: {sorted(bad)}, not {sorted(wanted)}")
    for find in expected.get("finds", []):
        assert set(find) <= KEYS, find
        actual = bad.get(find["perturbation"], {})
        problems += [f"{find['perturbation']}: {words}"
                     for words in misfits(find, actual, {"words": "last_words"})]
    errors = run.lint_errors()
    items = expected.get("lint", [])
    assert all(set(item) <= LINT_KEYS for item in items), items
    problems += [f"lint does not say {item}" for item in items
                 if all(misfits(item, error, {}) for error in errors)]
    problems += [f"lint says {error['name']}" for error in errors
                 if all(misfits(item, error, {}) for item in items)]
    problems += [f"lint does not warn of {item}" for item in expected.get("warns", [])
                 if all(misfits(item, warning, {}) for warning in run.lint_items("warning"))]
    if "status" in expected and run.report.get("status") != expected["status"]:
        problems.append(f"status {run.report.get('status')!r}, not {expected['status']!r}")
    if run.code != FOUND:
        problems.append(f"exit code {run.code}, not {FOUND}")
    return [run.problem(words) for words in problems]


def race_problems(run, race):
    """Whatever perturbation a race shows with, it is a race: no other cause is named, and where
    none was seen the last line says how often a race may come that was not."""
    problems = []
    bad = run.bad_perturbations()
    if run.code != (FOUND if bad else CLEAN) or not bad and not race.get("may_pass"):
        problems.append(f"exit code {run.code}, {len(bad)} perturbations found something")
    if not bad and not re.search(r"once in these \d{3,} ticks may not have been seen", run.output):
        problems.append("does not say what may not have been seen")
    for name, finding in bad.items():
        if finding["class"] != "race" or not re.search(r"seen \d of \d", finding["cause"]):
            problems.append(f"{name}: {finding['class']}, {finding['cause']}")
    if bad and sum(not finding["same_as"] for finding in bad.values()) != 1:
        problems.append("more than one finding, of one race")
    return [run.problem(words) for words in problems]


def healthy_problems(run, taps=None):
    """`taps`: the bits that it has to warn of, for each file where there are any."""
    problems = []
    bits = (run.report.get("taps") or {}).get("bits")
    if bits != (taps or {}).get(run.arguments[0]):
        problems.append(f"warns of the taps of bits {bits}")
    if run.code != CLEAN or run.bad_perturbations() or run.lint_errors():
        problems.append(f"a false alarm: exit code {run.code}, {sorted(run.bad_perturbations())}")
    problems += [f"warns of the type of {item['name']}" for item in run.lint_items("warning")
                 if item["kind"] == "type"]
    if run.report.get("hashes_compared", 0) == 0 and "--lint" not in run.arguments:
        problems.append("no state hash was compared")
    if run.report.get("inputs_played", 0) == 0 and "--lint" not in run.arguments:
        problems.append("no input was played")
    return [run.problem(words) for words in problems]


def rows_of(simulation, run, expected):
    """A line of the table for each thing that was found."""
    cause = f"{simulation['cause']:>2} {simulation['title']}"
    for item in expected.get("lint", []):
        named = next((error for error in run.lint_errors() if not misfits(item, error, {})), {})
        where = named.get("function") or ""
        found_by = f"lint: {named.get('name')}"
        yield cause, found_by, "", where, "", named.get("topic", ""), run.seconds
    if "status" in expected:
        yield cause, run.report.get("status"), "", "", "", "", run.seconds
    if "race" in expected:
        bad = run.bad_perturbations()
        found_by = next((name for name, find in bad.items() if not find["same_as"]), "not seen")
        yield (cause, found_by, *("" if not bad else bad[found_by][key] or ""
                                  for key in ("tick", "pass", "field", "class")), run.seconds)
    for find in expected.get("finds", []):
        actual = run.bad_perturbations().get(find["perturbation"], {})
        yield (cause, find["perturbation"], actual.get("tick"), actual.get("pass"),
               actual.get("field") or "", actual.get("class"),
               actual.get("seconds", run.seconds))


def is_built(plugins, arguments):
    return all((plugins / name).exists() for name in arguments if name.endswith(".so"))


def visit(program, plugins, path):
    """(rows, problems, what was left out, number of healthy runs) of one simulation."""
    simulation = json.loads(path.read_text(encoding="utf-8"))
    rows, problems, left_out, healthy = [], [], [], 0
    for expected in simulation["runs"]:
        arguments = expected["arguments"]
        if not is_built(plugins, arguments):
            left_out.append(" ".join(arguments))
            continue
        for _ in range(expected.get("times", 1)):
            run = Run(program, plugins, arguments,
                      expected.get("ticks", simulation.get("ticks", TICKS)),
                      expected.get("environment"))
            problems += (race_problems(run, expected["race"]) if "race" in expected else
                         find_problems(run, expected))
            rows += rows_of(simulation, run, expected)
    for arguments in simulation["healthy"]:
        if not is_built(plugins, arguments):
            left_out.append(" ".join(arguments))
            continue
        problems += healthy_problems(
            Run(program, plugins, arguments, simulation.get("ticks", TICKS)),
            simulation.get("taps", {}))
        healthy += 1
    has_findings = rows or simulation.get("is_sound")
    if not has_findings or not healthy:
        problems.append(f"{path.name}: nothing was run")
    return rows, problems, left_out, healthy


def print_table(rows):
    head = ("cause", "found by", "tick", "pass", "field", "class", "seconds")
    lines = [head] + [tuple(f"{row[6]:.2f}" if i == 6 else str(row[i]) for i in range(7))
                      for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(7)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def simulations_in_sources():
    """A file is a simulation, or has parts, each of which is one."""
    names = set()
    for path in HERE.glob("*.c"):
        parts = re.findall(r"^#ifdef GAME_IS_(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        names |= {part.lower() for part in parts} or {path.stem}
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="lockstep-synctest")
    parser.add_argument("plugins", type=pathlib.Path, help="the folder of the built plug-ins")
    parser.add_argument("simulations", nargs="*", help="these only")
    arguments = parser.parse_args()

    paths = sorted(path for path in HERE.glob("*.json")
                   if not arguments.simulations or path.stem in arguments.simulations)
    missing = simulations_in_sources() ^ {path.stem for path in paths}
    if not arguments.simulations and missing:
        sys.exit(f"without an expectation, or without a source: {sorted(missing)}")
    program = str(pathlib.Path(arguments.program).resolve())
    plugins = arguments.plugins.resolve()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        visits = list(pool.map(lambda path: visit(program, plugins, path), paths))
    rows = sorted((row for rows, *_ in visits for row in rows), key=lambda row: row[0])
    problems = [problem for _, problems, *_ in visits for problem in problems]
    print_table(rows)
    for name in (name for _, _, left_out, _ in visits for name in left_out):
        print(f"left out, not built here: {name}")
    healthy = sum(count for *_, count in visits)
    print(f"{len(rows)} findings, {healthy} healthy runs, {len(problems)} problems")
    if problems or not rows:
        sys.exit("\n".join(problems) or "nothing was tested")


if __name__ == "__main__":
    main()
