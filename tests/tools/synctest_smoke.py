"""lockstep-synctest as a program: what it exits with, and that its reports can be read."""

import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CLEAN, ENVIRONMENT, USAGE, FOUND = 0, 1, 2, 3


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def check_clean(program, sim, ticks):
    result = run(program, sim, "--ticks", str(ticks), "--seed", "3", "--json", "-")
    expect(result.returncode == CLEAN, f"{sim} is clean", result)
    report = json.loads(result.stdout)
    expect(report["status"] == "clean" and report["sim"] == sim, "the report's head", result)
    expect(report["inputs_played"] > 0, "somebody played", result)
    perturbations = report["perturbations"]
    expect(report["hashes_compared"] == sum(one["hashes_compared"] for one in perturbations),
           "every root is counted once", result)
    for one in perturbations:
        is_played = one["result"] == "same" and one["hashes_compared"] > ticks
        expect(is_played or (one["result"] == "skipped" and one["reason"]),
               f"{one['name']} compares every tick, or says why not", result)
    skipped = sum(one["result"] == "skipped" for one in perturbations)
    expect(skipped < 3, "most are played", result)


def check_junit(program, plugins, folder):
    path = pathlib.Path(folder) / "junit.xml"
    result = run(program, str(plugins / "last_match.so"), "--junit", str(path), "--ticks", "50",
                 "--players", "3", "--tick-rate", "30")
    expect(result.returncode == FOUND, "a difference ends with 3", result)
    suite = xml.etree.ElementTree.parse(path).getroot()
    cases = {case.get("name"): case for case in suite}
    expect(int(suite.get("tests")) == len(cases), "tests are counted", result)
    failures = [name for name, case in cases.items() if case.find("failure") is not None]
    expect(failures == ["again"] and suite.get("failures") == "1", f"{failures}", result)
    message = cases["again"].find("failure").get("message")
    expect("tick 0, init: bonus is" in message, message, result)
    expect(cases["workers"].find("skipped") is not None, "skipped ones say so", result)


def check_lint(program, plugins, good, bad_schema):
    result = run(program, "--lint", str(good), "--json", "-")
    expect(result.returncode == CLEAN, "a good plug-in passes the lint", result)
    result = run(program, "--lint", str(plugins / "unstable_sort.so"), "--json", "-")
    expect(result.returncode == FOUND, "a lint error ends with 3", result)
    report = json.loads(result.stdout)
    expect(report["lint"]["errors"] == 1 and report["perturbations"] == [], "nothing else", result)
    result = run(program, "--lint", str(plugins / "open_in_c.so"), "--quiet")
    expect("lockstep-synctest: warning: lint: one, " in result.stderr, "warnings are not quiet",
           result)
    result = run(program, "--lint", str(bad_schema), "--json", "-")
    expect(result.returncode == FOUND, "uncovered bytes end with 3", result)
    items = json.loads(result.stdout)["lint"]["items"]
    schema = [item for item in items if item["kind"] == "schema"]
    expect(len(schema) == 1 and "ships.angle" not in schema[0]["why"]
           and "covered by no field" in schema[0]["why"], "they are named", result)
    result = run(program, str(plugins / "unstable_sort.so"), "--only", "still,stack")
    expect(result.returncode == CLEAN, "--only without lint leaves the lint out", result)


