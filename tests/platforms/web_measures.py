"""What a match is like with pages in it: how long an input of a page takes on a network with
losses, a network that is cut, a match that is played by touch on a phone, and what a crowd of
spectators in pages costs the players.

Figures are told and not judged, as other work on the machine changes them. LS_PICTURES names a
folder for the pictures of the phone."""

import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time

from stages import Failed, Skipped, build, run
from web import (MATCH_SECONDS_MAX, PROGRAMS, WEB, Programs, build_libraries, build_modules,
                 need_address, need_chromium)

LOSS_PERCENT, DELAY_MS = 5, 20  # each way
FAR_TICKS, TOUCH_TICKS, CROWD_TICKS, CUT_TICKS = 3600, 1500, 1200, 2400
CUT_S, CUT_ADDRESS = 15, "10.9.0.1"
CROWD, ROUNDS = 100, 3
TURNS_MIN = 8  # of the stick: inputs of a phone that differ
TICK_MS = 1000 / 60


def serve(programs, folder, ticks, *options):
    """A match of arena on the loopback, whose summary is in the folder."""
    return programs.serve("--sim", "arena", "--ticks", ticks, "--json", folder / "server", "--bind",
                          "127.0.0.1", "--identity", folder / "identity", "--find", "off", *options)


def players_of(summary):
    """Of a server's summary, by name."""
    return {one["name"]: one for one in json.loads(summary.read_text())["players"]}


def latency_of(player):
    """From making an input to receiving its closed tick."""
    return player["confirm_latency_ms"]["p99"]


def end_all(*started):
    said = [one.communicate(timeout=MATCH_SECONDS_MAX)[0] for one in started]
    ends = set(re.findall(r"hash(?:es)?\W+([0-9a-f]{16})", "\n".join(said)))
    if any(one.returncode for one in started) or len(ends) != 1:
        raise Failed("\n".join(said))
    return said


def play_far():
    """A page plays by its data channel over a network that delays and loses, and a client of this
    machine over one that is the same."""
    need_chromium()
    need_address()
    build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name)
        server, link = serve(programs, folder, FAR_TICKS)
        far = {}
        for way, port in (("page", re.search(r"//[^/]+:(\d+)/", link)[1]),
                          ("client", re.search(r":(\d+)/#", link)[1])):
            programs.start(
                PROGRAMS / "lockstep-netcond", f"127.0.0.1:{port}", "--listen", "127.0.0.1",
                "--port", 0, "--port-file", folder / way, "--delay", DELAY_MS, "--loss",
                LOSS_PERCENT, "--json", folder / f"{way}.json")
            far[way] = programs.wait_for_file(folder / way)
        page = programs.start("node", "tests/web/chromium.mjs", "far", link, far["page"])
        if "by the channel" not in page.stdout.readline():
            raise Failed(page.communicate()[0])
        invite = link.partition("#")[2]
        player = programs.start(
            PROGRAMS / "lockstep-client", re.sub(r":\d+/#", f":{far['client']}/#", invite),
            "--bot", 7, "--name", "client")
        said = end_all(page, player, server)
        found, players = json.loads(said[0].splitlines()[-1]), players_of(folder / "server")
    beyond = {who: latency_of(players[who]) - 2 * DELAY_MS for who in ("player", "client")}
    if found["pipe"] != "channel" or found["channelCount"] < FAR_TICKS:
        raise Failed(f"{found}: not by the channel")
    return (f"{LOSS_PERCENT} % lost and {DELAY_MS} ms each way, p99 beyond the path: the page "
            f"{beyond['player']:.1f} ms, {beyond['player'] / TICK_MS:.2f} ticks; a client of this "
            f"machine {beyond['client']:.1f} ms")


def cut_network(port, is_cut):
    ways = [f"{kind} {end} {port} drop" for kind in ("udp", "tcp") for end in ("sport", "dport")]
    chain = ["chain input {", "type filter hook input priority filter", *ways, "}"]
    table = ["table inet cut {", *(chain if is_cut else []), "}"]
    run(["nft", "\n".join(["table inet cut {", "}", "delete table inet cut", *table])])


