"""Cues come out of the loudspeaker: as often as they happen, from their side, as their file."""

import argparse
import array
import pathlib
import sys
import tempfile
import wave

from screen import PATIENCE_S, Stage, expect

TICKS = 40  # the disc goes a quarter of a metre in each, and a cue comes with every whole one
CUES = TICKS // 4
RATE_HZ = 48000
LOUD = 2000  # nothing else than a cue is louder


def write_wave(folder, name):
    """A tenth of a second, at a rate and with channels that are not the loudspeaker's."""
    with wave.open(str(folder / name), "wb") as file:
        file.setparams((1, 2, 22050, 0, "NONE", ""))
        file.writeframes(array.array("h", [20000] * 2205).tobytes())


def play(programs, *arguments, environment, ticks=4):
    """What the client says when it has left."""
    server = ("--ticks", str(ticks), "--tick-rate", "20")
    with Stage(programs, *arguments, server_arguments=server, environment=environment) as stage:
        expect(stage.client.wait(timeout=PATIENCE_S) == 0, "the match ends well")
        return stage.text("client.err")


def record(programs, folder, *arguments):
    """What the loudspeaker played, left and right."""
    path = folder / "played.raw"
    path.unlink(missing_ok=True)
    play(
        programs, *arguments,
        environment={"SDL_AUDIODRIVER": "disk", "SDL_DISKAUDIOFILE": str(path)}, ticks=TICKS,
    )
    pairs = array.array("h", path.read_bytes() if path.exists() else b"")
    return pairs[0::2], pairs[1::2]


def bursts(side):
    """The lengths in seconds of what is loud; a tone is quiet for a moment in each swing."""
    found, since = [], RATE_HZ
    for value in side:
        if abs(value) > LOUD:
            if since > RATE_HZ // 50:
                found.append(0)
            found[-1] += 1
            since = 0
        else:
            since += 1
    return [length / RATE_HZ for length in found]


def expect_heard(heard, cues, how):
    """The match ends in the midst of the last one, and on a busy machine several come at once, as
    one; tests/match/test_sounds.c counts them without a clock."""
    expect(min(cues, 1) <= heard <= cues, f"{how}: {heard} of {cues} cues were heard")


def check_files(programs, folder):
    write_wave(folder, "1.wav")
    (folder / "2.wav").write_bytes(b"RIFF, but no more of it")
    (folder / "notes.wav").write_bytes(b"of no cue")
    left, right = record(programs, folder, "--sounds", str(folder), "--volume", "80")
    lengths = bursts(left)
    expect_heard(len(lengths), CUES, "with files")
    expect(any(0.09 < length < 0.11 for length in lengths), f"as long as the file: {lengths}")
    usual = sum(abs(value - 16000) < 200 for value in left)
    expect(usual > RATE_HZ // 20, f"four fifths of the file's loudness: {usual} times")
    expect(max(right) < max(left), "the disc is on the left")


def check_tones(programs, folder):
    left, _ = record(programs, folder)
    expect_heard(len(bursts(left)), CUES, "as tones")


def check_silence(programs, folder):
    left, _ = record(programs, folder, "--volume", "0")
    expect(not left, "there is no loudspeaker")


def check_replay(programs, folder):
    """A journal is heard as it is played; from a tick in its midst on, only what comes then."""
    server = ("--ticks", str(TICKS), "--tick-rate", "20", "--journal", ".")
    path = folder / "replayed.raw"
    environment = {"SDL_AUDIODRIVER": "disk", "SDL_DISKAUDIOFILE": str(path)}
    with Stage(programs, server_arguments=server, shows=None, environment=environment) as stage:
        expect(stage.client.wait(timeout=PATIENCE_S) == 0, "the match ends well")
        expect(stage.server.wait(timeout=PATIENCE_S) == 0, "for the server too")
        (journal,) = stage.folder.glob("*.journal")
        for first, speed, cues in ((0, "1", CUES), (TICKS // 2, "2", CUES // 2), (0, "4", 0)):
            watching = stage.start(
                "replay", programs.replay, "view", str(journal), "--sim", programs.stage,
                "--from", str(first), "--speed", speed, "--screenshot", f"end.png@{TICKS}",
            )
            expect(watching.wait(timeout=PATIENCE_S) == 0, "it ends with its picture")
            heard = len(bursts(array.array("h", path.read_bytes())[0::2]))
            expect_heard(heard, cues, f"from tick {first} at {speed}")


def check_words(programs, folder):
    told = play(programs, environment={"SDL_AUDIODRIVER": "missing"})
    expect("no sound: there is no audio device here" in told, f"it says so: {told}")
    told = play(programs, "--sounds", str(folder), environment={})
    expect("2.wav: " in told and "a tone is played instead" in told, f"the file is named: {told}")
    expect("notes.wav" not in told, "other files are none of its business")
    told = play(programs, "--sounds", str(folder / "nowhere"), environment={})
    expect("nowhere: No such file or directory; tones are played instead" in told, told)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--server", "--client", "--stage", "--replay"):
        parser.add_argument(name, required=True)
    programs = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_files, check_tones, check_silence, check_replay, check_words):
            check(programs, pathlib.Path(folder))


sys.exit(main())
