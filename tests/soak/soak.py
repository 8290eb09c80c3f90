#!/usr/bin/env python3
"""The events of two days in half an hour: a service whose rooms are played, paused, saved and ended
by real clients while workers and the service are killed, it is upgraded, read again and attacked,
its disk is full and its uploads fail. In the end no process has grown and nothing is lost that was
said to be saved.

    tests/soak/soak.py build/release/bin --minutes 30 --seed 1

Needs util-linux' unshare: the disk is a small tmpfs in a mount namespace of its own. Prints a line
for each event and sample, and ends with 0, or with 1 and what is wrong."""

import argparse
import collections
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "service"))

from described import API  # noqa: E402
from fake_service import wait_for  # noqa: E402
from whole_service import TOKEN, Programs, Service  # noqa: E402

DISK_MIB = 64
PLAYERS = 8  # at a time
SAMPLE_S = 5
RSS_SLACK = 0.10  # of the median of the quiet stretch's second quarter, in its last one
RSS_SLACK_KIB = 2048
COUNT_SLACK = 3  # descriptors, threads

CONFIG = """[limits]
address-connections = 0
address-joins = 0
address-rooms = 0
[upload]
command = "{upload} {{}}"
keep-mib = 8
time-limit = 10
[match]
ticks = {ticks}
keep-seat = 120
[[rooms]]
name = "pair"
open = {open}
sim = "arena"
players = 2
[[rooms]]
name = "solo"
open = 2
sim = "units"
players = 1
"""
UPLOAD = """#!/bin/sh
test ! -e {flag} && cp "$1" {archive}/ && sync -d {archive}/"$(basename "$1")"
"""


def say(*words):
    print(f"{time.strftime('%H:%M:%S')}", *words, flush=True)


