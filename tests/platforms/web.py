"""The browser's client: its libraries and modules by Debian's clang, its steps beside those of this
machine, and a match of a page with a client of this machine."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

from stages import ROOT, Failed, Skipped, build, run

sys.path.insert(0, str(ROOT / "tests/service"))

import browser  # noqa: E402

LIBRARIES = ROOT / "build" / "web-libraries"
WEB = ROOT / "build" / "web"
PLAYERS, TICKS = 4, 10000
PAGE_BYTES_MAX = 200000  # with brotli
MATCH_TICKS, MATCH_SECONDS_MAX = 900, 120
RECORD_TICKS = 300
BROADCAST_TICKS = 1200
HIDDEN_TICKS = 300  # of tests/web/chromium.mjs
PROGRAMS = ROOT / "build/release/bin"
NEEDS = {"node": "nodejs", "npm": "npm", "wasm-ld": "lld", "llvm-ar": "llvm", "clang": "clang"}


def build_libraries():
    """Downloads their sources where they are not there yet."""
    for program, package in NEEDS.items():
        if not shutil.which(program):
            raise Skipped(f"{program} is not installed: apt install {package}")
    if not os.path.exists("/usr/lib/wasm32-wasi/libc.a"):
        raise Skipped("apt install wasi-libc libclang-rt-14-dev-wasm32")
    run(["nice", "tools/platforms/web-libraries", LIBRARIES])
    return "libsodium, zstd's decoder, ENet"


def build_modules():
    if not (WEB / "build.ninja").exists():
        run(["cmake", "-S", ".", "-B", WEB, "-G", "Ninja", "--toolchain",
             "tools/platforms/web.cmake", "--log-level=WARNING"])
    run(["nice", "cmake", "--build", WEB])
    return ", ".join(f"{module.name} {module.stat().st_size} bytes"
                     for module in sorted(WEB.glob("*/*.wasm")))


def weigh():
    size = int(run(["node", "tests/web/weigh.mjs", WEB / "web"]))
    if size > PAGE_BYTES_MAX:
        raise Failed(f"{size} bytes with brotli, the limit is {PAGE_BYTES_MAX}")
    return f"{size} bytes with brotli"


def parse(words):
    """Name -> chain of hashes, nanoseconds of a step."""
    rows = (line.split() for line in words.splitlines())
    return {name: (chain, int(step_ns)) for name, chain, step_ns in rows}


def compare(theirs):
    """Chains have to be equal, times are told."""
    ours = parse(run([ROOT / "build/release/tests/web/web_steps", PLAYERS, TICKS]))
    theirs = parse(theirs)
    if not ours or {k: v[0] for k, v in ours.items()} != {k: v[0] for k, v in theirs.items()}:
        raise Failed(f"{ours} here, {theirs} there")
    return f"{TICKS} ticks each; of this machine's time: " + ", ".join(
        f"{name} {theirs[name][1] / max(ours[name][1], 1):.2f}" for name in ours)


def compare_node():
    build("release", "web_steps")
    return compare(run(["node", "tests/web/steps.mjs", WEB / "tests/steps.wasm", PLAYERS, TICKS]))


def need_chromium():
    if not any(shutil.which(name) for name in ("chromium-headless-shell", "chromium")):
        raise Skipped("Chromium is not installed: apt install chromium-headless-shell")


def need_address():
    if not browser.own_address():
        raise Skipped("browsers open no data channels where there is no address but the loopback's")


def compare_chromium():
    need_chromium()
    return compare(run(["node", "tests/web/chromium.mjs", "steps", WEB / "tests", PLAYERS, TICKS]))


class Programs:
    """Programs of this machine and pages, started side by side and ended together."""

    def __init__(self):
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for one in self.started:
            one.kill()
            one.wait()

    def start(self, *words, stdin=subprocess.DEVNULL):
        self.started.append(subprocess.Popen(
            [str(word) for word in words], stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True))
        return self.started[-1]

    def wait_for_file(self, path):
        """What a program writes into it, once it is ready."""
        end = time.monotonic() + MATCH_SECONDS_MAX
        while not (path.exists() and (text := path.read_text(encoding="ascii").strip())):
            if time.monotonic() > end:
                raise Failed(f"nothing in {path}")
            time.sleep(0.05)
        return text

    def serve(self, *words):
        """A server with a door: the server, and the link of its page."""
        server = self.start(PROGRAMS / "lockstep-server", "--players", 2, "--port", 0,
                            "--web", "127.0.0.1:0", "--web-files", WEB / "web", *words)
        link = next((found[1] for line in server.stdout
                     if (found := re.search(r"play in a browser: (\S+)", line))), "")
        return server, link

    def join(self, link, *words):
        return self.start(PROGRAMS / "lockstep-client", link.partition("#")[2], *words)


def check_pipe(found, kind):
    """A page goes on by a channel, and one that hears nothing by it any more by the WebSocket."""
    pipe = "channel" if browser.own_address() and kind != "phone" else "socket"
    if found["pipe"] != pipe or (found["channelCount"] > 0) != bool(browser.own_address()):
        raise Failed(f"{found}: not by the {pipe}")


def play_match(sim, kind=""):
    """The server compares the hashes of all ticks, and the ends have to be the same everywhere."""
    is_firefox = kind.startswith("firefox")
    if is_firefox and not shutil.which("firefox-esr"):
        raise Skipped("Firefox is not installed: apt install firefox-esr")
    if not is_firefox:
        need_chromium()
    web = "127.0.0.1"
    if kind == "firefox, by the channel":  # to the loopback it opens none
        need_address()
        web = browser.own_address()
    build("release", "lockstep-server", "lockstep-client")
    with tempfile.TemporaryDirectory() as folder, Programs() as programs:
        server, link = programs.serve("--sim", sim, "--ticks", MATCH_TICKS, "--bundle-dir", folder,
                                      "--web", f"{web}:0")
        player = programs.join(link, "--bot", 7)
        browse = ([sys.executable, "-B", ROOT / "tests/web/firefox.py", link]
                  if is_firefox else
                  ["node", ROOT / "tests/web/chromium.mjs", "match", link, f"{folder}/picture.png",
                   kind])
        page = programs.start(*browse)
        try:
            said = [one.communicate(timeout=MATCH_SECONDS_MAX)[0] for one in (page, player, server)]
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{error.cmd[0]} does not end") from error
    ends = set(re.findall(r"hash\W+([0-9a-f]{16})", "\n".join(said)))
    compared = re.search(r"(\d+) hashes compared, 0 differences", said[-1])
    if len(ends) != 1 or not compared or page.returncode or player.returncode or server.returncode:
        raise Failed("\n".join(said))
    found = json.loads(said[0])
    if kind != "firefox":
        check_pipe(found, kind)
    return (f"{compared[1]} hashes, 0 differences; tick {found['tick']}, "
            f"{found.get('clickToPlayingMs', '?')} ms from the click to playing; "
            f"{found['channelCount']} datagrams by the channel, at the end by the {found['pipe']}")


def play_hidden():
    """A page that nobody sees plays on: the match waits for nobody, so a page that stood still
    would have the server put in what it did not send."""
    need_chromium()
    build("release", "lockstep-server", "lockstep-client")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        summary = pathlib.Path(name) / "summary"
        server, link = programs.serve("--sim", "arena", "--ticks", MATCH_TICKS, "--json", summary)
        programs.join(link, "--bot", 7)
        found = json.loads(run(["node", "tests/web/chromium.mjs", "hidden", link]))
        said = server.communicate(timeout=MATCH_SECONDS_MAX)[0]
        of = next((one for one in json.loads(summary.read_text())["players"]
                   if one["name"] == "player (2)"), None) if summary.exists() else None
    if found["status"] != "OK" or not of or of["hashes_compared"] <= MATCH_TICKS:
        raise Failed(f"{found}\n{said}")
    if of["inputs_on_time"] < MATCH_TICKS - HIDDEN_TICKS:
        raise Failed(f"{of['inputs_on_time']} of {MATCH_TICKS} inputs came on time\n{said}")
    return f"{of['inputs_on_time']} of {MATCH_TICKS} inputs on time, {HIDDEN_TICKS} ticks hidden"


def play_again():
    """The server is killed in mid-match and resumes it at the same place: the page is back by
    itself, and ends as the server does."""
    need_chromium()
    build("release", "lockstep-server")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name)
        place = ("--bind", "127.0.0.1", "--find", "off", "--identity", folder / "identity")
        server, link = programs.serve(*place, "--sim", "arena", "--players", 1, "--ticks",
                                      MATCH_TICKS, "--journal", folder)
        page = programs.start("node", "tests/web/chromium.mjs", "again", link)
        page.stdout.readline()
        server.kill()
        server.wait()
        web, port = re.search(r"http://([^/]+)/.*:(\d+)/#", link).groups()
        server = programs.start(
            PROGRAMS / "lockstep-server", *place, "--port", port, "--web", web, "--web-files",
            WEB / "web", "--resume", next(folder.glob("*.journal")))
        said = [one.communicate(timeout=MATCH_SECONDS_MAX)[0] for one in (page, server)]
    final = re.search(r"final hash ([0-9a-f]{16})", said[1])
    found = json.loads(said[0]) if not page.returncode else {}
    if not final or found.get("hash") != final[1]:
        raise Failed("\n".join(said))
    if "trying again" not in found["words"]:
        raise Failed(f"the words about it: {found['words']}")
    return f"lost at tick {found['lost']}, back, and the same at tick {found['tick']}"


def play_gone():
    """A server ends with its match. Who presses Play then is told so, and plays once another one is
    at its place."""
    need_chromium()
    build("release", "lockstep-server")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        place = ("--bind", "127.0.0.1", "--find", "off", "--identity", pathlib.Path(name) / "id")
        match = ("--sim", "arena", "--players", 1, "--ticks", RECORD_TICKS)
        server, link = programs.serve(*place, *match)
        page = programs.start("node", "tests/web/chromium.mjs", "gone", link, stdin=subprocess.PIPE)
        page.stdout.readline()
        server.wait(MATCH_SECONDS_MAX)
        page.stdin.write("gone\n")
        page.stdin.flush()
        words = [page.stdout.readline().strip() for _ in range(2)]
        web, port = re.search(r"http://([^/]+)/.*:(\d+)/#", link).groups()
        server = programs.start(PROGRAMS / "lockstep-server", *place, *match, "--port", port,
                                "--web", web, "--web-files", WEB / "web")
        next(line for line in server.stdout if "play in a browser" in line)
        said = [one.communicate("back\n" if one is page else None, MATCH_SECONDS_MAX)[0]
                for one in (page, server)]
    final = re.search(r"final hash ([0-9a-f]{16})", said[1])
    if any("does not answer" not in one for one in words):
        raise Failed(f"the words about it: {words}")
    if not final or page.returncode or json.loads(said[0])["hash"] != final[1]:
        raise Failed("\n".join(said))
    return words[0]


def refuse_invites():
    """A link whose invite is not whole, or another server's, is answered in plain words."""
    need_chromium()
    build("release", "lockstep-server")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        link, other = (programs.serve("--sim", "arena", "--identity", pathlib.Path(name) / one)[1]
                       for one in ("identity", "other"))
        page, _, invite = link.partition("#")
        for fragment, words in ((invite[:-1] + ("A" if invite[-1] != "A" else "B"), "typing error"),
                                ("arena", "has no whole invite"),
                                (other.partition("#")[2], "another server's or an old one")):
            said = run(["node", "tests/web/chromium.mjs", "refused", f"{page}#{fragment}"])
            if words not in said:
                raise Failed(f"{said} of {fragment}")
    return "3 links"