def check_types(program, open_types, by_hand):
    """Each member whose type is another elsewhere, once, with its line; and no other struct's."""
    result = run(program, "--lint", str(by_hand), "--json", "-")
    names = {item["name"] for item in json.loads(result.stdout)["lint"]["items"]
             if item["kind"] == "type"}
    expect(names == {"open_inner.visits (size_t)", "open_unit.distance (long int)",
                     "open_unit.mark (char)"}, f"of the items: {names}", result)
    result = run(program, "--lint", str(open_types), "--json", "-")
    expect(result.returncode == CLEAN, "types are warned of", result)
    items = {item["name"]: item for item in json.loads(result.stdout)["lint"]["items"]
             if item["kind"] == "type"}
    expect(set(items) == {"open_inner.visits (size_t)", "open_unit.distance (long int)",
                          "open_unit.mark (char)", "open_state.title (a pointer)",
                          "open_state.share (long double)", "open_state.kind (a bit-field)"},
           f"{set(items)}", result)
    source = (pathlib.Path(__file__).parent.parent / "plugins" / "open_types.c").read_text()
    line = source.splitlines().index("    size_t visits;") + 1
    place = items["open_inner.visits (size_t)"]["function"]
    expect(place == f"open_types.c:{line}", place, result)
    expect("lint: open_unit.distance (long int), 8 bytes in open_types.c:" in result.stderr
           and "[type of the state]: not on every machine; take a type of a known" in result.stderr,
           "in words", result)


def check_damaged(program, good, folder):
    """A file of which the end is missing cannot be tested: it is told, and no finding."""
    whole = good.read_bytes()
    path = pathlib.Path(folder) / "cut.so"
    for size in (3000, 15000, len(whole) // 2):
        path.write_bytes(whole[:size])
        is_tail_missing = size == 15000  # what names the parts, and nothing of these
        for arguments in ([], ["--lint"], *([] if is_tail_missing else [["--skip", "lint"]])):
            result = run(program, str(path), *arguments)
            expect(result.returncode == USAGE, f"{size} bytes of a plug-in: {arguments}", result)
            expect("cut.so" in result.stderr, "the file is named", result)
    result = run(program, str(path))
    expect("cut short" in result.stderr, "and what is wrong with it", result)


def check_usage(program, plugins):
    lines = (
        [], ["arena", "units"], ["no-such-sim"], ["./no-such-file.so"], ["arena", "--ticks", "0"],
        ["arena", "--only", "nothing"], ["arena", "--only", ""], ["arena", "--lint"],
        ["arena", "--param", "no-such=1"], ["arena", "--players", "99"], ["arena", "--jobs", "0"],
        ["arena", "--against", "./no-such-file.so"], [sys.argv[0] + "/x.so"],
        ["arena", "--against", "units"], ["arena", "--against", sys.argv[0]],
        [str(pathlib.Path(sys.executable)), "--ticks", "10"],
    )
    for line in lines:
        result = run(program, *line)
        expect(result.returncode == USAGE, f"{line} is refused", result)
        expect(result.stderr.strip() != "", f"{line}: the reason is given", result)
    result = run(program, "arena", "--json", "/no-such-folder/x.json")
    expect(result.returncode == ENVIRONMENT, "where nothing can be written", result)
    result = run(program, "--list")
    expect(result.returncode == CLEAN and "rollback" in result.stdout, "--list", result)
    result = run(program, str(plugins / "last_match_healthy.so"), "--only", "workers")
    expect(result.returncode == FOUND and "nothing was compared" in result.stderr,
           "comparing nothing is a failure", result)
    result = run(
        program, str(plugins / "last_match_healthy.so"), "--only", "lint", "--skip", "lint"
    )
    expect(result.returncode == FOUND and "nothing was compared" in result.stderr,
           "nor may one whose only check is skipped", result)


def main():
    program = sys.argv[1]
    plugins, good, bad_schema, open_types, by_hand = map(pathlib.Path, sys.argv[2:7])
    check_usage(program, plugins)
    check_lint(program, plugins, good, bad_schema)
    check_types(program, open_types, by_hand)
    check_clean(program, "arena", 200)
    check_clean(program, "units", 60)
    check_clean(program, "rope", 100)
    check_clean(program, "spring", 100)
    check_clean(program, "tumble", 100)
    with tempfile.TemporaryDirectory() as folder:
        check_junit(program, plugins, folder)
        check_damaged(program, good, folder)


if __name__ == "__main__":
    main()
