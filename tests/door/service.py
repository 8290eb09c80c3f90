"""The door of a service: one for all its workers. A page comes to the room of its invite, whichever
worker has it, and plays there beside a native client; the API has the room's link. When the service
is drained the page plays to the end of its match, whoever of the processes is sent the signal.

usage: service.py FOLDER_OF_THE_PROGRAMS"""

import os
import pathlib
import signal
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

from web_client import Bridge  # noqa: E402
from whole_service import PATIENCE_S, Programs, Service, wait_for  # noqa: E402

TICKS, LONG_TICKS = 120, 480
HEAD = '[web]\nlisten = "127.0.0.1:0"\n'


def rooms(**ticks):
    return "".join(f"""[[rooms]]
name = "{name}"
sim = "arena"
players = 2
ticks = {count}
open = 1
""" for name, count in ticks.items())


def by_the_bridge(invite, port):
    """The invite to the same room, by the way of the bridge."""
    scheme, _, rest = invite.partition("://")
    return f"{scheme}://127.0.0.1:{port}/{rest.partition('/')[2]}"


def check_room(service, web_port, name):
    room = wait_for(lambda: service.room(name), name)
    assert room["link"] == f"http://127.0.0.1:{web_port}/play#{room['invite']}", room
    bridge, numbers = play_two(service, web_port, room)
    check_ends(service, numbers, TICKS)
    assert min(bridge.carried) > TICKS // 4, bridge.carried
    bridge.close()
    return room["worker"]


def children_of(process):
    """Those that a process of this number has started."""
    tasks = pathlib.Path(f"/proc/{process}/task").glob("*/children")
    return [int(number) for task in tasks for number in task.read_text(encoding="ascii").split()]


def play_two(service, web_port, room):
    """A page and a native client come to a room: the page's bridge, and both clients' numbers."""
    bridge = Bridge(web_port)
    return bridge, [service.join("--matches", "1", to=by_the_bridge(room["invite"], bridge.port)),
                    service.join("--matches", "1", to=room["invite"])]


def check_ends(service, numbers, tick):
    for number in numbers:
        code, said = service.ended(number)
        assert code == 0, said
    ends = [service.summary(number) for number in numbers]
    assert [end["final_tick"] for end in ends] == [tick, tick], ends
    assert ends[0]["final_hash"] == ends[1]["final_hash"], ends


def check_drain(folder):
    """As where a whole group of processes is sent the signal that is for the service."""
    port_file = pathlib.Path(folder) / "port-of-drained"
    options = ("--web-port-file", port_file, "--drain-timeout", "60")
    with Service(rooms(room=LONG_TICKS), head=HEAD, options=options) as service:
        room = wait_for(lambda: service.room("room-1"), "the room")
        bridge, numbers = play_two(service, int(port_file.read_text(encoding="ascii")), room)
        wait_for(lambda: bridge.carried[1] > TICKS // 4, "the page's match")
        started = children_of(service.process.pid)
        doors = [number for number in started
                 if b"--door" in pathlib.Path(f"/proc/{number}/cmdline").read_bytes()]
        assert len(doors) == 1, started
        for number in (service.process.pid, *started):
            os.kill(number, signal.SIGTERM)
        check_ends(service, numbers, LONG_TICKS)
        assert service.process.wait(timeout=PATIENCE_S) == 0
        bridge.close()


def figure(service, name):
    lines = service.ask("GET", "/metrics", token=None)[2].splitlines()
    return next(float(line.split()[1]) for line in lines
                if line.startswith(f"lockstep_door_{name} "))


def main():
    Programs.server, Programs.client = (pathlib.Path(sys.argv[1]) / name
                                        for name in ("lockstep-server", "lockstep-client"))
    with tempfile.TemporaryDirectory(prefix="lockstep-door-") as folder:
        port_file = pathlib.Path(folder) / "port"
        with Service(rooms(room0=TICKS, room1=TICKS), head=HEAD,
                     options=("--web-port-file", port_file)) as service:
            web_port = int(port_file.read_text(encoding="ascii"))
            workers = {check_room(service, web_port, f"room{number}-1") for number in range(2)}
            assert len(workers) == 2, workers
            wait_for(lambda: figure(service, "connections_total") == 2, "the door's figures")
            assert figure(service, "received_total") > TICKS // 2
        check_drain(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
