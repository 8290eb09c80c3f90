"""A match of programs of several platforms over UDP: a server and a client of this machine, and
clients of others behind the network conditioner with loss. All have to come to the same hashes."""

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time

from stages import ROOT, Failed

PATIENCE_S = 600
NATIVE = ROOT / "build" / "release" / "bin"
TICKS = 300
LOSS = ("--loss", "10", "--delay", "20", "--jitter", "10")


def wait_for(path, process):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        if path.exists() and path.read_text(encoding="ascii").strip():
            return path.read_text(encoding="ascii").strip()
        time.sleep(0.05)
    raise Failed(f"{process.args[0]} does not say its port")


class Programs:
    """Started programs, whose standard error goes to files of a folder; all are ended."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.started = []

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "w", encoding="utf-8")
        words = [str(word) for word in command]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   cwd=self.folder)
        log.close()
        self.started.append(process)
        return process

    def words(self, name):
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def serve(self, server, *arguments):
        """The server's port, of whom it starts."""
        process = self.start("server", *server, "--bind", "127.0.0.1", "--port",
                             "0", "--port-file", "port", "--find", "off", "--bundle-dir", "none",
                             "--json", "server.json", *arguments)
        return process, wait_for(self.folder / "port", process)

    def end(self):
        for process in self.started:
            process.kill()
            process.wait()


@contextlib.contextmanager
def programs():
    with tempfile.TemporaryDirectory() as folder:
        started = Programs(folder)
        try:
            yield started
        finally:
            started.end()


SERVER = (NATIVE / "lockstep-server",)
NETWORK = (NATIVE / "lockstep-netcond",)


def play(clients, server=SERVER, network=NETWORK, sim="arena", server_sim=None):
    """`clients`: name -> command of a foreign lockstep-client. Returns what was found."""
    with programs() as started:
        hosting, port = started.serve(server, "--sim", server_sim or sim, "--ticks", str(TICKS),
                                      "--players", str(1 + len(clients)))
        conditioner = started.start("netcond", *network, f"127.0.0.1:{port}",
                                    "--listen", "127.0.0.1", "--port", "0", "--port-file",
                                    "netcond-port", "--seed", "1", *LOSS)
        behind = wait_for(started.folder / "netcond-port", conditioner)
        players = {"server": hosting}
        native = ["--sim", sim] if sim != "arena" else []
        commands = {"this": [NATIVE / "lockstep-client", f"127.0.0.1:{port}", *native]}
        for name, command in clients.items():
            commands[name] = [*command, f"127.0.0.1:{behind}"]
        for seed, (name, command) in enumerate(commands.items()):
            players[name] = started.start(name, *command, "--bot", str(seed + 1), "--name", name,
                                          "--json", f"{name}.json")
        hashes = {}
        # A client that fails says why; the server would wait for it.
        for name, process in reversed(players.items()):
            try:
                code = process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired as error:
                raise Failed(f"{name} does not end: {started.words(name)}") from error
            if code != 0:
                raise Failed(f"{name} ended with {code}: {started.words(name)}")
            report = json.loads((started.folder / f"{name}.json").read_text(encoding="utf-8"))
            hashes[name] = report["final_hash"]
    if len(set(hashes.values())) != 1:
        raise Failed(f"final hashes differ: {hashes}")
    return f"{TICKS} ticks, {' '.join(hashes)}: all {hashes['server']}, with loss of 10 %"


def refuse(client, sim_here, words):
    """A foreign client is refused, and both sides say so in these words."""
    with programs() as started:
        server, port = started.serve(SERVER, "--sim", sim_here, "--players", "2", "--ticks", "60")
        process = started.start("client", *client, f"127.0.0.1:{port}", "--bot", "1",
                                "--connect-wait", "0")
        try:
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"it was let in: {started.words('client')}") from error
        server.terminate()
        server.wait()
        said = {name: started.words(name) for name in ("client", "server")}
    for name, text in said.items():
        if words not in text or code == 0:
            raise Failed(f"the {name} does not say '{words}': {text}")
    line = next(line for line in said["client"].splitlines() if words in line)
    return line[line.index(words):]
