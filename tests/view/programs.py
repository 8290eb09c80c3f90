"""The options round the view: pictures for scripts, the banner of a desync, text, and what is said
where there is no screen."""

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import tempfile
import termios
import time

from screen import HEIGHT, PATIENCE_S, WIDTH, Screen, Stage, expect, take_terminal


def check_screenshots(programs):
    shots = ("--screenshot", "early.png@2", "--screenshot", "late.png@8", "--ticks", "9")
    with Stage(programs, *shots, server_arguments=("--tick-rate", "30")) as stage:
        expect(stage.client.wait(timeout=PATIENCE_S) == 0, "the match ends well")
        early, late = stage.pictures()
        expect(early.path.name == "early.png" and late.path.name == "late.png", "both files")
        expect(2 <= early.tick <= late.tick == 8, f"their ticks, not {early.tick}, {late.tick}")
        expect(early.image.size == (WIDTH, HEIGHT), "their size")
        expect(late.path.stat().st_size < 100_000, "they are small")


# However busy the machine is, no tick is closed before the client has sent its input.
WAITING = ("--late", "wait", "--wait-limit", "60000")


def check_desync(programs):
    """Red across the upper edge, and exit code 3 as always."""
    flip = ("--flip-bit", "60:3", "--screenshot", "before.png@4", "--screenshot", "after.png@80")
    rate = ("--tick-rate", "30", *WAITING)
    with Stage(programs, *flip, "--ticks", "90", server_arguments=rate) as stage:
        expect(stage.client.wait(timeout=PATIENCE_S) == 3, "a desync is exit code 3")
        before, after = (picture.image.pixel(WIDTH // 2, 3) for picture in stage.pictures())
        expect(before[0] < 60, f"no banner at first: {before}")
        expect(after[0] > 150 and after[1] < 80, f"a red banner then: {after}")


def client_command(programs, stage, *arguments):
    port = stage.text("port").strip()
    return [programs.client, "--sim", programs.stage, f"127.0.0.1:{port}", *arguments]


def check_plain_text(programs):
    with Stage(programs, "--view=text", "--ticks", "20", shows=None) as stage:
        expect(stage.client.wait(timeout=PATIENCE_S) == 0, "the match ends well")
        text = stage.text("client.out")
        expect("\033" not in text, "no escapes in a file")
        expect(re.search(r"tick +[1-9]", text), "the tick below the picture")
        pictures = [part for part in text.split("\n\n") if "Hz, playing" in part]
        columns = {re.search(r"[^ .]", line).start() for part in pictures
                   for line in part.splitlines()[:20] if re.search(r"[^ .]", line)}
        expect(len(pictures) >= 2 and columns, "shapes in more than one picture")


def read_terminal(master, process):
    data = b""
    while process.poll() is None or select.select([master], [], [], 0)[0]:
        if select.select([master], [], [], 0.1)[0]:
            try:
                data += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
    return data


def check_terminal(programs):
    """On a terminal: colours, redrawn in place, and the cursor is back at the end."""
    with Stage(programs, "--name", "bob", "--ticks", "1", shows=None,
               server_arguments=("--matches", "2", "--tick-rate", "30")) as stage:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            client_command(programs, stage, "--view=text", "--ticks", "30"),
            stdin=slave, stdout=slave, stderr=subprocess.DEVNULL,
            env=dict(stage.environment, TERM="xterm"),
        )
        os.close(slave)
        data = read_terminal(master, process)
        os.close(master)
        expect(process.wait(timeout=PATIENCE_S) == 0, "the match ends well")
        expect(data.count(b"\033[H") > 3, "drawn again and again")
        expect(b"\033[38;5;" in data and b"\033[48;5;" in data, "in colour")
        reds = (b"88", b"124", b"160", b"196")  # of the cube, without green or blue
        expect(any(b"8;5;" + red + b"m" in data for red in reds), "with the red disc")
        expect(data.rfind(b"\033[?25h") > data.rfind(b"\033[?25l") >= 0, "the cursor is back")
        expect(data.startswith(b"\033[?1049h"), "on a screen of its own")
        expect(data.endswith(b"\033[?1049l"), "what stood on the terminal before is back")


def check_stopped_terminal(programs):
    """Nobody reads the terminal: the match goes on all the same, and the terminal is given back."""
    with Stage(programs, "--name", "bob", "--ticks", "1", shows=None,
               server_arguments=("--matches", "2", "--tick-rate", "30")) as stage:
        master, slave = pty.openpty()
        before = fcntl.fcntl(slave, fcntl.F_GETFL), termios.tcgetattr(slave)
        process = subprocess.Popen(
            client_command(programs, stage, "--view=text", "--ticks", "60", "--json", "stopped"),
            stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, cwd=stage.folder,
            env=dict(stage.environment, TERM="xterm"), preexec_fn=take_terminal,
        )
        expect(process.wait(timeout=PATIENCE_S) == 0, "the match ends well")
        after = fcntl.fcntl(slave, fcntl.F_GETFL), termios.tcgetattr(slave)
        expect(after == before, "the terminal is as it was")
        expect(json.loads(stage.text("stopped"))["final_tick"] >= 60, "it played to its end")
        expect(os.read(master, 65536).count(b"\033[H") >= 1, "it got a picture at first")
        os.close(slave)
        os.close(master)


def leave_with(programs, key):
    with Stage(programs, "--name", "bob", "--ticks", "1", shows=None,
               server_arguments=("--matches", "2", "--tick-rate", "30")) as stage:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            client_command(programs, stage, "--view=text"),
            env=dict(stage.environment, TERM="xterm"), preexec_fn=lambda: os.login_tty(slave),
        )
        os.close(slave)
        while b"tick" not in os.read(master, 65536):
            pass
        os.write(master, key)
        read_terminal(master, process)
        os.close(master)
        expect(process.wait(timeout=PATIENCE_S) == 0, f"{key} leaves")