def play_own_game():
    """The game of lockstep-new in a page of its own; the page without it says so."""
    need_chromium()
    build("release", "lockstep-new", "lockstep-server", "lockstep-client")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name) / "pass-it-on"
        run(["env", "-C", name, PROGRAMS / "lockstep-new", folder.name])
        run(["nice", folder / "page", ROOT],
            env={**os.environ, "LOCKSTEP_WEB_LIBRARIES": LIBRARIES})
        plugin = folder / "game.so"
        core = (ROOT / f"build/release/common/liblockstep_{part}.a" for part in ("core", "base"))
        run(["cc", "-std=c17", "-O2", "-shared", "-fPIC", "-ffp-contract=off", "-o", plugin,
             "-I", ROOT / "build/release/include", folder / "pass-it-on.c", *core, "-lm"])
        game = ("--sim", plugin, "--ticks", MATCH_TICKS)
        _, link = programs.serve(*game)
        words = run(["node", "tests/web/chromium.mjs", "refused", link])
        if "plays pass-it-on, which this page lacks" not in words:
            raise Failed(words)
        server, link = programs.serve(*game, "--web-files", folder / "build/page/web")
        player = programs.join(link, "--sim", plugin, "--bot", 7)
        page = programs.start("node", "tests/web/chromium.mjs", "match", link)
        said = [one.communicate(timeout=MATCH_SECONDS_MAX)[0] for one in (page, player, server)]
    ends = set(re.findall(r"hash\W+([0-9a-f]{16})", "\n".join(said)))
    compared = re.search(r"(\d+) hashes compared, 0 differences", said[-1])
    if len(ends) != 1 or not compared or page.returncode or player.returncode or server.returncode:
        raise Failed("\n".join(said))
    return f"{compared[1]} hashes, 0 differences"


