"""A service that is also a relay: it starts one, is published there, and says the code in its log,
its invite and that of each room; and players come to the rooms of every worker by them. A relay
that ends is started again.

usage: service.py FOLDER_OF_THE_PROGRAMS"""

import contextlib
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

from whole_service import Programs, Service, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1])
TICKS = 120
ROOMS = "".join(
    f"""[[rooms]]
name = "room{number}"
sim = "arena"
players = 2
ticks = {TICKS}
open = 1
""" for number in range(2)) + f"""[[rooms]]
name = "alone"
sim = "arena"
players = 1
ticks = {TICKS}
open = 1
"""
CODE = r"[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{3}"


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def check_room(service, name, code):
    """By the room's invite, one of its players through the relay."""
    room = wait_for(lambda: service.room(name), name)
    assert f"{code}@" in room["invite"] and f"/{name}@" in room["invite"], room
    shown = service.admin("rooms")
    assert room["invite"] in shown, shown
    numbers = [service.join("--matches", "1", *words, to=room["invite"])
               for words in (("--through-relay",), ())]
    for number in numbers:
        exit_code, said = service.ended(number)
        assert exit_code == 0, said
    ends = [service.summary(number) for number in numbers]
    assert ends[0]["final_tick"] == TICKS and ends[0]["final_hash"] == ends[1]["final_hash"], ends
    return room["worker"]


def relay_of(service):
    """The process of the service's relay."""
    children = pathlib.Path(f"/proc/{service.process.pid}/task").glob("*/children")
    for child in " ".join(one.read_text(encoding="ascii") for one in children).split():
        with contextlib.suppress(OSError):  # it has ended since
            command = pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
            if command.startswith(b"lockstep-relay\0"):
                return int(child)
    return None


def check_service():
    port = free_port()
    head = f'[relay]\nbind = "127.0.0.1"\nport = {port}\nplayers = 64\n'
    with Service(ROOMS, head=head, options=("--publish", f"127.0.0.1:{port}")) as service:
        said = wait_for(lambda: re.search(f"published at .*client ({CODE})@", service.log()),
                        "the code in the log")
        code = said[1]
        wait_for(lambda: code in (service.folder / "invite").read_text(encoding="ascii"),
                 "the code in the invite's file")
        workers = {check_room(service, f"room{number}-1", code) for number in range(2)}
        assert len(workers) == 2, workers
        first = relay_of(service)
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: relay_of(service) not in (None, first), "another relay")
        assert "the relay ended" in service.log(), service.log()
        wait_for(lambda: service.log().count(f"lockstep-relay: listening on 127.0.0.1:{port}") == 2,
                 "its port")
        alone = service.room("alone-1")["invite"]  # with the code, which is the same again
        wait_for(lambda: service.ended(service.join("--matches", "1", to=alone))[0] == 0,
                 "a player by the new relay", pause_s=1)
        relay = relay_of(service)
    wait_for(lambda: not pathlib.Path(f"/proc/{relay}").exists(), "the relay's end")


def check_faults():
    """Each fault of [relay] has its place."""
    with tempfile.TemporaryDirectory(prefix="lockstep-relay-") as name:
        file = pathlib.Path(name) / "lockstep.toml"
        file.write_text('[relay]\nhosts = 0\nprot = 7310\nbind = 7\nmatch-limit = "much"\n',
                        encoding="ascii")
        done = subprocess.run([Programs.server, "--config", file, "--check"], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 2, done
        for words in ("line 2:9: --hosts takes a number from 1 to 4096",
                      "line 3:1: [relay] has no 'prot'; did you mean 'port'?", "line 4:8: bind",
                      "line 5:15: --match-limit takes a number"):
            assert words in done.stderr, (words, done.stderr)
        file.write_text("[relay]\n", encoding="ascii")
        done = subprocess.run([Programs.server, "--config", file, "--check"], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0 and "no faults" in done.stderr, done


def main():
    Programs.server, Programs.client, Programs.admin = (
        PROGRAMS / name for name in ("lockstep-server", "lockstep-client", "lockstep-admin"))
    check_faults()
    check_service()
    return 0


if __name__ == "__main__":
    sys.exit(main())
