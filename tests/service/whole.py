#!/usr/bin/env python3
"""The whole service: lockstep-server --config with two workers, real clients, and what an operator
sees and does over HTTP and with lockstep-admin."""

import fcntl
import http.client
import json
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree

from described import API, Caller, load_description, problem_with
from fake_service import run_tests
from whole_service import PATIENCE_S, TOKEN, Programs, Service, wait_for

Programs.server, Programs.client, Programs.admin = sys.argv[1:4]
OPENAPI = load_description(sys.argv[4])
FLEET = pathlib.Path(sys.argv[5])

ONE_PAIR = """
[[rooms]]
name = "pair"
open = 1
sim = "arena"
players = 2
"""


def is_running(room):
    return room["state"] == "running" and room["tick"] > 10


class Events:
    """A stream of events that is read by a thread of its own."""

    def __init__(self, service, last=None):
        self.events = []
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port,
                                                     timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.connection.request("GET", API + "/events", None, headers)
        self.reply = self.connection.getresponse()
        assert self.reply.status == 200
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            for line in self.reply:
                if line.startswith(b"data: "):
                    self.events.append(json.loads(line.removeprefix(b"data: ")))
        except (OSError, http.client.HTTPException, AttributeError, ValueError):
            pass

    def kinds(self, room):
        return [event["kind"] for event in self.events if event["room"] == room]


def test_match_is_seen_from_its_room_to_its_end():
    with Service(ONE_PAIR) as service:
        events = Events(service)
        ask = Caller(service)
        assert ask("GET", "/service")["workers"] == 2
        for _ in range(2):
            service.join("--ticks", "0")
        room = service.wait_until("pair-1", is_running)
        assert [player["is_here"] for player in room["players"]] == [True, True]
        ask("GET", "/rooms/pair-1")
        picture = service.admin("picture", "pair-1")
        root = xml.etree.ElementTree.fromstring(picture)
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and len(root) > 10, picture[:500]
        assert service.ask("GET", API + "/rooms/pair-9/picture")[0] == 404
        wait_for(lambda: sum(one["players"] for one in ask("GET", "/workers")["workers"]) == 2,
                 "the players of all workers")
        service.admin("end", "pair-1")
        assert all(service.ended(i)[0] == 0 for i in range(2))
        assert service.summary(0)["final_hash"] == service.summary(1)["final_hash"]
        wait_for(lambda: service.room("pair-1") is None, "the room is gone")
        assert service.room("pair-2"), "the next room is open"
        wait_for(lambda: "room-ended" in events.kinds("pair-1"), "its end in the stream")
        kinds = events.kinds("pair-1")
        order = ["room-opened", "player-joined", "match-started", "match-ended", "room-ended"]
        places = [kinds.index(kind) for kind in order]
        assert places == sorted(places), kinds
        numbers = [event["number"] for event in events.events]
        assert numbers == list(range(1, len(numbers) + 1))
        schema = OPENAPI["components"]["schemas"]["event"]
        assert not any(problem_with(event, schema) for event in events.events)
        later = Events(service, last=numbers[2])
        wait_for(lambda: len(later.events) >= len(numbers) - 3, "the events after the third")
        assert later.events[0]["number"] == numbers[3]


def rooms_of(service):
    return json.loads(service.ask("GET", API + "/rooms")[2])["rooms"]


def test_rooms_are_made_and_ended_on_demand():
    with Service("") as service:
        ask = Caller(service)
        assert ask("GET", "/rooms")["rooms"] == []
        # The service is ready with the first one, and gives rooms to those that are.
        wait_for(lambda: all(one["memory_bytes"] for one in ask("GET", "/workers")["workers"]),
                 "both workers")
        made = {"name": "duel", "sim": "arena", "players": 2, "tick-rate": 30}
        assert ask("POST", "/rooms", made, status=201)["name"] == "duel"
        ask("POST", "/rooms", made, status=409)
        ask("POST", "/rooms", {"name": "bad", "sim": "no-such-game"}, status=400)
        ask("POST", "/rooms", {"name": "bad", "players": 99}, status=400)
        assert ask("GET", "/rooms/bad", status=404)
        room = ask("GET", "/rooms/duel")
        assert room["state"] == "waiting" and room["tick_rate_hz"] == 30, room
        assert service.admin("create", "name=other", "sim=tumble", "players=2") == "other\n"
        workers = {service.room(name)["worker"] for name in ("duel", "other")}
        assert workers == {0, 1}, "rooms are spread"
        for _ in range(2):
            service.join("--ticks", "0", to=service.room("duel")["invite"])
        service.wait_until("duel", is_running)
        service.admin("end", "duel")
        for i in range(2):
            code, text = service.ended(i)
            assert code == 0, text
        wait_for(lambda: service.room("duel") is None, "the room is gone")
        assert "other" in service.admin("rooms")


