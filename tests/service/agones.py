#!/usr/bin/env python3
"""A service in a fleet of Agones, against a stand-in for the sidecar of its SDK: every request is
held to the SDK's published description (methods, paths and fields of sdk.swagger.json and
beta.swagger.json), and others are refused. As the sidecar does, the stand-in answers before it has
acted, goes from RequestReady to Ready in its own time, refuses counts and lists above their
capacity, and takes no annotation that Kubernetes would refuse. Agones itself is not here."""

import http.server
import json
import os
import pathlib
import queue
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading

from fake_service import PATIENCE_S, run_tests
from whole_service import Programs, Service, wait_for

Programs.server, Programs.client, TOKEN_PROGRAM = sys.argv[1:4]

# Method and path: the fields of the body and their types; None: no body. int64 is a text.
DESCRIBED = {
    ("POST", r"/ready"): {},
    ("POST", r"/health"): {},
    ("POST", r"/shutdown"): {},
    ("GET", r"/gameserver"): None,
    ("GET", r"/watch/gameserver"): None,
    ("PUT", r"/metadata/annotation"): {"key": str, "value": str},
    ("PATCH", r"/v1beta1/counters/([a-z]+)"): {"count": str, "capacity": str, "countDiff": str},
    ("PATCH", r"/v1beta1/lists/([a-z]+)"): {"capacity": str, "values": list},
}


# The name of an annotation of Kubernetes, behind its prefix.
ANNOTATION = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
INVITES = re.compile(r"agones\.dev/sdk-room\.(.+)\.invite")