def play_listed():
    """A game is found on the page of a directory, and played in a page by the link there."""
    need_chromium()
    build("release", "lockstep-relay", "lockstep-server")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name)
        relay = programs.start(
            PROGRAMS / "lockstep-relay", "--bind", "127.0.0.1", "--port", 0, "--port-file",
            folder / "port", "--http", "127.0.0.1:0")
        url = next((found[1] for line in relay.stdout
                    if (found := re.search(r"a page with the list of games: (\S+)", line))), "")
        port = (folder / "port").read_text(encoding="ascii").strip()
        server, _ = programs.serve(
            "--sim", "arena", "--players", 1, "--ticks", RECORD_TICKS, "--publish",
            f"127.0.0.1:{port}", "--public", "Friday arena", "--web-hosts", "127.0.0.1")
        found = json.loads(run(["node", "tests/web/chromium.mjs", "list", url]))
        said = server.communicate(timeout=MATCH_SECONDS_MAX)[0]
    final = re.search(r"final hash ([0-9a-f]{16})", said)
    if not final or (found["status"], found["hash"]) != ("OK", final[1]):
        raise Failed(f"{found}\n{said}")
    if not re.search(r"Friday arena\s+arena\s+0 of 1 players\s+\d+ ms\s+Play", found["row"]):
        raise Failed(found["row"])
    return f"tick {found['tick']}, by {' '.join(found['row'].split())}"