def test_match_is_paused_and_spoken_in():
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "0")
        service.wait_until("pair-1", is_running)
        ask = Caller(service)
        ask("POST", "/rooms/pair-1/pause", {"why": "a fire drill"})
        room = service.wait_until("pair-1", lambda room: room["state"] == "paused")
        before, begin = room["counters"]["confirm_latency"], time.monotonic()
        told = wait_for(lambda: re.search(r"pauses the match at tick (\d+)", service.said_by(0)),
                        "the pause")
        tick = int(told[1])
        service.wait_until("pair-1", lambda room: room["tick"] == tick)
        time.sleep(3)  # reports come once a second
        assert service.room("pair-1")["tick"] == tick
        service.admin("message", "pair-1", "please wait outside")
        service.admin("message", "to everybody")
        pause_ms = 1000 * (time.monotonic() - begin)
        assert service.admin("unpause", "pair-1", "false alarm") == "done\n"
        ask("POST", "/rooms/pair-1/unpause", status=409)
        room = service.wait_until("pair-1", lambda room: room["tick"] > tick + 90)
        confirm = room["counters"]["confirm_latency"]
        # A busy machine may have many short latencies or a long one: the pause is long for both.
        is_long = confirm["sum_ms"] - before["sum_ms"] >= pause_ms
        slow = confirm["bins"][-1] - before["bins"][-1]
        assert not (is_long and slow >= 2), "no latency has the pause in it"
        service.admin("end", "pair-1")
        for i in range(2):
            code, text = service.ended(i)
            assert code == 0, text
            said = [text.index(words) for words in (
                "pauses the match at tick", "a fire drill", "please wait outside", "to everybody",
                "the match goes on at tick", "false alarm")]
            assert said == sorted(said), text
        assert service.summary(0)["final_tick"] == service.summary(1)["final_tick"]
        ask("POST", "/rooms/pair-2/pause", status=409)


def is_paused(room):
    return room["state"] == "paused" and [p["is_here"] for p in room["players"]] == [True, True]


def test_pause_outlives_the_worker_and_the_service():
    sockets = sockets_of_a_unit()
    with Service(ONE_PAIR, sockets=sockets) as service:
        for _ in range(2):
            service.join("--ticks", "600", "--reconnect", "60")
        service.wait_until("pair-1", is_running)
        service.admin("pause", "pair-1", "a fire drill")
        room = service.wait_until("pair-1", is_paused)
        service.kill_worker(room["worker"])
        wait_for(lambda: service.log().count(": the match continues") == 1, "the room goes on")
        service.wait_until("pair-1", is_paused)
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        service.start()
        wait_for(lambda: service.log().count(": the match continues") == 2, "the room goes on")
        room = service.wait_until("pair-1", is_paused)
        time.sleep(1.5)  # reports come once a second
        assert service.room("pair-1")["tick"] == room["tick"]
        service.admin("unpause", "pair-1")
        for i in range(2):
            code, text = service.ended(i)
            assert code == 0 and text.count("a fire drill") >= 3, text
            assert service.summary(i)["final_tick"] == 600
        known = (service.folder / "journals" / "rooms.json").read_text().splitlines()
        assert '"paused"' not in known[-1], known  # a line for each change
    for one in sockets:
        one.close()


def test_players_are_sent_away_and_kept_out():
    with Service("") as service:
        service.admin("create", "name=hall", "sim=arena", "players=3")
        for _ in range(3):
            service.join("--ticks", "0", "--reconnect", "0")
        service.wait_until("hall", is_running)
        ask = Caller(service)
        ask("POST", "/rooms/hall/players/0/kick", {"why": "too rude"})
        ask("POST", "/rooms/hall/players/0/kick", status=404)
        ask("POST", "/rooms/hall/players/9/kick", status=404)
        service.wait_until("hall", lambda room: not room["players"][0]["is_here"])
        kicked = wait_for(lambda: [i for i in range(3) if service.clients[i].poll() is not None],
                          "the client ends")[0]
        code, text = service.ended(kicked)
        assert code == 1 and "too rude" in text and "KICKED" in text
        ask("POST", "/rooms/hall/players/1/ban", {"seconds": 1, "why": "cheating"})
        service.wait_until("hall", lambda room: sum(p["is_here"] for p in room["players"]) == 1)

        def is_let_in():
            again = service.join("--ticks", "0", "--reconnect", "0")
            return wait_for(lambda: "playing from tick" in service.said_by(again)
                            or service.clients[again].poll(), "its end or the match") is True

        wait_for(is_let_in, "the end of the ban")
        service.wait_until("hall", lambda room: sum(p["is_here"] for p in room["players"]) == 2)
        ask("POST", "/rooms/hall/players/2/ban", {"seconds": 3600, "why": "cheating"})
        late = service.join("--ticks", "60", "--connect-wait", "5")
        code, text = service.ended(late)
        assert code == 1 and "you are banned from this server" in text, text
        wait_for(lambda: re.search(r'^lockstep_clients_refused_total{reason="not_admitted"} [1-9]',
                                   service.ask("GET", "/metrics", token=None)[2], re.MULTILINE),
                 "the refusal in the metrics")


