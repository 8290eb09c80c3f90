"""The bindings for other languages, each by Debian's compiler where it is installed: its own tests,
a match against the game in C, and how fast it steps beside C."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import mixed_match
import stages
from stages import ROOT, Failed, Skipped, run

RELEASE = ROOT / "build" / "release"
BINDINGS = ROOT / "tools" / "bindings"
C_GAME = [RELEASE / "tests" / "example_game"]
# mono takes half as long to call a step and to come back where threads are halted by signals.
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": str(RELEASE / "lib"),
               "MONO_THREADS_SUSPEND": "preemptive",
               "LOCKSTEP_LIB_DIR": str(RELEASE / "lib"),
               "LOCKSTEP_LIBRARY": str(RELEASE / "lib" / "liblockstep.so.0"),
               "LOCKSTEP_HEADER": str(ROOT / "tools" / "liblockstep" / "lockstep.h"),
               "PYTHONPATH": str(BINDINGS / "python")}
SECONDS_MAX = 300
TICKS = 120
RATES = ((["ships"], 2000000), (["arena"], 20000))
RATES_OF_MANY = ((["arena", "1024"], 200),)
ROUNDS = 3


def need(packages, *programs):
    """Debian's own programs, which the binding is written for."""
    for program in programs:
        if not os.path.exists(f"/usr/bin/{program}"):
            raise Skipped(f"{program} is not installed: apt install {packages}")


def build_library():
    stages.build("release", "lockstep", "example_game", "example_simulation", "lockstep-synctest")
    return "liblockstep.so.0, the game in C"


def play_match(host, *clients):
    """All clients have to come to the place that the game prints, and the host to no difference."""
    started = []

    def start(command):
        words = [str(word) for word in command]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, text=True, env=ENVIRONMENT))
        return started[-1]

    try:
        hosting = start([*host, len(clients), TICKS])
        invite = next((line.strip() for line in hosting.stdout if "lockstep:" in line), "")
        playing = [start([*client, invite]) for client in clients]
        said = [process.communicate(timeout=SECONDS_MAX)[0] for process in (*playing, hosting)]
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{error.cmd[0]} does not end") from error
    finally:
        for process in started:
            process.kill()
            process.wait()
    ends = {line for text in said for line in re.findall(f"^tick {TICKS}: .*", text, re.MULTILINE)}
    if len(ends) != 1 or "differ" in said[-1] or any(process.returncode for process in started):
        raise Failed("\n".join(said))
    return ends.pop()


def play_with_c(game):
    """A host of either language with players of both."""
    places = [play_match(host, C_GAME, game) for host in (game, C_GAME)]
    return f"hosted by it: {places[0]}; hosted by C: {places[1]}"


def cpu_ns_and_hash(command, steps):
    """Of the processor: a wall clock would count what other programs take."""
    with subprocess.Popen([str(word) for word in (*command, steps)], stdout=subprocess.PIPE,
                          text=True, env=ENVIRONMENT) as process:
        words = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
    found = re.search(r"hash (\w+)", words)
    if status != 0 or not found:
        raise Failed(words)
    return (used.ru_utime + used.ru_stime) * 1e9, found[1]


