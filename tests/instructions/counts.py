"""Instructions of the hot paths, as Callgrind counts them: the same in every run, however busy the
machine is. A path that takes more of them than counts.json allows has become slower.

usage: counts.py PROGRAM [write | catches | causes]

  write    write the counts of today to counts.json
  catches  show that a path which takes a tenth more is found
  causes   show what it costs that a match can look for the cause of a desync
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

TABLE = pathlib.Path(__file__).with_name("counts.json")
TOLERANCE = 0.03
COUNTED = "ls_counted_path"
WITHOUT = ", no causes"  # behind the name of a path: the same match without
MATCH_TICKS = 300
MACHINES = 3  # of a match of 2
TICK_INSTRUCTIONS = 2.6e9 / 60  # of a processor with 2.6 GHz that ends one in each of its cycles

# The C library takes the same instructions on every processor then.
PLAIN = "glibc.cpu.hwcaps=-AVX2,-AVX,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-RTM"


def count(program, name):
    with tempfile.TemporaryDirectory(prefix="lockstep-counts-") as folder:
        result = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--instr-atstart=no",
             f"--toggle-collect={COUNTED}", f"--callgrind-out-file={folder}/out", program, name],
            capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "GLIBC_TUNABLES": PLAIN})
    found = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not found or int(found[1]) == 0:
        sys.exit(f"{name}: exit code {result.returncode}\n{result.stderr}")
    return int(found[1])


def names_of(program):
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\n") if name]


def count_all(program, names):
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return dict(zip(names, pool.map(lambda name: count(program, name), names)))


def compare(counts, allowed):
    """What is wrong, a line for each path."""
    findings = [f"{name}: not in {TABLE.name}" for name in counts if name not in allowed]
    findings += [f"{name}: in {TABLE.name} alone" for name in allowed if name not in counts]
    for name in counts.keys() & allowed.keys():
        ratio = counts[name] / allowed[name]
        print(f"{counts[name]:>12,}  {ratio:6.3f} of what is allowed  {name}")
        if ratio > 1 + TOLERANCE:
            findings.append(f"{name}: {counts[name]:,} instructions, {100 * (ratio - 1):.1f} % "
                            f"more than the {allowed[name]:,} in {TABLE.name}")
    return findings


def print_causes(counts):
    for name in counts:
        if name + WITHOUT in counts:
            more = counts[name] - counts[name + WITHOUT]
            each = more / MATCH_TICKS / MACHINES
            print(f"{name}: {counts[name] / MATCH_TICKS:,.0f} instructions a tick of server and "
                  f"clients, {100 * more / counts[name]:.2f} % of them for causes: {each:,.0f} on "
                  f"each machine, {100 * each / TICK_INSTRUCTIONS:.3f} % of a tick at 60 Hz")


def main(program, *options):
    if not shutil.which("valgrind"):
        sys.exit("skipped: valgrind is not there")
    names = names_of(program)
    pairs = [name for name in names if name.removesuffix(WITHOUT) + WITHOUT in names]
    names = pairs if options == ("causes",) else [name for name in names if name not in pairs]
    names = names[:1] if options == ("catches",) else names
    counts = count_all(program, names)
    if options == ("causes",):
        print_causes(counts)
        return
    if options == ("write",):
        TABLE.write_text(json.dumps(counts, indent=2) + "\n", encoding="ascii")
        return
    allowed = json.loads(TABLE.read_text(encoding="ascii"))
    if options == ("catches",):
        name = names[0]
        counts[name] = counts[name] * 11 // 10
        findings = compare(counts, {name: allowed[name]})
        if len(findings) != 1 or not findings[0].startswith(name):
            sys.exit(f"a tenth more for '{name}': {findings}")
        return
    findings = compare(counts, allowed)
    if findings:
        sys.exit("\n".join(findings) + "\nIf it is worth that, write the counts of today: "
                 f"python3 tests/instructions/counts.py {program} write")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["write"], ["catches"], ["causes"]):
        sys.exit(__doc__)
    main(*sys.argv[1:])