def test_bans_by_name_and_address_are_listed_lifted_and_kept():
    with Service(ONE_PAIR) as service:
        def refused(*options):
            code, text = service.ended(service.join("--connect-wait", "5", *options))
            return code == 1 and "you are banned from this server" in text and text

        first = service.join("--name", "Mallory", "--ticks", "0", "--reconnect", "0")
        service.wait_until("pair-1", lambda room: room["players"])
        assert service.admin("add-ban", "name", "mallory", "3600", "cheats") == "1\n"
        assert "cheats" in service.ended(first)[1], "it is sent away"
        assert "cheats" in refused("--name", "MALLORY")
        assert service.admin("add-ban", "address", "127.0.0.1", "3600") == "2\n"
        assert refused("--name", "Ann")
        service.stop(signal.SIGKILL)
        service.start()
        assert len(service.admin("bans").splitlines()) == 3
        assert refused("--name", "Ann")
        service.admin("unban", "2")
        assert refused("--name", "Mallory")
        service.admin("unban", "1")
        events = Events(service)
        wait_for(lambda: events.kinds("").count("unban") == 2, "both ends in the stream")
        players = [service.join("--name", name, "--ticks", "60") for name in ("Mallory", "Ann")]
        assert [service.ended(player)[0] for player in players] == [0, 0]


def test_configuration_is_read_again_while_a_match_plays():
    with Service(ONE_PAIR, workers=1) as service:
        players = [service.join("--ticks", "0", "--reconnect", "0") for _ in range(2)]
        service.wait_until("pair-1", is_running)
        service.wait_until("pair-2", lambda room: room["state"] == "waiting")
        before = service.config.read_text(encoding="ascii")

        def read_again(text, line):
            service.config.write_text(text, encoding="ascii")
            service.process.send_signal(signal.SIGHUP)
            wait_for(lambda: line in service.log(), line)

        read_again(before + "playerz = 3\n", "the configuration is not read again")
        assert "did you mean 'players'?" in service.log() and service.room("pair-2")
        (service.folder / "token").write_text("another-token-of-the-service", encoding="ascii")
        read_again(before.replace(ONE_PAIR, SOLO).replace("bind =", "invite-only = true\nbind =")
                   .replace("workers = 1", "workers = 2\nrooms-max = 9"),
                   "the configuration was read again")
        for key in ("workers", "[server] invite-only"):
            assert f"{key} cannot change while the service runs" in service.log(), service.log()
        assert service.ask("GET", API + "/rooms")[0] == 401

        def rooms():
            text = service.ask("GET", API + "/rooms", token="another-token-of-the-service")[2]
            return {room["name"]: room["state"] for room in json.loads(text)["rooms"]}

        wait_for(lambda: set(rooms()) == {"pair-1", "solo-1"}, "rooms of the new kind alone")
        assert rooms()["pair-1"] == "running"
        assert all(service.clients[player].poll() is None for player in players)


def test_workers_are_of_the_program_that_the_service_was_started_with():
    with tempfile.TemporaryDirectory(prefix="lockstep-upgrade-") as folder:
        program = pathlib.Path(folder) / "lockstep-server"
        shutil.copy2(Programs.server, program)
        with Service(ONE_PAIR, workers=1, program=program) as service:
            (program.parent / "next").write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
            (program.parent / "next").chmod(0o755)
            (program.parent / "next").rename(program)  # as a package is installed
            service.kill_worker(0)
            wait_for(lambda: service.worker(0)["starts"] == 2 and service.worker(0)["pid"],
                     "a worker once more")
            wait_for(lambda: service.ask("GET", "/readyz", token=None)[0] == 200, "readiness")
            service.join("--ticks", "30")
            service.join("--ticks", "30")
            assert [service.ended(i)[0] for i in range(2)] == [0, 0]


SOLO = """[[rooms]]
name = "solo"
open = 1
sim = "arena"
players = 1
ticks = 30
tick-rate = 60
"""

UPLOAD_AT_ONCE = """[upload]
command = "true {}"
"""

# Fails the first time, then does its work.
UPLOAD = """#!/bin/sh
echo run >>"$1/runs"
case $(wc -l <"$1/runs") in
1) FAILURE ;;
*) cp "$2" "$1/far" ;;
esac
"""


def upload_in_spite_of(failure, time_limit, words):
    with tempfile.TemporaryDirectory(prefix="lockstep-upload-") as folder:
        folder = pathlib.Path(folder)
        (folder / "far").mkdir()
        (folder / "upload").write_text(UPLOAD.replace("FAILURE", failure), encoding="ascii")
        command = (f'[upload]\ncommand = "sh {folder}/upload {folder} {{}}"\n'
                   f'time-limit = {time_limit}\n')
        with Service(command + SOLO) as service:
            service.join()
            assert service.ended(0)[0] == 0
            wait_for(lambda: list((service.folder / "journals" / "uploaded").glob("*.journal")),
                     "the journal is uploaded")
            assert len(list((folder / "far").glob("*-solo-1-*.journal"))) == 1
            assert words in service.log()


def test_journal_is_uploaded_in_spite_of_a_command_that_fails():
    upload_in_spite_of("exit 1", 0, "the command of [upload] failed")