def ns_and_hash(command, steps):
    """A step's share of what more steps take: to start and to compile takes the same."""
    few_ns, _ = cpu_ns_and_hash(command, steps // 10)
    all_ns, value = cpu_ns_and_hash(command, steps)
    return (all_ns - few_ns) / (steps - steps // 10), value


def compare_rates(game, rates=RATES):
    """The same steps by C and by it; hashes have to be equal, processor times are told."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        driver, plugin = f"{folder}/step_rate", f"{folder}/ships.so"
        header = ["-I", ROOT / "tools" / "liblockstep", "-O2"]
        run(["c++", *header, "-shared", "-fPIC", "-DPLUGIN", ROOT / "docs/examples/game.cpp", "-o",
             plugin])
        os.symlink(ROOT, f"{folder}/lockstep")
        run(["cc", *header, "-I", folder, ROOT / "tests/liblockstep/step_rate.c", "-o", driver,
             RELEASE / "lib" / "liblockstep.so.0"])
        for words, steps in rates:
            best, hashes = {}, set()
            name = " x ".join(words)
            for _ in range(ROUNDS):
                for way, command in (("C", [driver, *(plugin if name == "ships" else word
                                                      for word in words)]),
                                     ("it", [*game, "rate", *words])):
                    time_ns, value = ns_and_hash(command, steps)
                    best[way] = min(best.get(way, time_ns), time_ns)
                    hashes.add(value)
            if len(hashes) != 1:
                raise Failed(f"{name}: hashes differ: {hashes}")
            found.append(f"{name} {best['it']:.0f} ns a step, C {best['C']:.0f} "
                         f"({best['C'] / best['it']:.2f})")
    return "; ".join(found)


PYTHON = ["python3", "-B", ROOT / "tests" / "liblockstep" / "step_rate.py"]
RUST = ROOT / "build" / "rust"
SHIPS = [RUST / "release" / "ships"]


def build_rust():
    need("rustc cargo", "rustc", "cargo")
    environment = {**ENVIRONMENT, "CARGO_TARGET_DIR": str(RUST), "RUSTC": "/usr/bin/rustc",
                   "CARGO_NET_OFFLINE": "true"}
    cargo = ["nice", "/usr/bin/cargo"]
    manifest = ["--release", "--manifest-path", BINDINGS / "rust" / "Cargo.toml"]
    run([*cargo, "build", *manifest], env=environment)
    words = run([*cargo, "test", "--tests", *manifest], env=environment)
    passed = sum(int(count) for count in re.findall(r"ok\. (\d+) passed", words))
    if passed == 0:
        raise Failed(words)
    return f"{passed} tests pass"


def test_rust_plugin():
    """Lint reads all of Rust's own library, which a step does not call."""
    words = run(["sh", "-c", 'exec "$@" 2>&1', "sh", RELEASE / "bin" / "lockstep-synctest",
                 "--skip", "lint", RUST / "release" / "libships_plugin.so"])
    return words.strip().splitlines()[-1].partition(": ")[2]


CSHARP = ROOT / "build" / "csharp"
SHARP_GAME = ["mono", CSHARP / "game.exe"]
SHARP_TESTS = ["mono", CSHARP / "csharp_binding.exe"]


def build_csharp():
    need("mono-mcs mono-runtime libmono-corlib4.5-cil libmono-system-core4.0-cil", "mcs", "mono")
    CSHARP.mkdir(parents=True, exist_ok=True)
    sources = sorted((BINDINGS / "csharp" / "Runtime").glob("*.cs"))
    sources.append(ROOT / "docs" / "examples" / "game.cs")
    compiler = ["nice", "mcs", "-unsafe", "-langversion:7", "-warnaserror"]
    run([*compiler, f"-out:{SHARP_GAME[1]}", *sources])
    run([*compiler, "-main:Tests", f"-out:{SHARP_TESTS[1]}", *sources,
         ROOT / "tests/liblockstep/csharp_binding.cs"])
    return ", ".join(run(SHARP_TESTS, env=ENVIRONMENT).strip().splitlines())


def compile_plugin(game):
    """A plug-in of mono, and beside it the assembly whose game it plays."""
    sources = sorted((BINDINGS / "csharp" / "Runtime").glob("*.cs"))
    plugin = CSHARP / f"{game.stem}.so"
    run(["mcs", "-unsafe", "-langversion:7", "-warnaserror", "-target:library",
         f"-out:{CSHARP / game.stem}.exe", *sources, game])
    flags = run(["pkg-config", "--cflags", "--libs", "mono-2"]).split()
    run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I",
         ROOT / "tools" / "liblockstep", BINDINGS / "mono" / "plugin.c", "-o", plugin, *flags])
    return plugin


