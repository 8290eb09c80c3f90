"""A match of the real programs: players come with tokens of the script in tests/tokens, which
shares no code with Lockstep: one is for a seat, one to watch.

usage: token_match.py SERVER CLIENT TOKENS_DIR"""

import json
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile
import time

SERVER, CLIENT = sys.argv[1:3]
sys.path.insert(0, sys.argv[3])
import make_tokens  # noqa: E402

PATIENCE_S = 300
PROTOCOL_ID = 0x1122334455667788


def write_private(name, content):
    with open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(content)


def write_token(name, key, port, client, user_data):
    now = int(time.time())
    sample = {
        "protocol": PROTOCOL_ID,
        "create": now,
        "expire": now + 300,
        "nonce": secrets.token_bytes(24),
        "client": client,
        "timeout": 15,
        "servers": (("127.0.0.1", port),),
        "up": secrets.token_bytes(32),
        "down": secrets.token_bytes(32),
        "user_data": user_data,
    }
    write_private(name, make_tokens.token(sample, key))


def wait_for_port(server):
    end = time.monotonic() + PATIENCE_S
    path = pathlib.Path("port")
    while time.monotonic() < end and server.poll() is None:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.02)
    sys.exit(f"the server does not listen: {server.communicate()[1]}")


def join(*arguments):
    return subprocess.Popen([CLIENT, *arguments], stderr=subprocess.PIPE, text=True)


def play(key):
    server = subprocess.Popen(
        [SERVER, "--sim", "arena", "--players", "2", "--ticks", "60", "--bind", "127.0.0.1",
         "--port", "0", "--find", "off", "--port-file", "port", "--json", "server.json",
         "--bundle-dir", "none", "--token-key", "key", "--token-protocol-id", hex(PROTOCOL_ID)],
        stderr=subprocess.PIPE, text=True)
    programs = [server]
    try:
        port = wait_for_port(server)
        write_token("ann.token", key, port, 1, make_tokens.user_data(1, 1, "0", "Ann"))
        write_token("bob.token", key, port, 2, bytes(256))
        write_token("eve.token", key, port, 3, make_tokens.user_data(2, 0, "", "Eve"))
        programs.append(join("--token", "eve.token", "--spectate"))
        programs.append(join("--token", "ann.token", "--bot", "1"))
        programs.append(join("--token", "bob.token", "--bot", "2", "--name", "bob"))
        for program in programs:
            errors = program.communicate(timeout=PATIENCE_S)[1]
            if program.returncode != 0:
                sys.exit(f"{program.args} ended with {program.returncode}: {errors}")
            yield errors
    finally:
        for program in programs:
            if program.poll() is None:
                program.kill()
                program.wait()


def main():
    key = secrets.token_bytes(32)
    write_private("key", f"lockstep token key 1\nkey {key.hex()}\n".encode())
    logs = list(play(key))
    summary = json.loads(pathlib.Path("server.json").read_text())
    names = {player["slot"]: player["name"] for player in summary["players"]}
    if names != {0: "bob", 1: "Ann"} or "spectator Eve" not in logs[0]:
        sys.exit(f"the seats are {names}; the server's log:\n{logs[0]}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