def test_journal_is_uploaded_in_spite_of_a_command_that_hangs_with_a_child_of_its_own():
    upload_in_spite_of("sleep 4321 ; exit 1", 1,
                       "the command of [upload] took longer than time-limit")
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True,
                             check=True).stdout
    assert "sleep 4321" not in running.splitlines(), "nothing of it is left behind"


def test_player_whose_link_was_lost_counts_once():
    with Service(ONE_PAIR.replace("players = 2", "players = 2\nkeep-seat = 1")) as service:
        for _ in range(2):
            service.join("--ticks", "3000")
        service.wait_until("pair-1", is_running)
        service.clients[1].kill()
        wait_for(lambda: "has not come back" in service.log() or "left" in service.log(),
                 "the seat is given up")
        service.wait_until("pair-1", lambda room: sum(p["is_here"] for p in room["players"]) == 1)

        def lost():
            text = service.ask("GET", "/metrics", token=None)[2]
            return float(re.search(r"^lockstep_players_lost_total (\S+)$", text, re.MULTILINE)[1])

        wait_for(lost, "the player that was lost")
        time.sleep(2.5)  # reports come once a second
        assert lost() == 1


def refusal_of(rooms, *options):
    """What a service with these rooms says, which must not start."""
    with tempfile.TemporaryDirectory(prefix="lockstep-refusal-") as folder:
        config = pathlib.Path(folder) / "lockstep.toml"
        config.write_text(f"""workers = 1
[server]
bind = "127.0.0.1"
port = 0
identity = "{folder}/identity"
[http]
port = 0
{rooms}""", encoding="ascii")
        ended = subprocess.run([Programs.server, "--config", config, *options], text=True,
                               capture_output=True, timeout=PATIENCE_S, check=False)
        assert ended.returncode == 2, ended
        return ended.stderr


def test_rooms_that_cannot_be_are_refused_at_the_start():
    room = '[[rooms]]\nname = "bad"\nopen = 1\n'
    for rest, words in (
            ('sim = "chess"', "unknown simulation 'chess'"),
            ('sim = "arena"\nparams = {colour = 1}', "unknown parameter 'colour'"),
            ('sim = "arena"\nplayers = 17', "'arena' takes 1..16 players, not 17"),
            ('sim = "game.so"', "no file of the directory of plug-ins")):
        text = refusal_of(room + rest + "\n")
        assert "[[rooms]] 'bad': " in text and words in text, text


def test_broken_configuration_fails_once_under_systemd():
    """refusal_of expects exit code 2."""
    unit = FLEET.parent / "package/systemd/lockstep-server.service"
    assert "\nRestartPreventExitStatus=2\n" in unit.read_text(encoding="utf-8")
    text = refusal_of('[mtach]\nplayers = 2\n[upload]\ncommand = ""\n')
    assert text.count("\n") == 1 and "(and 1 more: see --check)" in text, text


def test_room_is_private_or_refused():
    with Service("") as service:
        for word in ("yes", "1", "True"):
            said = service.admin("create", f"name=r-{word}", "sim=arena", f"private={word}", code=2)
            assert "private takes on or off (true or false)" in said, said
            assert not service.room(f"r-{word}")
        service.admin("create", "name=closed", "sim=arena", "private=true")
        client = service.clients[service.join("--connect-wait", "1")]
        assert client.wait(timeout=PATIENCE_S) != 0, "a private room took a newcomer"
        invite = service.room("closed")["invite"]
        said = []
        for name in ("closed", "guessed"):  # who guesses learns nothing
            code, text = service.ended(service.join(to=invite.replace("/closed", f"/{name}")))
            assert code == 1 and "it is private, and takes a connect token" in text, (code, text)
            said.append(text.replace(name, ""))
        assert said[0] == said[1], said


def test_service_is_not_ready_while_a_room_cannot_be_opened():
    with Service(ONE_PAIR) as service:
        journals = service.folder / "journals"
        assert service.ask("GET", "/readyz", token=None)[0] == 200
        journals.rename(service.folder / "elsewhere")
        for _ in range(2):
            service.join("--ticks", "3000", "--reconnect", "1")
        # The folder may be missed before a room is.
        status, _, text = wait_for(
            lambda: (reply := service.ask("GET", "/readyz", token=None)) and
            "no room of 'pair' can be opened" in reply[2] and reply, "no readiness")
        assert status == 503, text
        (service.folder / "elsewhere").rename(journals)
        wait_for(lambda: service.ask("GET", "/readyz", token=None)[0] == 200, "readiness again")


def test_ban_outlives_the_service():
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "3000", "--reconnect", "1")
        service.wait_until("pair-1", is_running)
        service.ask("POST", API + "/rooms/pair-1/players/1/ban", {"seconds": 3600})
        wait_for(lambda: any(client.poll() == 1 for client in service.clients), "one is gone")
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        service.start()
        late = service.join("--ticks", "60", "--connect-wait", "5")
        code, text = service.ended(late)
        assert code == 1 and "you are banned from this server" in text, text


