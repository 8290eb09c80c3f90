"""A screen of its own (Xvfb), a match of one player on the stage, and what its window shows."""

import contextlib
import fcntl
import math
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import termios
import time
import zlib

PATIENCE_S = 300
AGAIN_S = 2
WIDTH, HEIGHT = 640, 360
DARK = 60
LIGHT = bytes(value > DARK for value in range(256))  # of a byte, whether it is
RED, GREEN = (255, 0, 0), (0, 255, 0)
TOLERANCE = 1.0  # pixels
VIEW_WIDTH_M, VIEW_HEIGHT_M = 32.0, 18.0
NOTE = re.compile(
    r"(\S+\.png): tick (\d+), alpha ([\d.]+), middle (\S+) (\S+) m, ([\d.]+) pixels a metre"
)


def take_terminal():
    """Makes standard input the terminal of a session of its own: it has keys."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def wait_for(what, look):
    """The first true answer; what runs beside us takes its time."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = look()
        if answer:
            return answer
        time.sleep(0.01)
    raise AssertionError(f"waited for {what} in vain")


def repeat_until(what, act, look):
    """A click or a key is an input of one tick, which a busy machine may be too late with: then the
    match goes on without it, and whoever plays clicks again."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        act()
        soon = time.monotonic() + AGAIN_S
        while time.monotonic() < soon:
            if look():
                return
            time.sleep(0.01)
    raise AssertionError(f"waited for {what} in vain")


class Image:
    """Rows of pixels, each of `depth` bytes."""

    def __init__(self, size, depth, order, rows):
        self.size, self.depth, self.order, self.rows = size, depth, order, rows

    def pixel(self, x, y):
        at = int(x) * self.depth
        return tuple(self.rows[int(y)][at + place] for place in self.order)

    @staticmethod
    def of_png(data):
        """8-bit RGB without filters: what the client writes, and simple to read."""
        expect(data[:8] == b"\x89PNG\r\n\x1a\n", "a PNG")
        width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
        expect(data[24:29] == b"\x08\x02\x00\x00\x00", "8 bits of red, green and blue")
        at, packed = 8, b""
        while at < len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            if data[at + 4 : at + 8] == b"IDAT":
                packed += data[at + 8 : at + 8 + size]
            at += size + 12
        lines = zlib.decompress(packed)
        step = 3 * width + 1
        expect(not any(lines[::step]), "rows without a filter")
        rows = [lines[y * step + 1 : (y + 1) * step] for y in range(height)]
        return Image((width, height), 3, (0, 1, 2), rows)

    @staticmethod
    def of_xwd(data):
        """What Xvfb keeps its screen in."""
        words = [int.from_bytes(data[i : i + 4], "big") for i in range(0, 100, 4)]
        header, width, height, line, colours = words[0], words[4], words[5], words[12], words[19]
        start = header + colours * 12
        rows = [data[start + y * line : start + (y + 1) * line] for y in range(height)]
        return Image((width, height), 4, (2, 1, 0), rows)


class Picture:
    """A PNG of the client's, and what the client said of it."""

    def __init__(self, folder, note):
        self.path = folder / note[0]
        self.tick = int(note[1])
        self.alpha = float(note[2])
        self.middle = (float(note[3]), float(note[4]))
        self.scale = float(note[5])
        self.image = Image.of_png(self.path.read_bytes())

    def place(self, x, y):
        """Where a place in the world lies, in pixels."""
        width, height = self.image.size
        return (
            width / 2 + (x - self.middle[0]) * self.scale,
            height / 2 - (y - self.middle[1]) * self.scale,
        )

    def weights(self, colour):
        """(x, y, share) of every pixel of a colour all of whose parts are 0 or 255. Nothing else
        on the stage is lighter than DARK."""
        on = [part for part in range(3) if colour[part]]
        off = [part for part in range(3) if not colour[part]]
        for y, row in enumerate(self.image.rows):
            light = row.translate(LIGHT)
            planes = [light[part::3] for part in range(3)]
            x = planes[on[0]].find(1)
            while x >= 0:
                if all(planes[part][x] for part in on) and not any(planes[part][x] for part in off):
                    least = min(row[3 * x + part] for part in on)
                    yield x + 0.5, y + 0.5, (least - DARK) / (255 - DARK)
                x = planes[on[0]].find(1, x + 1)

    def centre(self, colour):
        """The middle of all pixels of a colour, None when there are none."""
        found = list(self.weights(colour))
        total = sum(weight for _, _, weight in found)
        if total == 0:
            return None
        return (
            sum(x * weight for x, _, weight in found) / total,
            sum(y * weight for _, y, weight in found) / total,
        )


def red_x(tick):
    return min(-14 + tick / 4, 14)


def needle_angle(tick):
    """Of state `tick`: ten degrees to one side, then to the other, across 0."""
    return math.radians(10 if tick % 2 == 0 else -10)


def blend(older, newer, alpha):
    return older + (newer - older) * alpha


