"""A door for pages at a real server: its page, its WebSockets, and what hostile pages do to it.

usage: pages.py FOLDER_OF_THE_PROGRAMS

A match is played by a native client and by one behind a door that is sealed with TLS, to the same
end with the same hashes. Beside another match hostile connections come by the door: it is played to
the same end, and neither process grows."""

import gzip
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from web_client import (BINARY, CLOSE, PATIENCE_S, PING, PONG, Bridge, WebSocket, connect, frame,
                        handshake_lines, read_head, tls_context)

PROGRAMS = pathlib.Path(sys.argv[1])
MODULE = bytes(range(256)) * 64
TICKS = 150
SLOW = 256
FRAMES_AT_ONCE = 4096  # LS_WEB_FRAME_BURST
GROWTH_KIB_MAX = 24 * 1024


def wait_for(question, what):
    end = time.monotonic() + 10 * PATIENCE_S
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"it never came: {what}")


class Match:
    """A server with a door, in a folder of its own, and the clients of its match."""

    def __init__(self, *options, players=2):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-door-"))
        self.clients, self.bridges = [], []
        web = self.folder / "web"
        web.mkdir()
        (web / "play.html").write_text("<!doctype html>the page", encoding="ascii")
        (web / "lockstep.wasm").write_bytes(MODULE)
        (web / "lockstep.wasm.gz").write_bytes(gzip.compress(MODULE))
        (web / "lockstep.wasm.br").write_bytes(b"as if it were brotli")
        (self.folder / "secret.txt").write_text("beside the folder", encoding="ascii")
        (web / "way-out").symlink_to(self.folder / "secret.txt")
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [PROGRAMS / "lockstep-server", "--sim", "arena", "--players", str(players),
                 "--ticks", str(TICKS), "--port", "0", "--port-file", self.folder / "port",
                 "--find", "off", "--identity", self.folder / "identity", "--web", "127.0.0.1:0",
                 "--web-files", web, "--web-port-file", self.folder / "web-port",
                 "--json", self.folder / "summary", *options],
                stderr=log, stdout=subprocess.DEVNULL)
        self.port = self._port("port")
        self.web_port = self._port("web-port")

    def _port(self, name):
        path = self.folder / name
        wait_for(lambda: self.process.poll() is not None or
                 (path.exists() and path.read_text(encoding="ascii").strip()), name)
        assert self.process.poll() is None, self.log()
        return int(path.read_text(encoding="ascii"))

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for one in [*self.clients, self.process]:
            if one.poll() is None:
                one.kill()
            one.wait()
        for bridge in self.bridges:
            bridge.close()
        log = self.log()
        if kind:
            print(log, file=sys.stderr)
        assert kind or "Sanitizer" not in log, log
        shutil.rmtree(self.folder)

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def join(self, port):
        number = len(self.clients) + 1
        self.clients.append(subprocess.Popen(
            [PROGRAMS / "lockstep-client", f"127.0.0.1:{port}", "--bot", str(number),
             "--json", self.folder / f"client-{number}"],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

    def join_by_door(self, context=None):
        bridge = Bridge(self.web_port, context)
        self.bridges.append(bridge)
        self.join(bridge.port)
        return bridge

    def door(self):
        """The process of the door."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        pids = children.read_text(encoding="ascii").split()
        assert len(pids) == 1, pids
        return int(pids[0])

    def end(self):
        """All have played to the end and agree."""
        for client in self.clients:
            assert client.wait(timeout=10 * PATIENCE_S) == 0, self.log()
        assert self.process.wait(timeout=10 * PATIENCE_S) == 0, self.log()
        summary = json.loads((self.folder / "summary").read_text(encoding="utf-8"))
        ends = [json.loads((self.folder / f"client-{at + 1}").read_text(encoding="utf-8"))
                for at in range(len(self.clients))]
        assert summary["final_tick"] == TICKS, summary
        assert {end["final_hash"] for end in ends} == {summary["final_hash"]}, (summary, ends)
        assert summary["hashes_compared"] >= TICKS * len(ends), summary


class Relay:
    """Of a server that players reach by a relay as well."""

    def __init__(self, folder):
        self.port_file = folder / "relay-port"
        self.process = subprocess.Popen(
            [PROGRAMS / "lockstep-relay", "--port", "0", "--port-file", self.port_file],
            stderr=subprocess.DEVNULL)

    def __enter__(self):
        wait_for(lambda: self.port_file.exists() and self.port_file.read_text(encoding="ascii"),
                 "the relay's port")
        return f"127.0.0.1:{self.port_file.read_text(encoding='ascii').strip()}"

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def memory_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0])


def ask(match, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", match.web_port, timeout=PATIENCE_S)
    connection.putrequest(method, path, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    reply = connection.getresponse()
    answer = reply.status, reply.headers, reply.read()
    connection.close()
    return answer


def check_page(match):
    status, headers, body = ask(match, "/play")
    assert (status, body) == (200, b"<!doctype html>the page"), (status, body)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "'wasm-unsafe-eval'" in policy, policy
    assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(match, "/")[1]["Location"] == "/play"
    link = f"http://play.example.com:{match.web_port}/play#lockstep://"
    assert f"play in a browser: {link}" in match.log()
    known = headers["ETag"]
    assert ask(match, "/play", If_None_Match=known)[0] == 304
    (match.folder / "web/play.html").write_text("<!doctype html>another", encoding="ascii")
    status, headers, body = ask(match, "/play", If_None_Match=known)
    assert status == 200 and body.endswith(b"another") and headers["ETag"] != known


def check_module(match):
    path = "/play/lockstep.wasm"
    status, headers, body = ask(match, path)
    assert (status, headers["Content-Type"], body) == (200, "application/wasm", MODULE)
    assert "Content-Encoding" not in headers
    _, headers, body = ask(match, path, Accept_Encoding="gzip, deflate")
    assert headers["Content-Encoding"] == "gzip" and gzip.decompress(body) == MODULE
    _, headers, body = ask(match, path, Accept_Encoding="gzip, deflate, br")
    assert headers["Content-Encoding"] == "br" and body == b"as if it were brotli"
    assert headers["Content-Type"] == "application/wasm" and headers["Vary"] == "Accept-Encoding"
    status, headers, body = ask(match, path, method="HEAD")
    assert (status, headers["Content-Length"], body) == (200, str(len(MODULE)), b"")


def check_what_is_not_there(match):
    for path in ("/play/none.js", "/play/../secret.txt", "/play/%2e%2e/secret.txt", "/etc/passwd",
                 "/play/way-out", "/play/.", "/v1/rooms", "/play/socket/x"):
        status, _, body = ask(match, path)
        assert status in (400, 404) and b"beside" not in body, (path, status, body)
    assert ask(match, "/play", method="DELETE")[0] == 405
    assert ask(match, "/play", method="POST", Content_Length="3")[0] == 400
    (match.folder / "web/play.html").unlink()
    status, _, body = ask(match, "/play")
    assert status == 404 and b"--web-files" in body, body


def check_handshakes(match):
    def status(**changed):
        web = WebSocket(match.web_port, **changed)
        web.close()
        return web.status

    assert status() == 101
    assert status(origin="http://example.net") == 403
    assert status(Origin=None) == 403
    assert status(origin="http://example.net", Host="example.net") == 403
    assert status(origin="https://play.example.com") == 101  # of --web-hosts
    assert status(Sec_WebSocket_Protocol="chat") == 400
    assert status(Sec_WebSocket_Version="8") == 426
    assert status(Sec_WebSocket_Key="short") == 400
    assert status(Connection="keep-alive") == 400
    assert status(Upgrade="h2c") == 400


def check_frames(match):
    def code(*frames):
        web = WebSocket(match.web_port)
        for one in frames:
            web.connection.sendall(one)
        answer = web.close_code()
        web.close()
        return answer

    assert code(frame(b"words", 1)) == 1003
    assert code(frame(b"unmasked", masked=False)) == 1002
    assert code(frame(b"x" * 1281)) == 1009
    assert code(frame(b"", length=1 << 62)) == 1009
    assert code(frame(b"\x03\xe8", 8)) == 1000
    web = WebSocket(match.web_port)
    web.send(b"are you there?", PING)
    assert web.receive() == (PONG, b"are you there?")
    web.close()


def check_frame_floods(match):
    """One that sends as fast as it can is closed, also with what each frame alone may be; who asks
    in between whether the door is there is answered for the newest question."""
    def answers(*frames):
        web = WebSocket(match.web_port)
        try:
            for one in frames:
                web.connection.sendall(one)
        except OSError:
            pass  # it was closed
        taken = []
        while (whole := web.receive()) is not None:
            taken.append(whole)
            if whole == (PONG, b"last"):
                break
        web.close()
        return taken

    pings = b"".join(frame(b"%d" % number, PING) for number in range(FRAMES_AT_ONCE // 2))
    pongs = answers(pings + frame(b"last", PING))
    assert pongs[-1] == (PONG, b"last") and len(pongs) < FRAMES_AT_ONCE // 4, len(pongs)
    part = frame(b"", 0, final=False)
    for flooding in (frame(b"", PING), frame(b"", PONG), frame(b"x"), part):
        first = frame(b"x", final=False) if flooding is part else b""
        taken = answers(first, *[flooding * FRAMES_AT_ONCE] * 64)
        assert not taken or taken[-1] == (CLOSE, b"\x03\xf0"), taken[-1]


def flood(match):
    """Everything that a hostile page or program can do at once; what is left open is returned."""
    left = []
    for number in range(SLOW):  # half handshakes, of one address
        slow = connect(match.web_port)
        slow.sendall(b"GET /play/socket HTTP/1.1\r\nHost: 127.0.0.1\r\n"[:20 + number % 25])
        left.append(slow)
    for _ in range(8):
        garbage = connect(match.web_port)
        try:
            garbage.sendall(os.urandom(20000))
        except OSError:
            pass  # the door has closed it already
        left.append(garbage)
    for _ in range(8):  # those that send as fast as they can, and read nothing
        web = WebSocket(match.web_port)
        try:
            for _ in range(40):
                web.connection.sendall(frame(b"\x80" + os.urandom(200)) * 50)
        except OSError:
            pass
        left.append(web.connection)
    return left


def check_attacks(match):
    bridge = match.join_by_door()
    server, door = match.process.pid, match.door()
    for connection in flood(match):  # whatever is taken for the first time is
        connection.close()
    before = memory_kib(server), memory_kib(door)
    match.join(match.port)  # the match begins
    left = [connection for _ in range(2) for connection in flood(match)]
    assert match.process.poll() is None and match.door() == door, match.log()
    after = memory_kib(server), memory_kib(door)
    match.end()
    assert bridge.carried[0] > TICKS // 4 and bridge.carried[1] > TICKS // 4, bridge.carried
    for one in range(2):
        assert after[one] - before[one] < GROWTH_KIB_MAX, (before, after)
    for connection in left:
        connection.close()


def check_door_that_ends(match):
    """It is opened again at the same port, while the server goes on."""
    first = match.door()
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: "is opened again" in match.log(), "the line about it")
    web = wait_for(lambda: try_socket(match), "another door")
    assert match.door() != first
    web.close()


def try_socket(match):
    try:
        web = WebSocket(match.web_port)
    except OSError:
        return None
    if web.status != 101:
        web.close()
        return None
    return web


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-subj", "/CN=door", "-days", "30",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "key", "-out", folder / "certificate"],
        check=True, capture_output=True)
    (folder / "key").chmod(0o600)


def check_usage():
    def refused(*options):
        result = subprocess.run([PROGRAMS / "lockstep-server", *options], capture_output=True,
                                text=True, check=False, timeout=10 * PATIENCE_S)
        assert result.returncode == 2, (options, result)
        return result.stderr

    assert "needs --web" in refused("--web-files", "/tmp", "--sim", "arena")
    assert "go together" in refused("--web", "127.0.0.1:0", "--web-key", "k", "--sim", "arena")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        result = subprocess.run(
            [PROGRAMS / "lockstep-server", "--sim", "arena", "--port", "0", "--web", place],
            capture_output=True, text=True, check=False, timeout=10 * PATIENCE_S)
        assert result.returncode == 1 and f"pages cannot be served at {place}" in result.stderr


def main():
    check_usage()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-door-"))
    try:
        make_certificate(folder)
        sealed = ("--web-certificate", folder / "certificate", "--web-key", folder / "key")
        with Relay(folder) as place, Match("--publish", place, *sealed) as match:
            bridge = match.join_by_door(tls_context(folder / "certificate"))
            wait_for(lambda: bridge.carried[1] > 4, "an answer through the door")
            wait_for(lambda: "published at" in match.log(), "the code at the relay")
            match.join(match.port)
            match.end()
            assert bridge.carried[0] > TICKS // 4 and bridge.carried[1] > TICKS // 4
    finally:
        shutil.rmtree(folder)
    with Match("--web-hosts", "play.example.com") as match:
        check_handshakes(match)
        check_frames(match)
        check_frame_floods(match)
        check_page(match)
        check_module(match)
        check_what_is_not_there(match)
        check_door_that_ends(match)
        check_attacks(match)
    return 0


if __name__ == "__main__":
    sys.exit(main())