def test_what_an_operator_hears_is_done_is_on_the_disk():
    with Service(ONE_PAIR) as service:
        service.wait_until("pair-1", lambda room: room["state"] == "waiting")
        known = service.folder / "journals" / "rooms.json"
        known.unlink(missing_ok=True)
        known.mkdir()  # so that writing it fails, which the log says when it is tried
        mallory = {"kind": "name", "what": "mallory", "seconds": 60}
        for what, path in (mallory, "/bans"), ({"name": "hall", "sim": "arena"}, "/rooms"):
            before = len(service.log())
            status, _, text = service.ask("POST", API + path, what)
            assert status in (200, 201), (status, text)
            done = f"POST {path[1:]} "
            said = wait_for(lambda: done in service.log()[before:] and service.log()[before:],
                            "the operator in the log")
            assert "would not be known" in said[:said.index(done)], said


def test_room_is_opened_before_a_worker_has_started():
    sockets = sockets_of_a_unit()
    with Service("", sockets=sockets) as service:
        assert service.stop() == 0
        answers = []
        asker = threading.Thread(target=lambda: answers.append(
            service.ask("POST", API + "/rooms", {"name": "early", "sim": "arena", "players": 2})))
        asker.start()  # while there is no service
        time.sleep(0.5)
        service.start()
        asker.join(PATIENCE_S)
        assert answers and answers[0][0] == 201, answers
        assert service.wait_until("early", lambda room: room["state"] == "waiting")
    for one in sockets:
        one.close()


