"""A service as operators run it: lockstep-server --config in a folder of its own, its clients, and
lockstep-admin."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from described import API
from fake_service import PATIENCE_S, wait_for

TOKEN = "token-of-the-whole-service"


class Programs:
    """Paths of what is run; a test sets them."""

    server = client = admin = None


# Becomes the service, with the descriptors that it inherited where systemd hands them over.
ACTIVATED = """import os, sys
given = [int(text) for text in sys.argv[1].split(',')]
for place, descriptor in enumerate([os.dup2(one, 60 + at) for at, one in enumerate(given)]):
    os.dup2(descriptor, 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(given)))
os.execv(sys.argv[2], sys.argv[2:])
"""


class Service:
    """A service in a folder of its own; `with` ends it and its clients. `sockets` are open already,
    as those of a socket unit: the last one is that of HTTP."""

    def __init__(self, rooms, head="", options=(), environment=None, sockets=(),
                 workers=2, restores_signals=True, program=None):
        self.program = program or Programs.server
        self.restores_signals = restores_signals
        self.options = options
        self.sockets = sockets
        self.environment = {**os.environ, **(environment or {})}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-whole-"))
        self.clients = []
        (self.folder / "token").write_text(TOKEN, encoding="ascii")
        (self.folder / "token").chmod(0o600)
        self.config = self.folder / "lockstep.toml"
        self.config.write_text(
            f"""workers = {workers}
drain-timeout = 1
journal = "{self.folder}/journals"
bundle-dir = "{self.folder}"
{head}
[server]
bind = "127.0.0.1"
port = 0
identity = "{self.folder}/identity"
invite-file = "{self.folder}/invite"
[http]
port = 0
token-file = "{self.folder}/token"
{rooms}""",
            encoding="ascii",
        )
        (self.folder / "journals").mkdir()
        self.start()

    def start(self):
        port_file = self.folder / "http-port"
        port_file.unlink(missing_ok=True)
        (self.folder / "invite").unlink(missing_ok=True)
        log = open(self.folder / "log", "a", encoding="utf-8")
        numbers = [one.fileno() for one in self.sockets]
        before = [sys.executable, "-c", ACTIVATED, ",".join(map(str, numbers))] if numbers else []
        with log:
            self.process = subprocess.Popen(
                [*before, self.program, "--config", self.config, "--http-port-file", port_file,
                 "-v", *self.options],
                env=self.environment, stderr=log, stdout=subprocess.DEVNULL, pass_fds=numbers,
                restore_signals=self.restores_signals)
        wait_for(lambda: port_file.exists() and port_file.read_text(encoding="ascii").strip(),
                 "the port of HTTP")
        self.port = int(port_file.read_text(encoding="ascii"))
        wait_for(lambda: self.ask("GET", "/readyz", token=None)[0] == 200, "readiness")
        wait_for((self.folder / "invite").exists, "the invite")
        self.invite = (self.folder / "invite").read_text(encoding="ascii").strip()

    def stop(self, by=signal.SIGTERM):
        self.process.send_signal(by)
        return self.process.wait(timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for client in self.clients:
            if client.poll() is None:
                client.kill()
            client.wait()
        code = self.stop() if self.process.poll() is None else self.process.returncode
        if kind:
            print(self.log(), file=sys.stderr)
        assert kind or code in (0, -signal.SIGKILL), f"the service exits with {code}"
        shutil.rmtree(self.folder)

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def ask(self, method, path, body=None, token=TOKEN, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read().decode()
        finally:
            connection.close()

    def admin(self, *words, code=0):
        result = subprocess.run(
            [Programs.admin, "--url", f"http://127.0.0.1:{self.port}", "--token-file",
             self.folder / "token", *words],
            capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert result.returncode == code, (words, result)
        return result.stdout + result.stderr

    def join(self, *options, to=None):
        number = len(self.clients)
        with open(self.folder / f"client-{number}", "w", encoding="utf-8") as errors:
            client = subprocess.Popen(
                [Programs.client, to or self.invite, "--bot", str(number + 1), "--json",
                 self.folder / f"summary-{number}", "-v", *options],
                stderr=errors, stdout=subprocess.DEVNULL)
        self.clients.append(client)
        return number

    def said_by(self, number):
        return (self.folder / f"client-{number}").read_text(encoding="utf-8")

    def ended(self, number):
        """The exit code of a client, and what it said."""
        code = self.clients[number].wait(timeout=PATIENCE_S)
        return code, self.said_by(number)

    def summary(self, number):
        return json.loads((self.folder / f"summary-{number}").read_text(encoding="utf-8"))

    def room(self, name):
        status, _, text = self.ask("GET", f"{API}/rooms/{name}")
        return json.loads(text) if status == 200 else None

    def worker(self, number):
        return json.loads(self.ask("GET", f"{API}/workers")[2])["workers"][number]

    def kill_worker(self, number):
        """A worker that is being started has no process yet: its pid is 0, which to kill() is every
        process of the test's own group."""
        pid = wait_for(lambda: self.worker(number)["pid"], "the worker's process")
        assert pid > 0, pid
        os.kill(pid, signal.SIGKILL)

    def wait_until(self, name, done):
        """A room whose report is as it should be."""
        return wait_for(lambda: (room := self.room(name)) and done(room) and room,
                        f"{name}: {self.room(name)}")
