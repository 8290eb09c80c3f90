#!/usr/bin/env python3
"""The API of a running listener: every answer is as openapi.json describes it, and every operation
in there is asked for, with what is right and what is not."""

import json
import sys
import threading

from described import API, Caller, load_description, problem_with
from fake_service import TOKEN, FakeService, raw, run_tests, wait_for

PROGRAM = sys.argv[1]
OPENAPI = load_description(sys.argv[2])


def test_every_operation_answers_as_it_is_described():
    with FakeService(PROGRAM) as service:
        ask = Caller(service)
        assert ask("GET", "/service")["players"] == 4
        assert [room["name"] for room in ask("GET", "/rooms")["rooms"]] == ["arena-1", "arena-2"]
        room = ask("GET", "/rooms/arena-1")
        assert room["players"][1]["name"] == "<script>boo()</script>"
        assert room["counters"]["desyncs"]["one-off"] == 1
        assert len(ask("GET", "/workers")["workers"]) == 2
        ask("GET", "/rooms/nowhere", status=404)
        ask("GET", "/rooms", status=421, headers={"Host": "other.example"})
        ask("GET", "/rooms", status=401, token="another one")

        body = {"name": "mine", "players": 3, "param": ["size=3"], "find-causes": True}
        assert ask("POST", "/rooms", body, status=201)["name"] == "mine"
        assert ask("POST", "/rooms", status=201)["name"].startswith("room-")
        ask("POST", "/rooms", body, status=409)
        plain = {"Content-Type": "text/plain"}
        ask("POST", "/rooms", body, status=415, headers=plain)
        ask("POST", "/rooms/arena-1/message", "x", status=415, headers=plain)
        typed = {"Content-Type": "Application/JSON; charset=utf-8"}
        ask("POST", "/message", {"text": "typed"}, headers=typed)
        ask("POST", "/rooms", {"players": 0}, status=400)

        assert ask("GET", "/rooms/arena-1/picture").startswith("<?xml ")
        ask("GET", "/rooms/arena-2/picture", status=404)

        assert ask("POST", "/rooms/arena-1/pause")["result"] == "paused"
        assert ask("GET", "/rooms/arena-1")["state"] == "paused"
        ask("POST", "/rooms/arena-1/unpause")
        ask("POST", "/rooms/arena-1/message", {"text": "hello"})
        ask("POST", "/message", {"text": "to all"})
        ask("POST", "/rooms/arena-1/players/0/kick", {"why": "rude"})
        ask("POST", "/rooms/arena-1/players/0/kick", status=404)
        ask("POST", "/rooms/arena-1/players/1/ban", {"seconds": 60, "by": "name"})
        mallory = {"kind": "name", "what": "Mallory", "seconds": 60, "why": "cheats"}
        assert ask("POST", "/bans", mallory, status=201) == {"number": 1}
        account = {"kind": "account", "what": "4711", "seconds": 60}
        assert ask("POST", "/bans", account, status=201) == {"number": 2}
        assert [(ban["what"], ban["why"]) for ban in ask("GET", "/bans")["bans"]] == [
            ("Mallory", "cheats"), ("4711", "")]
        ask("DELETE", "/bans/1")
        ask("DELETE", "/bans/1", status=404)
        assert [ban["number"] for ban in ask("GET", "/bans")["bans"]] == [2]
        assert ask("GET", "/service")["players"] == 2
        assert ask("POST", "/rooms/arena-2/save")["result"].endswith(".journal")
        ask("DELETE", "/rooms/arena-1")
        ask("DELETE", "/rooms/arena-1", status=404)
        ask("POST", "/drain")
        service_now = ask("GET", "/service")
        assert service_now["draining"] and service_now["why_not"]
        assert ask("GET", "/audit")["entries"][-1]["what"] == "POST drain"

        described = {
            (method.upper(), form)
            for form, operations in OPENAPI["paths"].items()
            for method in operations
        }
        assert described - ask.asked == {("GET", "/events")}


def test_description_is_served():
    with FakeService(PROGRAM) as service:
        status, _, text = service.ask("GET", API + "/openapi.json", token=None)
        assert status == 200 and json.loads(text) == OPENAPI