def sleeps(pid):
    """How often a process has slept and was woken; a busy machine makes it no more."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M).group(1))


def test_worker_in_which_nobody_is_rests_until_somebody_comes():
    with Service(ONE_PAIR, workers=1) as service:
        worker = wait_for(lambda: service.worker(0)["pid"], "the worker's process")

        def is_at_rest():
            before = sleeps(worker)
            time.sleep(1)
            return sleeps(worker) - before <= 10

        wait_for(is_at_rest, "a worker that looks around no more than a few times a second")
        play_a_pair(service)
        wait_for(lambda: service.room("pair-2"), "the next room")


def test_supervisor_that_was_halted_kills_no_worker():
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "0")
        service.wait_until("pair-1", is_running)
        service.process.send_signal(signal.SIGSTOP)
        time.sleep(11)  # a worker that says nothing for so long is taken to hang
        service.process.send_signal(signal.SIGCONT)
        tick = service.room("pair-1")["tick"]
        service.wait_until("pair-1", lambda room: room["tick"] > tick + 60)
        assert "has said nothing" not in service.log()


def test_saved_match_goes_on_another_day():
    with Service(ONE_PAIR) as service:
        for i in range(2):
            service.join("--ticks", "600", "--seat-file", service.folder / f"seat-{i}")
        service.wait_until("pair-1", is_running)
        path = pathlib.Path(service.admin("save", "pair-1", "see you on Friday").strip())
        assert path.parent.name == "saved" and path.exists()
        for i in range(2):
            code, text = service.ended(i)
            assert code == 1 and "saved the match" in text and "see you on Friday" in text, text
            assert (service.folder / f"seat-{i}").exists()
        saved_at = service.summary(0)["final_tick"]
        wait_for(lambda: service.room("pair-1") is None, "the room is gone")
        assert service.ask("POST", API + "/rooms/pair-2/save")[0] == 409
        assert service.stop() == 0
        service.start()
        begin = time.monotonic()
        assert service.admin("create", "name=friday", f"resume={path}") == "friday\n"
        friday = service.room("friday")
        assert friday["state"] == "resuming" and friday["counters"]["ticks"] == 0
        invite = friday["invite"]
        for i in range(2):
            service.join("--ticks", "600", "--seat-file", service.folder / f"seat-{i}", to=invite)
        late = service.wait_until("friday", lambda room: room["counters"]["ticks"] > 50)
        late = late["counters"]["tick_lateness"]
        # However busy the machine is, no moment counts twice.
        open_ms = 1000 * (time.monotonic() - begin)
        assert late["sum_ms"] < open_ms, "the ticks before are not late ones"
        for i in (2, 3):
            code, text = service.ended(i)
            assert code == 0, text
            assert service.summary(i)["final_tick"] == 600 and saved_at < 600
        assert service.summary(2)["final_hash"] == service.summary(3)["final_hash"]


def play_a_pair(service):
    for _ in range(2):
        service.join("--ticks", "3000")
    service.wait_until("pair-1", is_running)


def test_journal_that_cannot_be_gone_on_with_is_the_mistake_of_who_asks():
    with Service(SOLO) as service:
        assert service.ended(service.join())[0] == 0
        wait_for(lambda: service.room("solo-1") is None, "the room is gone")
        journals = service.folder / "journals"
        junk = journals / "junk.journal"
        junk.write_bytes(b"x" * 5000)
        (journals / "folder").mkdir()
        (journals / "out.journal").symlink_to(service.folder / "token")
        for path, status, words in (
                ("/none.journal", 400, "resume takes a path in the folder of the journals"),
                (journals / ".." / "token", 400, "resume takes a path in the folder"),
                (journals / "out.journal", 400, "resume takes a path in the folder"),
                (journals / "none.journal", 400, "cannot read none.journal"),
                (journals / "folder", 400, "not a file"),
                (junk, 400, "this is no journal"),
                (next(journals.glob("*-solo-1-*.journal")), 409, "is over"),
                (next(journals.glob("*-solo-2-*.journal")), 409, "another process is writing")):
            answer, _, text = service.ask("POST", API + "/rooms", {"resume": str(path)})
            assert answer == status and words in text, (path, answer, text)


def test_service_whose_disk_is_full_is_not_ready():
    """What it may write to a file is limited, and SIGXFSZ ignored, as Python has it."""
    with Service(SOLO, workers=1, restores_signals=False) as service:
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (100, unlimited))
        wait_for(lambda: service.ask("GET", "/readyz", token=None)[0] == 503, "not ready")
        assert "File too large" in service.ask("GET", "/readyz", token=None)[2]
        assert "lockstep_ready 0" in service.ask("GET", "/metrics", token=None)[2]
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        wait_for(lambda: service.ask("GET", "/readyz", token=None)[0] == 200, "ready")
        journal = next((service.folder / "journals").glob("*.journal"))
        journal.unlink()
        wait_for(lambda: "lockstep_rooms_unrecorded 1\n" in
                 service.ask("GET", "/metrics", token=None)[2], "the journal is missing")


def test_match_is_saved_in_one_folder_however_often():
    with Service(ONE_PAIR) as service:
        play_a_pair(service)
        path = pathlib.Path(service.admin("save", "pair-1").strip())
        wait_for(lambda: service.room("pair-1") is None, "the room is gone")
        for _ in range(2):
            service.admin("create", "name=again", f"resume={path}")
            assert service.admin("save", "again").strip() == str(path)
            assert path.exists()
            wait_for(lambda: service.room("again") is None, "the room is gone")


def test_match_goes_on_when_its_journal_is_gone_and_it_is_to_be_saved():
    with Service(ONE_PAIR) as service:
        play_a_pair(service)
        next((service.folder / "journals").glob("*-pair-1-*.journal")).unlink()
        status, _, text = service.ask("POST", API + "/rooms/pair-1/save")
        assert status == 500 and "deleted: the match goes on" in text, text
        tick = service.room("pair-1")["tick"]
        service.wait_until("pair-1", lambda room: room["state"] == "running"
                           and room["tick"] > tick + 60)
        assert all(client.poll() is None for client in service.clients)


def test_match_that_is_ended_while_it_is_saved_is_not_said_to_be():
    with Service(ONE_PAIR) as service:
        play_a_pair(service)
        answers = []
        saving = threading.Thread(
            target=lambda: answers.append(service.ask("POST", API + "/rooms/pair-1/save")))
        saving.start()
        wait_for(lambda: "paused at tick" in service.log(), "the match is being saved")
        ended = service.ask("DELETE", API + "/rooms/pair-1")[0]
        saving.join()
        status, _, text = answers[0]
        if status == 200:  # it was over before it could be ended
            path = json.loads(text)["result"]
            service.admin("create", "name=again", f"resume={path}")
        else:
            assert (status, ended) == (409, 200) and "ended before it was saved" in text, text


def test_room_that_cannot_go_on_waits_until_an_operator_ends_it():
    with Service(UPLOAD_AT_ONCE + ONE_PAIR + SOLO) as service:
        for _ in range(2):
            service.join("--ticks", "3000", "--reconnect", "30",
                         to=service.wait_until("pair-1", lambda room: room["invite"])["invite"])
        service.wait_until("pair-1", is_running)
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        journal = next((service.folder / "journals").glob("*-pair-1-*.journal"))
        with open(journal, "r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)  # as soon as the worker of before is gone
            service.start()
            assert service.wait_until("pair-1", lambda room: room["state"] == "resuming")
            wait_for(lambda: "room pair-1 does not go on" in service.log(), "the reason in the log")
            assert "another process is writing to it" in service.log()
            time.sleep(1.5)  # the players ask again meanwhile
            assert all(client.poll() is None for client in service.clients)
            solo = service.wait_until("solo-1", lambda room: room["state"] != "resuming")
            alone = service.join(to=solo["invite"])
            assert service.ended(alone)[0] == 0
            wait_for(lambda: list((journal.parent / "uploaded").glob("*-solo-1-*.journal")),
                     "other journals are uploaded meanwhile")
            assert journal.exists(), "that of the room is not"
            service.admin("end", "pair-1")
            assert service.room("pair-1") is None
        assert service.ended(0)[0] == 1
        wait_for(lambda: (journal.parent / "uploaded" / journal.name).exists(), "now it is as well")


def test_player_with_a_seat_file_waits_for_a_room_that_does_not_go_on_yet():
    """Longer than for any server: its seat is there, and it is told to ask again."""
    with Service(ONE_PAIR) as service:
        service.wait_until("pair-1", lambda room: room["invite"])
        both = ("--ticks", "3000", "--reconnect", "60")
        back = (*both, "--seat-file", service.folder / "seat", "--connect-wait", "1")
        first = service.join(*both)
        left = service.join(*back)
        service.wait_until("pair-1", is_running)
        slot = wait_for(lambda: re.search(r"as slot (\d)", service.said_by(left)), "its seat")[0]
        port = re.search(r":(\d+)", service.invite)[1]
        config = service.config.read_text(encoding="ascii")
        service.config.write_text(config.replace("port = 0", f"port = {port}", 1), encoding="ascii")
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        service.clients[left].kill()
        journal = next((service.folder / "journals").glob("*-pair-1-*.journal"))
        with open(journal, "r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            service.start()
            wait_for(lambda: "room pair-1 does not go on" in service.log(), "the reason in the log")
            returned = service.join(*back)
            time.sleep(3)  # beyond its --connect-wait
        assert service.ended(returned)[0] == 0, service.said_by(returned)
        assert slot in service.said_by(returned), service.said_by(returned)
        assert service.ended(first)[0] == 0


def test_client_without_a_seat_yet_says_why_it_ended_and_nothing_of_the_file():
    with Service(SOLO) as service, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        nobody = service.join("--seat-file", service.folder / "no-seat", "--connect-wait", "0",
                              to=f"127.0.0.1:{silent.getsockname()[1]}")
        code, said = service.ended(nobody)
        assert code == 1 and "cannot connect" in said and "no-seat" not in said, (code, said)


def test_room_that_goes_on_a_little_later_gets_no_other_one_in_its_place():
    with Service(ONE_PAIR) as service:
        service.wait_until("pair-1", lambda room: room["state"] == "waiting")
        known = service.folder / "journals" / "rooms.json"
        wait_for(lambda: known.exists() and ".journal" in known.read_text(encoding="utf-8"),
                 "the room is written down")
        service.stop(signal.SIGKILL)
        journal = next((service.folder / "journals").glob("*-pair-1-*.journal"))
        with open(journal, "r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            service.start()
            wait_for(lambda: "room pair-1 does not go on" in service.log(), "the reason in the log")
        service.wait_until("pair-1", lambda room: room["state"] == "waiting")
        rooms = json.loads(service.ask("GET", API + "/rooms")[2])["rooms"]
        assert [room["name"] for room in rooms] == ["pair-1"], rooms


def test_room_whose_journal_has_nothing_is_given_up():
    with Service(ONE_PAIR) as service:
        service.wait_until("pair-1", lambda room: room["state"] == "waiting")
        known = service.folder / "journals" / "rooms.json"
        # A service that is killed before it has written the room down forgets it with its journal.
        wait_for(lambda: known.exists() and ".journal" in known.read_text(encoding="utf-8"),
                 "the room is written down")
        workers = json.loads(service.ask("GET", API + "/workers")[2])["workers"]
        names = [pathlib.Path(f"/proc/{worker['pid']}/cmdline") for worker in workers]
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        wait_for(lambda: not any(name.exists() and name.read_bytes() for name in names),
                 "workers without a service to write their journals and go")
        journal = next((service.folder / "journals").glob("*pair-1*.journal"))
        journal.write_bytes(b"")  # as on a disk that was full when it was opened
        service.start()
        # The file goes, and another room is opened; or it was written down as a room that is still
        # to be opened, and is made anew with the same file.
        wait_for(lambda: any(one.stat().st_size > 0 for one in
                             (service.folder / "journals").glob("*.journal")),
                 "a room in its place")
        wait_for(lambda: "pair-1 is given up" in service.log() or
                 service.log().count(f"pair-1 is {journal}") == 2, "the log to say which")


def sockets_of_a_unit():
    """Two workers' and HTTP's."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    for number, one in enumerate(sockets):
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.bind(("127.0.0.1", sockets[0].getsockname()[1] if number else 0))
    return [*sockets, socket.create_server(("127.0.0.1", 0))]