def play_by_code():
    """The page of a relay: a person types the code of a game and plays, another one watches by the
    link with it, and a wrong code is refused."""
    need_chromium()
    build("release", "lockstep-relay", "lockstep-server", "lockstep-client")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name)
        relay = programs.start(
            PROGRAMS / "lockstep-relay", "--bind", "127.0.0.1", "--port", 0, "--port-file",
            folder / "port", "--web", "127.0.0.1:0", "--web-files", WEB / "web")
        url = next((found[1] for line in relay.stdout
                    if (found := re.search(r"play in a browser: (\S+)", line))), "")
        port = (folder / "port").read_text(encoding="ascii").strip()
        server = programs.start(
            PROGRAMS / "lockstep-server", "--sim", "arena", "--players", 2, "--ticks", MATCH_TICKS,
            "--port", 0, "--publish", f"127.0.0.1:{port}")
        link = next((found[1] for line in server.stdout
                     if (found := re.search(r"play in a browser by the relay: (\S+)", line))), "")
        code = link.partition("#")[2]
        words = run(["node", "tests/web/chromium.mjs", "refused", f"{url}#{'2' * 4}-{code[5:]}"])
        if "no server of this code" not in words:
            raise Failed(words)
        picture = os.environ.get("LS_PICTURE_OF_CODE", folder / "picture.png")
        pages = [programs.start("node", "tests/web/chromium.mjs", "code", url, code, picture),
                 programs.start("node", "tests/web/chromium.mjs", "watch",
                                link.replace("#", "?watch#"))]
        player = programs.start(PROGRAMS / "lockstep-client", f"{code}@127.0.0.1:{port}",
                                "--bot", 7)
        said = [one.communicate(timeout=MATCH_SECONDS_MAX)[0] for one in (*pages, player, server)]
    ends = set(re.findall(r"hash\W+([0-9a-f]{16})", "\n".join(said)))
    if len(ends) != 1 or any(page.returncode for page in pages) or server.returncode:
        raise Failed("\n".join(said))
    found = json.loads(said[0])
    if found["fragment"] != f"#{code.lower()}":
        raise Failed(f"{found}: the address of the page has no code")
    return f"tick {found['tick']}, by the {found['pipe']} of the relay's door"


