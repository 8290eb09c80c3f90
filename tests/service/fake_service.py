"""Starts the fake service, and talks to it."""

import concurrent.futures
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import time
import traceback

TOKEN = "a-token-of-the-tests"
PATIENCE_S = 300


def wait_for(question, what, pause_s=0.05):
    """The first true answer: a busy machine takes its time."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(pause_s)
    raise AssertionError(f"not within {PATIENCE_S} s: {what}")


class FakeService:
    """A running fake_http_service; `with` ends it, and looks at how it ended."""

    def __init__(self, program, host="127.0.0.1", token=TOKEN, rooms=0, reply_kib=65536,
                 is_patient=False, stderr=None, environment=None):
        self.host = host
        self.process = subprocess.Popen(
            [program, host, token, str(rooms), str(reply_kib)] + ["patient"] * is_patient,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
            text=True,
        )
        self.port = int(self.process.stdout.readline())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        code = self.process.wait(timeout=PATIENCE_S)
        assert code == 0 or kind, f"the fake service exits with {code}"

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def memory_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(status.split("VmRSS:")[1].split()[0])

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = fields.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=PATIENCE_S)

    def ask(self, method, path, body=None, token=TOKEN, headers=None):
        """Status, headers and body of one request; a body that is no text is sent as JSON."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        headers = dict(headers or {})
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read().decode()
        finally:
            connection.close()


def raw(service, data, limit=1 << 20):
    """Everything that comes back for these bytes until the service closes the connection."""
    with service.connect() as connection:
        connection.sendall(data)
        reply = b""
        try:
            while len(reply) < limit:
                piece = connection.recv(65536)
                if not piece:
                    break
                reply += piece
        except ConnectionResetError:
            pass
        return reply


def run_tests(module, at_once=1):
    """Runs each test_ function of the module, in order, so many at a time."""
    tests = {name: test for name, test in module.items() if name.startswith("test_")}

    def run(name):
        print(name, flush=True)
        try:
            tests[name]()
            return True
        except Exception:  # a thread's own would be lost
            print(f"{name} fails:\n{traceback.format_exc()}", flush=True)
            return False

    with concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        if not all(threads.map(run, tests)):
            sys.exit(1)