class Disk:
    """The folder of journals, which can be full."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "soak", folder],
                       check=True)

    def fill(self):
        with open(self.folder / "filler", "wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(1 << 16))
            except OSError:
                pass
            try:
                while True:
                    filler.write(bytes(512))
            except OSError:
                pass

    def empty(self):
        (self.folder / "filler").unlink()


class Clients:
    """Players who come, play and come again."""

    def __init__(self, service):
        self.service = service
        self.running = {}
        self.ended = collections.Counter()
        self.played = []  # summaries of matches that were played to their end, or saved
        self.wrong = []
        self.wanted = PLAYERS

    def tend(self):
        for number, process in list(self.running.items()):
            if process.poll() is not None:
                del self.running[number]
                self.note(number, process.returncode)
        while len(self.running) < self.wanted:
            number = self.service.join("--connect-wait", "120", "--reconnect", "120",
                                       "--fps", "10", "--name", f"player {random.random()}"[:14])
            self.running[number] = self.service.clients[-1]

    def note(self, number, code):
        path = self.service.folder / f"summary-{number}"
        try:
            summary = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            summary = {"status": "none"}
        status = summary["status"]
        self.ended[f"{code} {status}"] += 1
        if status in ("OK", "SAVED") and summary.get("final_tick"):
            self.played.append(summary)
        elif code < 0 or status in ("none", "MISBEHAVED", "MALFORMED"):
            self.wrong.append((number, code, status, self.service.said_by(number)[-400:]))
        if summary.get("desyncs"):
            self.wrong.append((number, "desync", summary["desyncs"]))
        path.unlink(missing_ok=True)
        (self.service.folder / f"client-{number}").unlink(missing_ok=True)


class Figures:
    """What each process of the service has in memory and open, over time."""

    def __init__(self):
        self.rows = []

    def take(self, service, journals):
        pids = [service.process.pid]
        try:
            children = pathlib.Path(f"/proc/{pids[0]}/task/{pids[0]}/children").read_text()
            pids += [int(text) for text in children.split()]
        except OSError:
            return
        for pid in pids:
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if pid != pids[0] and b"--worker" not in words:
                    continue
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
                self.rows.append({
                    "time": time.monotonic(), "pid": pid, "is_worker": pid != pids[0],
                    "rss": int(re.search(r"VmRSS:\s+(\d+)", status)[1]),
                    "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),
                    "open": len(os.listdir(f"/proc/{pid}/fd")), "journals": journals})
            except (OSError, TypeError):
                pass

    def line(self):
        newest = {}
        for row in self.rows:
            newest[row["pid"]] = row
        end = self.rows[-1]["time"] if self.rows else 0
        return "; ".join(f"{row['pid']}: {row['rss']} KiB, {row['open']} open, "
                         f"{row['threads']} threads"
                         for row in newest.values() if end - row["time"] < SAMPLE_S)

    def growth(self, since):
        """What has grown from the second to the last quarter of the stretch since then."""
        found = []
        rows = [row for row in self.rows if row["time"] >= since]
        end = max(row["time"] for row in rows)
        quarter = (end - since) / 4
        for pid in sorted({row["pid"] for row in rows}):
            own = [row for row in rows if row["pid"] == pid]
            early = [row for row in own if quarter <= row["time"] - since < 2 * quarter]
            late = [row for row in own if row["time"] >= end - quarter]
            if not early or not late:
                continue
            for key, slack in (("rss", RSS_SLACK_KIB), ("open", COUNT_SLACK),
                               ("threads", COUNT_SLACK), ("journals", 40)):
                before, after = (sorted(row[key] for row in part)[len(part) // 2]
                                 for part in (early, late))
                share = RSS_SLACK if key == "rss" else 0
                say(f"process {pid}: {key} {before} -> {after}")
                if after > before * (1 + share) + slack:
                    found.append(f"process {pid} grows: {key} {before} -> {after}")
        return found


class Soak:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.flag = pathlib.Path(f"/tmp/lockstep-soak-{os.getpid()}-fails")
        self.archive = pathlib.Path(f"/tmp/lockstep-soak-{os.getpid()}-archive")
        self.archive.mkdir()
        self.upload = pathlib.Path(f"/tmp/lockstep-soak-{os.getpid()}-upload")
        self.upload.write_text(UPLOAD.format(flag=self.flag, archive=self.archive))
        self.upload.chmod(0o755)
        self.figures = Figures()
        self.held = []  # sockets of slow readers
        self.is_over = threading.Event()
        self.saved = []  # paths, of which the service said so
        self.events = collections.Counter()
        self.program = None

    def config(self, rooms_open=3, ticks=400):
        return CONFIG.format(upload=self.upload, ticks=ticks, open=rooms_open)

    # ---- events ----

    def workers(self):
        return json.loads(self.service.ask("GET", API + "/workers")[2])["workers"]

    def rooms(self):
        return json.loads(self.service.ask("GET", API + "/rooms")[2])["rooms"]

    def kill_worker(self):
        pids = [worker["pid"] for worker in self.workers() if worker["pid"]]
        if pids:
            os.kill(self.random.choice(pids), signal.SIGKILL)

    def kill_service(self):
        self.service.stop(signal.SIGKILL)
        self.start_again()

    def start_again(self):
        """Workers whose service was killed keep the port until their journals are written, or it is
        plain that the disk is full."""
        def is_free():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind(("127.0.0.1", self.port))
                    return True
                except OSError:
                    return False

        wait_for(is_free, "the port of the service")
        self.service.start()

    def upgrade(self):
        """Another program at another place, as a package puts it there."""
        fresh = self.service.folder / f"server-{self.events['upgrade']}"
        shutil.copy(Programs.server, fresh)
        self.service.stop()
        if self.program:
            self.program.unlink()
        self.program = self.service.program = fresh
        self.start_again()

    def read_again(self):
        text = self.service.config.read_text(encoding="ascii")
        number = self.random.randint(2, 5)
        self.service.config.write_text(re.sub(r"open = \d+", f"open = {number}", text, count=1),
                                       encoding="ascii")
        self.service.process.send_signal(signal.SIGHUP)

    def disk_is_full(self):
        self.disk.fill()
        self.later(20, self.disk.empty)

    def uploads_fail(self):
        self.flag.touch()
        self.later(30, self.flag.unlink)

    def slow_readers(self):
        for _ in range(64):
            reader = socket.create_connection(("127.0.0.1", self.service.port))
            reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" * 2)
            self.held.append(reader)
        self.later(20, self.let_go)

    def let_go(self):
        while self.held:
            self.held.pop().close()

    def wrong_tokens(self):
        def ask():
            for _ in range(50):
                try:
                    self.service.ask("GET", API + "/rooms", token="another one")
                except (OSError, http.client.HTTPException):
                    pass

        for _ in range(4):
            threading.Thread(target=ask, daemon=True).start()

    def junk(self):
        port = int(re.search(r"127\.0\.0\.1:(\d+)", self.service.invite)[1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            for _ in range(20000):
                out.sendto(self.random.randbytes(self.random.randint(1, 1200)),
                           ("127.0.0.1", port))

    def save_a_room(self):
        running = [room for room in self.rooms() if room["state"] == "running"]
        if running:
            name = self.random.choice(running)["name"]
            status, _, text = self.service.ask("POST", f"{API}/rooms/{name}/save", {})
            if status == 200:
                self.saved.append((name, json.loads(text)))

    def room_is_made_and_ended(self):
        name = f"made-{self.random.randrange(1 << 30)}"
        self.service.ask("POST", API + "/rooms", {"name": name, "players": "2", "sim": "units"})
        self.service.ask("DELETE", f"{API}/rooms/{name}")

    def pause_a_room(self):
        running = [room for room in self.rooms() if room["state"] == "running"]
        if running:
            name = self.random.choice(running)["name"]
            self.service.ask("POST", f"{API}/rooms/{name}/pause", {})
            self.later(5, lambda: self.service.ask("POST", f"{API}/rooms/{name}/unpause", {}))

    GENTLE = ("read_again", "uploads_fail", "slow_readers", "wrong_tokens", "junk", "save_a_room",
              "room_is_made_and_ended", "room_is_made_and_ended", "pause_a_room")
    HARD = ("kill_worker", "kill_worker", "kill_worker", "kill_service", "upgrade") + GENTLE

    # ---- time ----

    def later(self, seconds, do):
        """Also while an event is waited for."""
        def begin():
            try:
                do()
            except (OSError, http.client.HTTPException):
                pass  # the service was on its way back

        timer = threading.Timer(seconds, begin)
        timer.start()
        self.planned.append(timer)

    def happen(self, name):
        self.events[name] += 1
        say(name)
        try:
            getattr(self, name)()
        except (ConnectionError, TimeoutError, http.client.HTTPException) as error:
            say(f"{name}: {error}")  # a worker or the service was on its way back

    def go_on(self, seconds, names, at_times):
        """So long, with an event every few seconds, and others at their times in it."""
        began = time.monotonic()
        next_event = next_sample = began
        at_times = sorted(at_times)
        while time.monotonic() - began < seconds:
            now = time.monotonic()
            if at_times and now - began >= at_times[0][0] * seconds:
                self.happen(at_times.pop(0)[1])
            elif now >= next_event:
                self.happen(self.random.choice(names))
                next_event = now + self.random.uniform(2, 8)
            if now >= next_sample:
                self.figures.take(self.service, self.journal_count())
                next_sample = now + SAMPLE_S
            self.clients.tend()
            self.is_over.wait(0.2)
        for timer in self.planned:
            timer.join()
        self.planned.clear()

    # ---- the end ----

    def journal_count(self):
        return len(list(self.journals.glob("*.journal")))

    def run(self):
        self.planned = []
        with Service(self.config(), head='', workers=2) as self.service:
            self.journals = self.service.folder / "journals"
            self.service.stop()
            self.keep_port()
            self.disk = Disk(self.journals)
            self.service.start()
            self.clients = Clients(self.service)
            try:
                return self.play()
            finally:
                self.clients.wanted = 0
                self.let_go()
                for process in self.clients.running.values():
                    process.kill()
                subprocess.run(["umount", "-l", self.journals], check=False)

    def keep_port(self):
        """Clients come back to the service that was started again. A port that the system gives to
        sockets without one would be another program's while the service is away."""
        for self.port in self.random.sample(range(20000, 32000), 100):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.bind(("127.0.0.1", self.port))
                    break
                except OSError:
                    pass
        text = self.service.config.read_text(encoding="ascii")
        text = text.replace("port = 0\nidentity", f"port = {self.port}\nidentity")
        self.service.config.write_text(text, encoding="ascii")

    def play(self):
        seconds = self.options.minutes * 60
        self.go_on(seconds * 0.5, self.HARD, [(0.3, "disk_is_full"), (0.7, "disk_is_full")])
        say("a stretch in which no process is killed")
        since = time.monotonic()
        self.go_on(seconds * 0.5, self.GENTLE, [])
        found = self.figures.growth(since)
        self.clients.wanted = 0
        for room in self.rooms():  # one whose service was away when it was to go on
            if room["state"] == "paused":
                self.service.ask("POST", f"{API}/rooms/{room['name']}/unpause", {})
        wait_for(lambda: (self.clients.tend(), not self.clients.running or
                          all_wait(self.rooms()))[1], "the last matches")
        wait_for(lambda: self.uploads_waiting() == 0, "the last uploads")
        code = self.service.stop()
        if code != 0:
            found.append(f"the service ended with {code}")
        found += self.look_at_clients()
        found += self.look_at_journals()
        if found and self.options.log:
            shutil.copy(self.service.folder / "log", self.options.log)
        say("events:", dict(self.events))
        say("clients:", dict(self.clients.ended))
        return found

    def uploads_waiting(self):
        text = self.service.ask("GET", "/metrics", token=None)[2]
        return int(re.search(r"^lockstep_uploads_waiting (\d+)", text, re.M)[1])

    def look_at_clients(self):
        return [f"client {row}" for row in self.clients.wrong]

    def verify(self, folder):
        result = subprocess.run([self.options.bin / "lockstep-replay", "verify", folder, "--json",
                                 "-"], capture_output=True, text=True, check=False)
        try:
            return json.loads(result.stdout)["journals"]
        except ValueError:
            return [{"file": str(folder), "verdict": result.stderr, "ticks": 0}]

    def look_at_journals(self):
        """Each match that a client has played to its end is in a journal that is right, unless the
        log says that something of it could not be written."""
        rows = self.verify(self.archive) + self.verify(self.journals)
        found = [f"journal {row}" for row in rows if row["verdict"] != "right"]
        ticks = {}
        for row in rows:
            name = pathlib.Path(row["file"]).name
            ticks[name] = max(ticks.get(name, 0), row["ticks"])
        log = self.service.log()
        seeds, journals, lacking, unwritten = {}, {}, set(), set()
        for line in log.splitlines():
            if match := re.search(r"the journal of (\S+) is (\S+)", line):
                journals[match[1]] = pathlib.Path(match[2]).name
            elif match := re.search(r"(\S+): the seed is (\d+)", line):
                seeds[match[2]] = journals.get(match[1])
            elif match := re.search(r"the journal (\S+) .*; ([1-9]\d*) ticks are missing", line):
                lacking.add(pathlib.Path(match[1]).name)
            elif match := re.search(r"the journal (\S+) lacks \d+ ticks of the match", line):
                lacking.add(pathlib.Path(match[1]).name)
            elif match := re.search(r"the journal (\S+) cannot be written", line) or re.search(
                    r"(\S+\.journal) has no whole journal header", line):
                unwritten.add(pathlib.Path(match[1]).name)
            elif match := re.search(r"the journal (\S+) is written again; 0 ticks", line):
                unwritten.discard(pathlib.Path(match[1]).name)
        checked = 0
        for match in self.clients.played:
            name = seeds.get(match["seed"])
            if name in lacking or name in unwritten:
                continue
            checked += 1
            if ticks.get(name, -1) < match["final_tick"]:
                said = [line for line in log.splitlines() if name and
                        (name in line or name.split("-", 1)[1].rsplit("-", 1)[0] + ":" in line)]
                found.append(f"match {match['seed']} of {match['final_tick']} ticks: journal "
                             f"{name} has {ticks.get(name)}:\n" + "\n".join(said[-12:]))
        for name, said in self.saved:
            file = pathlib.Path(said["result"])
            if not any(path.name == file.name for path in
                       [*self.archive.iterdir(), *self.journals.rglob("*.journal")]):
                found.append(f"saved {name}: {said} is not there")
        say(f"{len(rows)} journals, {checked} matches of clients checked, {len(self.saved)} saved, "
            f"{len(lacking | unwritten)} of which the log says that they lack something")
        return found


def all_wait(rooms):
    return all(room["state"] in ("waiting", "resuming") for room in rooms)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path, help="the folder of the programs")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=pathlib.Path, help="gets the service's log when something "
                                                        "is wrong")
    parser.add_argument("--is-apart", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    if not options.is_apart:
        os.execvp("unshare", ["unshare", "-rm", sys.executable, "-B", *sys.argv, "--is-apart"])
    for name in ("server", "client", "admin"):
        setattr(Programs, name, options.bin / f"lockstep-{name}")
    soak = Soak(options)
    try:
        found = soak.run()
    finally:
        shutil.rmtree(soak.archive)
        soak.upload.unlink()
        soak.flag.unlink(missing_ok=True)
    for line in found:
        say("WRONG:", line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