def test_sockets_of_systemd_stay_open_while_the_service_is_started_again():
    sockets = sockets_of_a_unit()
    with Service(ONE_PAIR, workers=5, sockets=sockets) as service:
        assert service.port == sockets[-1].getsockname()[1]
        assert f":{sockets[0].getsockname()[1]}/" in service.invite
        assert "workers = 5 does not count" in service.log()
        assert Caller(service)("GET", "/service")["workers"] == 2
        for _ in range(2):
            service.join("--ticks", "600")
        service.wait_until("pair-1", is_running)
        assert service.stop() == 0
        asked = []
        asker = threading.Thread(target=lambda: asked.append(service.ask("GET", "/healthz")))
        asker.start()  # while there is no service
        time.sleep(0.5)
        service.start()
        asker.join(PATIENCE_S)
        assert asked and asked[0][0] == 200, asked
        assert all(service.ended(i)[0] == 0 for i in range(2)), service.log()
        assert service.summary(0)["final_hash"] == service.summary(1)["final_hash"]
        assert service.summary(0)["final_tick"] == 600
    for one in sockets:
        one.close()


def test_operators_without_the_token_are_kept_out():
    with Service(ONE_PAIR) as service:
        assert service.ask("GET", API + "/rooms", token=None)[0] == 401
        assert service.ask("POST", API + "/drain", token="guessed")[0] == 401
        assert service.ask("GET", "/healthz", token=None)[0] == 200


