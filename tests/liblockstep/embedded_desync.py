#!/usr/bin/env python3
"""The desync of a game that a program embeds: its class, and the line that `next:` names.

usage: embedded_desync.py EXPLAIN LIBRARY INCLUDE COMPILER

LIBRARY is liblockstep.so.0. Two builds of one program play a match; then the game's source is built
as the report says, and the report's command is run as it stands."""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE / "embedded.c"
EXPLAIN, LIBRARY = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
INCLUDE, COMPILER = sys.argv[3:5]
SECONDS_MAX = 300


def build(out, *flags):
    command = [COMPILER, "-std=c17", "-O2", "-g", f"-I{INCLUDE}", SOURCE, *flags, "-o", out]
    subprocess.run([str(word) for word in command], check=True)
    return out


def build_program(out, *flags):
    return build(out, *flags, LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")


def play(folder, host, client, salt=""):
    """What the host says of a match of the two programs."""
    with subprocess.Popen([host, "1", "60"], stdout=subprocess.PIPE, text=True, cwd=folder,
                          env={**os.environ, "EMBEDDED_SALT": "1"}) as hosting:
        invite = hosting.stdout.readline().strip()
        subprocess.run([client, invite], stdout=subprocess.DEVNULL, cwd=folder, check=False,
                       timeout=SECONDS_MAX, env={**os.environ, "EMBEDDED_SALT": salt or "1"})
        return hosting.stdout.read()


def sentence(text, start):
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(start))


class Embedded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="lockstep-embedded-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.host = build_program(self.folder / "host")

    def explain(self, command):
        path = self.folder / "explained.json"
        words = shlex.split(command)
        self.assertEqual(words[0], "lockstep-desync")
        subprocess.run([EXPLAIN, *words[1:], "--json", path], cwd=self.folder, check=False,
                       stdout=subprocess.DEVNULL, timeout=SECONDS_MAX)
        return json.loads(path.read_text())

    def test_other_build_of_the_program_is_named_and_its_line_too(self):
        client = build_program(self.folder / "client", "-DEMBEDDED_GAIN=4")
        said = play(self.folder, self.host, client)
        self.assertIn("class build", said)
        self.assertIn("they differ in simulation", said)
        self.assertIn("heat[2]", said)
        command = sentence(said, "next: ").removeprefix("next: ")
        self.assertIn("--sim GAME.so", command)
        advice = sentence(said, "GAME.so stands for")
        flags = [word for word in advice.split() if word.startswith("-")]
        build(self.folder / "GAME.so", "-DPLUGIN", *[word.strip(",") for word in flags])
        explained = self.explain(command)
        self.assertEqual(explained["class"], "build")
        self.assertIn("/* fault */", explained["line"]["source"])
        self.assertEqual(explained["agrees_with"], "server")
        simulations = [row for row in explained["machines"] if row["item"] == "simulation"]
        self.assertIn("host", simulations[0]["server"])
        self.assertIn("client", simulations[0]["client"])

    def test_one_program_on_one_machine_is_no_other_build(self):
        program = build_program(self.folder / "salted", "-DEMBEDDED_SALT")
        said = play(self.folder, program, program, salt="2")
        self.assertIn("class process", said)
        self.assertIn("salt: server", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
