#!/usr/bin/env python3
"""lockstep-admin against a running listener: what it shows, what it does, and what it refuses."""

import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading

from fake_service import PATIENCE_S, FakeService, run_tests

SERVICE, ADMIN = sys.argv[1:3]
CLEAN, ENVIRONMENT, USAGE = 0, 1, 2
DIRECTORY = tempfile.TemporaryDirectory()
TOKEN_FILE = pathlib.Path(DIRECTORY.name, "token")


def write_token(token, path=TOKEN_FILE, mode=0o600):
    path.write_text(token, encoding="utf-8")
    path.chmod(mode)
    return path


def run(*arguments):
    return subprocess.run([ADMIN, *map(str, arguments)], capture_output=True, text=True,
                          check=False, timeout=PATIENCE_S)


def admin(service, *arguments, code=CLEAN):
    """Standard output, or standard error of what is refused."""
    host = f"[{service.host}]" if ":" in service.host else service.host
    result = run("--url", f"http://{host}:{service.port}", "--token-file", TOKEN_FILE, *arguments)
    assert result.returncode == code, (arguments, result)
    assert bool(result.stdout) == (code == CLEAN), result
    return result.stdout if code == CLEAN else result.stderr


def service_with_token(**options):
    write_token("secret-of-the-tests\n")
    return FakeService(SERVICE, token="secret-of-the-tests", **options)


def test_rooms_players_and_workers_are_shown_as_tables():
    with service_with_token() as service:
        lines = admin(service, "rooms").splitlines()
        assert lines[0].split()[:3] == ["room", "state", "simulation"]
        assert lines[1].split()[:3] == ["arena-1", "running", "arena"] and len(lines) == 3
        assert "2/2" in lines[1] and "127.0.0.1:7300/arena-1" in lines[1]
        text = admin(service, "room", "arena-1")
        assert "arena-1: arena, running, tick 1000 at 60 Hz" in text
        assert "desyncs of class one-off: 1" in text and "<script>boo()</script>" in text
        assert len(admin(service, "workers").splitlines()) == 3
        assert "ready: 2 rooms on 2 workers, 4 players" in admin(service, "service")
    with service_with_token(host="::1") as service:
        assert "arena-2" in admin(service, "rooms")


def test_answers_can_be_had_as_json():
    with service_with_token() as service:
        assert len(json.loads(admin(service, "--json", "rooms"))["rooms"]) == 2
        assert json.loads(admin(service, "--json", "room", "arena-2"))["state"] == "running"
        assert json.loads(admin(service, "--json", "create", "name=x")) == {"name": "x"}
        assert json.loads(admin(service, "pause", "x", "--json")) == {"result": "paused"}


def test_commands_do_what_they_say():
    with service_with_token() as service:
        assert admin(service, "create", "name=duel", "players=2", "param=a=1",
                     "param=b=2") == "duel\n"
        assert "duel" in admin(service, "rooms")
        assert admin(service, "pause", "duel") == "paused\n"
        assert "paused" in admin(service, "room", "duel")
        assert admin(service, "unpause", "duel") == "running\n"
        assert admin(service, "save", "duel") == "journals/arena.journal\n"
        admin(service, "create", "name=holed")
        holed = run("--url", f"http://127.0.0.1:{service.port}", "--token-file", TOKEN_FILE,
                    "save", "holed")
        assert (holed.returncode, holed.stdout) == (CLEAN, "journals/arena.journal\n")
        assert holed.stderr == "lockstep-admin: warning: 8 closed ticks are missing in it\n"
        assert admin(service, "kick", "arena-1", 0, "too rude") == "sent away\n"
        assert admin(service, "ban", "arena-1", 1, 60, "cheats", "name") == "sent away\n"
        assert admin(service, "add-ban", "name", "Mallory", 60, "cheats") == "1\n"
        assert admin(service, "add-ban", "address", "192.0.2.7", 60) == "2\n"
        lines = admin(service, "bans").splitlines()
        assert lines[0].split() == ["number", "kind", "who", "until", "why"] and len(lines) == 3
        assert lines[1].split()[:3] == ["1", "name", "Mallory"] and lines[1].endswith("cheats")
        assert admin(service, "unban", 1) == "done\n"
        assert "there is no such ban" in admin(service, "unban", 1, code=1)
        assert admin(service, "message", "hello to all") == "sent\n"
        assert admin(service, "message", "arena-2", "hello") == "sent\n"
        assert admin(service, "end", "arena-1") == "ended\n"
        assert admin(service, "drain") == "no new rooms\n"
        assert "draining: 1 rooms" in admin(service, "service")


def test_refusals_are_sentences_and_exit_codes():
    with service_with_token() as service:
        assert "there is no room 'nowhere'" in admin(service, "room", "nowhere", code=ENVIRONMENT)
        assert "nobody sits there" in admin(service, "kick", "arena-1", 7, code=ENVIRONMENT)
        assert "--players takes" in admin(service, "create", "players=0", code=USAGE)
        write_token("another")
        text = admin(service, "rooms", code=ENVIRONMENT)
        assert "token" in text and "--token-file" in text
        free = service.port
    text = run("--url", f"http://127.0.0.1:{free}", "rooms")
    assert text.returncode == ENVIRONMENT and "connect" in text.stderr, text
    with FakeService(SERVICE, token="") as service:
        assert "without a token" in admin(service, "rooms", code=ENVIRONMENT)


