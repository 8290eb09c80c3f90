"""The door of a service: one for all its workers. A page comes to the room of its invite, whichever
worker has it, and plays there beside a native client; the API has the room's link.

usage: service.py FOLDER_OF_THE_PROGRAMS"""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

from web_client import Bridge  # noqa: E402
from whole_service import Programs, Service, wait_for  # noqa: E402

TICKS = 120
ROOMS = "".join(
    f"""[[rooms]]
name = "room{number}"
sim = "arena"
players = 2
ticks = {TICKS}
open = 1
""" for number in range(2))


def by_the_bridge(invite, port):
    """The invite to the same room, by the way of the bridge."""
    scheme, _, rest = invite.partition("://")
    return f"{scheme}://127.0.0.1:{port}/{rest.partition('/')[2]}"


def check_room(service, web_port, name):
    room = wait_for(lambda: service.room(name), name)
    assert room["link"] == f"http://127.0.0.1:{web_port}/play#{room['invite']}", room
    bridge = Bridge(web_port)
    numbers = [service.join("--matches", "1", to=by_the_bridge(room["invite"], bridge.port)),
               service.join("--matches", "1", to=room["invite"])]
    for number in numbers:
        code, said = service.ended(number)
        assert code == 0, said
    ends = [service.summary(number) for number in numbers]
    assert ends[0]["final_tick"] == TICKS, ends
    assert ends[0]["final_hash"] == ends[1]["final_hash"], ends
    assert min(bridge.carried) > TICKS // 4, bridge.carried
    bridge.close()
    return room["worker"]


def figure(service, name):
    lines = service.ask("GET", "/metrics", token=None)[2].splitlines()
    return next(float(line.split()[1]) for line in lines
                if line.startswith(f"lockstep_door_{name} "))


def main():
    Programs.server, Programs.client = (pathlib.Path(sys.argv[1]) / name
                                        for name in ("lockstep-server", "lockstep-client"))
    head = '[web]\nlisten = "127.0.0.1:0"\n'
    with tempfile.TemporaryDirectory(prefix="lockstep-door-") as folder:
        port_file = pathlib.Path(folder) / "port"
        with Service(ROOMS, head=head, options=("--web-port-file", port_file)) as service:
            web_port = int(port_file.read_text(encoding="ascii"))
            workers = {check_room(service, web_port, f"room{number}-1") for number in range(2)}
            assert len(workers) == 2, workers
            wait_for(lambda: figure(service, "connections_total") == 2, "the door's figures")
            assert figure(service, "received_total") > TICKS // 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
