"""Windows on x86-64: the programs are built by mingw-w64, and run by wine."""

import collections
import contextlib
import json
import pathlib
import re
import shutil
import sys
import tempfile
import time
import zipfile

import mixed_match
import stages
from stages import ROOT, Failed, run

BUILD = ROOT / "build" / "windows"
# Wine has a place of its own, shows no windows about what it lacks, and keeps letters as they are.
ENVIRONMENT = {
    "WINEPREFIX": str(ROOT / "build" / "wine"),
    "WINEDEBUG": "-all",
    "WINEDLLOVERRIDES": "mscoree,mshtml=",
    "LC_ALL": "C.UTF-8",
}
LINUX = ROOT / "build" / "release" / "bin"
FONT = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"
COLOURS_MIN = 4  # of a match that is drawn
LEAST_SHARE = 0.97  # of the unit tests that could be built
LEFT_OUT = pathlib.Path(__file__).with_suffix(".txt")
TEST = re.compile(r"^(?:Test\(|ParameterizedTest\([^,]*,)\s*(\w+)", re.MULTILINE)
SUITE = re.compile(r"\[....\] (\w+)::")
BUILTINS = ("arena", "rope", "spring", "tumble", "units")
SYNCTEST_SAME = {"still", "again", "save", "join", "rollback", "stack", "addresses", "bounds",
                 "flush", "rounding", "draw", "log"}
NEEDS_LINUX = {"fresh", "heap", "cpu", "library", "cores", "environment", "clock", "ties"}


def make_libraries():
    run([ROOT / "tools" / "platforms" / "windows-libraries", ROOT / "build" / "windows-libraries"])
    return "zstd, libuv, libsodium, cJSON, utf8proc, SDL2 of Debian's sources, ENet"


def build():
    stages.build("windows", "programs")
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    return f"{len(list((BUILD / 'bin').glob('*.exe')))} programs"


def wine(program, **more):
    """A command that ends as the program does, for those that start programs by one name."""
    script = BUILD / (program.stem + "-under-wine" + "".join(more))
    words = " ".join(f"'{name}={value}'" for name, value in {**ENVIRONMENT, **more}.items())
    script.write_text(f"#!/bin/sh\nexec env {words} wine '{program}' \"$@\"\n", encoding="utf-8")
    script.chmod(0o755)
    return script


def compare_golden():
    """The same lines as on every machine."""
    folder = ROOT / "build" / "windows-golden"
    run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DLS_GOLDEN_ONLY=ON",
         "-DCMAKE_BUILD_TYPE=Release",
         f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/tools/platforms/windows.cmake"])
    run(["nice", "cmake", "--build", folder, "--target", "golden"])
    script = wine(folder / "tests" / "golden" / "golden.exe")
    run([ROOT / "tools" / "platform-matrix", "--check-program", script])
    values = (ROOT / "tests" / "golden" / "golden_values.txt").read_text(encoding="ascii")
    return f"{sum(1 for line in values.splitlines() if line and line[0] != '#')} values"


def left_out():
    """Modules of unit tests that are not built, and tests that fail -> (kind, why)."""
    lines = LEFT_OUT.read_text(encoding="ascii").splitlines()
    rows = [line.split(": ", 2) for line in lines if line and not line.startswith("#")]
    return {name: (kind, why) for kind, names, why in rows for name in names.split()}


def count_left_out(built):
    """(tests that could be built, lines about those that are not) beside the modules that are."""
    known = {name: row for name, row in left_out().items() if row[0] != "fails"}
    folder = ROOT / "tests" / "unit"
    tests = collections.Counter(suite for path in folder.glob("test_*.c")
                                for suite in TEST.findall(path.read_text(encoding="utf-8")))
    unknown = sorted(tests.keys() ^ (built | known.keys())) + sorted(built & known.keys())
    if unknown:
        raise Failed(f"built, or in {LEFT_OUT.name}, and not both: {' '.join(unknown)}")
    counts = collections.Counter()
    for name, why in known.items():
        counts[why] += tests[name]
    lines = [f"{count} left out, {kind}: {why}" for (kind, why), count in counts.items()]
    return sum(count for (kind, _), count in counts.items() if kind == "not yet"), lines