class Sidecar:
    """What the sidecar knows of its game server, and all that it was asked."""

    def __init__(self, port=0, counters=("rooms",), lists=("players",), has_stream=True,
                 capacity=64):
        self.state, self.annotations, self.capacity = "Scheduled", {}, capacity
        self.counters, self.lists = dict.fromkeys(counters), dict.fromkeys(lists)
        self.work = queue.Queue()
        self.asked, self.problems, self.allocations = [], [], 0
        self.looks_see = None  # instead of what the stream tells
        self.has_stream, self.streams, self.changed = has_stream, 0, threading.Condition()
        self.is_over = False
        sidecar = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def stream(self):
                """One line of JSON for each change, the first at once."""
                sidecar.streams += 1
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                told = None
                try:
                    while not sidecar.is_over:
                        with sidecar.changed:
                            sidecar.changed.wait_for(
                                lambda: sidecar.is_over or sidecar.game_server() != told, 0.1)
                        if sidecar.game_server() != told:
                            told = sidecar.game_server()
                            line = json.dumps({"result": told}).encode() + b"\n"
                            for part in (line[:40], line[40:]):  # as a network may cut it
                                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                                self.wfile.flush()
                except OSError:
                    pass
                self.close_connection = True

            def answer(self):
                if self.path == "/watch/gameserver" and sidecar.has_stream:
                    self.stream()
                    return
                size = int(self.headers.get("Content-Length") or 0)
                status, body = sidecar.take(self.command, self.path, self.rfile.read(size))
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_PATCH = answer

            def log_message(self, *_):
                pass

        threading.Thread(target=self.act, daemon=True).start()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def act(self):
        """What was answered is done afterwards, one thing at a time."""
        while (job := self.work.get()) is not None:
            job()
            with self.changed:
                self.changed.notify_all()

    def become(self, state):
        self.state = state

    def become_ready(self):
        """First the state that was asked for; then the controller of Agones acts on it."""
        standing = self.standing()
        if standing:
            self.problems.append(f"Ready while {standing} stand")
        self.state = "RequestReady"
        self.work.put(lambda: self.become("Ready" if self.state == "RequestReady" else self.state))

    def standing(self):
        """The rooms of allocations to which there is an invite."""
        return [INVITES.fullmatch(key)[1] for key, value in self.annotations.items()
                if INVITES.fullmatch(key) and value.startswith("lockstep://")]

    def count(self, known, name, body):
        """An error has no code of its own, as the SDK makes it."""
        if name not in known:
            return 500, {"code": 2, "message": f"not found: {name}", "details": []}
        value = body.get("count", body.get("values"))
        number = int(value) if known is self.counters else len(value)
        if not 0 <= number <= self.capacity:
            return 500, {"code": 2, "message": "out of range. Count must be within range "
                         f"[0,Capacity]. Found Count: {number}, Capacity: {self.capacity}"}
        if known is self.lists and len(set(value)) < number:
            self.problems.append(f"{name}: {value} has one twice")
        self.work.put(lambda: known.__setitem__(name, value))
        return 200, {}

    def stop(self):
        self.is_over = True
        self.work.put(None)
        self.server.shutdown()
        self.server.server_close()

    def take(self, method, path, data):
        for (described, form), fields in DESCRIBED.items():
            match = re.fullmatch(form, path)
            if match and described == method:
                return self.take_described(path, match.groups(), fields, data)
        self.problems.append(f"{method} {path} is not described")
        return 404, {}

    def take_described(self, path, groups, fields, data):
        body = json.loads(data) if data else None
        if (body is None) != (fields is None):
            self.problems.append(f"{path}: {data!r}")
        for key, value in (body or {}).items():
            if key not in fields or not isinstance(value, fields[key]):
                self.problems.append(f"{path}: {key} is {value!r}")
        self.asked.append((path, body))
        if path == "/ready":
            self.work.put(self.become_ready)
        elif path == "/shutdown":
            self.work.put(lambda: self.become("Shutdown"))
        elif path == "/metadata/annotation":
            name = "sdk-" + body["key"]
            if not ANNOTATION.fullmatch(name):
                self.problems.append(f"Kubernetes refuses the annotation {name}")
            self.work.put(lambda: self.annotations.update({"agones.dev/" + name: body["value"]}))
        elif path == "/gameserver":
            return 200, self.looks_see or self.game_server()
        elif path == "/watch/gameserver":
            return 501, {"code": 12, "message": "Method Not Allowed"}
        elif groups:
            return self.count(self.counters if "counters" in path else self.lists, groups[0], body)
        return 200, {}

    def game_server(self):
        return {"object_meta": {"name": "one", "annotations": dict(self.annotations)}, "spec": {},
                "status": {"state": self.state, "address": "127.0.0.1",
                           "ports": [{"name": "default", "port": 7300}]}}

    def paths(self):
        return [path for path, _ in self.asked]

    def allocate(self, room):
        """One that is Ready, or one that is Allocated and has room left."""
        assert self.state in ("Ready", "Allocated"), self.state
        self.allocations += 1
        self.annotations["lockstep.dev/room"] = json.dumps(room)
        self.annotations["agones.dev/last-allocated"] = f"2026-01-01T00:00:0{self.allocations}Z"
        self.state = "Allocated"
        with self.changed:
            self.changed.notify_all()

    def invite(self, room=None):
        """Of the newest allocation, or to a room."""
        key = f"room.{room}.invite" if room else "lockstep-invite"
        return self.annotations.get("agones.dev/sdk-" + key, "")


def service_with(sidecar, rooms="", head=""):
    return Service(rooms, head, options=("--agones",),
                   environment={"AGONES_SDK_HTTP_PORT": str(sidecar.port)})