def open_records():
    """A journal is played and checked in a page, a cut one is found out, a bundle told in words."""
    need_chromium()
    build("release", "lockstep-server", "lockstep-client")
    with tempfile.TemporaryDirectory() as name, Programs() as programs:
        folder = pathlib.Path(name)
        server, link = programs.serve("--sim", "arena", "--ticks", RECORD_TICKS, "--journal",
                                      folder, "--bundle-dir", folder)
        for words in (("--bot", 1), ("--bot", 2, "--flip-bit", "60:20000")):
            programs.join(link, *words)
        said = server.communicate(timeout=MATCH_SECONDS_MAX)[0]
        final = re.search(r"final hash ([0-9a-f]{16})", said)
        journal, bundle = next(folder.glob("*.journal")), next(folder.glob("*.bundle"))
        cut = folder / "cut.journal"
        cut.write_bytes(journal.read_bytes()[:journal.stat().st_size * 2 // 3])
        _, link = programs.serve("--sim", "arena")
        whole, torn, told = (
            json.loads(run(["node", "tests/web/chromium.mjs", "record", link, file]))
            for file in (journal, cut, bundle))
        report = folder / "report.json"
        explained = subprocess.run(
            [PROGRAMS / "lockstep-desync", "explain", bundle, "--quiet", f"--json={report}"],
            capture_output=True, text=True, check=False)
        if not report.exists():
            raise Failed(explained.stdout + explained.stderr)
        picture = os.environ.get("LS_PICTURE_OF_REPORT", folder / "report.png")
        listed = json.loads(
            run(["node", "tests/web/chromium.mjs", "record", link, report, picture]))
    if not final or (whole["status"], whole["hash"], whole["last"]) != (
            "OK", final[1], str(RECORD_TICKS)):
        raise Failed(f"{whole}\n{said}")
    if torn["status"] != "MALFORMED" or "damaged" not in torn["why"]:
        raise Failed(f"{torn} of a cut journal")
    if "one-off" not in told["words"] or "the server has" not in told["words"]:
        raise Failed(f"{told} of a bundle")
    if "classone-off" not in listed["words"] or "differences" not in listed["words"]:
        raise Failed(f"{listed} of a report")
    return f"{whole['hashes']} state hashes as recorded; {torn['why']}"


def watch_broadcast():
    """A page follows a match that others play, late, and compares every state to its end."""
    need_chromium()
    build("release", "lockstep-server", "lockstep-client")
    with tempfile.TemporaryDirectory() as folder, Programs() as programs:
        server, link = programs.serve("--sim", "arena", "--ticks", BROADCAST_TICKS, "--journal",
                                      folder, "--bundle-dir", folder, "--broadcast", 1)
        for number in (1, 2):
            programs.join(link, "--bot", number)
        root = link.partition("/play")[0]
        while not json.load(urllib.request.urlopen(root + "/broadcast"))["matches"]:
            time.sleep(0.2)
        found = json.loads(run(["node", "tests/web/chromium.mjs", "broadcast",
                                f"{root}/play?broadcast"]))
        server.terminate()
        final = re.search(r"final hash ([0-9a-f]{16})", server.communicate()[0])
    if not final or (found["status"], found["hash"], found["last"]) != (
            "OK", final[1], str(BROADCAST_TICKS)):
        raise Failed(f"{found}\n{final}")
    return f"{found['hashes']} state hashes as the server had them"


def play(report):
    report.stage("libraries", build_libraries)
    report.stage("modules", build_modules, needs=["libraries"])
    report.stage("weight", weigh, needs=["modules"])
    report.stage("steps in node", compare_node, needs=["modules"])
    report.stage("steps in Chromium", compare_chromium, needs=["modules"])
    report.stage("arena in a page", lambda: play_match("arena"), needs=["modules"])
    report.stage("units on a phone", lambda: play_match("units", "phone"), needs=["modules"])
    report.stage("a browser that keeps nothing", lambda: play_match("arena", "private"),
                 needs=["modules"])
    report.stage("arena in Firefox", lambda: play_match("arena", "firefox"), needs=["modules"])
    report.stage("Firefox by a channel", lambda: play_match("arena", "firefox, by the channel"),
                 needs=["modules"])
    report.stage("a hidden page", play_hidden, needs=["modules"])
    report.stage("a server that restarts", play_again, needs=["modules"])
    report.stage("a server that is gone", play_gone, needs=["modules"])
    report.stage("by a code at a relay", play_by_code, needs=["modules"])
    report.stage("wrong invites", refuse_invites, needs=["modules"])
    report.stage("a game of one's own", play_own_game, needs=["modules"])
    report.stage("a listed game in a page", play_listed, needs=["modules"])
    report.stage("records in a page", open_records, needs=["modules"])
    report.stage("a broadcast in a page", watch_broadcast, needs=["modules"])
