"""What the window shows is what the two newest states and the time between them say."""

import argparse

from screen import HEIGHT, PATIENCE_S, RED, VIEW_HEIGHT_M, WIDTH, Stage, check_picture, expect

SHOTS = 8


def check_blended(programs):
    with Stage(programs) as stage:
        stage.start_watching()
        pictures = []
        while len(pictures) < SHOTS or sum(0.05 < each.alpha < 0.95 for each in pictures) < 3:
            pictures.append(stage.take_picture())
        for picture in pictures:
            expect(picture.image.size == (WIDTH, HEIGHT), "the size that was asked for")
            fits = min(WIDTH / 32, HEIGHT / VIEW_HEIGHT_M)
            expect(0.9 * fits < picture.scale <= fits, "all of the view fits the window")
            check_picture(picture)
        check_screen(stage)


def check_screen(stage):
    """The screen has what the picture's file has: the needle's foot and a red disc on its line."""
    picture = stage.take_picture()
    shown = stage.screen.shown()
    corner = [0, 0]
    for line in stage.geometry():
        name, _, value = line.partition("=")
        if name in "XY":
            corner["XY".index(name)] = int(value)
    at = picture.place(0.5, -6)
    pixel = shown.pixel(corner[0] + at[0], corner[1] + at[1])
    expect(pixel == picture.image.pixel(*at), f"the same pixel, not {pixel}")
    line = corner[1] + picture.place(0, -2)[1]
    row = [shown.pixel(corner[0] + x, line) for x in range(WIDTH)]
    expect(RED in row, "the red disc on the screen")


def check_not_blended(programs):
    with Stage(programs, "--no-interpolation") as stage:
        stage.start_watching()
        pictures = [stage.take_picture() for _ in range(SHOTS)]
        for picture in pictures:
            expect(picture.alpha == 1.0, "the newest state as it is")
            check_picture(picture)


def pictures_of_one_tick(stage, are_enough):
    """At two ticks a second several pictures fall between two states."""
    by_tick = {}
    while True:
        for picture in stage.take_burst(10, 50):
            of_tick = by_tick.setdefault(picture.tick, [])
            of_tick.append((picture.alpha, picture.centre(RED)[0]))
            if are_enough(of_tick):
                return of_tick


def check_moves_between_ticks(programs):
    slow = ("--tick-rate", "2")
    with Stage(programs, server_arguments=slow) as stage:
        stage.start_watching()
        of_tick = pictures_of_one_tick(stage, lambda found: found[-1][0] - found[0][0] > 0.3)
        expect(of_tick[-1][1] - of_tick[0][1] > 1, f"it moves between two ticks: {of_tick}")
    with Stage(programs, "--no-interpolation", server_arguments=slow) as stage:
        stage.start_watching()
        of_tick = pictures_of_one_tick(stage, lambda found: len(found) == 4)
        expect(len(set(of_tick)) == 1, f"it stands still between two ticks: {of_tick}")


def check_display_that_stands_still(programs):
    """Whoever shows pictures may take as long as they like: the match does not wait for it. Under
    the rule `wait` it would, if inputs did."""
    until_end = ("--tick-rate", "60", "--late", "wait", "--wait-limit", "600000", "--ticks", "300")
    with Stage(programs, server_arguments=until_end) as stage:
        stage.start_watching()
        with stage.screen.stopped():
            expect(stage.server.wait(timeout=PATIENCE_S) == 0, "the match ends meanwhile")
        expect(stage.client.wait(timeout=PATIENCE_S) == 0, "so it does for the player")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--server", "--client", "--stage", "--replay"):
        parser.add_argument(name, required=True)
    programs = parser.parse_args()
    check_blended(programs)
    check_not_blended(programs)
    check_moves_between_ticks(programs)
    check_display_that_stands_still(programs)


main()