def test_allocation_becomes_a_room_that_is_played():
    sidecar = Sidecar()
    with service_with(sidecar) as service:
        wait_for(lambda: sidecar.state == "Ready", "Ready")
        assert sidecar.paths()[0] == "/health" and "/ready" in sidecar.paths()
        sidecar.looks_see = sidecar.game_server()
        sidecar.allocate({"name": "final", "sim": "arena", "players": 2})
        wait_for(lambda: sidecar.invite().startswith("lockstep://"), "the invite by the stream")
        sidecar.looks_see = None
        assert sidecar.streams == 1
        assert "/final@" in sidecar.invite() and service.room("final")["seats"] == 2
        wait_for(lambda: sidecar.counters["rooms"] == "1", "the counter")
        for name in ("ann", "bob"):
            service.join("--name", name, "--ticks", "240", to=sidecar.invite())
        wait_for(lambda: sorted((sidecar.lists["players"] or [])) in (
            ["final/0/ann", "final/1/bob"], ["final/0/bob", "final/1/ann"]), "the list of players")
        assert all(service.ended(i)[0] == 0 for i in range(2))
        assert service.summary(0)["final_hash"] == service.summary(1)["final_hash"]
        wait_for(lambda: sidecar.state == "Ready" and not sidecar.invite(), "Ready again")
        wait_for(lambda: sidecar.counters["rooms"] == "0" and sidecar.lists["players"] == [],
                 "counter and list of an empty server")
        sidecar.allocate({"name": "final", "sim": "arena", "players": 2})
        wait_for(lambda: service.room("final"), "the same room once more")
        wait_for(lambda: sidecar.paths().count("/health") > 3, "health again and again")
    wait_for(lambda: sidecar.state == "Shutdown", "Shutdown")
    assert not sidecar.problems, sidecar.problems
    sidecar.stop()


def play(service, invite, name):
    """Two players of a room, to its end."""
    players = [service.join("--name", f"{name}-{i}", "--ticks", "60", to=invite) for i in range(2)]
    assert all(service.ended(player)[0] == 0 for player in players)


def test_second_allocation_opens_a_room_of_its_own():
    sidecar = Sidecar()
    with service_with(sidecar) as service:
        wait_for(lambda: sidecar.state == "Ready", "Ready")
        longest = "m" * 46 + "-"
        sidecar.allocate({"name": "m1", "sim": "arena", "players": 2})
        wait_for(lambda: "/m1@" in sidecar.invite(), "the first invite")
        sidecar.allocate({"name": longest, "sim": "arena", "players": 2})
        wait_for(lambda: f"/{longest}@" in sidecar.invite(longest), "the second invite")
        assert "/m1@" in sidecar.invite("m1")
        wait_for(lambda: sidecar.invite() == sidecar.invite(longest), "the newest invite")
        wait_for(lambda: sidecar.counters["rooms"] == "2", "the counter")
        sidecar.allocate({"name": "m1", "sim": "arena", "players": 2})
        wait_for(lambda: "already" in sidecar.invite(), "the third is refused")
        play(service, sidecar.invite("m1"), "m1")
        wait_for(lambda: sidecar.counters["rooms"] == "1" and not sidecar.invite("m1"), "its end")
        assert sidecar.state == "Allocated" and sidecar.paths().count("/ready") == 1
        play(service, sidecar.invite(longest), "m2")
        wait_for(lambda: sidecar.state == "Ready" and not sidecar.standing(), "Ready again")
    assert not sidecar.problems, sidecar.problems
    sidecar.stop()


def test_room_that_nobody_joins_makes_way():
    sidecar = Sidecar()
    with service_with(sidecar, head="join-timeout = 1") as service:
        wait_for(lambda: sidecar.state == "Ready", "Ready")
        sidecar.allocate({"name": "m1", "sim": "arena", "players": 2})
        wait_for(lambda: sidecar.invite("m1").startswith("lockstep://"), "the invite")
        wait_for(lambda: sidecar.state == "Ready", "Ready again")
        assert not service.room("m1") and not sidecar.standing()
        sidecar.allocate({"name": "m2", "sim": "arena", "players": 2, "join-timeout": 0})
        wait_for(lambda: sidecar.invite("m2").startswith("lockstep://"), "the invite")
        service.join(to=sidecar.invite("m2"))
        service.wait_until("m2", lambda room: room["players"])
    assert not sidecar.problems, sidecar.problems
    sidecar.stop()