def check_disc(picture):
    """The red disc, where it is for this tick and alpha."""
    x = blend(red_x(picture.tick - 1), red_x(picture.tick), picture.alpha)
    expect_near(picture.centre(RED), picture.place(x, -2), TOLERANCE, "the red disc")


def check_picture(picture):
    """Likewise the needle."""
    check_disc(picture)
    older, newer, alpha = picture.tick - 1, picture.tick, picture.alpha
    angle = blend(needle_angle(older), needle_angle(newer), alpha)
    tip = picture.place(3 * math.cos(angle), -6 + 3 * math.sin(angle))
    expect_near(picture.centre(GREEN), tip, TOLERANCE, "the middle of the needle")


class Screen:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        number_file = self.folder / "display"
        with open(number_file, "w", encoding="ascii") as number:
            self.process = subprocess.Popen(
                ["Xvfb", "-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"]
                + ["-fbdir", str(self.folder)],
                stdout=number,
                stderr=subprocess.DEVNULL,
            )
        self.display = ":" + wait_for(
            "a screen", lambda: re.fullmatch(r"(\d+)\n", number_file.read_text())
        ).group(1)

    def shown(self):
        """What is on the screen now."""
        return Image.of_xwd((self.folder / "Xvfb_screen0").read_bytes())

    @contextlib.contextmanager
    def stopped(self):
        """Meanwhile it answers nobody."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Stage:
    """The server, the client with its window, and a person's hands."""

    def __init__(
        self, programs, *client_arguments, server_arguments=(), shows="--view", environment=()
    ):
        self.folder_handle = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.folder_handle.name)
        self.screen = Screen(self.folder)
        self.environment = {
            "DISPLAY": self.screen.display,
            "SDL_VIDEODRIVER": "x11",
            "SDL_RENDER_DRIVER": "software",
            "SDL_AUDIODRIVER": "dummy",
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "PATH": "/usr/bin:/bin",
            **dict(environment),
        }
        self.server = self.start_server(programs, server_arguments)
        port = wait_for("a port", lambda: self.text("port").endswith("\n") and self.text("port"))
        arguments = ["--sim", programs.stage, f"127.0.0.1:{port.strip()}", "--name", "ann"]
        if shows:
            arguments += [shows, "--size", f"{WIDTH}x{HEIGHT}", "--fps", "60"]
        self.client = self.start("client", programs.client, *arguments, *client_arguments)

    def start_server(self, programs, arguments):
        return self.start(
            "server", programs.server, "--sim", programs.stage, "--bind", "127.0.0.1", "--port",
            "0", "--port-file", "port", "--bundle-dir", "none", *arguments,
        )

    def start(self, name, *command):
        with open(self.folder / f"{name}.err", "w", encoding="utf-8") as errors, open(
            self.folder / f"{name}.out", "w", encoding="utf-8"
        ) as output:
            return subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=output, stderr=errors
            )

    def text(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def do(self, *arguments):
        """Real keys and clicks, as from a keyboard and a mouse."""
        subprocess.run(["xdotool", *arguments], env=self.environment, check=True)

    def start_watching(self):
        """Waits for the match and its window."""
        wait_for("the match", lambda: "the match starts" in self.text("client.err"))
        self.take_window()
        wait_for("the first ticks", lambda: self.take_picture().tick >= 2)

    def take_window(self):
        """The window that opens has the keyboard, and no text before the shapes."""
        self.window = (
            subprocess.run(
                ["xdotool", "search", "--sync", "--onlyvisible", "--name", "Lockstep"],
                env=self.environment,
                check=True,
                capture_output=True,
                text=True,
            )
            .stdout.split()[-1]
        )
        self.do("windowfocus", "--sync", self.window)
        self.do("mousemove", "--window", self.window, str(WIDTH // 2), "20")
        self.do("key", "h")

    def geometry(self):
        command = ["xdotool", "getwindowgeometry", "--shell", self.window]
        return subprocess.run(
            command, env=self.environment, check=True, capture_output=True, text=True
        ).stdout.splitlines()

    def notes(self):
        return NOTE.findall(self.text("client.err"))

    def pictures(self):
        return [Picture(self.folder, note) for note in self.notes()]

    def take_picture(self):
        """F12, and what comes of it."""
        before = len(self.notes())
        self.do("key", "F12")
        wait_for("a picture", lambda: len(self.notes()) > before)
        return Picture(self.folder, self.notes()[before])

    def take_burst(self, count, pause_ms):
        """F12 again and again; at least some of it."""
        before = len(self.notes())
        self.do("key", "--delay", str(pause_ms), *["F12"] * count)
        wait_for("a picture", lambda: len(self.notes()) > before)
        return [Picture(self.folder, note) for note in self.notes()[before:]]

    def close(self):
        for process in (self.client, self.server):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.screen.close()
        self.folder_handle.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind:
            for name in ("client", "server"):
                print(f"-- {name}:\n{self.text(name + '.err')}")
        self.close()


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def expect_near(found, expected, tolerance, what):
    expect(found is not None, f"{what}: nothing to be seen")
    far = max(abs(a - b) for a, b in zip(found, expected))
    expect(far <= tolerance, f"{what}: at {found}, expected {expected}")
