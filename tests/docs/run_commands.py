"""Runs every sh block of documents, in order, in a copy of the tree that is made of links.

usage: run_commands.py SOURCE_DIR BUILD_DIR WORK_DIR PAGE...
       run_commands.py --catches WORK_DIR

README.md says how blocks are marked and what is substituted. Exit code 0 when every command ended
as its page says, or with --catches when every wrong page was reported."""

import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

PORT_IN_PAGES = "7300"
TICKS = 120
DEMO_SECONDS = 3
BLOCK_SECONDS_MAX = 240
POLL_SECONDS = 0.05

BLOCK = re.compile(
    r"^(?:<!-- (?P<kind>run|compiled-by-tests): (?P<mark>.*?) -->\n)?"
    r"^```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Wrong(Exception):
    """What a page says is not so."""


class Block:
    """One sh block, and how its page wants it to be run."""

    def __init__(self, page, text, match):
        self.where = f"{page}:{text.count(chr(10), 0, match.start('code')) + 1}"
        self.code = match.group("code")
        mark = match.group("mark") if match.group("kind") == "run" else ""
        self.skipped_because = None
        self.times = 1
        self.is_background = False
        self.exit_code = 0
        if mark.startswith("skip"):
            self.skipped_because = mark.partition(",")[2].strip()
            if not self.skipped_because:
                raise Wrong(f"{self.where}: a block is skipped without a reason")
            return
        for word in mark.split():
            if word == "background":
                self.is_background = True
            elif word == "twice":
                self.times = 2
            elif re.fullmatch(r"exit=\d+", word):
                self.exit_code = int(word[len("exit=") :])
            else:
                raise Wrong(f"{self.where}: {word!r} says nothing about how to run a block")

    def calls(self, program):
        return re.search(rf"(^|[\s/]){program}\b", self.code) is not None

    def command(self, port):
        """The code with the substitutions of README.md."""
        code = self.code.replace("host.example", "127.0.0.1")
        code = re.sub(rf"\b{PORT_IN_PAGES}\b", str(port), code)
        demo = f"tools/demo --bin build/demo/bin --seconds {DEMO_SECONDS}"
        code = re.sub(r"^tools/demo\b", demo, code, flags=re.M)
        if self.calls("lockstep-server") and "--ticks" not in code:
            code = re.sub(r"(lockstep-server)\b", rf"\1 --ticks {TICKS}", code)
        return code


def blocks_of(page, text, folder):
    """The sh blocks of a page; blocks of C that are marked so become files."""
    found = []
    for match in BLOCK.finditer(text):
        if match.group("kind") == "compiled-by-tests":
            (folder / match.group("mark")).write_text(match.group("code"), encoding="utf-8")
        if match.group("language") == "sh":
            found.append(Block(page, text, match))
    if len(found) != len(re.findall(r"^```sh$", text, re.MULTILINE)):
        raise Wrong(f"{page}: an sh block that does not end, or is indented")
    if not found:
        raise Wrong(f"{page}: there is no sh block")
    return found


def free_port():
    """None that the system gives to others, before a server of ours has it."""
    return next(port for port in iter(lambda: random.randrange(20000, 30000), None)
                if not is_bound(port))


def is_bound(port):
    """Whether a UDP socket of this machine has the port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return True
        return False


class Started:
    """A block that is running."""

    def __init__(self, block, command, folder, environment, log):
        self.block = block
        self.log = log
        self.names_environment = log.with_suffix(".environment")
        # What a block exports, later blocks have: as in one terminal.
        script = f"set -euo pipefail\n{command}\nenv -0 >{self.names_environment}\n"
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                ["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )

    def finish(self, seconds_max):
        try:
            code = self.process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            self.stop()
            raise Wrong(f"{self.block.where}: not over after {BLOCK_SECONDS_MAX} s\n{self.said()}")
        if code != self.block.exit_code:
            raise Wrong(
                f"{self.block.where}: exit code {code}, the page wants {self.block.exit_code}\n"
                f"{self.block.code}{self.said()}"
            )

    def environment(self, before):
        """What the block left, or what was there before when it ended early."""
        if not self.names_environment.exists():
            return before
        pairs = self.names_environment.read_bytes().decode().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    def said(self):
        return self.log.read_text(encoding="utf-8", errors="replace")[-4000:]

    def stop(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Terminal:
    """Runs the blocks of one page, as a reader with several terminals would."""

    def __init__(self, folder, home, logs):
        self.folder = folder
        self.logs = logs
        self.port = free_port()
        self.running = []
        self.count = 0
        self.environment = {**os.environ, "HOME": str(home), "SDL_VIDEODRIVER": "dummy"}

    def start(self, block):
        self.count += 1
        log = self.logs / f"{self.count}.log"
        log.with_suffix(".environment").unlink(missing_ok=True)
        return Started(block, block.command(self.port), self.folder, self.environment, log)

    def wait_for_all(self):
        """In the order in which they end: a client that fails would leave its server waiting."""
        end = time.monotonic() + BLOCK_SECONDS_MAX
        while self.running:
            over = [each for each in self.running if each.process.poll() is not None]
            late = self.running[:1] if time.monotonic() > end else []
            for each in over or late:
                each.finish(0)
                self.running.remove(each)
            time.sleep(POLL_SECONDS)

    def is_ready(self, server):
        """The server has its port, and has written the invite that the next block reads."""
        invite = re.search(r"--invite-file (\S+)", server.block.code)
        path = self.folder / invite.group(1) if invite else None
        return is_bound(self.port) and (not path or (path.exists() and path.stat().st_size > 0))

    def wait_for_server(self, server):
        end = time.monotonic() + BLOCK_SECONDS_MAX
        while not self.is_ready(server):
            if server.process.poll() is not None or time.monotonic() > end:
                raise Wrong(f"{server.block.where}: nothing listens\n{server.said()}")
            time.sleep(POLL_SECONDS)

    def run(self, block):
        joins = block.calls("lockstep-client") or block.calls("lockstep-netcond")
        if not joins:
            self.wait_for_all()
        for _ in range(block.times):
            started = self.start(block)
            if block.is_background:
                self.running.append(started)
            else:
                started.finish(BLOCK_SECONDS_MAX)
                self.environment = started.environment(self.environment)
        if block.is_background and block.calls("lockstep-server"):
            self.wait_for_server(started)

    def stop(self):
        for started in self.running:
            started.stop()


def make_tree(source, build, folder):
    """Links to everything in the tree, with the build in the place of the demo's."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for entry in source.iterdir():
        if not entry.name.startswith((".", "build")):
            (folder / entry.name).symlink_to(entry)
    demo = folder / "build" / "demo"
    demo.mkdir(parents=True)
    for name in ("bin", "cmake_install.cmake"):
        (demo / name).symlink_to(build / name)


def run_page(text, page, folder, work):
    """Returns how many blocks ran; raises Wrong."""
    home, logs = work / "home", work / "logs" / page.replace("/", "-")
    for fresh in (home, logs):
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
    terminal = Terminal(folder, home, logs)
    ran = 0
    try:
        for block in blocks_of(page, text, folder):
            if block.skipped_because:
                print(f"{block.where}: skipped: {block.skipped_because}")
                continue
            start = time.monotonic()
            terminal.run(block)
            ran += block.times
            print(f"{block.where}: {time.monotonic() - start:.1f} s", flush=True)
        terminal.wait_for_all()
    finally:
        terminal.stop()
    if ran == 0:
        raise Wrong(f"{page}: nothing was run")
    return ran


# (what is wrong, the page, words of the report; None: nothing is)
SAMPLES = (
    ("nothing", "```sh\nexport A=b\n```\n\n```sh\ntest $A = b\n```\n", None),
    ("a code that is expected", "<!-- run: exit=3 -->\n```sh\nexit 3\n```\n", None),
    ("a home of its own", "```sh\ntouch ~/there && test -e \"$HOME/there\"\n```\n", None),
    ("a file from the page",
     "<!-- compiled-by-tests: a.c -->\n```c\nint x;\n```\n```sh\ngrep -q x a.c\n```\n", None),
    ("a command that fails", "```sh\ntrue\nfalse\ntrue\n```\n", "exit code 1"),
    ("a program that is not there", "```sh\nbuild/demo/bin/lockstep-hots\n```\n", "exit code 127"),
    ("a failure in a pipe", "```sh\nfalse | cat\n```\n", "exit code 1"),
    ("another code than expected", "<!-- run: exit=3 -->\n```sh\ntrue\n```\n", "wants 3"),
    ("one that fails in the background", "<!-- run: background -->\n```sh\nfalse\n```\n", "code 1"),
    ("a server that does not listen",
     "<!-- run: background -->\n```sh\n: lockstep-server --port 7300\n```\n", "nothing listens"),
    ("no reason", "<!-- run: skip -->\n```sh\ntrue\n```\n", "without a reason"),
    ("an unknown mark", "<!-- run: later -->\n```sh\ntrue\n```\n", "'later' says nothing"),
    ("a page where nothing runs", "<!-- run: skip, for fun -->\n```sh\ntrue\n```\n", "nothing was"),
    ("a page without blocks", "# Words\n", "no sh block"),
    ("a block without an end", "```sh\ntrue\n", "does not end"),
)


def catches(work):
    problems = 0
    folder = work / "samples"
    for title, page, expected in SAMPLES:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        report = None
        try:
            run_page(page, "page.md", folder, work)
        except Wrong as wrong:
            report = str(wrong)
        is_right = report is None if expected is None else report is not None and expected in report
        if not is_right:
            problems += 1
            print(f"{title}: expected {expected!r}, reported {report!r}")
    print(f"{len(SAMPLES)} pages, {problems} judged wrongly")
    return problems == 0


def main():
    if sys.argv[1] == "--catches":
        sys.exit(0 if catches(pathlib.Path(sys.argv[2]).resolve()) else 1)
    source, build, work = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    ran = 0
    try:
        for page in sys.argv[4:]:
            make_tree(source, build, work / "tree")
            text = (source / page).read_text(encoding="utf-8")
            ran += run_page(text, page, work / "tree", work)
    except Wrong as wrong:
        sys.exit(str(wrong))
    print(f"{ran} blocks of {len(sys.argv) - 4} pages ran as they should")


if __name__ == "__main__":
    main()