def test_events_are_followed_across_a_restart():
    sockets = sockets_of_a_unit()
    with Service(ONE_PAIR, sockets=sockets) as service:
        with open(service.folder / "events", "w", encoding="utf-8") as out:
            follower = subprocess.Popen(
                [Programs.admin, "--url", f"http://127.0.0.1:{service.port}", "--token-file",
                 service.folder / "token", "--json", "events"], stdout=out, stderr=out)
        try:
            def kinds():
                text = (service.folder / "events").read_text(encoding="utf-8")
                return [json.loads(line)["kind"] for line in text.splitlines()
                        if line.startswith("{")]

            wait_for(lambda: kinds() == ["room-opened"], "the first event")
            assert service.stop() == 0
            service.start()
            wait_for(lambda: kinds()[-1:] == ["room-opened"] and len(kinds()) > 2,
                     "the events of the service that was started again")
        finally:
            follower.terminate()
            follower.wait(timeout=PATIENCE_S)
    for one in sockets:
        one.close()


def test_metrics_are_what_prometheus_reads():
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "120")
        assert all(service.ended(i)[0] == 0 for i in range(2))
        wait_for(lambda: service.room("pair-1") is None, "the room is gone")
        text = service.ask("GET", "/metrics", token=None)[2]
        value = re.search(r"^lockstep_rooms_ended_total(?:{[^}]*})? (\S+)$", text, re.MULTILINE)
        assert value and float(value[1]) == 1, text[:2000]
        promtool = shutil.which("promtool")
        if promtool:
            check = subprocess.run([promtool, "check", "metrics"], input=text, text=True,
                                   capture_output=True, check=False)
            assert check.returncode == 0 and not check.stderr.strip(), check
        else:
            print("promtool is not there: the format was not checked by it")


class Prometheus:
    """The real one, in a folder of its own, with the fleet's rules; it scrapes one service."""

    def __init__(self, service):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        config = service.folder / "prometheus.yml"
        config.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(FLEET / "prometheus-rules.yaml")],
            "scrape_configs": [{"job_name": "lockstep", "static_configs": [
                {"targets": [f"127.0.0.1:{service.port}"]}]}]}), encoding="ascii")
        with open(service.folder / "prometheus.log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={config}", "--log.level=warn",
                 f"--storage.tsdb.path={service.folder}/prometheus",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stderr=log, stdout=log)

    def ask(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request("GET", "/api/v1/" + path)
            reply = connection.getresponse()
            return json.load(reply)["data"] if reply.status == 200 else None
        except OSError:
            return None
        finally:
            connection.close()

    def rules(self):
        return [rule for group in self.ask("rules")["groups"] for rule in group["rules"]]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)


def test_prometheus_scrapes_the_service():
    if not shutil.which("prometheus"):
        print("prometheus is not there: it did not scrape the service")
        return
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "0")
        service.wait_until("pair-1", is_running)
        prometheus = Prometheus(service)
        try:
            def value(question):
                answer = prometheus.ask("query?query=" + question)
                return answer and answer["result"] and float(answer["result"][0]["value"][1])

            wait_for(lambda: (value("rate(lockstep_ticks_total[5s])") or 0) > 30,
                     "a rate of ticks from two scrapes")
            assert value("sum(lockstep_players)") == 2
            target = prometheus.ask("targets")["activeTargets"][0]
            assert target["health"] == "up" and not target["lastError"], target
            wait_for(lambda: {rule["health"] for rule in prometheus.rules()} == {"ok"},
                     "the rules are evaluated")
            wait_for(lambda: (value("lockstep:tick_lateness_seconds:p99") or 0) > 0,
                     "the lateness of ticks, by a rule")
        finally:
            prometheus.stop()


def test_newcomers_are_told_that_the_service_is_drained():
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "0")
        service.wait_until("pair-1", is_running)
        wait_for(lambda: service.room("pair-2"), "the next room")
        service.admin("drain")
        wait_for(lambda: not service.room("pair-2"), "the room where nobody plays is ended")
        code, text = service.ended(service.join("--connect-wait", "5"))
        assert code == 1 and "the server is being stopped, and takes no new players" in text, text


def test_draining_ends_when_the_last_match_does():
    with Service(ONE_PAIR) as service:
        for _ in range(2):
            service.join("--ticks", "0")
        service.wait_until("pair-1", is_running)
        service.admin("drain")
        assert service.ask("GET", "/readyz", token=None)[0] == 503
        assert service.ask("GET", "/healthz", token=None)[0] == 200
        status, _, text = service.ask("POST", API + "/rooms", {"sim": "arena", "players": 2})
        assert status == 503 and "drained" in text
        service.admin("end", "pair-1")
        assert all(service.ended(i)[0] == 0 for i in range(2))
        assert service.process.wait(timeout=PATIENCE_S) == 0


if __name__ == "__main__":
    run_tests(globals(), at_once=4)  # they wait, more than they compute
