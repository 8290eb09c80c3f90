"""The door of a relay: a page names the code of a server that is registered there, learns the
server's key by it, and plays with a client that comes by the relay's UDP port. A code that nobody
has is refused, and one whose end is wrong is not believed.

usage: relay.py FOLDER_OF_THE_PROGRAMS"""

import http.client
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from web_client import Bridge

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
PATIENCE_S = 90
TICKS = 240


class Started:
    """A program with its log; `with` ends it."""

    def __init__(self, folder, name, program, *words):
        self.path = folder / f"{name}.log"
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in (PROGRAMS / program, *words)], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, cwd=folder)

    def log(self):
        return self.path.read_text(encoding="utf-8", errors="replace")

    def find(self, pattern):
        end = time.monotonic() + PATIENCE_S
        while not (found := re.search(pattern, self.log())):
            assert time.monotonic() < end and self.process.poll() is None, self.log()
            time.sleep(0.05)
        return found

    def end(self):
        code = self.process.wait(timeout=PATIENCE_S)
        return code, self.log()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path)
    reply = connection.getresponse()
    return reply.status, reply.getheader("Content-Type"), reply.read().decode()


def client_of_page(folder, web_port, name, code, *words):
    """A client whose datagrams go as those of a page do; it tries no direct way, as a page."""
    bridge = Bridge(web_port)
    client = Started(folder, name, "lockstep-client", f"{code}@127.0.0.1:{bridge.port}",
                     "--through-relay", "--bot", 3, "--json", folder / f"{name}.json", *words)
    return bridge, client


def play(folder, web_port, relay_port, server, code):
    bridge, page = client_of_page(folder, web_port, "page", code)
    native = Started(folder, "native", "lockstep-client", f"{code}@127.0.0.1:{relay_port}",
                     "--bot", 4, "--json", folder / "native.json")
    with page, native:
        for one in (page, native, server):
            result, said = one.end()
            assert result == 0, said
    ends = [json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            for name in ("page", "native")]
    assert [end["final_tick"] for end in ends] == [TICKS, TICKS], ends
    assert ends[0]["final_hash"] == ends[1]["final_hash"], ends
    assert ends[0]["final_hash"] in server.log(), server.log()
    assert "the relay carries" in page.log(), page.log()
    assert min(bridge.carried) > TICKS // 4, bridge.carried
    bridge.close()


def refuse(folder, web_port, code, words):
    bridge, client = client_of_page(folder, web_port, "refused", code)
    with client:
        result, said = client.end()
    bridge.close()
    assert result == 1 and words in said, (result, said)


def other(character):
    return "3" if character == "2" else "2"


def main():
    with tempfile.TemporaryDirectory(prefix="lockstep-relay-door-") as name:
        folder = pathlib.Path(name)
        relay = Started(folder, "relay", "lockstep-relay", "--bind", "127.0.0.1", "--port", 0,
                        "--port-file", folder / "port", "--web", "127.0.0.1:0", "--web-port-file",
                        folder / "web-port", "--json", folder / "relay.json")
        with relay:
            relay.find("play in a browser: http")
            relay_port, web_port = (int((folder / file).read_text(encoding="ascii"))
                                    for file in ("port", "web-port"))
            assert get(web_port, "/play/door.js") == (
                200, "text/javascript; charset=utf-8", f"export const relayPort = {relay_port};\n")
            server = Started(folder, "server", "lockstep-server", "--sim", "arena", "--players", 2,
                             "--ticks", TICKS, "--port", 0, "--bind", "127.0.0.1", "--find", "off",
                             "--publish", f"127.0.0.1:{relay_port}")
            with server:
                code = server.find(r"join with lockstep-client (\w{4}-\w{3})@")[1]
                server.find(f"play in a browser by the relay: http://127.0.0.1:{web_port}/play#"
                            f"{code}")
                refuse(folder, web_port, other(code[0]) + code[1:], "no server of this code")
                refuse(folder, web_port, code[:-1] + other(code[-1]),
                       "does not prove that it knows the end of the code")
                play(folder, web_port, relay_port, server, code)
        counts = json.loads((folder / "relay.json").read_text(encoding="utf-8"))
        assert counts["carried"] > TICKS // 2 and counts["hosts"] == 1, counts
    return 0


if __name__ == "__main__":
    sys.exit(main())
