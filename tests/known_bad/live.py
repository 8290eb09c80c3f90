"""The live half: the faulty plug-ins in real matches, over loopback. The server's report must
name the right player, tick, field, pass and class, the bundle must say the same, and a match of
healthy twins with the same arguments must raise nothing and compare every state.

What is right stands in NAME.json under `live`. Prints a table: cause, found by, player, tick, pass,
field, class, seconds from the bad tick to the report.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

import run as offline

HERE = pathlib.Path(__file__).parent
CLEAN, REFUSED, FOUND = 0, 1, 3
TICKS, TICK_RATE_HZ = 180, 40
SECONDS_MAX = 300
MATCHES_AT_ONCE = 6
# The bots answer a state of long ago and the server waits for them: every match goes the same way,
# as long as a busy machine holds nobody up for that half second.
RULES = ["--ticks", TICKS, "--tick-rate", TICK_RATE_HZ, "--late", "wait", "--wait-limit", 30000,
         "--wait-budget", 0, "--investigation-timeout", 30000, "--timeout", 60000]
BOT_DELAY = 20
ON_ONE_CORE = [sys.executable, "-c", "import os, sys; "
               "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); "
               "os.execv(sys.argv[1], sys.argv[1:])"]
# What a live entry may say.
KEYS = {"server", "server_arguments", "client", "arguments", "environment", "flip_bit", "one_core",
        "other_folder", "needs_fma", "finds", "also", "line", "refused"}
# `first_tick`: which tick it is depends on how packets come, or on what the heap holds, but it is
# none before this one.
FIND_KEYS = {"tick", "first_tick", "field", "pass", "class", "culprit", "why", "agrees_with"}


class Process:
    """A program whose lines are noted with the time at which they came."""

    def __init__(self, command, environment=None, surroundings=None):
        self.lines = []  # (seconds, text)
        surroundings = surroundings or {}
        command = [*ON_ONE_CORE, *command] if surroundings.get("one_core") else command
        self.child = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, env={**os.environ, **(environment or {})},
            cwd="/" if surroundings.get("other_folder") else None)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stderr:
            self.lines.append((time.monotonic(), line.rstrip("\n")))

    def text(self):
        return "\n".join(text for _, text in self.lines)

    def time_of(self, *words):
        """When the first line came that has all of them (regular expressions); None: none has."""
        return next((when for when, text in list(self.lines)
                     if all(re.search(word, text) for word in words)), None)

    def wait(self):
        """The exit code; None: it ran on for too long, and was stopped."""
        try:
            code = self.child.wait(SECONDS_MAX)
        except subprocess.TimeoutExpired:
            code = None
        self.stop()
        self.reader.join(SECONDS_MAX)
        return code

    def stop(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


def wait_until(process, what, condition):
    end = time.monotonic() + SECONDS_MAX
    while not condition():
        if process.child.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"no {what}: {process.text()}")
        time.sleep(0.01)


class Match:
    """One server and its clients, one after another, so that everybody has the same slot always."""

    def __init__(self, tools, server, players, arguments=()):
        self.tools = tools
        self.folder = tempfile.TemporaryDirectory(prefix="lockstep-known-bad-")
        self.clients = []
        port = self.path("port")
        self.server = Process([
            tools.server, "--sim", tools.plugins / server, "--players", players, *RULES, "--bind",
            "127.0.0.1", "--port", 0, "--port-file", port, "--bundle-dir", self.folder.name,
            "--json", self.path("server.json"), *arguments])
        wait_until(self.server, "port", lambda: port.exists() and port.read_text().endswith("\n"))
        self.port = port.read_text().strip()

    def path(self, name):
        return pathlib.Path(self.folder.name) / name

    def start_client(self, name, plugin, arguments=(), environment=None, surroundings=None):
        self.clients.append(Process([
            self.tools.client, f"127.0.0.1:{self.port}", "--sim", self.tools.plugins / plugin,
            "--name", name, "--bot", len(self.clients) + 1, "--bot-delay", BOT_DELAY,
            "--connect-wait", SECONDS_MAX, *arguments],
            environment, surroundings))
        return self.clients[-1]

    def join(self, name, *rest):
        client = self.start_client(name, *rest)
        wait_until(client, f"place for {name}",
                   lambda: self.server.time_of(rf": {name} \(slot \d+\) joined") is not None)

    def end(self):
        """The exit codes, the server's first, and its report."""
        codes = [process.wait() for process in [self.server, *self.clients]]
        path = self.path("server.json")
        self.report = json.loads(path.read_text()) if path.exists() else {}
        return codes

    def seconds_to_report(self, name, tick):
        """From when the bad tick was closed, counted back from the last one."""
        reported = self.server.time_of(rf"DESYNC of {name} \(slot \d+\) at tick {tick}:")
        if reported is None:  # a hash by callback has no fields and no cause
            reported = self.server.time_of(
                rf"DESYNC: {name} \(slot \d+\) differs from tick {tick} on")
        ended = self.server.time_of("the match has ended")
        if reported is None or ended is None:
            return None
        return reported - ended + (TICKS - tick) / TICK_RATE_HZ

    def close(self):
        for process in [self.server, *self.clients]:
            process.stop()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def clean_problems(match, codes, players):
    """A healthy match: nobody differs, and every state of everybody was compared."""
    problems = []
    if any(code != CLEAN for code in codes):
        problems.append(f"exit codes {codes}")
    if match.report.get("desyncs") != []:
        problems.append(f"a false alarm: {match.report.get('desyncs')}")
    if match.report.get("hashes_compared") != players * (TICKS + 1):
        problems.append(f"{match.report.get('hashes_compared')} hashes compared, "
                        f"not {players} * {TICKS + 1}")
    return problems


