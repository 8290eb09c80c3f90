"""Real keys, clicks and wheel reach the match and the camera; leaving is leaving."""

import argparse
import ctypes

from screen import HEIGHT, PATIENCE_S, WIDTH, Stage, expect, expect_near, repeat_until, wait_for

BLUE, YELLOW, VIOLET = (0, 0, 255), (255, 255, 0), (255, 0, 255)
TOLERANCE = 1.5  # pixels; a click is on a whole one
BOX_EDGE = (0x9B, 0xE3, 0x8B)


def centre(stage, colour):
    return stage.take_picture().centre(colour)


def check_keys(stage):
    before = centre(stage, BLUE)
    stage.do("keydown", "Right")
    wait_for("a step to the right", lambda: centre(stage, BLUE)[0] > before[0] + 20)
    stage.do("keyup", "Right")
    right = centre(stage, BLUE)
    stage.do("keydown", "a")
    wait_for("a step back", lambda: centre(stage, BLUE)[0] < right[0] - 10)
    stage.do("keyup", "a")
    expect(abs(centre(stage, BLUE)[1] - before[1]) < 1, "neither up nor down")


def move(stage, x, y):
    stage.do("mousemove", "--window", stage.window, str(x), str(y))


def check_order(stage):
    x, y = WIDTH // 2 - 120, HEIGHT // 2 + 60
    move(stage, x, y)
    repeat_until("the order", lambda: stage.do("click", "3"),
                 lambda: abs(centre(stage, YELLOW)[0] - x) < 20)
    expect_near(centre(stage, YELLOW), (x + 0.5, y + 0.5), TOLERANCE, "where the click was")


def check_keyboard(stage):
    """Any key and any letter, not only those that the view knows."""
    for key, x in (("F2", -4), ("question", 4)):
        repeat_until(f"what {key} does", lambda: stage.do("key", key),
                     lambda: is_yellow_at(stage, x, 5))


def is_yellow_at(stage, x, y):
    picture = stage.take_picture()
    place = picture.place(x, y)
    return max(abs(a - b) for a, b in zip(picture.centre(YELLOW), place)) < TOLERANCE


def draw_box(stage, low, high):
    move(stage, *low)
    stage.do("mousedown", "1")
    move(stage, *high)


def select(stage, low, high):
    draw_box(stage, low, high)
    stage.do("mouseup", "1")


def check_box(stage):
    low, high = (60, 40), (200, 130)
    draw_box(stage, low, high)
    picture = stage.take_picture()
    for corner in (low, (high[0], low[1]), high, (low[0], high[1])):
        colour = picture.image.pixel(*corner)
        far = max(abs(a - b) for a, b in zip(colour, BOX_EDGE))
        expect(far < 10, f"the box's edge at {corner}, not {colour}")
    stage.do("mouseup", "1")
    repeat_until("the selection", lambda: select(stage, low, high),
                 lambda: abs(centre(stage, VIOLET)[0] - high[0]) < 20)
    picture = stage.take_picture()
    expect_near(picture.centre(VIOLET), (high[0] + 0.5, high[1] + 0.5), TOLERANCE, "its end")
    expect(picture.image.pixel(*low) != BOX_EDGE, "the box is gone")


def check_zoom(stage):
    x, y = 500, 90
    before = stage.take_picture()
    move(stage, x, y)
    stage.do("click", "--repeat", "3", "4")
    after = wait_for("the zoom", lambda: zoomed(stage, before.scale * 1.15**3))
    for picture in (before, after):
        world = (
            picture.middle[0] + (x + 0.5 - WIDTH / 2) / picture.scale,
            picture.middle[1] - (y + 0.5 - HEIGHT / 2) / picture.scale,
        )
        expect_near(after.place(*world), (x + 0.5, y + 0.5), 0.1, "what is under the pointer")
    stage.do("key", "Home")
    wait_for("the whole view", lambda: zoomed(stage, before.scale))


def zoomed(stage, scale):
    picture = stage.take_picture()
    return picture if abs(picture.scale - scale) < 0.01 else None


def check_follow(stage):
    stage.do("key", "f")
    wait_for("the own disc in the middle", lambda: is_in_middle(centre(stage, BLUE)))


def is_in_middle(at):
    return abs(at[0] - WIDTH / 2) < 3 and abs(at[1] - HEIGHT / 2) < 3


def expect_left(stage):
    expect(stage.client.wait(timeout=PATIENCE_S) == 0, "leaving is a clean end")
    expect(stage.server.wait(timeout=PATIENCE_S) == 0, "so it is for the server")
    expect("ann (slot 0) left" in stage.text("server.err"), "the server knows that the player left")


def ask_to_close(stage):
    """As a window manager does when its button is clicked."""

    class Message(ctypes.Structure):
        _fields_ = [
            ("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("send_event", ctypes.c_int),
            ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("kind", ctypes.c_ulong),
            ("format", ctypes.c_int), ("data", ctypes.c_long * 5), ("room", ctypes.c_long * 24),
        ]

    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    x11.XSendEvent.argtypes = [
        ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.c_long, ctypes.c_void_p,
    ]
    x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    display = x11.XOpenDisplay(stage.screen.display.encode())
    client_message = 33
    message = Message(client_message, window=int(stage.window), format=32)
    message.kind = x11.XInternAtom(display, b"WM_PROTOCOLS", 0)
    message.data[0] = x11.XInternAtom(display, b"WM_DELETE_WINDOW", 0)
    x11.XSendEvent(display, int(stage.window), 0, 0, ctypes.byref(message))
    x11.XCloseDisplay(display)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--server", "--client", "--stage", "--replay"):
        parser.add_argument(name, required=True)
    programs = parser.parse_args()
    with Stage(programs, server_arguments=("--tick-rate", "30")) as stage:
        stage.start_watching()
        for check in (check_keys, check_order, check_keyboard, check_box, check_zoom, check_follow):
            check(stage)
        stage.do("key", "Escape")
        expect_left(stage)
    with Stage(programs) as stage:
        stage.start_watching()
        ask_to_close(stage)
        expect_left(stage)


main()