def play_cut_inside():
    """In a network namespace: a page loses its network for a while, and is back by a channel, at
    its seat."""
    for words in ("link set lo up", "link add cable type veth peer name far", "link set far up",
                  f"address add {CUT_ADDRESS}/24 dev cable", "link set cable up"):
        run(["ip", *words.split()])
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        server, link = serve(programs, pathlib.Path(name), CUT_TICKS, "--web", f"{CUT_ADDRESS}:0")
        page = programs.start("node", "tests/web/chromium.mjs", "again", link, "channel")
        player = programs.join(link, "--bot", 7, "--name", "client")
        page.stdout.readline()
        port = re.search(r"//[^/]+:(\d+)/", link)[1]
        cut_network(port, True)
        time.sleep(CUT_S)
        cut_network(port, False)
        said = end_all(page, player, server)
    found = json.loads(said[0])
    if found["pipe"] != "channel":
        raise Failed(f"{found}: not by the channel")
    back = re.search(r"slot \d+ is joining at tick (\d+)", said[-1])
    late_s = (int(back[1]) - int(found["lost"])) * TICK_MS / 1000 - CUT_S
    return f"back by the channel about {max(late_s, 0):.0f} s after {CUT_S} s without a network"


def play_cut():
    need_chromium()
    build("release", "lockstep-server", "lockstep-client")
    if missing := [word for word in ("ip", "nft", "unshare") if not shutil.which(word)]:
        raise Skipped(f"{missing[0]} is not installed")
    maps = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return run(["unshare", *maps, "--net", sys.executable, "-B", __file__, "cut"])


def steered(journal, name):
    """The different inputs of a player."""
    lines = run([PROGRAMS / "lockstep-replay", "export", journal]).splitlines()
    records = [json.loads(line) for line in lines]
    slot = next(one["slot"] for one in records if one.get("text") == name)
    return {one["slots"][slot]["input"] for one in records if one["record"] == "tick"}


def play_by_touch():
    """A phone of 390 points: a person taps Play, moves the stick, fires, speaks and turns the
    phone, to the end of the match."""
    need_chromium()
    build("release", "lockstep-server", "lockstep-client", "lockstep-replay")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name)
        pictures = pathlib.Path(os.environ.get("LS_PICTURES", folder))
        server, link = programs.serve("--sim", "arena", "--ticks", TOUCH_TICKS, "--journal", folder)
        page = programs.start("node", "tests/web/chromium.mjs", "touch", link, pictures)
        if "waiting" not in page.stdout.readline():
            raise Failed(page.communicate()[0])
        player = programs.join(link, "--bot", 7, "--name", "client")
        said = end_all(page, player, server)
        inputs = steered(next(folder.glob("*.journal")), "Ann on a phone")
    found = json.loads(said[0].splitlines()[-1])
    if found["wrong"]:
        raise Failed(found["wrong"])
    if len(inputs) < TURNS_MIN:
        raise Failed(f"inputs of the phone: {inputs}")
    return (f"{found['taps']} touches, {len(inputs)} different inputs, to tick {found['tick']}, "
            f"{found['pictures']} pictures")


def play_before(programs, folder, count):
    """The worst p99 of two clients of this machine, before so many spectators in pages."""
    server, link = serve(programs, folder, CROWD_TICKS, "--spectators", CROWD)
    crowd = programs.start("nice", "-n", 19, "node", "tests/web/crowd.mjs", WEB / "web/play.wasm",
                           link, count)
    if "watching" not in crowd.stdout.readline():
        raise Failed(crowd.communicate()[0])
    players = [programs.join(link, "--bot", number, "--name", f"client-{number}")
               for number in (1, 2)]
    said = end_all(crowd, *players, server)
    if count and json.loads(said[0].splitlines()[-1])["ends"] != ["OK"]:
        raise Failed(said[0])
    return max(latency_of(one) for one in players_of(folder / "server").values())


def play_before_crowd():
    """With and without them in turns. They are the page's module in one process, each by a
    WebSocket of its own: a hundred browsers would take the processors from those who play."""
    build("release", "lockstep-server", "lockstep-client")
    found = {0: [], CROWD: []}
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        for _ in range(ROUNDS):
            for count, figures in found.items():
                figures.append(play_before(programs, pathlib.Path(name), count))
    return f"p99 of {ROUNDS} matches each: " + ", ".join(
        f"before {count} spectators {' '.join(f'{one:.1f}' for one in figures)} ms"
        for count, figures in found.items())


def play(report):
    report.stage("libraries", build_libraries)
    report.stage("modules", build_modules, needs=["libraries"])
    report.stage("a page far away", play_far, needs=["modules"])
    report.stage("a network that is cut", play_cut, needs=["modules"])
    report.stage("a phone, by touch", play_by_touch, needs=["modules"])
    report.stage("before a crowd", play_before_crowd, needs=["modules"])


if __name__ == "__main__" and sys.argv[1:] == ["cut"]:
    print(play_cut_inside())
