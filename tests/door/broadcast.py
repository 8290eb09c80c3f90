"""A broadcast with its real programs: a match that plays, and its late spectators, behind a
proxy that keeps what it is given: nginx, where it is installed. A private room is shown to nobody.

usage: broadcast.py FOLDER_OF_THE_PROGRAMS"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

from whole_service import Programs, Service, wait_for  # noqa: E402

PROGRAMS = pathlib.Path(sys.argv[1])
PATIENCE_S = 90
TICKS = 900
DELAY_S = 1
KEY_AT, KEY_BYTES = 16 + 24 + 8, 32  # of the journal: its head, the record's, the match's id

NGINX = """
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/temp;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  proxy_cache_path {folder}/cache keys_zone=broadcast:1m;
  server {{
    listen 127.0.0.1:{port};
    location /broadcast {{
      proxy_pass http://127.0.0.1:{to};
      proxy_cache broadcast;
      proxy_cache_lock on;
      add_header X-Cache $upstream_cache_status;
    }}
  }}
}}
"""


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE_S) as reply:
        return reply.headers, reply.read()


def status_of(url):
    try:
        get(url)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def proxy(folder, to):
    """The root of a proxy before the door; without nginx it is the door's own."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not program:
        yield f"http://127.0.0.1:{to}", False
        return
    port = free_port()
    config = folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    config.write_text(NGINX.format(folder=folder, port=port, to=to, user=user), encoding="ascii")
    process = subprocess.Popen([program, "-c", config, "-p", folder, "-g", "daemon off;"],
                               stderr=subprocess.DEVNULL)
    try:
        root = f"http://127.0.0.1:{port}"
        wait_for(lambda: process.poll() is None and answers(root + "/broadcast"), "nginx")
        yield root, True
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def answers(url):
    try:
        return status_of(url) == 200
    except OSError:
        return False


def listed(root):
    return json.loads(get(root + "/broadcast")[1])["matches"]


def start(folder):
    """A server with two players, and its door's port."""
    port_file, web_file = folder / "port", folder / "web"
    (folder / "journals").mkdir()
    server = subprocess.Popen(
        [PROGRAMS / "lockstep-server", "--sim", "arena", "--players", "2", "--bind", "127.0.0.1",
         "--port", "0", "--port-file", port_file, "--identity", folder / "identity",
         "--journal", folder / "journals", "--ticks", str(TICKS), "--web", "127.0.0.1:0",
         "--web-port-file", web_file, "--broadcast", str(DELAY_S), "--json", folder / "server",
         "--find", "off"], stderr=subprocess.DEVNULL)
    wait_for(lambda: web_file.exists() and port_file.exists(), "the ports")
    players = [subprocess.Popen(
        [PROGRAMS / "lockstep-client", f"127.0.0.1:{port_file.read_text(encoding='ascii').strip()}",
         "--bot", str(number), "--name", f"hidden-{number}"], stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL) for number in (1, 2)]
    return server, players, int(web_file.read_text(encoding="ascii"))


def spectator(folder, name, url):
    return subprocess.Popen([PROGRAMS / "lockstep-replay", "verify", url, "--quiet", "--json",
                             folder / name])


def check_caching(root, index, is_cached):
    headers, _ = get(f"{root}/broadcast/{index['match']}")
    assert headers["Cache-Control"] == "public, max-age=1", headers
    assert headers["Access-Control-Allow-Origin"] == "*", headers
    segment = f"{root}/broadcast/{index['match']}/0"
    first = get(segment)
    headers, again = get(segment)
    assert headers["Cache-Control"] == "public, max-age=31536000, immutable", headers
    assert again == first[1] and again.startswith(b"LSJOURNL")
    assert not is_cached or headers["X-Cache"] == "HIT", headers
    for wrong in (f"{segment}0000", f"{segment}/", f"{root}/broadcast/{'0' * 16}",
                  f"{root}/broadcast/../play.html", f"{root}/broadcast/"):
        assert status_of(wrong) == 404, wrong


def check_secrets(folder, root, index):
    """The key of the match and its players' names are in the journal, and in no segment."""
    journal = next((folder / "journals").glob("*.journal")).read_bytes()
    segments = b"".join(get(f"{root}/broadcast/{index['match']}/{number}")[1]
                        for number in range(index["segments"]))
    key = journal[KEY_AT:KEY_AT + KEY_BYTES]
    assert len(set(key)) > KEY_BYTES // 2 and journal.count(key) == 1
    assert b"hidden-1" in journal
    for secret in (key, b"hidden-1", b"hidden-2", b"127.0.0.1"):
        assert secret not in segments, secret
    assert segments.count(bytes(KEY_BYTES)) >= index["segments"]