def test_sidecar_may_come_late_and_go():
    sidecar = Sidecar()
    sidecar.stop()
    with service_with(sidecar) as service:
        wait_for(lambda: "the sidecar of Agones does not take" in service.log(), "its absence")
        again = Sidecar(port=sidecar.port, counters=(), lists=())
        wait_for(lambda: again.state == "Ready", "Ready")
        again.stop()
        last = Sidecar(port=sidecar.port)
        last.state = "Ready"
        wait_for(lambda: "/health" in last.paths(), "health once more")
        service.process.send_signal(signal.SIGTERM)
        wait_for(lambda: last.state == "Shutdown", "Shutdown")
        last.stop()


def test_sidecar_without_a_stream_is_looked_at():
    sidecar = Sidecar(has_stream=False)
    with service_with(sidecar) as service:
        wait_for(lambda: "/watch/gameserver" in sidecar.paths(), "the stream is asked for")
        wait_for(lambda: sidecar.state == "Ready", "Ready")
        sidecar.allocate({"name": "final", "sim": "arena", "players": 2})
        wait_for(lambda: sidecar.invite().startswith("lockstep://"), "the invite")
        assert service.room("final")
    sidecar.stop()


def test_allocation_that_cannot_be_is_told():
    sidecar = Sidecar(counters=())
    with service_with(sidecar) as service:
        wait_for(lambda: sidecar.state == "Ready", "Ready")
        sidecar.allocate({"name": "../x"})
        wait_for(lambda: "letters, digits" in sidecar.invite(), "why not")
        wait_for(lambda: sidecar.state == "Ready", "Ready again")
        sidecar.allocate({"name": "game", "sim": "no-such-game"})
        wait_for(lambda: "no-such-game" in sidecar.invite("game"), "why not")
        wait_for(lambda: sidecar.state == "Ready", "Ready again")
        sidecar.allocate({"name": "game", "sim": "arena", "players": 2})
        wait_for(lambda: sidecar.invite().startswith("lockstep://"), "the invite")
        assert service.room("game")
    assert not sidecar.problems, sidecar.problems
    sidecar.stop()


def test_allocation_brings_the_key_of_its_tokens():
    sidecar = Sidecar()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        key = secrets.token_hex(32)
        sidecar.annotations["lockstep.dev/token-key"] = key
        with Service("", options=("--agones", "--token-key", folder / "of-server"),
                     environment={"AGONES_SDK_HTTP_PORT": str(sidecar.port)}) as service:
            wait_for(lambda: sidecar.state == "Ready", "Ready")
            assert key not in (folder / "of-server").read_text(encoding="ascii")
            sidecar.allocate({"name": "final", "sim": "arena", "players": 2})
            wait_for(lambda: service.room("final"), "the room")
            assert key in (folder / "of-server").read_text(encoding="ascii")
            (folder / "of-back-end").write_text(f"lockstep token key 1\nkey {key}\n",
                                                encoding="ascii")
            os.chmod(folder / "of-back-end", 0o600)
            place = re.search(r"//([^/]+)/", service.invite)[1]
            for seat in ("0", "1"):
                subprocess.run(
                    [TOKEN_PROGRAM, "make", "--key", folder / "of-back-end", "--client-id", seat,
                     "--server", place, "--match", "final", "--seat", seat, "--out",
                     folder / seat], check=True, timeout=PATIENCE_S)
                service.join("--token", folder / seat, "--ticks", "30", to=place)
            assert [service.ended(i)[0] for i in range(2)] == [0, 0]
            without = service.join("--connect-wait", "1")
            assert service.ended(without)[0] == 1, "the invite lets nobody in"
    assert not sidecar.problems, sidecar.problems
    sidecar.stop()


def test_server_without_tokens_takes_no_key():
    sidecar = Sidecar()
    sidecar.annotations["lockstep.dev/token-key"] = secrets.token_hex(32)
    with service_with(sidecar) as service:
        wait_for(lambda: sidecar.state == "Ready", "Ready")
        sidecar.allocate({"name": "final", "sim": "arena", "players": 2})
        wait_for(lambda: "takes no tokens" in sidecar.invite(), "why not")
        assert not service.room("final")
    sidecar.stop()


if __name__ == "__main__":
    run_tests(globals(), at_once=6)  # they wait, more than they compute