def visit_healthy(tools, entry, healthy):
    with Match(tools, healthy, 2, entry.get("server_arguments", [])) as match:
        match.join("ann", healthy)
        match.join("bob", healthy, entry.get("arguments", []), entry.get("environment"))
        problems = clean_problems(match, match.end(), 2)
        return [], [f"{healthy}: {words}\n{match.server.text()}" for words in problems]


def explain_problems(match, entry, desync):
    """The bundle, opened with the server's plug-in, says what the server said."""
    path = match.path("explained.json")
    command = desync["next"] or ""
    if f"next: {command}\n" not in match.server.text() or not command:
        return [f"the log does not have the report's next: {command!r}"]
    # As a person would run it, whose PATH has the program.
    done = subprocess.run(
        [match.tools.desync, *shlex.split(command)[1:], "--json", str(path)],
        capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    if done.returncode != FOUND:
        return [f"explain: exit code {done.returncode}\n{done.stderr}"]
    explained = json.loads(path.read_text())
    line = explained["line"] or {}
    if "line" in entry and not offline.fits(entry["line"], line.get("source", "")):
        return [f"the line is {explained['line'] or explained['no_line']!r}, "
                f"not {entry['line']!r}"]
    shown = explained["after_pass"] or explained
    first = (shown["differences"] or [{}])[0]
    said = {**explained, "field": first.get("field"), "server_value": first.get("server"),
            "client_value": first.get("client")}
    if (explained["after_pass"] or {}).get("pass") != desync["values_after_pass"]:
        return [f"the bundle's values are those after {explained['after_pass']!r}"]
    keys = ["tick", "slot", "field", "server_value", "client_value", "pass", "class", "culprit",
            "why"]
    if said.get("pass") is None:
        keys.remove("pass")  # the match found it by the writers of values, which a bundle lacks
    problems = [f"the bundle's {key} is {said.get(key)!r}, the report's {desync[key]!r}"
                for key in keys if said.get(key) != desync[key]]
    wanted = entry["finds"].get("agrees_with")
    if wanted and explained["agrees_with"] != wanted:
        problems.append(f"here it agrees with {explained['agrees_with']!r}, not {wanted!r}")
    return problems


def find_problems(match, entry, codes):
    """Bob differs, as expected, and nobody else does but who is named in `also`."""
    assert set(entry["finds"]) <= FIND_KEYS, entry
    also = entry.get("also", [])
    names = {player["slot"]: player["name"] for player in match.report.get("players", [])}
    desyncs = {names[item["slot"]]: item for item in match.report.get("desyncs", [])}
    if set(desyncs) - set(also) != {"bob"}:
        return [f"differences of {sorted(desyncs)}"], None, None
    desync = desyncs["bob"]
    problems = [f"{key} is {desync.get(key)!r}, not {value!r}"
                for key, value in entry["finds"].items()
                if key not in ("agrees_with", "first_tick")
                and not offline.fits(value, desync.get(key))]
    first_tick = entry["finds"].get("first_tick", 0)
    if desync["tick"] < first_tick:
        problems.append(f"tick is {desync['tick']}, before {first_tick}")
    wanted = [FOUND, FOUND if "ann" in desyncs else CLEAN, FOUND]
    if codes != wanted:
        problems.append(f"exit codes {codes}, not {wanted}")
    # Bob is asked no more once he differs.
    if "ann" not in desyncs and match.report["hashes_compared"] != TICKS + 1 + desync["tick"] + 1:
        problems.append(f"{match.report['hashes_compared']} hashes compared")
    seconds = match.seconds_to_report("bob", desync["tick"])
    if seconds is None:
        problems.append("no line reports it")
    if desync["class"] is not None:
        problems += explain_problems(match, entry, desync)
    return problems, desync, seconds


def visit_faulty(tools, entry):
    """Ann plays what the server plays; bob has the fault."""
    with Match(tools, entry["server"], 2, entry.get("server_arguments", [])) as match:
        match.join("ann", entry["server"])
        flip = ["--flip-bit", entry["flip_bit"]] if "flip_bit" in entry else []
        match.join("bob", entry["client"], entry.get("arguments", []) + flip,
                   entry.get("environment"), entry)
        codes = match.end()
        problems, desync, seconds = find_problems(match, entry, codes)
        rows = []
        if desync:
            rows.append(("report and bundle" if desync["bundle"] else "root", "bob",
                         desync["tick"], desync["pass"] or "", desync["field"] or "",
                         desync["class"] or "", "" if seconds is None else f"{seconds:.3f}"))
        return rows, [f"{words}\n{match.server.text()}" for words in problems]


def visit_refused(tools, entry):
    """Bob is not let in, both sides say why, and whoever has the server's content plays on."""
    with Match(tools, entry["server"], 1) as match:
        since = time.monotonic()
        bob = match.start_client("bob", entry["client"], entry.get("arguments", []),
                                 entry.get("environment"))
        problems = []
        if bob.wait() != REFUSED:
            problems.append("bob was not refused")
        seconds = time.monotonic() - since
        sentence = bob.text().rsplit(f":{match.port}: ", 1)[-1]
        if not offline.fits(entry["refused"], sentence):
            problems.append(f"refused with {bob.text()!r}")
        # Bob may be gone before what the server printed has been read.
        wait_until(match.server, f"word of the server about {sentence!r}",
                   lambda: match.server.time_of(re.escape(sentence)) is not None)
        match.clients.clear()
        match.join("ann", entry["server"])
        problems += clean_problems(match, match.end(), 1)
        rows = [("handshake", "bob", "", "", "", sentence.rsplit("(", 1)[-1].rstrip(")"),
                 f"{seconds:.3f}")]
        return rows, [f"{words}\n{match.server.text()}" for words in problems]


def visit(tools, simulation, entry, healthy):
    """(rows with the simulation's name in front, problems) of one match."""
    cause = f"{simulation['cause']:>2} {simulation['title']}"
    try:
        if healthy:
            rows, problems = visit_healthy(tools, entry, healthy)
        elif "refused" in entry:
            rows, problems = visit_refused(tools, entry)
        else:
            rows, problems = visit_faulty(tools, entry)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        rows, problems = [], [str(error)]
    return [(cause, *row) for row in rows], [f"{cause}: {words}" for words in problems]


def cannot_play(entry):
    """Why not on this machine; empty: it can."""
    if entry.get("one_core") and len(os.sched_getaffinity(0)) < 2:
        return "one processor only"
    cpu = pathlib.Path("/proc/cpuinfo")
    if entry.get("needs_fma") and not re.search(r"^flags.*\bfma\b", cpu.read_text(), re.M):
        return "no processor with FMA"
    return ""


def matches_of(paths, plugins):
    """(simulation, entry, the healthy plug-in or None) of every match, and what is not built."""
    matches, left_out = [], []
    for path in paths:
        simulation = json.loads(path.read_text(encoding="utf-8"))
        for entry in simulation.get("live", []):
            assert set(entry) <= KEYS, entry
            missing = [name for name in (entry["server"], entry["client"])
                       if not (plugins / name).exists()]
            left_out += missing
            if cannot_play(entry):
                left_out.append(f"{path.stem}: {cannot_play(entry)}")
            elif not missing:
                matches.append((simulation, entry, None))
        if simulation.get("is_sound"):
            matches.append((simulation, {}, f"{path.stem}.so"))
        if simulation.get("live"):
            matches.append((simulation, simulation["live"][0], f"{path.stem}_healthy.so"))
    return matches, left_out


def print_table(rows):
    head = ("cause", "found by", "player", "tick", "pass", "field", "class", "seconds")
    lines = [head] + [tuple(str(cell) for cell in row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("server", "client", "desync", "plugins"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("simulations", nargs="*", help="these only")
    tools = parser.parse_args()
    paths = sorted(path for path in HERE.glob("*.json")
                   if not tools.simulations or path.stem in tools.simulations)
    matches, left_out = matches_of(paths, tools.plugins)
    with concurrent.futures.ThreadPoolExecutor(MATCHES_AT_ONCE) as pool:
        visits = list(pool.map(lambda match: visit(tools, *match), matches))
    rows = sorted((row for rows, _ in visits for row in rows), key=lambda row: row[0])
    problems = [problem for _, problems in visits for problem in problems]
    healthy = sum(1 for match in matches if match[2])
    compared = healthy * 2 * (TICKS + 1)  # each of them had to
    print_table(rows)
    for name in left_out:
        print(f"left out here: {name}")
    print(f"{len(rows)} findings, {healthy} healthy matches of {compared} hashes, "
          f"{len(problems)} problems")
    if problems or not rows or not healthy:
        sys.exit("\n".join(problems) or "nothing was tested")


if __name__ == "__main__":
    main()
