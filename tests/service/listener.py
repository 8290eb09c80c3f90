#!/usr/bin/env python3
"""The HTTP listener, as clients of all kinds meet it: decent, broken, greedy and slow ones."""

import concurrent.futures
import http.client
import resource
import socket
import subprocess
import sys
import time

from fake_service import PATIENCE_S, FakeService, raw, run_tests, wait_for

PROGRAM = sys.argv[1]
CLOSE = b"Connection: close\r\n"


def test_health_and_readiness_are_answered():
    with FakeService(PROGRAM) as service:
        status, headers, text = service.ask("GET", "/healthz", token=None)
        assert (status, text) == (200, "ok\n")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert not any(name.lower().startswith("access-control") for name in headers)
        assert service.ask("GET", "/readyz", token=None)[::2] == (200, "ready\n")
        service.say("unready")
        wait_for(lambda: service.ask("GET", "/readyz", token=None)[::2]
                 == (503, "no worker is there\n"), "unreadiness")
        assert service.ask("HEAD", "/healthz")[::2] == (200, "")


def test_other_paths_and_methods_are_refused():
    with FakeService(PROGRAM) as service:
        assert service.ask("GET", "/nothing")[0] == 404
        assert service.ask("GET", "/metrics/x")[0] == 404
        status, headers, text = service.ask("POST", "/metrics", body="x")
        assert (status, headers["Allow"]) == (405, "GET, HEAD"), text
        assert "error" in text


def test_listener_takes_ipv6_and_mapped_ipv4():
    with FakeService(PROGRAM, host="::") as service:
        for service.host in ("::1", "127.0.0.1"):
            assert service.ask("GET", "/healthz")[0] == 200


def test_pipelined_requests_are_answered_in_order():
    with FakeService(PROGRAM) as service:
        one = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        two = b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n"
        end = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n" + CLOSE + b"\r\n"
        reply = raw(service, (one + two) * 20 + end)
        assert reply.count(b"HTTP/1.1 200") == 40 and reply.count(b"HTTP/1.1 404") == 1
        assert reply.index(b"ok\n") < reply.index(b"ready\n") < reply.index(b"HTTP/1.1 404")


def test_malformed_requests_end_in_an_error_or_a_closed_connection():
    with FakeService(PROGRAM) as service:
        for data in (
            b"\x00\xff\xfe" * 100 + b"\r\n\r\n",
            b"GET\r\n\r\n",
            b"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\n" + CLOSE + b"\r\n",  # no Host
            b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n",
            b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 0\r\n\r\nx",
        ):
            reply = raw(service, data)
            refusals = (b"HTTP/1.1 4", b"HTTP/1.0 4", b"HTTP/1.1 5")
            assert reply == b"" or reply.startswith(refusals), (data[:80], reply[:200])
        assert service.ask("GET", "/healthz")[0] == 200


def test_requests_that_two_can_read_in_two_ways_are_refused():
    post = b"POST /metrics HTTP/1.1\r\nHost: a\r\n"
    get = b"GET /healthz HTTP/1.1\r\nHost: a\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"
    with FakeService(PROGRAM) as service:
        for data in (
            post + b"Content-Length: 5\r\n" + chunked + b"\r\n0\r\n\r\n",
            post + chunked + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
            post + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
            post + b"Content-Length: 1, 1\r\n\r\nx",
            post + b"Content-Length : 1\r\n\r\nx",
            post + chunked * 2 + b"\r\n0\r\n\r\n",
            post.replace(b"1.1", b"1.0") + chunked + b"\r\n0\r\n\r\n",
            get + b"Host: b\r\n\r\n",
            get + b"Authorization: a\r\nAuthorization: b\r\n\r\n",
            post + b"Content-Type: text/plain\r\ncontent-type: application/json\r\n\r\n",
            get + b"Last-Event-ID: 1\r\nLast-Event-ID: 2\r\n\r\n",
            post + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx",
            get.replace(b"/healthz", b"http://127.0.0.1/healthz") + b"\r\n",
            get.replace(b"/healthz", b"http://localhost/healthz") + b"\r\n",
            get.replace(b"/healthz", b"healthz") + b"\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
            get.replace(b" /", b"  /") + b"\r\n",
            get.replace(b"healthz", b"healthz%00x") + b"\r\n",
            get.replace(b"healthz", b"health%7a") + b"\r\n",
            get.replace(b"/healthz", b"/api%2fv1%2frooms") + b"\r\n",
            get.replace(b"healthz", b"healthz\0x") + b"\r\n",
            get.replace(b"healthz", b"healthz\rx") + b"\r\n",
            get + b"X: a\rY: b\r\n\r\n",
            get + b"X: a\r\r\n\r\n",
            get + b"X: a\nY: b\r\n\r\n",
            get + b"X: a\n\r\n",
            get + b"X: a\0b\r\n\r\n",
            get + b"X: a\r\n b\r\n\r\n",
            get.replace(b"1.1\r\n", b"1.1\n") + b"\r\n",
        ):
            reply = raw(service, data + get + b"\r\n")
            assert reply.startswith(b"HTTP/1.1 400"), (data, reply[:200])
            assert b"HTTP/1.1 200" not in reply, data


