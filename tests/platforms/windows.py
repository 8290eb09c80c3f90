"""Windows on x86-64: the programs are built by mingw-w64, and run by wine."""

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
LEAST_SHARE = 0.97  # of the unit tests


def make_libraries():
    run([ROOT / "tools" / "platforms" / "windows-libraries", ROOT / "build" / "windows-libraries"])
    return "zstd, libuv, libsodium, cJSON, utf8proc of Debian's sources, ENet"


def build():
    stages.build("windows", "programs")
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    return f"{len(list((BUILD / 'bin').glob('*.exe')))} programs"


def wine(program):
    """A command that ends as the program does, for those that start programs by one name."""
    script = BUILD / (program.stem + "-under-wine")
    words = " ".join(f"'{name}={value}'" for name, value in ENVIRONMENT.items())
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


def run_unit_tests():
    """One program has them all; its lines say how each ended."""
    stages.build("windows", "unit_tests")
    lines = run([wine(BUILD / "tests" / "platforms" / "unit_tests.exe")]).splitlines()
    failed = [line for line in lines if line.startswith("[FAIL]")]
    passed = sum(1 for line in lines if line.startswith("[PASS]"))
    words = "\n".join([f"{passed} of {passed + len(failed)} passed", *failed])
    if passed < LEAST_SHARE * (passed + len(failed)) or passed == 0:
        raise Failed(words)
    return words


def client():
    return [wine(BUILD / "bin" / "lockstep-client.exe")]


def play_on_linux():
    """A client of Windows and one of Linux, by a server of Linux."""
    return mixed_match.play({"windows": client()})


def play_on_windows():
    """The same by a server of Windows."""
    return mixed_match.play({"windows": client()}, [wine(BUILD / "bin" / "lockstep-server.exe")])


def play(report):
    report.stage("libraries", make_libraries)
    report.stage("build", build, needs=["libraries"])
    report.stage("golden values", compare_golden, needs=["libraries"])
    report.stage("unit tests", run_unit_tests, needs=["libraries"])
    report.stage("match on Linux", play_on_linux, needs=["build"])
    report.stage("match on Windows", play_on_windows, needs=["build"])
