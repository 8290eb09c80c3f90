"""Players of the real programs, on terminals, who say that they are ready and talk to others."""

import argparse
import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import threading

from screen import PATIENCE_S, expect, take_terminal, wait_for

ESCAPES = re.compile(rb"\033\[[0-9;?]*[A-Za-z]")


class Program:
    """Its log, and, on a terminal, all that it has drawn."""

    def __init__(self, command, folder, name, has_terminal=False):
        self.log_path = folder / f"{name}.err"
        self.data, self.master, slave = b"", -1, subprocess.DEVNULL
        if has_terminal:
            self.master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, cwd=folder, stdin=slave, stdout=slave, stderr=log,
                env={"PATH": "/usr/bin:/bin", "TERM": "xterm", "HOME": str(folder)},
                preexec_fn=take_terminal if has_terminal else None)
        if has_terminal:
            os.close(slave)
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            try:
                self.data += os.read(self.master, 65536)
            except OSError:  # the program has ended
                return

    def log(self):
        return self.log_path.read_text(encoding="utf-8")

    def drawn(self):
        return ESCAPES.sub(b"", self.data).decode("utf-8", "replace")

    def wait_for_log(self, words):
        wait_for(f"{words!r} in the log", lambda: words in self.log())

    def wait_for_drawn(self, words):
        wait_for(f"{words!r} on the terminal", lambda: words in self.drawn())

    def press(self, key):
        os.write(self.master, key.encode())

    def say(self, line):
        prompts = self.drawn().count("say: ")
        self.press("\n")
        wait_for("a line to type in", lambda: self.drawn().count("say: ") > prompts)
        self.press(line + "\n")


class Match:
    """A server of arena and its clients, in a folder of their own."""

    def __init__(self, programs, *arguments):
        self.programs = programs
        self.handle = tempfile.TemporaryDirectory(prefix="lockstep-talking-")
        self.folder = pathlib.Path(self.handle.name)
        self.clients = []
        self.server = Program(
            [programs.server, "--sim", "arena", "--bind", "127.0.0.1", "--port", "0", "--port-file",
             "port", "--bundle-dir", "none", *arguments], self.folder, "server")
        port = self.folder / "port"
        wait_for("a port", lambda: port.exists() and port.read_text("ascii").endswith("\n"))
        self.port = port.read_text("ascii").strip()

    def join(self, name, *arguments):
        client = Program([self.programs.client, f"127.0.0.1:{self.port}", "--name", name,
                          *arguments], self.folder, name, "--view=text" in arguments)
        self.clients.append(client)
        client.wait_for_log("players are here")
        return client

    def end(self):
        self.server.process.send_signal(signal.SIGINT)
        for program in (self.server, *self.clients):
            code = program.process.wait(timeout=PATIENCE_S)
            expect(code == 0, f"{program.log_path.name}: exit code {code}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for program in (self.server, *self.clients):
            program.process.kill()
            program.process.wait()
            if kind:
                print(f"{program.log_path.name}:\n{program.log()}")
        self.handle.cleanup()


def check_lobby_and_chat(programs):
    with Match(programs, "--players", "3", "--lobby") as match:
        ann = match.join("ann", "--view=text")
        bob = match.join("bob", "--view=text")
        cid = match.join("cid", "--bot", "1")
        bob.wait_for_log("3 of 3 players are here; not ready: ann (slot 0), bob (slot 1)\n")
        ann.press("r")
        bob.wait_for_log("3 of 3 players are here; not ready: bob (slot 1)\n")
        ann.say("shall we")
        bob.wait_for_drawn("[1] ann: shall we")
        cid.wait_for_log("[1] ann: shall we")
        started = "the match starts"
        expect(started not in bob.log() + cid.log(), "bob is waited for")
        bob.press("r")
        for player in match.clients:
            player.wait_for_log(started)

        bob.say("/mute ann")
        bob.wait_for_drawn("-- ann (seat 1) is muted")
        ann.say("psst")
        cid.wait_for_log("[1] ann: psst")
        bob.say("so quiet")
        ann.wait_for_drawn("[2] bob: so quiet")
        bob.wait_for_drawn("[2] bob: so quiet")  # what the others say stands in one order
        expect("psst" not in bob.drawn(), "the line of a muted player is hidden")
        match.end()


def check_chat_off(programs):
    with Match(programs, "--players", "2", "--lobby", "--chat", "off") as match:
        ann = match.join("ann", "--view=text")
        cid = match.join("cid", "--bot", "1")
        ann.wait_for_log("2 of 2 players are here; not ready: ann (slot 0)\n")
        ann.say("anybody")
        ann.wait_for_log("the chat is off in this match")
        ann.press("r")
        cid.wait_for_log("the match starts")  # what was said before it would stand before it
        expect("anybody" not in cid.log(), "nothing is passed on")
        match.end()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--server", "--client"):
        parser.add_argument(name, required=True)
    programs = parser.parse_args()
    check_lobby_and_chat(programs)
    check_chat_off(programs)


main()
