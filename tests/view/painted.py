"""Compares what the painter paints with the pictures in tests/view/painted. A processor may round
another way at an edge, so a few pixels may be a little different; what is seen may not.

    painted.py PROGRAM          compares, and plants what must be noticed
    painted.py PROGRAM write    stores the pictures: look at each of them"""

import pathlib
import subprocess
import sys
import tempfile
import zlib

STORED = pathlib.Path(__file__).parent / "painted"
MISTAKES = ("shifted", "darker", "nameless")
NEAR = 4  # of 255, that a part of a pixel may differ by
PIXELS_MAX = 24  # that may differ by more


def read_ppm(path):
    head, _, pixels = path.read_bytes().partition(b"\n")
    _, width, height, _ = head.split()
    return int(width), int(height), pixels


def chunk(kind, data):
    sum_of = zlib.crc32(kind + data)
    return len(data).to_bytes(4, "big") + kind + data + sum_of.to_bytes(4, "big")


def write_png(path, width, height, pixels):
    """Rows as differences from the row above: a third of the size."""
    step, before, lines = 3 * width, bytes(3 * width), bytearray()
    for y in range(height):
        row = pixels[y * step : (y + 1) * step]
        lines += b"\x02" + bytes((a - b) & 255 for a, b in zip(row, before))
        before = row
    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", size + b"\x08\x02\x00\x00\x00")
        + chunk(b"IDAT", zlib.compress(bytes(lines), 9))
        + chunk(b"IEND", b"")
    )


def read_png(path):
    """One that write_png has written."""
    data = path.read_bytes()
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    at = data.index(b"IDAT") + 4
    size = int.from_bytes(data[at - 8 : at - 4], "big")
    lines, step = zlib.decompress(data[at : at + size]), 3 * width + 1
    before, pixels = bytes(3 * width), bytearray()
    for y in range(height):
        row = lines[y * step + 1 : (y + 1) * step]
        before = bytes((a + b) & 255 for a, b in zip(row, before))
        pixels += before
    return width, height, bytes(pixels)


def difference(painted, stored):
    """What is seen to be different; "" for nothing."""
    if painted[:2] != stored[:2]:
        return f"{painted[:2]} pixels in place of {stored[:2]}"
    if painted[2] == stored[2]:
        return ""
    width = painted[0]
    places = {
        i // 3
        for i, (a, b) in enumerate(zip(painted[2], stored[2]))
        if a - b > NEAR or b - a > NEAR
    }
    first = min(places, default=0)
    is_seen = len(places) > PIXELS_MAX
    return f"{len(places)} pixels, from {first % width}, {first // width}" if is_seen else ""


def paint(program, *mistake):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder, *mistake], check=True)
        return {path.stem: read_ppm(path) for path in pathlib.Path(folder).glob("*.ppm")}


def compare(program):
    stored = {path.stem: read_png(path) for path in STORED.glob("*.png")}
    painted = paint(program)
    faults = [f"{name}: stored or painted alone" for name in stored.keys() ^ painted.keys()]
    for name in stored.keys() & painted.keys():
        seen = difference(painted[name], stored[name])
        if seen:
            path = pathlib.Path(f"painted-{name}.png").absolute()
            write_png(path, *painted[name])
            faults.append(f"{name}: {seen}; {path} beside {STORED / name}.png")
    for mistake in MISTAKES:
        for name, picture in paint(program, mistake).items():
            if name in stored and not difference(picture, stored[name]):
                faults.append(f"{name}: nobody noticed that it is {mistake}")
    print("\n".join(faults) or f"{len(painted)} pictures are as they are stored")
    return 1 if faults or not painted else 0


def main():
    program, *what = sys.argv[1:]
    if what != ["write"]:
        return compare(program)
    STORED.mkdir(exist_ok=True)
    for name, picture in paint(program).items():
        write_png(STORED / f"{name}.png", *picture)
    return 0


sys.exit(main())