class TooLate(Exception):
    """A busy machine let this process sleep until there was nothing left to look at."""


def in_time(is_there):
    if not is_there:
        raise TooLate


def check_match():
    with tempfile.TemporaryDirectory(prefix="lockstep-broadcast-") as name, \
            contextlib.ExitStack() as ending:
        folder = pathlib.Path(name)
        server, players, web = start(folder)
        ending.callback(server.wait, PATIENCE_S)
        ending.callback(server.terminate)
        root, is_cached = ending.enter_context(proxy(folder, web))
        wait_for(lambda: listed(root), "the first segment")
        early = spectator(folder, "early", root + "/broadcast")
        index = wait_for(lambda: [one for one in listed(root) if one["segments"] > 2], "more")[0]
        in_time(not index["is_over"])
        assert index["delay_s"] == DELAY_S, index
        check_caching(root, index, is_cached)
        late = spectator(folder, "late", f"{root}/broadcast/{index['match']}")
        for player in players:
            assert player.wait(PATIENCE_S) == 0
        codes = [one.wait(PATIENCE_S) for one in (early, late)]
        in_time(listed(root))  # its end is shown for some seconds
        index = listed(root)[0]
        assert codes == [0, 0], codes
        assert index["is_over"] and index["tick"] == TICKS, index
        check_secrets(folder, root, index)
        server.terminate()  # it shows the end for a while yet
        assert server.wait(PATIENCE_S) == 0
        ends = [json.loads((folder / one).read_text(encoding="ascii"))
                for one in ("server", "early", "late")]
        assert {end["final_hash"] for end in ends} == {ends[0]["final_hash"]}, ends
        assert {end["final_tick"] for end in ends} == {TICKS}, ends
        assert ends[1]["ticks"] == ends[2]["ticks"] == TICKS, ends
        print(f"broadcast: {TICKS} ticks, {'nginx' if is_cached else 'no proxy'} between")


ROOMS = """[[rooms]]
name = "open"
sim = "arena"
players = 1
open = 1
[[rooms]]
name = "closed"
private = true
sim = "arena"
players = 1
open = 1
"""


def check_service():
    """Both rooms are played; who may not come in may not watch either."""
    with tempfile.TemporaryDirectory(prefix="lockstep-broadcast-") as name:
        folder = pathlib.Path(name)
        key, port_file = folder / "key", folder / "web"
        subprocess.run([PROGRAMS / "lockstep-token", "new-key", key], check=True)
        head = f'[web]\nlisten = "127.0.0.1:0"\nbroadcast = {DELAY_S}\n'
        options = ("--web-port-file", port_file, "--token-key", key)
        with Service(ROOMS, head=head, options=options, workers=1) as service:
            root = f"http://127.0.0.1:{port_file.read_text(encoding='ascii').strip()}"
            place = service.invite.partition("://")[2].split("/")[0]
            for number, room in enumerate(("open-1", "closed-1")):
                token = folder / room
                subprocess.run([PROGRAMS / "lockstep-token", "make", "--key", key, "--client-id",
                                str(number + 1), "--server", place, "--match", room, "--out",
                                token], check=True)
                service.join("--token", token, to=place)
            rooms = {one: wait_for(lambda one=one: played(service, one), one)
                     for one in ("open-1", "closed-1")}
            wait_for(lambda: listed(root), "the open room")
            time.sleep(DELAY_S)
            shown = {one["match"] for one in listed(root)}
            ids = {one: rooms[one]["match_id"] for one in rooms}
            assert shown == {ids["open-1"]}, (shown, ids)
            assert status_of(f"{root}/broadcast/{ids['open-1']}/0") == 200
            assert status_of(f"{root}/broadcast/{ids['closed-1']}") == 404
            assert status_of(f"{root}/broadcast/{ids['closed-1']}/0") == 404


def played(service, name):
    """The report of a room whose journal has seconds of a match."""
    room = service.room(name)
    return room if room and room["tick"] > 300 else None


def main():
    Programs.server, Programs.client = (PROGRAMS / name
                                        for name in ("lockstep-server", "lockstep-client"))
    for left in reversed(range(5)):
        try:
            check_match()
            break
        except TooLate:
            assert left > 0, "the match was over too soon, five times"
    check_service()
    return 0


if __name__ == "__main__":
    sys.exit(main())
