"""The programs that start threads, built with ThreadSanitizer: a server that writes the journals of
several matches, its clients, and lockstep-synctest. The sanitizer ends a program in which it saw a
race with an exit code of its own, and says so on standard error.

usage: programs.py SERVER CLIENT SYNCTEST PLUGIN
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

MATCHES, PLAYERS, TICKS = 3, 2, 120
PATIENCE_S = 300


def expect(is_true, what, *details):
    if not is_true:
        print(f"FAILED: {what}", *details, sep="\n")
        sys.exit(1)


class Run:
    """A program in the background; its output is in a file."""

    def __init__(self, folder, name, *command):
        self.name = name
        self.path = folder / f"{name}.txt"
        with open(self.path, "w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [str(word) for word in command], stdout=output, stderr=subprocess.STDOUT, cwd=folder
            )

    def expect_clean(self):
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none: it hangs"
        text = self.path.read_text(encoding="utf-8", errors="replace")
        expect(code == 0 and "ThreadSanitizer" not in text, f"{self.name}: exit code {code}", text)


def wait_for_port(path):
    deadline = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text(encoding="ascii").endswith("\n")):
        expect(time.monotonic() < deadline, "the server has a port")
        time.sleep(0.02)
    return path.read_text(encoding="ascii").strip()


def play_matches(folder, server_program, client_program):
    (folder / "journals").mkdir()
    server = Run(
        folder, "server", server_program, "--sim", "arena", "--players", PLAYERS,
        "--matches", MATCHES, "--ticks", TICKS, "--journal", "journals", "--bind", "127.0.0.1",
        "--port", 0, "--port-file", "port", "--json", "server.json",
    )
    runs = [server]
    try:
        port = wait_for_port(folder / "port")
        runs += [
            Run(folder, f"client-{i}", client_program, f"--bot={i}", f"127.0.0.1:{port}")
            for i in range(MATCHES * PLAYERS)
        ]
        for run in runs:
            run.expect_clean()
    finally:
        for run in runs:
            run.process.kill()
    return json.loads((folder / "server.json").read_text(encoding="utf-8"))


def main():
    server, client, synctest, plugin = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = play_matches(folder, server, client)
        journals = [match["journal"] for match in report["matches"]]
        expect(len(journals) == MATCHES, "every match has a journal", journals)
        for journal in journals:
            expect(journal["records"] > 0 and journal["ticks_missing"] == 0, "it is whole", journal)
        Run(folder, "synctest", synctest, "--jobs", 4, plugin).expect_clean()
    print(f"{MATCHES} matches, {sum(journal['records'] for journal in journals)} records")


if __name__ == "__main__":
    main()