def test_bodies_in_chunks_are_refused():
    """The library ends a line of theirs at an LF alone, where a proxy may read on."""
    with FakeService(PROGRAM) as service:
        head = b"POST /metrics HTTP/1.1\r\nHost: a\r\n"
        for encoding in (b"chunked", b"Chunked", b"xchunked", b"gzip, chunked", b"\x0bchunked"):
            for body in (b"3\nabc\n0\n\n", b"0\r\n\r\n"):
                sent = head + b"Transfer-Encoding: " + encoding + b"\r\n\r\n" + body
                reply = raw(service, sent + b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
                assert reply.startswith(b"HTTP/1.1 411"), (encoding, body, reply[:200])
                assert b"HTTP/1.1 200" not in reply, (encoding, body)


def test_heads_of_all_sizes_are_read_as_they_come():
    with FakeService(PROGRAM) as service:
        for size in (0, 100, 1000):
            head = b"GET /healthz?a=b&c HTTP/1.1\r\nHost: a\r\nAccept:\r\nX:   y  \r\n"
            head += b"Cookie: d=e\r\n" + CLOSE
            head += b"".join(b"X-%d: %s\r\n" % (i, b"x" * size) for i in range(12)) + b"\r\n"
            for piece in (20, 1000, len(head)):
                with service.connect() as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    for i in range(0, len(head), piece):
                        connection.sendall(head[i : i + piece])
                    assert connection.recv(65536).startswith(b"HTTP/1.1 200"), (size, piece)


def test_pages_of_other_sites_are_refused():
    with FakeService(PROGRAM) as service:
        for path in ("/", "/dashboard.js", "/api/v1/rooms", "/api/v1/openapi.json", "/nothing"):
            for host in ("evil.example", "evil.example:9300", "127.0.0.1.evil.example", ""):
                assert service.ask("GET", path, headers={"Host": host})[0] == 421, (path, host)
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:9300", "lockstep.example:80"):
            assert service.ask("GET", "/api/v1/rooms", headers={"Host": host})[0] == 200, host
        for path in ("/healthz", "/readyz", "/metrics"):
            assert service.ask("GET", path, headers={"Host": "evil.example"})[0] == 200, path


def test_wrong_tokens_are_slowed_down_and_told_of():
    with FakeService(PROGRAM, stderr=subprocess.PIPE) as service:
        assert service.ask("GET", "/api/v1/rooms", token="secret guess")[0] == 401
        with concurrent.futures.ThreadPoolExecutor(15) as threads:
            def guess(number):
                return service.ask("GET", "/api/v1/rooms", token=f"secret guess {number}")[0]

            answers = list(threads.map(guess, range(200)))
        assert 429 in answers and set(answers) <= {401, 429}, answers
        assert service.ask("GET", "/api/v1/rooms")[0] == 200  # the right one, of the same address
        assert service.ask("GET", "/api/v1/rooms", token=None)[0] == 401
    told = service.process.stderr.read()
    assert "wrong tokens, the last one from 127.0.0.1" in told and "guess" not in told, told
    assert told.count("\n") < 20, told  # of 201 tokens, one a minute
    with FakeService(PROGRAM, is_patient=True) as service, service.connect() as guesser:
        guesser.sendall(b"GET /api/v1/rooms HTTP/1.1\r\nHost: localhost\r\n"
                        b"Authorization: Bearer guess\r\n\r\n")
        for _ in range(20):
            assert service.ask("GET", "/api/v1/rooms")[0] == 200
        assert byte_of(guesser) is None


def test_bodies_that_are_too_large_are_refused_unread():
    with FakeService(PROGRAM) as service:
        head = b"POST /metrics HTTP/1.1\r\nHost: a\r\n" + CLOSE
        reply = raw(service, head + b"Content-Length: 65537\r\n\r\n")
        assert reply.startswith(b"HTTP/1.1 413"), reply[:200]
        before = service.memory_kib()
        try:
            endless = raw(service, head + b"Content-Length: 65536\r\n\r\n" + b"x" * 10000000)
            assert not endless.startswith(b"HTTP/1.1 2")
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert service.memory_kib() - before < 4096
        assert service.ask("GET", "/healthz")[0] == 200


def test_slow_requests_are_cut_off():
    with FakeService(PROGRAM) as service:
        with service.connect() as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\n")

            def is_cut_off():  # a byte now and then: it is never idle
                try:
                    slow.sendall(b"X")
                except (BrokenPipeError, ConnectionResetError):
                    return True

            wait_for(is_cut_off, "the end of a request that goes on for ever", 0.1)


def test_idle_connections_are_closed():
    with FakeService(PROGRAM) as service, service.connect() as idle:
        assert service.ask("GET", "/healthz")[0] == 200
        assert idle.recv(1) == b""


def wait_until_answered(service):
    """Until it has noticed that others are gone, it may refuse a connection."""

    def is_answered():
        try:
            return service.ask("GET", "/healthz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    wait_for(is_answered, "an answer")


def byte_of(connection):
    """One that has come; b"" when the service has closed the connection, None when nothing came."""
    connection.setblocking(False)
    try:
        return connection.recv(1)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""


def is_open(connection):
    return byte_of(connection) != b""


def test_one_address_has_so_many_connections_alone():
    with FakeService(PROGRAM) as service:
        crowd = [service.connect() for _ in range(20)]
        crowd[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert crowd[0].recv(65536).startswith(b"HTTP/1.1 200")
        with service.connect() as late:
            late.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
            assert late.recv(65536).startswith(b"HTTP/1.1 200")
            # The slowest went for it: not the one that was answered.
            assert crowd[1].recv(1) == b""
            assert sum(map(is_open, crowd)) <= 19 and is_open(crowd[0])
        for connection in crowd:
            connection.close()


def crowd_from_many_addresses(service, size):
    """The fake service takes 40 in all, and 20 of one address."""
    for i in range(size):
        source = (f"127.0.0.{2 + i // 15}", 0)
        yield socket.create_connection((service.host, service.port), PATIENCE_S, source)


def is_at_rest(service):
    """A busy machine gives it no more processor time, but may let it begin late."""
    before = service.cpu_s()
    time.sleep(0.5)
    return service.cpu_s() - before < 0.05


def test_crowd_from_many_addresses_costs_nothing():
    with FakeService(PROGRAM) as service:
        crowd = list(crowd_from_many_addresses(service, 60))
        wait_for(lambda: is_at_rest(service), "a service at rest")
        for connection in crowd:
            connection.close()
        wait_until_answered(service)


def test_probes_are_answered_whoever_reads_slowly():
    """Nobody of the crowd reads; what it asks for fills more than its sockets, and all answers that
    may wait. None of its connections has an end by itself before the probes are over."""
    with FakeService(PROGRAM, rooms=300, reply_kib=4000, is_patient=True) as service:
        crowd = []
        for connection in crowd_from_many_addresses(service, 120):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 8)
            crowd.append(connection)
        for path in ("/healthz", "/readyz", "/metrics") * 3:
            assert service.ask("GET", path, token=None)[0] == 200, path
        assert any(map(is_open, crowd))
        for connection in crowd:
            connection.close()


def test_listener_takes_connections_again_after_descriptors_ran_out():
    with FakeService(PROGRAM) as service:
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (18, 18))
        crowd = [service.connect() for _ in range(20)]
        wait_for(lambda: is_at_rest(service), "a service at rest")
        for connection in crowd:
            connection.close()
        wait_until_answered(service)


def test_replies_that_wait_to_be_read_are_bounded():
    with FakeService(PROGRAM, rooms=300, reply_kib=100) as service:
        status, _, text = service.ask("GET", "/metrics")
        assert status == 503 and "waiting to be read" in text
    with FakeService(PROGRAM, reply_kib=40) as service:
        size = len(service.ask("GET", "/metrics")[2])
        assert 40 << 10 < 10 * size
        for _ in range(10):
            assert service.ask("GET", "/metrics")[0] == 200


def test_address_that_is_not_there_is_an_error():
    run = subprocess.run([PROGRAM, "192.0.2.1"], stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False, timeout=PATIENCE_S)
    assert run.returncode == 1 and "HTTP cannot listen on 192.0.2.1" in run.stderr, run
    run = subprocess.run([PROGRAM, "not-a-host.invalid"], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert run.returncode == 1 and "not-a-host" in run.stderr, run


def test_waiting_costs_no_processor_time():
    with FakeService(PROGRAM) as service, service.connect() as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert idle.recv(65536)
        wait_for(lambda: is_at_rest(service), "a service at rest")


run_tests(globals())