def check_leaving(programs):
    leave_with(programs, b"q")
    leave_with(programs, b"Q")


def check_no_screen(programs):
    bare = {"PATH": "/usr/bin:/bin"}  # where SDL would find a driver that shows nothing
    for environment in (bare, {**bare, "SDL_VIDEODRIVER": "x11", "DISPLAY": ":nowhere"}):
        result = subprocess.run(
            [programs.client, "127.0.0.1:9", "--view"],
            capture_output=True, text=True, check=False, env=environment, timeout=PATIENCE_S,
        )
        expect(result.returncode == 1, f"the environment's fault, not {result.returncode}")
        expect("no screen" in result.stderr and "--view=text" in result.stderr, result.stderr)


def check_no_window_library(programs):
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(programs.client, folder)
        result = subprocess.run([alone, "127.0.0.1:9", "--view"], capture_output=True, text=True,
                                check=False, timeout=PATIENCE_S)
    expect(result.returncode == 2, f"what this installation cannot do, not {result.returncode}")
    expect("lockstep-window" in result.stderr and "--view=text" in result.stderr, result.stderr)


def check_demo(programs):
    """The demo in four windows, of one match."""
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Screen(folder)) as screen:
        environment = {**os.environ, "DISPLAY": screen.display, "SDL_AUDIODRIVER": "dummy"}
        demo = [pathlib.Path(__file__).parents[2] / "tools" / "demo", "--view", "--seconds", "3"]
        process = subprocess.Popen(
            [*demo, "--bin", os.path.dirname(programs.server)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        search = ["xdotool", "search", "--onlyvisible", "--name", "Lockstep"]
        most = 0
        while process.poll() is None:
            found = subprocess.run(search, env=environment, capture_output=True, check=False)
            most = max(most, len(found.stdout.split()))
            time.sleep(0.05)
        output = process.stdout.read()
        expect(process.returncode == 0, f"it ends well: {output}")
        expect(most == 4, f"four windows at once, not {most}")


def check_usage(programs):
    for arguments in (
        ("--screenshot", "a.png@1"), ("--view", "--screenshot", "a.png"), ("--view=sound",),
        ("--no-interpolation",), ("--view", "--size", "640"), ("--view", "--size", "640x1"),
        ("--view=text", "--json", "-"), ("--view=text", "--screenshot", "a.png@1"),
    ):
        result = subprocess.run(
            [programs.client, "127.0.0.1:9", *arguments],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        )
        expect(result.returncode == 2, f"{arguments} is a usage error: {result.stderr}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--server", "--client", "--stage", "--replay"):
        parser.add_argument(name, required=True)
    programs = parser.parse_args()
    check_usage(programs)
    check_no_screen(programs)
    check_no_window_library(programs)
    check_screenshots(programs)
    check_desync(programs)
    check_plain_text(programs)
    check_terminal(programs)
    check_stopped_terminal(programs)
    check_leaving(programs)
    check_demo(programs)


main()
