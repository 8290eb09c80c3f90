"""The line of code: twenty pairs of builds of one source (builds.c), which differ in their flags or
in a constant, and five of which a part is in C++ or Rust. Each pair plays a match between real
programs over loopback; then the command that the server's report gives as next: is run as it
stands, once with the client's build out of reach and once with it beside the server's. The report
of that command has to begin with the statement that is at fault. Prints a table, and k of n.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import live

HERE = pathlib.Path(__file__).parent / "builds"
MARK = "/* fault */"
EVERYWHERE = ["-std=c17", "-O2", "-g", "-shared", "-fPIC", "-fvisibility=hidden",
              "-ffp-contract=off"]
GCC, CLANG = "gcc", "clang"
# (what differs, the server's flags, the client's, the client's compiler)
BUILDS = {
    1: ("fused multiply-add", [], ["-mfma", "-ffp-contract=fast"], GCC),
    2: ("-fassociative-math", [],
        ["-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"], GCC),
    3: ("-fno-signed-zeros", [], ["-fno-signed-zeros", "-fno-trapping-math"], GCC),
    4: ("-freciprocal-math", [], ["-freciprocal-math"], GCC),
    5: ("a constant", [], ["-DBUILDS_SPEED=4u"], GCC),
    6: ("memory that is not set", ["-ftrivial-auto-var-init=zero"],
        ["-ftrivial-auto-var-init=pattern"], GCC),
    7: ("long of 32 bits", [], ["-DBUILDS_LONG=uint32_t"], GCC),
    8: ("char without sign", [], ["-funsigned-char"], GCC),
    9: ("the order of two calls", [], [], CLANG),
    10: ("ties of a sort", [], ["-DBUILDS_TIES"], GCC),
    11: ("-mfpmath=387", [], ["-mfpmath=387"], GCC),
    12: ("-O0, a cast out of range", [], ["-O0"], GCC),
    13: ("-ffinite-math-only", [], ["-ffinite-math-only"], GCC),
    14: ("denormals flushed", [], ["-DBUILDS_FLUSH"], GCC),
    15: ("-DNDEBUG", [], ["-DNDEBUG"], GCC),
    16: ("bit-fields without sign", [], ["-funsigned-bitfields"], GCC),
    17: ("-fsingle-precision-constant", [], ["-fsingle-precision-constant"], GCC),
    18: ("another packing", [], ["-DBUILDS_PACKED"], GCC),
    19: ("a branch that one build takes", ["-DBUILDS_LIMIT=9u"], [], GCC),
    20: ("a function, copied as a block", [], ["-DBUILDS_POLYNOMIAL"], GCC),
}
# (what differs, the source, its compiler, the server's flags, the client's, the function)
CXX = ["-O2", "-g", "-fPIC", "-ffp-contract=off"]
FUSED = ["-mfma", "-ffp-contract=fast"]
RUST = ["--crate-type=staticlib", "-O", "-g", "-Cpanic=abort", "-Crelocation-model=pic"]
HIVE = "colony::inner::Hive<double>::warm"
FOREIGN = {
    21: ("g++, a template", "builds.cpp", "g++", CXX, [*CXX, *FUSED], HIVE),
    22: ("clang++, a template", "builds.cpp", "clang++", CXX, [*CXX, *FUSED], HIVE),
    23: ("clang++, -O0", "builds.cpp", "clang++", [*CXX, "-O0"],
         [*CXX, "-O0", "-mfma", "-ffp-contract=on"], HIVE),
    24: ("g++, unordered_map", "builds.cpp", "g++", [*CXX, "-DBUILDS_MAP"],
         [*CXX, "-DBUILDS_MAP", "-DBUILDS_BUCKETS=100"], "colony::number"),
    26: ("g++, ties beside a map", "builds.cpp", "g++", [*CXX, "-DBUILDS_RANK"],
         [*CXX, "-DBUILDS_RANK", "-DBUILDS_TIES"], "colony::rank"),
    27: ("clang++, unordered_map", "builds.cpp", "clang++", [*CXX, "-DBUILDS_MAP"],
         [*CXX, "-DBUILDS_MAP", "-DBUILDS_BUCKETS=100"], "colony::number"),
    28: ("g++, one build, a salted hash", "builds.cpp", "g++", [*CXX, "-DBUILDS_SALT"],
         [*CXX, "-DBUILDS_SALT"], "colony::visit"),
    29: ("rustc, one build, HashMap", "builds.rs", "rustc", [*RUST, "--cfg=map"],
         [*RUST, "--cfg=map"], "builds::colony::visit"),
    25: ("rustc", "builds.rs", "rustc", RUST, [*RUST, "--cfg=other"], "builds::colony::warm"),
}
# The named causes; where there is none, none may be named.
CAUSES = dict.fromkeys((24, 27, 28, 29), "iteration order of an unordered container")
OUT_OF_REACH, BESIDE = "values", "builds"


def run_compiler(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def compile_build(tools, number, flags, compiler, out):
    run_compiler(compiler, *EVERYWHERE, *flags, f"-DBUILDS_FAULT={number}", f"-I{tools.include}",
                 HERE / "builds.c", *tools.archives, "-lm", "-o", out)


def compile_foreign(tools, number, flags, out):
    _, source, compiler, *_ = FOREIGN[number]
    part = out.with_suffix(".a" if compiler == "rustc" else ".o")
    run_compiler(compiler, *flags, *([] if compiler == "rustc" else ["-c"]), HERE / source, "-o",
                 part)
    run_compiler(GCC, *EVERYWHERE, "-DBUILDS_FAULT=21", f"-I{tools.include}", HERE / "builds.c",
                 part, *tools.archives, "-lm", "-lstdc++", "-o", out)


def explain(match, command):
    """What the program says of the line; `command` is as the report has it."""
    path = match.path("explained.json")
    subprocess.run([match.tools.desync, *shlex.split(command)[1:], "--json", str(path)],
                   stdout=subprocess.DEVNULL, check=False, timeout=live.SECONDS_MAX)
    return json.loads(path.read_text())["line"] or {}


def visit(tools, number):
    """(what differs, the line without and with the other build, problem) of one pair."""
    with tempfile.TemporaryDirectory(prefix="lockstep-lines-") as folder:
        server = pathlib.Path(folder) / "server" / "game.so"
        client = pathlib.Path(folder) / "client" / "game_of_client.so"
        server.parent.mkdir()
        client.parent.mkdir()
        if number in FOREIGN:
            title, _, _, server_flags, client_flags, _ = FOREIGN[number]
            compile_foreign(tools, number, server_flags, server)
            compile_foreign(tools, number, client_flags, client)
        else:
            title, server_flags, client_flags, compiler = BUILDS[number]
            compile_build(tools, number, server_flags, GCC, server)
            compile_build(tools, number, client_flags, compiler, client)
        with live.Match(tools, server, 1) as match:
            match.join("bob", client)
            match.end()
            desync = (match.report.get("desyncs") or [{}])[0]
            command = desync.get("next") or ""
            if f"next: {command}\n" not in match.server.text() or not command:
                return title, {}, {}, f"no next: in {match.server.text()}"
            alone = explain(match, command)
            os.link(client, server.parent / client.name)
            return title, alone, explain(match, command), ""


def visit_safely(tools, number):
    try:
        return visit(tools, number)
    except (RuntimeError, subprocess.SubprocessError) as error:
        return title_of(number), {}, {}, str(error)


def title_of(number):
    return (FOREIGN if number in FOREIGN else BUILDS)[number][0]


def is_right(number, line):
    _, file, *_, function = FOREIGN.get(number, ("", "builds.c", line.get("function")))
    cause = CAUSES.get(number, "")
    return (line.get("file") == file and MARK in line.get("source", "")
            and line.get("function") == function and (line.get("cause") or "") == cause)


def missing(number):
    """The compiler that is not there."""
    compiler = FOREIGN[number][2] if number in FOREIGN else BUILDS[number][3]
    return "" if shutil.which(compiler) else compiler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("server", "client", "desync", "include"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("archives", nargs="+", help="what a plug-in links")
    parser.add_argument("--only", type=int, action="append", help="these pairs alone")
    parser.add_argument("--least", type=int, default=22, help="right ones, of either kind")
    tools = parser.parse_args()
    tools.plugins = pathlib.Path("/")
    live.TICKS = 40
    live.RULES = [live.TICKS if at and live.RULES[at - 1] == "--ticks" else word
                  for at, word in enumerate(live.RULES)]
    chosen = tools.only or [*BUILDS, *FOREIGN]
    numbers = [number for number in chosen if not missing(number)]
    for number in set(chosen) - set(numbers):
        print(f"left out here: {title_of(number)}: there is no {missing(number)}")
    with concurrent.futures.ThreadPoolExecutor(live.MATCHES_AT_ONCE) as pool:
        visits = list(pool.map(lambda number: visit_safely(tools, number), numbers))
    right = {OUT_OF_REACH: 0, BESIDE: 0}
    problems = []
    for number, (title, alone, beside, problem) in zip(numbers, visits):
        problems += [problem] if problem else []
        for kind, line in ((OUT_OF_REACH, alone), (BESIDE, beside)):
            is_so = is_right(number, line)
            right[kind] += is_so
            shown = f"{line.get('file')}:{line.get('line')} {line.get('source', '')[:60]}"
            print(f"{number:>2} {title:32} {kind:7} {'right' if is_so else 'WRONG'}  "
                  f"{line.get('found_by', '-'):7} {shown}")
    print(f"the line is right in {right[OUT_OF_REACH]} of {len(numbers)} without the other build, "
          f"in {right[BESIDE]} of {len(numbers)} with it beside the own")
    if problems or min(right.values()) < min(tools.least, len(numbers)):
        sys.exit("\n".join(problems) or "too few are right")


if __name__ == "__main__":
    main()