def test_only_the_token_opens_the_api():
    with FakeService(PROGRAM) as service:
        for token in (None, "", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "x" * 5000):
            status, headers, text = service.ask("GET", API + "/rooms", token=token)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer"), text
        basic = {"Authorization": "Basic " + TOKEN}
        assert service.ask("GET", API + "/rooms", token=None, headers=basic)[0] == 401
        assert service.ask("POST", API + "/drain", token=None)[0] == 401
        assert service.ask("GET", "/readyz")[0] == 200  # it was not drained
    with FakeService(PROGRAM, token="") as service:
        for token in ("", None, TOKEN):
            status, _, text = service.ask("GET", API + "/rooms", token=token)
            assert status == 403 and "token" in json.loads(text)["error"]


ROLES = {"eye": "a-token-of-a-viewer", "mod": "a-token-of-a-moderator", "token": TOKEN}


def test_operators_do_what_their_role_does_and_the_audit_has_it():
    with FakeService(PROGRAM) as service:
        asked = (("GET", "/rooms", "eye"), ("GET", "/rooms/arena-1", "eye"),
                 ("POST", "/rooms/arena-1/pause", "mod"), ("POST", "/message", "mod"),
                 ("POST", "/rooms/arena-1/players/0/kick", "mod"),
                 ("GET", "/bans", "eye"), ("DELETE", "/bans/7", "mod"),
                 ("POST", "/rooms", "token"), ("DELETE", "/rooms/arena-1", "token"),
                 ("POST", "/rooms/arena-1/save", "token"), ("GET", "/audit", "token"))
        expected = []
        for method, path, least in asked:
            for name, token in ROLES.items():
                body = {"text": "an \x1b[2J escape"} if path == "/message" else None
                status, _, text = service.ask(method, API + path, body, token=token)
                is_allowed = list(ROLES).index(name) >= list(ROLES).index(least)
                assert (status == 403) != is_allowed, (method, path, name, status, text)
                if method != "GET" or not is_allowed:
                    expected.append((name, method + " " + path[1:], status))
        for path in ("/rooms/arena-2", "/rooms"):
            room = {name: json.loads(service.ask("GET", API + path, token=token)[2])
                    for name, token in ROLES.items()}
            room = {name: of.get("rooms", [of])[0] for name, of in room.items()}
            assert room["eye"]["invite"] == "" and room["mod"]["invite"], room
        wrong = {"seconds": "x"}
        status, _, text = service.ask("POST", API + "/rooms/arena-2/players/0/ban", wrong)
        assert status == 400, (status, text)
        expected.append(("token", "POST rooms/arena-2/players/0/ban", 400))
        status, _, text = service.ask("POST", API + "/message", {"text": "hello"},
                                      headers={"Content-Type": "text/plain"})
        assert status == 415, (status, text)
        expected.append(("token", "POST message", 415))
        entries = json.loads(service.ask("GET", API + "/audit")[2])["entries"]
        found = [(entry["name"], entry["what"], entry["status"]) for entry in entries]
        assert found == expected, (found, expected)
        assert [entry["number"] for entry in entries] == list(range(1, len(entries) + 1))
        assert {entry["role"] for entry in entries} == {"view", "moderate", "admin"}
        spoken = next(entry for entry in entries if entry["what"] == "POST message")
        assert json.loads(spoken["body"])["text"] == "an \x1b[2J escape"


def test_who_only_looks_pushes_nothing_out_of_the_audit():
    with FakeService(PROGRAM) as service:
        assert service.ask("POST", API + "/drain")[0] == 200
        for _ in range(130):  # 260 entries, where 256 are kept
            assert service.ask("GET", API + "/rooms/arena-1/picture",
                               token=ROLES["eye"])[0] == 200
            assert service.ask("POST", API + "/drain", token=ROLES["eye"])[0] == 403
        entries = json.loads(service.ask("GET", API + "/audit")[2])["entries"]
        assert [(entry["name"], entry["status"]) for entry in entries] == [
            ("token", 200), ("eye", 403)]


