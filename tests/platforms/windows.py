"""Windows on x86-64: the programs are built by mingw-w64, and run by wine."""

import contextlib
import os
import pathlib
import re
import subprocess
import tempfile
import time

import stages
from stages import ROOT, Failed, run

BUILD = ROOT / "build" / "windows"
# Wine has a place of its own, and shows no windows about what it lacks.
ENVIRONMENT = {
    **os.environ,
    "WINEPREFIX": str(ROOT / "build" / "wine"),
    "WINEDEBUG": "-all",
    "WINEDLLOVERRIDES": "mscoree,mshtml=",
}
LINUX = ROOT / "build" / "release" / "bin"
TICKS = 600
LOSS_PERCENT = 5
SECONDS_MAX = 300
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
    script.write_text(f"#!/bin/sh\nexec wine '{program}' \"$@\"\n", encoding="utf-8")
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
    run([ROOT / "tools" / "platform-matrix", "--check-program", script], env=ENVIRONMENT)
    values = (ROOT / "tests" / "golden" / "golden_values.txt").read_text(encoding="ascii")
    return f"{sum(1 for line in values.splitlines() if line and line[0] != '#')} values"


def run_unit_tests():
    """One program has them all; its lines say how each ended."""
    stages.build("windows", "unit_tests")
    program = BUILD / "tests" / "platforms" / "unit_tests.exe"
    lines = run(["wine", program], env=ENVIRONMENT).splitlines()
    failed = [line for line in lines if line.startswith("[FAIL]")]
    passed = sum(1 for line in lines if line.startswith("[PASS]"))
    words = "\n".join([f"{passed} of {passed + len(failed)} passed", *failed])
    if passed < LEAST_SHARE * (passed + len(failed)) or passed == 0:
        raise Failed(words)
    return words


@contextlib.contextmanager
def started(words, log):
    """A program beside this one, which is ended when it is not needed any more."""
    with open(log, "wb") as file:
        process = subprocess.Popen([str(word) for word in words], stdout=file, stderr=file,
                                   stdin=subprocess.DEVNULL, env=ENVIRONMENT)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def port_in(path):
    """The port that a program writes once it is bound."""
    end = time.monotonic() + SECONDS_MAX
    while not (path.exists() and path.read_text(encoding="ascii").strip()):
        if time.monotonic() > end:
            raise Failed(f"{path.name} is not written")
        time.sleep(0.1)
    return path.read_text(encoding="ascii").strip()


def judge(folder, ended):
    """What the server says: every hash of both clients was compared, and none differs."""
    said = (folder / "server").read_text(encoding="utf-8")
    words = re.search(r"(\d+) ticks, (\d+) hashes compared, (\d+) differences", said)
    if not words or any(code != 0 for code in ended) or int(words[3]) != 0:
        logs = (path.read_text(encoding="utf-8", errors="replace")[-800:]
                for path in sorted(folder.iterdir()))
        raise Failed(f"ended with {ended}\n" + "\n".join(logs))
    if int(words[1]) < TICKS or int(words[2]) < 2 * TICKS:
        raise Failed(f"too little was compared: {words[0]}")
    return words[0]


def play_match(server, clients):
    """A match over UDP; each client's way loses datagrams."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as running:
        folder = pathlib.Path(name)

        def start(log, *words):
            return running.enter_context(started(words, folder / log))

        hosting = start("server", *server, "--sim", "arena", "--players", len(clients), "--ticks",
                        TICKS, "--bind", "127.0.0.1", "--port", 0, "--port-file",
                        folder / "port", "--timeout", 20000)
        port = port_in(folder / "port")
        start("network", LINUX / "lockstep-netcond", f"127.0.0.1:{port}", "--port", 0,
              "--port-file", folder / "way", "--loss", LOSS_PERCENT)
        way = port_in(folder / "way")
        playing = [start(f"client {i}", *client, "--bot", i + 1, f"127.0.0.1:{way}")
                   for i, client in enumerate(clients)]
        ended = [process.wait(SECONDS_MAX) for process in (*playing, hosting)]
        return judge(folder, ended)


def windows(name):
    return ["wine", BUILD / "bin" / f"{name}.exe"]


def play_on_linux():
    """A client of Windows and one of Linux, by a server of Linux."""
    return play_match([LINUX / "lockstep-server"],
                      [windows("lockstep-client"), [LINUX / "lockstep-client"]])


def play_on_windows():
    """The same by a server of Windows."""
    return play_match(windows("lockstep-server"),
                      [windows("lockstep-client"), [LINUX / "lockstep-client"]])


def play(report):
    report.stage("libraries", make_libraries)
    report.stage("build", build, needs=["libraries"])
    report.stage("golden values", compare_golden, needs=["libraries"])
    report.stage("unit tests", run_unit_tests, needs=["libraries"])
    report.stage("match on Linux", play_on_linux, needs=["build"])
    report.stage("match on Windows", play_on_windows, needs=["build"])
