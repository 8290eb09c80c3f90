"""Instructions of the hot paths, as Callgrind counts them: the same in every run, however busy the
machine is. A path that takes more of them than counts.json allows has become slower.

usage: counts.py PROGRAM [write | catches]

  write    write the counts of today to counts.json
  catches  show that a path which takes a tenth more is found
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


def main(program, *options):
    if not shutil.which("valgrind"):
        sys.exit("skipped: valgrind is not there")
    names = names_of(program)
    if options == ("catches",):
        names = names[:1]
    counts = count_all(program, names)
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
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["write"], ["catches"]):
        sys.exit(__doc__)
    main(*sys.argv[1:])