def test_broken_bodies_and_paths_are_refused():
    with FakeService(PROGRAM) as service:
        kick = "/rooms/arena-1/players/0/kick"
        for path, body in (
            ("/rooms", "{"),
            ("/rooms", "[]"),
            ("/rooms", "3"),
            ("/rooms", b"\xff\xfe{}"),
            ("/rooms", "[" * 5000),
            ("/rooms", {"name": "../x"}),
            ("/rooms", {"name": ""}),
            ("/rooms", {"name": "x" * 48}),
            ("/rooms", {"name": "a\nb"}),
            ("/rooms", {"players": {"a": 1}}),
            ("/rooms", {"x" * 40: 1}),
            ("/rooms", {f"f{i}": i for i in range(70)}),
            ("/message", {}),
            ("/message", {"text": 3}),
            ("/message", {"text": "x" * 512}),
            (kick, {"why": "x" * 512}),
            (kick.replace("kick", "ban"), {}),
            (kick.replace("kick", "ban"), {"seconds": 0}),
            (kick.replace("kick", "ban"), {"seconds": -1}),
            (kick.replace("kick", "ban"), {"seconds": 1e300}),
            (kick.replace("kick", "ban"), {"seconds": 60, "why": 3}),
            (kick.replace("kick", "ban"), {"seconds": 60, "by": "shoe size"}),
            ("/bans", {"kind": "name", "what": "ann"}),
            ("/bans", {"kind": "name", "seconds": 60}),
            ("/bans", {"kind": "address", "what": "example.org", "seconds": 60}),
            ("/bans", {"kind": "account", "what": "ann", "seconds": 60}),
            ("/bans", {"kind": "hat", "what": "ann", "seconds": 60}),
            (kick, {"why": ["rude"]}),
            ("/rooms/arena-1/pause", {"why": None}),
            ("/rooms/arena-1/save", {"why": {"a": "b"}}),
            ("/rooms", {"name": "short\0er"}),
            ("/rooms", {"sim": "arena\0"}),
            ("/message", {"text": "half\0a text"}),
            ("/rooms", {"seed": 2**53}),
            ("/rooms", {"param": [-2**53]}),
            ("/rooms", b'{"players":2,"players":3}'),
            ("/rooms", b'{"players":2,"pl\\u0061yers":3}'),
            ("/rooms", b'{"players":02}'),
            ("/message", b'{"text":"one","text":"two"}'),
            ("/message", b'{"text":"one","Text":"two"}'),
            ("/message", b'{"text":"one\ntwo"}'),
            ("/message", b'{"text":"\xff"}'),
            ("/message", b'\xef\xbb\xbf{"text":"one"}'),
            (kick, {"Why": "rude"}),
            (kick, {"why ": "rude"}),
            (kick, {"": "rude"}),
            (kick.replace("kick", "ban"), b'{"seconds":60,"seconds":1}'),
            (kick.replace("kick", "ban"), {"seconds": 60, "Seconds": 1}),
            ("/bans", {"kind": "name", "what": "ann", "seconds": 60, "until": 1}),
            ("/drain", {"room": "arena-1"}),
        ):
            status, _, text = service.ask("POST", API + path, body)
            assert status == 400 and json.loads(text)["error"], (path, body, status, text)
        for path in ("/", "/room", "/rooms/", "/rooms/a b", "/rooms/%2e%2e%2f", "/rooms/arena-1/x",
                     "/rooms/" + "x" * 48, "/rooms/arena-1/players/0",
                     "/rooms/arena-1/players/32/kick", "/rooms/arena-1/players/-1/kick",
                     "/rooms/arena-1/players/99999999999999999999/kick", "/servicex"):
            status = service.ask("POST", API + path.replace(" ", "%20"))[0]
            assert status in (400, 404), (path, status)
        status, headers, _ = service.ask("PUT", API + "/rooms")
        assert (status, headers["Allow"]) == (405, "GET, POST")
        status, headers, _ = service.ask("GET", API + kick)
        assert (status, headers["Allow"]) == (405, "POST")
        assert service.ask("POST", API + "/rooms", "x" * 70000)[0] == 413
        assert service.ask("GET", API + "/rooms/arena-1")[0] == 200


def test_unprintable_text_reaches_nobody():
    with FakeService(PROGRAM) as service:
        assert service.ask("POST", API + "/message", {"text": "a\u001b[2Jb\u202ec"})[0] == 200
        reply = read_events(service, 3)
        assert "\u001b" not in reply[2]["text"] and reply[2]["text"].startswith("a?")


def test_answers_may_come_later_or_never():
    with FakeService(PROGRAM) as service:
        results = []

        def open_slow():
            results.append(service.ask("POST", API + "/rooms", {"name": "slow"}))

        waiting = threading.Thread(target=open_slow)
        waiting.start()
        for _ in range(3):
            assert service.ask("GET", "/healthz")[0] == 200 and not results
        while waiting.is_alive():  # the request may not have come yet
            service.say("answer")
            waiting.join(0.05)
        assert results[0][0] == 201 and results[0][1]["Location"]
        status, _, text = service.ask("POST", API + "/rooms", {"name": "slow"})
        assert status == 504 and "error" in text
        # A client that goes while it waits, and a service that ends meanwhile.
        request = (
            f"POST {API}/rooms HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            "Content-Length: 15\r\n\r\n"
            '{"name":"slow"}'
        )
        service.connect().sendall(request.encode())
        waits = service.connect()
        waits.sendall(request.encode())
        assert service.ask("GET", "/healthz")[0] == 200
    waits.close()