def test_lines_that_cannot_be_right_are_refused_before_anything_is_asked():
    for words, part in (
        ((), "the command is missing"),
        (("room",), "room takes NAME"),
        (("rooms", "x"), "rooms takes no words"),
        (("room", "../x"), "letters, digits"),
        (("end", "a b"), "letters, digits"),
        (("kick", "a", "x"), "SLOT takes a number"),
        (("kick", "a", "128"), "SLOT takes a number"),
        (("ban", "a", "1", "0"), "SECONDS takes a number"),
        (("unban", "x"), "NUMBER takes a number"),
        (("create", "players"), "FLAG=VALUE"),
        (("message", "a/b", "text"), "letters, digits"),
        (("nonsense",), "is no command"),
        (("--url", "ftp://localhost", "rooms"), "--url takes"),
        (("--url", "http://localhost/", "rooms"), "slash"),
    ):
        result = run(*words)
        assert result.returncode == USAGE and part in result.stderr, (words, result)
        assert not result.stdout


def test_token_files_that_others_can_read_or_that_hold_more_are_refused():
    for token, mode, code in (("x", 0o644, ENVIRONMENT), ("", 0o600, USAGE),
                              ("two words", 0o600, USAGE), ("a\nb", 0o600, USAGE),
                              ("x\x1b", 0o600, USAGE), ("x" * 5000, 0o600, ENVIRONMENT)):
        write_token(token, mode=mode)
        result = run("--token-file", TOKEN_FILE, "rooms")
        assert result.returncode == code and str(TOKEN_FILE) in result.stderr, (token, result)
    assert run("--token-file", "/nowhere/token", "rooms").returncode == ENVIRONMENT


def test_events_are_printed_as_they_happen():
    for more, part in (([], "  arena-1: message: hello"), (["--json"], '"text":"hello')):
        with service_with_token() as service:
            process = subprocess.Popen(
                [ADMIN, "--url", f"http://127.0.0.1:{service.port}", "--token-file", TOKEN_FILE,
                 "--retry", "0", *more, "events"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            old = [process.stdout.readline() for _ in range(2)]
            assert "room opened" in old[0] and "<script>" in old[1], old
            service.say("hello\x1b[2J")
            line = process.stdout.readline()
            assert part in line and "\x1b" not in line, line
        # The service has gone, and the stream with it.
        _, text = process.communicate(timeout=PATIENCE_S)
        assert process.returncode in (CLEAN, ENVIRONMENT), (process.returncode, text)


def test_picture_is_printed():
    with service_with_token() as service:
        assert "\n<svg " in admin(service, "picture", "arena-1")
        assert "draws nothing" in admin(service, "picture", "arena-2", code=ENVIRONMENT)


class OtherServer(http.server.BaseHTTPRequestHandler):
    """Answers like no service does."""

    replies = {
        "/api/v1/rooms": (200, b"<html>"),
        "/api/v1/workers": (200, b'{"workers": {"x": [1, {}]}}'),
        "/api/v1/service": (302, b""),
        "/api/v1/rooms/x": (500, b'{"error": "\\u001b[2J boo"}'),
        "/api/v1/rooms/x/picture": (200, b"\x1b[2J<svg >"),
        "/api/v1/rooms/y/picture": (200, b"<svg >\n<title>\x1b[2J\xc2\x9b</title>\n</svg>\n"),
    }

    def do_GET(self):
        status, body = self.replies[self.path]
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_answers_of_other_servers_are_refused_or_harmless():
    with http.server.HTTPServer(("127.0.0.1", 0), OtherServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        result = run("--url", url, "rooms")
        assert result.returncode == ENVIRONMENT and "is the URL right" in result.stderr
        assert run("--url", url, "workers").returncode == CLEAN
        assert "302" in run("--url", url, "service").stderr  # and it is not followed
        result = run("--url", url, "room", "x")
        assert result.returncode == ENVIRONMENT and "\x1b" not in result.stderr
        result = run("--url", url, "picture", "x")
        assert result.returncode == ENVIRONMENT and "no picture" in result.stderr, result
        assert not result.stdout
        result = run("--url", url, "picture", "y")
        assert result.returncode == CLEAN, result
        assert result.stdout == "<svg >\n<title>?[2J??</title>\n</svg>\n", result
        server.shutdown()


def test_no_proxy_gets_the_token():
    with service_with_token() as service:
        os.environ["http_proxy"] = "http://127.0.0.1:1"
        try:
            assert "arena-1" in admin(service, "rooms")
        finally:
            del os.environ["http_proxy"]


def test_service_that_closes_the_connection_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = subprocess.Popen([ADMIN, "--url", f"http://127.0.0.1:{server.getsockname()[1]}",
                                    "rooms"], stderr=subprocess.PIPE, text=True)
        connection, _ = server.accept()
        connection.close()
        assert process.wait(timeout=PATIENCE_S) == ENVIRONMENT
        process.stderr.close()


try:
    run_tests(globals())
finally:
    DIRECTORY.cleanup()
