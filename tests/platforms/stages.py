"""What the platforms share: commands, and a report that says of each stage how it went and why."""

import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STAGE_SECONDS_MAX = 7200
LINES_SHOWN = 40

PASSED, FAILED, SKIPPED = "passed", "FAILED", "skipped"


class Failed(Exception):
    """A stage that did not end well; the text says why."""


class Skipped(Exception):
    """A stage that cannot be tried here; the text says why."""


def run(command, **options):
    """The standard output of a command that ends with 0."""
    words = [str(part) for part in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False,
                              cwd=ROOT, timeout=STAGE_SECONDS_MAX, stdin=subprocess.DEVNULL,
                              **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)) from error
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-LINES_SHOWN:]
        raise Failed("\n".join([f"{' '.join(words)} ended with {done.returncode}", *lines]))
    return done.stdout


def build(preset, *targets):
    """Builds targets of a preset of CMake; `nice`, as people may work beside it."""
    if not (ROOT / "build" / preset / "build.ninja").exists():
        run(["cmake", "--preset", preset, "--log-level=WARNING"])
    run(["nice", "cmake", "--build", f"build/{preset}", "--target", *targets])


class Report:
    """One platform's stages, in their order."""

    def __init__(self, platform):
        self.platform = platform
        self.results = {}

    def stage(self, name, play, needs=()):
        """Runs `play`, which returns what it found, if all stages that it needs have passed."""
        start = time.monotonic()
        missing = [need for need in needs if self.results[need] != PASSED]
        try:
            if missing:
                raise Skipped(f"{missing[0]} did not pass")
            result, words = PASSED, play()
        except Skipped as reason:
            result, words = SKIPPED, str(reason)
        except Failed as reason:
            result, words = FAILED, str(reason)
        self.results[name] = result
        seconds = time.monotonic() - start
        first, *rest = words.splitlines() or [""]
        print(f"{self.platform:9} {name:20} {result:8} {seconds:6.0f} s  {first}".rstrip())
        for line in rest:
            print("    " + line)

    def count(self, result):
        return sum(1 for found in self.results.values() if found == result)