def open_stream(service, last=None):
    connection = service.connect()
    last = f"Last-Event-ID: {last}\r\n" if last is not None else ""
    head = (f"GET {API}/events HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {TOKEN}\r\n{last}\r\n")
    connection.sendall(head.encode())
    return connection


def read_until(connection, done):
    text = ""
    while not done(text):
        piece = connection.recv(65536).decode()
        assert piece, f"the stream ended: {text[-500:]}"
        text += piece
    return text


def read_events(service, count, last=None):
    with open_stream(service, last) as connection:
        text = read_until(connection, lambda text: text.count("data: ") >= count)
    assert "Content-Type: text/event-stream" in text
    lines = [line for line in text.splitlines() if line.startswith("data: ")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    schema = OPENAPI["components"]["schemas"]["event"]
    assert not any(problem_with(event, schema) for event in events)
    return events


def test_events_are_followed_from_where_a_client_was():
    with FakeService(PROGRAM) as service:
        assert [event["number"] for event in read_events(service, 2)] == [1, 2]
        assert [event["number"] for event in read_events(service, 1, last=1)] == [2]
        with open_stream(service, last=2) as connection:
            text = read_until(connection, lambda text: "\n:\n" in text.replace("\r", ""))
            assert "data:" not in text  # a heartbeat alone
            service.say("hello")
            text = read_until(connection, lambda text: "data:" in text)
            assert "id: 3" in text and "hello" in text


def test_number_of_an_earlier_run_hides_no_event():
    with FakeService(PROGRAM) as service:
        assert [event["number"] for event in read_events(service, 2, last=500)] == [1, 2]


def test_streams_live_longer_than_a_request_and_are_few():
    with FakeService(PROGRAM) as service:
        streams = [open_stream(service, last=2) for _ in range(3)]
        for stream in streams:
            read_until(stream, lambda text: "\r\n\r\n" in text)
        with open_stream(service) as late:
            assert " 503 " in read_until(late, lambda text: "}" in text)
        with service.connect() as idle:  # it is closed, and a request that never ends is cut off
            assert idle.recv(1) == b""
        assert not raw(service, b"GET /healthz HTTP/1.1\r\n").startswith(b"HTTP/1.1 2")
        service.say("still here")
        for stream in streams:
            read_until(stream, lambda text: "still here" in text)
            stream.close()

        def has_a_place():
            with open_stream(service) as again:
                return " 200 " in read_until(again, lambda text: "\r\n\r\n" in text)

        wait_for(has_a_place, "the place of a closed stream")  # noticed at its next heartbeat


def test_stream_ends_when_its_token_is_withdrawn():
    with FakeService(PROGRAM) as service, open_stream(service, last=2) as stream:
        text = read_until(stream, lambda text: "\n:\n" in text.replace("\r", ""))
        service.say("withdraw")
        wait_for(lambda: service.ask("GET", API + "/rooms")[0] == 403, "no token")
        service.say("nobody's business")
        while piece := stream.recv(65536):
            text += piece.decode()
        assert "nobody's" not in text, text


def test_reader_that_does_not_read_costs_no_memory():
    with FakeService(PROGRAM) as service:
        stream = open_stream(service)
        before = service.memory_kib()
        for i in range(2000):
            service.say(f"{i} " + "x" * 200)

        def has_heard_all():  # it may hear two lines as one
            service.say("unready")
            return service.ask("GET", "/readyz")[0] == 503

        wait_for(has_heard_all, "the end of all that was said")
        assert service.memory_kib() - before < 4096
        stream.close()


def test_pipelined_commands_run_one_after_another():
    with FakeService(PROGRAM) as service:
        head = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        requests = "".join(
            f"POST {API}/rooms/arena-1/{verb} HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n"
            for verb in ("pause", "unpause", "pause")
        )
        last = f"GET {API}/rooms/arena-1 HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
        reply = raw(service, (requests + last).encode()).decode()
        assert reply.count("HTTP/1.1 200") == 4 and '"state":"paused"' in reply


run_tests(globals())