def run_unit_tests():
    """One program has them all; its lines say how each ended."""
    stages.build("windows", "unit_tests")
    lines = run([wine(BUILD / "tests" / "platforms" / "unit_tests.exe")]).splitlines()
    told = [line for line in lines if line.startswith(("[PASS]", "[SKIP]", "[FAIL]"))]
    failed = {line.split()[1] for line in told if line.startswith("[FAIL]")}
    known = {name: why for name, (kind, why) in left_out().items() if kind == "fails"}
    passed = sum(1 for line in told if line.startswith("[PASS]"))
    missing, reasons = count_left_out({SUITE.match(line)[1] for line in told})
    possible = len(told) + missing
    skipped = len(told) - passed - len(failed)
    words = [f"{passed} of {possible} that Windows can have; {skipped} skip", *reasons]
    words += [f"{name}: {known.get(name, f'not in {LEFT_OUT.name}')}" for name in sorted(failed)]
    words += [f"{name}: passes: take it off the list" for name in sorted(known.keys() - failed)]
    if failed != known.keys() or passed < LEAST_SHARE * possible:
        raise Failed("\n".join(words))
    return "\n".join(words)


def test_determinism(program, sim):
    """What needs no other system is the same, and the rest, and what a game has not, is skipped."""
    found = json.loads(run([wine(program), sim, "--ticks", "60", "--json", "-"]))
    same, skipped = ({each["name"] for each in found["perturbations"] if each["result"] == word}
                     for word in ("same", "skipped"))
    if found["status"] != "clean" or not SYNCTEST_SAME <= same or not NEEDS_LINUX <= skipped:
        raise Failed(f"{sim}: {found}")
    return found["hashes_compared"]


def test_builtins():
    program = BUILD / "bin" / "lockstep-synctest.exe"
    compared = [f"{name} {test_determinism(program, name)}" for name in BUILTINS]
    return "hashes compared: " + ", ".join(compared)


def read_bundles():
    """A report of a desync has the same words as on Linux, but for the machine it is read on."""
    stages.build("release", "lockstep-desync")
    said = []
    for program in ([LINUX / "lockstep-desync"], [wine(BUILD / "bin" / "lockstep-desync.exe")]):
        ends_with_desync = ["sh", "-c", '"$@"; test $? -eq 3', "sh", *program]
        report = run([*ends_with_desync, "explain", "tests/samples/desync.bundle"])
        said.append([report.partition("\nMachines ")[0],
                     run([*ends_with_desync, "collect", "tests/samples"])])
    if said[0] != said[1] or "first pass" not in said[0][0]:
        raise Failed(f"on Linux:\n{said[0]}\nunder wine:\n{said[1]}")
    return f"{sum(text.count(chr(10)) for text in said[1])} lines as on Linux"


def client():
    return [wine(BUILD / "bin" / "lockstep-client.exe")]


def play_on_linux():
    """A client of Windows and one of Linux, by a server of Linux."""
    return mixed_match.play({"windows": client()})


def play_on_windows():
    """The same by a server, which keeps the key of its invite, and a bad network of Windows."""
    programs = BUILD / "bin"
    users = pathlib.Path(ENVIRONMENT["WINEPREFIX"]) / "drive_c" / "users"
    kept = "*/AppData/Local/lockstep/identity"
    for identity in users.glob(kept):
        identity.unlink()
    server = [wine(programs / "lockstep-server.exe"), "--invite-file", "invite"]
    said = mixed_match.play({"windows": client()}, server,
                            [wine(programs / "lockstep-netcond.exe")])
    if not list(users.glob(kept)):
        raise Failed("the server has no identity among the files of its user")
    return said


def unpack(folder):
    """The programs of the zip, in a folder whose name no code page of the West has."""
    packed = run([ROOT / "tools" / "package" / "windows"]).splitlines()[-1]
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    return next(folder.iterdir())


def play_unpacked(programs, folder):
    """A match whose journal lies at a path of many alphabets, and is verified there."""
    journals = folder / "Größe 日本 Ω"
    journals.mkdir()
    said = mixed_match.play(
        {"windows": [wine(programs / "lockstep-client.exe")]},
        [wine(programs / "lockstep-server.exe"), "--journal", journals],
    )
    written = list(journals.iterdir())
    if len(written) != 1:
        raise Failed(f"{len(written)} journals are in {journals}")
    for replay in ([wine(programs / "lockstep-replay.exe")], [LINUX / "lockstep-replay"]):
        run([*replay, "verify", written[0]])
    return said


