#!/usr/bin/env python3
"""Memory that is out in the middle of a request, at each of its allocations in turn, in our code or
in a library: the request may fail, and the listener goes on, with no descriptor lost.

usage: out_of_memory.py FAKE_HTTP_SERVICE LOCKSTEP_SERVER FAILING_MEMORY.so"""

import ctypes
import mmap
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

from described import API
from fake_service import PATIENCE_S, TOKEN, FakeService, run_tests, wait_for

FAKE, SERVER, LIBRARY = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:4])
ALLOCATIONS_MAX = 2000  # of one request
DOOR = b"--door"


class FailingMemory:
    """The file that is shared with the program: which allocation of which process fails."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-memory-"))
        path = self.folder / "failing"
        path.write_bytes(bytes(16))
        self.file = open(path, "r+b")
        self.numbers = (ctypes.c_int64 * 2).from_buffer(mmap.mmap(self.file.fileno(), 16))
        self.environment = {**os.environ, "LD_PRELOAD": LIBRARY, "LS_FAILING_MEMORY": str(path)}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        shutil.rmtree(self.folder)

    def arm(self, process, number):
        self.numbers[1] = process
        self.numbers[0] = number

    def disarm(self):
        """Whether an allocation has failed."""
        left, self.numbers[0] = self.numbers[0], 0
        return left < 0


def ask(port, request):
    """What comes back until the connection ends, or an answer is whole."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        reply = b""
        try:
            connection.sendall(request)
            while b"\r\n\r\n" not in reply:
                piece = connection.recv(65536)
                if not piece:
                    break
                reply += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
        return reply


def descriptors(process):
    return len(os.listdir(f"/proc/{process}/fd"))


def fail_each_allocation(memory, process, port, requests, probe):
    """A request whose first allocation fails, then its second one, and so on until none does."""
    assert b" 200 " in ask(port, probe)  # it has started
    before = descriptors(process)
    failed = 0
    for request in requests:
        for number in range(1, ALLOCATIONS_MAX):
            memory.arm(process, number)
            try:
                ask(port, request)
            finally:
                has_failed = memory.disarm()
            assert b" 200 " in ask(port, probe), (request, number)
            assert pathlib.Path(f"/proc/{process}").exists(), (request, number, "it has ended")
            failed += has_failed
            if not has_failed:
                break
        else:
            raise AssertionError(f"{request} takes more than {ALLOCATIONS_MAX} allocations")
    wait_for(lambda: descriptors(process) <= before + 1, "descriptors that are closed")
    print(f"{failed} allocations have failed", flush=True)
    assert failed > 5 * len(requests)


HOST = b"Host: localhost\r\n"
ALLOWED = HOST + b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"
PROBE = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


def post(path, body, head=ALLOWED):
    length = b"Content-Length: %d\r\n" % len(body)
    return b"POST " + API.encode() + path + b" HTTP/1.1\r\n" + head + length + b"\r\n" + body


def get(path, head=ALLOWED):
    return b"GET " + path + b" HTTP/1.1\r\n" + head + b"\r\n"


def test_listener_of_the_service_goes_on():
    api = API.encode()
    requests = [
        get(b"/healthz"), get(b"/readyz"), get(b"/metrics"), get(b"/"), get(b"/nothing"),
        get(api + b"/rooms"), get(api + b"/rooms/arena-1"), get(api + b"/workers"),
        get(api + b"/service"), get(api + b"/audit"), get(api + b"/bans"), get(api + b"/events"),
        get(api + b"/rooms/arena-1/picture"), get(api + b"/rooms", HOST),
        get(api + b"/rooms") + get(b"/healthz"),
        post(b"/rooms", b'{"name":"mine","players":3,"param":["size=3"]}'),
        post(b"/message", b'{"text":"hello"}'), post(b"/message", b'{"text":"a","text":"b"}'),
        post(b"/bans", b'{"kind":"name","what":"Mallory","seconds":60,"why":"cheats"}'),
        post(b"/rooms/arena-1/players/1/ban", b'{"seconds":60,"by":"name"}'),
        b"GET /healthz HTTP/1.1\r\n" + HOST * 2 + b"\r\n", b"\r\n\r\nnonsense\r\n\r\n",
    ]
    with FailingMemory() as memory:
        with FakeService(FAKE, environment=memory.environment) as service:
            fail_each_allocation(memory, service.process.pid, service.port, requests, PROBE)


OFFER = """v=0\r
o=- 1 2 IN IP4 127.0.0.1\r
s=-\r
t=0 0\r
m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r
c=IN IP4 0.0.0.0\r
a=ice-ufrag:abcd\r
a=ice-pwd:abcdefghijklmnopqrstuvwx\r
a=fingerprint:sha-256 {}\r
a=setup:actpass\r
a=mid:0\r
a=sctp-port:5000\r
""".format(":".join(["AB"] * 32))


def port_in(path, process):
    wait_for(lambda: process.poll() is not None or (path.exists() and path.read_text("ascii")),
             path.name)
    return int(path.read_text("ascii"))


def door_of(process):
    """The process of the server's door, and no other child of its."""
    children = pathlib.Path(f"/proc/{process}/task/{process}/children")

    def find():
        for word in children.read_text("ascii").split():
            command = pathlib.Path(f"/proc/{word}/cmdline")
            if command.exists() and DOOR in command.read_bytes().split(b"\0"):
                return int(word)

    return wait_for(find, "the door")


def test_door_for_pages_goes_on():
    with FailingMemory() as memory:
        page = memory.folder / "web"
        page.mkdir()
        (page / "play.html").write_text("<!doctype html>the page", "ascii")
        server = subprocess.Popen(
            [SERVER, "--sim", "arena", "--players", "2", "--port", "0", "--find", "off",
             "--identity", memory.folder / "identity", "--web", "127.0.0.1:0",
             "--web-files", page, "--web-port-file", memory.folder / "port"],
            env=memory.environment, stderr=subprocess.DEVNULL)
        try:
            port = port_in(memory.folder / "port", server)
            at = b"Host: 127.0.0.1:%d\r\n" % port
            own = at + b"Origin: http://127.0.0.1:%d\r\n" % port
            socket_head = own + (b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                                 b"Sec-WebSocket-Version: 13\r\n"
                                 b"Sec-WebSocket-Protocol: lockstep\r\n"
                                 b"Sec-WebSocket-Key: " + b"A" * 22 + b"==\r\n")
            offer = OFFER.encode()
            length = b"Content-Type: application/sdp\r\n"
            length += b"Content-Length: %d\r\n\r\n" % len(offer)
            requests = [get(b"/play", at), get(b"/", at), get(b"/play/none.js", at),
                        get(b"/play/socket", socket_head), get(b"/play/socket", at),
                        b"POST /play/rtc HTTP/1.1\r\n" + own + length + offer,
                        b"POST /play/rtc HTTP/1.1\r\n" + at + length + offer]
            page_again = get(b"/play", at)
            fail_each_allocation(memory, door_of(server.pid), port, requests, page_again)
        finally:
            server.kill()
            server.wait()


run_tests(globals())