def synctest(plugin, code):
    """Lint reads all of mono, which a step does not call."""
    ends = ["sh", "-c", f'"$@"; test $? -eq {code}', "sh", RELEASE / "bin" / "lockstep-synctest"]
    return json.loads(run([*ends, "--skip", "lint", "--ticks", "600", "--json", "-", plugin]))


def test_csharp_plugin():
    need("libmono-2.0-dev pkg-config", "pkg-config")
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    plugin = compile_plugin(ROOT / "docs" / "examples" / "game.cs")
    found = synctest(plugin, 0)
    flaws = synctest(compile_plugin(ROOT / "tests" / "liblockstep" / "csharp_flawed.cs"), 3)
    caught = {each["name"] for each in flaws["perturbations"] if each["result"] == "differs"}
    if found["status"] != "clean" or not {"again", "save", "join"} <= caught:
        raise Failed(f"{found['status']}; of a static {caught}")
    with tempfile.TemporaryDirectory() as folder:
        native = pathlib.Path(folder, "ships.so")
        run(["c++", "-O2", "-shared", "-fPIC", "-DPLUGIN", "-I", ROOT / "tools" / "liblockstep",
             ROOT / "docs" / "examples" / "game.cpp", "-o", native])
        client = [RELEASE / "bin" / "lockstep-client", "--sim", plugin]
        said = mixed_match.play({"C#": client}, sim=native, server_sim=plugin)
    return f"{found['hashes_compared']} hashes, a static is caught; {said}"


def test_luajit():
    need("luajit", "luajit")
    return play_with_c(["luajit", ROOT / "docs" / "examples" / "game.lua"])


GODOT = ROOT / "build" / "godot"
GODOT_GAME = [GODOT / "game"]


def build_godot():
    need("godot3-server", "godot3-server")
    shutil.rmtree(GODOT, ignore_errors=True)
    shutil.copytree(BINDINGS / "godot", GODOT)
    shutil.copy(ROOT / "docs" / "examples" / "game.gd", GODOT)
    options = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I",
               ROOT / "tools" / "liblockstep"]
    run(["cc", *options, GODOT / "lockstep_godot.c", "-o", GODOT / "liblockstep_godot.so",
         RELEASE / "lib" / "liblockstep.so.0"])
    run(["c++", *options, "-DPLUGIN", ROOT / "docs/examples/game.cpp", "-o", GODOT / "game.so"])
    GODOT_GAME[0].write_text('#!/bin/sh\ncd "$(dirname "$0")"\nLANG=en LOCKSTEP_ARGUMENTS="$*" '
                             "exec godot3-server -s game.gd\n", encoding="utf-8")
    GODOT_GAME[0].chmod(0o755)
    return "GDNative for godot3-server"


def play(report):
    report.stage("library", build_library)
    report.stage("Python: steps", lambda: compare_rates(PYTHON, RATES_OF_MANY), needs=["library"])
    report.stage("Rust", build_rust, needs=["library"])
    report.stage("Rust: match", lambda: play_with_c(SHIPS), needs=["Rust"])
    report.stage("Rust: steps", lambda: compare_rates(SHIPS), needs=["Rust"])
    report.stage("Rust: synctest", test_rust_plugin, needs=["Rust"])
    report.stage("C#", build_csharp, needs=["library"])
    report.stage("C#: match", lambda: play_with_c(SHARP_GAME), needs=["C#"])
    report.stage("C#: steps", lambda: compare_rates(SHARP_TESTS), needs=["C#"])
    report.stage("C#: plug-in", test_csharp_plugin, needs=["C#"])
    report.stage("LuaJIT: match", test_luajit, needs=["library"])
    report.stage("Godot", build_godot, needs=["library"])
    report.stage("Godot: match", lambda: play_with_c(GODOT_GAME), needs=["Godot"])
