"""A journal is watched: played, paused, stepped both ways and sought; a tick looks the same from
wherever it is reached."""

import argparse
import re
import subprocess

from screen import HEIGHT, PATIENCE_S, WIDTH, Stage, check_disc, expect, wait_for

TICKS = 90
BAR_HEIGHT = 50  # along the lower edge, where the seek bar lies
SLOWLY = ("--speed", "1/16")


def record(stage):
    expect(stage.client.wait(timeout=PATIENCE_S) == 0, "the match ends well")
    expect(stage.server.wait(timeout=PATIENCE_S) == 0, "for the server too")
    (path,) = stage.folder.glob("*.journal")
    return path


def watch(stage, *arguments):
    """Starts lockstep-replay where the client was."""
    stage.client = stage.start(
        "client", stage.replay, "view", str(stage.journal), "--sim", stage.simulation,
        "--size", f"{WIDTH}x{HEIGHT}", *arguments,
    )


def without_bar(picture):
    return picture.image.rows[: HEIGHT - BAR_HEIGHT]


def check_screenshots(stage):
    """Two of them, then the same ticks begun at; it leaves by itself when it has them."""
    watch(stage, "--screenshot", "a.png@20", "--screenshot", "b.png@60", "--speed", "4")
    expect(stage.client.wait(timeout=PATIENCE_S) == 0, "it ends when it has both")
    played = stage.pictures()
    expect([picture.path.name for picture in played] == ["a.png", "b.png"], "both")
    for picture, tick in zip(played, (20, 60)):
        expect(tick <= picture.tick, f"tick {picture.tick} is {tick} or after it")
        check_disc(picture)
        watch(stage, "--from", str(picture.tick), "--screenshot", "c.png@0", "--no-interpolation")
        expect(stage.client.wait(timeout=PATIENCE_S) == 0, "it ends when it has it")
        (sought,) = stage.pictures()
        expect((sought.tick, sought.alpha) == (picture.tick, 1.0), "that very state")
        check_disc(sought)


def press(stage, key, tick):
    stage.do("key", key)
    picture = wait_for(f"tick {tick}", lambda: at_tick(stage, tick))
    expect(picture.alpha == 1.0, "a step ends on a state")
    check_disc(picture)
    return picture


def at_tick(stage, tick):
    picture = stage.take_picture()
    return picture if picture.tick == tick else None


def check_steps(stage):
    """Pause stands still; steps go to the next and to the last state."""
    watch(stage, "--from", "30", *SLOWLY)
    stage.take_window()
    before = wait_for("playing", lambda: moved(stage, 30))
    check_disc(before)
    stage.do("key", "space")
    first, second = stage.take_picture(), stage.take_picture()
    expect((first.tick, first.alpha) == (second.tick, second.alpha), "it stands still")
    expect(without_bar(first) == without_bar(second), "so does the picture")
    tick = first.tick - (0 if first.alpha == 1.0 else 1)
    forward = press(stage, "Right", tick + 1)
    press(stage, "Right", tick + 2)
    backward = press(stage, "Left", tick + 1)
    expect(without_bar(forward) == without_bar(backward), "the same from both sides")
    press(stage, "Left", tick)
    return forward


def moved(stage, tick):
    picture = stage.take_picture()
    return picture if picture.tick > tick else None


def check_seek(stage, stepped):
    """A click on the bar goes there; the same tick looks the same."""
    at = (WIDTH - 40, HEIGHT - 22)
    stage.do("mousemove", "--window", stage.window, *map(str, at))
    stage.do("click", "1")
    late = wait_for("a late tick", lambda: moved(stage, TICKS * 3 // 4))
    check_disc(late)
    expect(at_tick(stage, late.tick), "it is still paused")
    while late.tick != stepped.tick:
        late = press(stage, "Left", late.tick - 1)
        if late.tick > stepped.tick + 3:  # the rest of the way at once
            left = late.tick - stepped.tick
            stage.do("key", "--repeat", str(left - 1), "--delay", "1", "Left")
            late = wait_for("the tick before", lambda: at_tick(stage, stepped.tick + 1))
    expect(without_bar(late) == without_bar(stepped), "the same from afar")
    stage.do("key", "Escape")
    expect(stage.client.wait(timeout=PATIENCE_S) == 0, "leaving is a clean end")


def check_text(stage):
    """In a file it ends at the end, and shows it."""
    stage.client = stage.start(
        "client", stage.replay, "view", str(stage.journal), "--sim", stage.simulation,
        "--view=text", "--speed", "8",
    )
    expect(stage.client.wait(timeout=PATIENCE_S) == 0, "it ends by itself")
    text = stage.text("client.out")
    expect("\033" not in text, "no escapes in a file")
    expect(re.findall(r"tick +(\d+)", text)[-1] == str(TICKS), "the last tick is shown")
    expect("as recorded" in text and "@" not in text.splitlines()[0], "what the journal says")


def check_usage(stage):
    for arguments in (
        ("--speed", "3"), ("--from", str(TICKS + 1)), ("--screenshot", f"a.png@{TICKS + 1}"),
        ("--view=text", "--screenshot", "a.png@1"), ("--view=text", "--json", "-"),
    ):
        result = subprocess.run(
            [stage.replay, "view", str(stage.journal), "--sim", stage.simulation, *arguments],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S,
        )
        expect(result.returncode == 2, f"{arguments} is a usage error: {result.stderr}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--server", "--client", "--stage", "--replay"):
        parser.add_argument(name, required=True)
    programs = parser.parse_args()
    rate = ("--tick-rate", "30", "--ticks", str(TICKS), "--journal", ".")
    with Stage(programs, server_arguments=rate, shows=None) as stage:
        stage.replay, stage.simulation = programs.replay, programs.stage
        stage.journal = record(stage)
        check_usage(stage)
        check_screenshots(stage)
        check_seek(stage, check_steps(stage))
        check_text(stage)


main()