def play_example(programs, folder):
    """The game of the SDK, built as its README says, by liblockstep.dll."""
    sdk = programs / "sdk"
    for name in ("host", "client"):
        run(["x86_64-w64-mingw32-gcc-posix", "-o", programs / f"{name}.exe", sdk / f"{name}.c",
             f"-I{sdk}", sdk / "liblockstep.dll.a"])
    with mixed_match.programs() as started:
        host = started.start("host", wine(programs / "host.exe"), "arena", "2", "120")
        invite = mixed_match.wait_for(started.folder / "host.log", host).splitlines()[0]
        clients = [started.start(f"client {i}", wine(programs / "client.exe"), invite)
                   for i in range(2)]
        ended = [process.wait(mixed_match.PATIENCE_S) for process in (*clients, host)]
        over = {started.words(f"client {i}").splitlines()[-1] for i in range(2)}
    if any(ended) or len(over) != 1 or "over at tick 120" not in next(iter(over)):
        raise Failed(f"ended with {ended}: {over}")
    return next(iter(over))


def play_plugin(programs, folder):
    """The plug-in of the zip against the same source's on Linux, on either side."""
    library = folder / "ships.so"
    run(["g++", "-O2", "-ffp-contract=off", "-DPLUGIN", "-shared", "-fPIC",
         f"-I{ROOT}/tools/liblockstep", "-o", library, ROOT / "docs" / "examples" / "game.cpp"])
    plugin = programs / "ships.dll"
    test_determinism(programs / "lockstep-synctest.exe", plugin)
    client = [wine(programs / "lockstep-client.exe"), "--sim", plugin]
    server = [wine(programs / "lockstep-server.exe")]
    mixed_match.play({"windows": client}, server, sim=library, server_sim=plugin)
    return mixed_match.play({"windows": client}, sim=library)


def show_window():
    """The window on a screen of its own: what it shows is there, and in the picture it writes."""
    if not shutil.which("Xvfb"):
        raise stages.Skipped("Xvfb is missing")
    sys.path.append(str(ROOT / "tests" / "view"))
    from screen import Image, Screen

    shutil.copy(FONT, BUILD / "bin")  # as it lies in the zip: wine has none of Windows' fonts
    with mixed_match.programs() as started, contextlib.closing(Screen(started.folder)) as screen:
        hosting, port = started.serve(mixed_match.SERVER, "--sim", "arena", "--players", "1",
                                      "--ticks", "600")
        # Where a program without a screen runs, wine has a desktop that no window is seen on.
        command = wine(BUILD / "bin" / "lockstep-client.exe", DISPLAY=screen.display,
                       WINEPREFIX=ROOT / "build" / "wine-window")
        playing = started.start("client", command, f"127.0.0.1:{port}", "--bot", "1", "--view",
                                "--screenshot", "shown.png@120")
        colours = set()
        while playing.poll() is None:
            image = screen.shown()
            colours |= {image.pixel(x, y) for y in range(0, 600, 5) for x in range(0, 800, 5)}
            time.sleep(0.2)
        if playing.wait() != 0 or hosting.wait(mixed_match.PATIENCE_S) != 0:
            raise Failed(started.words("client"))
        picture = Image.of_png((started.folder / "shown.png").read_bytes())
    width, height = picture.size
    drawn = {picture.pixel(x, y) for y in range(0, height, 5) for x in range(0, width, 5)}
    if len(drawn) < COLOURS_MIN or len(drawn & colours) < COLOURS_MIN:
        raise Failed(f"{len(colours)} colours on the screen, {len(drawn)} in the picture, "
                     f"{len(drawn & colours)} in both")
    return f"{width} x {height}, {len(drawn & colours)} colours of its picture on the screen"


def play_zip():
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond",
                 "lockstep-replay")
    with tempfile.TemporaryDirectory(suffix="-größe-日本") as name:
        folder = pathlib.Path(name)
        programs = unpack(folder)
        said = play_unpacked(programs, folder)
        return (f"{said}; liblockstep.dll: {play_example(programs, folder)}; "
                f"ships.dll: {play_plugin(programs, folder)}")


def play(report):
    report.stage("libraries", make_libraries)
    report.stage("build", build, needs=["libraries"])
    report.stage("golden values", compare_golden, needs=["libraries"])
    report.stage("unit tests", run_unit_tests, needs=["libraries"])
    report.stage("synctest", test_builtins, needs=["build"])
    report.stage("desync reader", read_bundles, needs=["build"])
    report.stage("match on Linux", play_on_linux, needs=["build"])
    report.stage("match on Windows", play_on_windows, needs=["build"])
    report.stage("window", show_window, needs=["build"])
    report.stage("zip", play_zip, needs=["build"])
