"""The directory of games with its real programs: a relay that serves its list, a server that wants
to be found, a client that looks and joins, and others who ask over HTTP for what they should not.

usage: directory.py FOLDER_OF_THE_PROGRAMS"""

import contextlib
import http.client
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

PROGRAMS = pathlib.Path(sys.argv[1])
PATIENCE_S = 60
PER_ADDRESS = 16


class Running:
    """A program, with what it says in a file; `with` ends it."""

    def __init__(self, folder, name, *arguments):
        self.said = folder / (name + ".said")
        with open(self.said, "wb") as file:
            self.process = subprocess.Popen([PROGRAMS / name, *arguments], stderr=file,
                                            stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def text(self):
        return self.said.read_text(encoding="utf-8")

    def wait_for(self, words):
        end = time.monotonic() + PATIENCE_S
        while words not in self.text():
            assert time.monotonic() < end and self.process.poll() is None, (words, self.text())
            time.sleep(0.02)


def run_client(*arguments):
    done = subprocess.run([PROGRAMS / "lockstep-client", *arguments], capture_output=True,
                          text=True, timeout=PATIENCE_S, check=False)
    return done.returncode, done.stdout, done.stderr


def ask(port, method="GET", path="/v1/games", body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        connection.request(method, path, body=body)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode()


def games(port):
    status, _, text = ask(port)
    assert status == 200, text
    return json.loads(text)["games"]


def first_game(port):
    """The text is made once a second at most."""
    end = time.monotonic() + PATIENCE_S
    while not games(port):
        assert time.monotonic() < end
        time.sleep(0.2)
    return games(port)[0]


def check_headers(port):
    status, headers, text = ask(port)
    assert status == 200 and headers["Content-Type"] == "application/json", headers
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(port, "HEAD")[::2] == (200, "") and text
    assert ask(port, path="/v1/game")[0] == 404
    assert ask(port, path="/v1/games/")[0] == 404
    status, headers, _ = ask(port, "POST", body="x")
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


def check_page(port):
    """The page of the list loads nothing but from the relay."""
    status, headers, text = ask(port, path="/")
    assert status == 200 and headers["Content-Type"] == "text/html; charset=utf-8", headers
    assert "connect-src 'self'" in headers["Content-Security-Policy"], headers
    loaded = re.findall(r'(?:src|href)="(/[^"]+)"', text)
    assert sorted(loaded) == ["/games.css", "/games.js"], text
    assert [ask(port, path=path)[0] for path in loaded] == [200, 200]
    assert ask(port, path="/games.html")[0] == 404


def check_connections(port):
    """One connection asks twice; an address has so many, and the newest gets in."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        for _ in range(2):
            connection.request("GET", "/v1/games")
            assert connection.getresponse().read()
            connection.auto_open = 0
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(4 * PER_ADDRESS)]
    assert games(port)
    closed = 0
    for one in silent:
        one.settimeout(0.01)
        with contextlib.suppress(socket.timeout, ConnectionError), contextlib.closing(one):
            closed += one.recv(1) == b""
    assert closed >= len(silent) - PER_ADDRESS, closed


def check_floods(port):
    """From one address, in a few connections."""
    statuses = set()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    with contextlib.closing(connection):
        for _ in range(2000):
            connection.request("GET", "/v1/games")
            reply = connection.getresponse()
            reply.read()
            statuses.add(reply.status)
            if statuses == {200, 429}:
                return
    assert False, statuses


def read_port(path):
    return int(path.read_text(encoding="ascii"))


def play(folder, relay, relay_port, http_port):
    place = f"127.0.0.1:{relay_port}"
    code, output, errors = run_client("--list", place)
    assert (code, output) == (1, "") and "no game is listed" in errors, errors
    assert games(http_port) == []
    with Running(folder, "lockstep-server", "--sim", "arena", "--players", "1", "--ticks", "30",
                 "--bind", "127.0.0.1", "--port", "0", "--find", "off", "--identity",
                 folder / "identity", "--publish", place, "--public", "Friday  arena", "--region",
                 "eu-west", "--web", "127.0.0.1:0", "--web-files", folder, "--web-hosts",
                 "play.example.com") as server:
        server.wait_for("listed as 'Friday")
        game = first_game(http_port)
        assert (game["name"], game["simulation"], game["seats"], game["free"], game["region"],
                game["needs_token"]) == ("Friday arena", "arena", 1, 1, "eu-west", False), game
        code, output, errors = run_client("--list", place, "--json", "-")
        assert code == 0, errors
        listed = json.loads(output)["games"][0]
        join = game["code"] + "@" + place
        server.wait_for(f"/play#lockstep://{join}/")
        assert game["page"] in server.text(), (game["page"], server.text())
        assert urlsplit(game["page"]).hostname == "play.example.com", game["page"]
        assert (listed["join"], listed["name"], listed["digest"]) == (
            join, "Friday arena", game["digest"]), listed
        code, output, errors = run_client("--list", place)
        assert code == 0 and join in output and "Friday arena" in output, output
        check_headers(http_port)
        check_page(http_port)
        check_connections(http_port)
        check_floods(http_port)
        code, _, errors = run_client(join, "--bot", "1")
        assert code == 0, errors
        server.process.wait(PATIENCE_S)
        assert server.process.returncode == 0
    relay.wait_for("registered: a server at 127.0.0.1")


def main():
    with tempfile.TemporaryDirectory(prefix="lockstep-directory-") as name:
        folder = pathlib.Path(name)
        with Running(folder, "lockstep-relay", "--bind", "127.0.0.1", "--port", "0", "--port-file",
                     folder / "port", "--http", "127.0.0.1:0", "--http-port-file",
                     folder / "http", "--json", folder / "summary") as relay:
            relay.wait_for("listening on")
            play(folder, relay, read_port(folder / "port"), read_port(folder / "http"))
        summary = json.loads((folder / "summary").read_text(encoding="utf-8"))
        assert summary["games"] == 0, summary  # a server that ends takes its game off the list
    print("a game was listed, found, joined and asked for in every way")


main()
