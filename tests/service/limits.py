"""What one address gets at a service: matches in which it plays nothing leave nothing behind, and
there are only so many; with tokens and by playing there is no limit. Players who come in the same
moment wait together."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from described import API
from fake_service import wait_for
from whole_service import Programs, Service

ROOMS = """[match]
timeout = 1000
keep-seat = 0
[[rooms]]
name = "pair"
open = 8
sim = "arena"
players = 2
"""
PAIRS = 40
OPEN = 8


def journals(service):
    return list((service.folder / "journals").glob("*.journal"))


def rooms(service):
    return json.loads(service.ask("GET", API + "/rooms")[2])["rooms"]


def opened(service):
    _, _, text = service.ask("GET", "/metrics", token=None)
    return int(re.search("^lockstep_rooms_opened_total ([0-9]*)$", text, re.M)[1])


def test_silent_pairs_of_one_address(silent, workers):
    with Service(ROOMS, workers=workers) as service:
        service.process.send_signal(signal.SIGHUP)  # the limits stay what they are
        wait_for(lambda: "the configuration was read again" in service.log(), "the configuration")
        with subprocess.Popen([silent, service.invite, str(2 * PAIRS)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as attack:
            seated, refused = map(int, attack.stdout.readline().split())
            # A busy service opens the last ones later.
            wait_for(lambda: opened(service) - OPEN >= 24, "rooms in place of those that are taken")
            attack.stdin.close()
            assert attack.wait() == 0
        wait_for(lambda: len(rooms(service)) == OPEN, "the rooms where nobody plays end")
        wait_for(lambda: len(journals(service)) == OPEN, "their journals go")
        count = opened(service)
        print(f"{PAIRS} silent pairs, {workers} workers: "
              f"{seated} seats, {refused} refused, {count} rooms")
        assert count - OPEN <= 28 and refused >= 2 * PAIRS - 56, (seated, refused, count)


def test_newcomer_who_was_sent_to_another_worker_before_waits_with_the_others(silent):
    with Service(ROOMS.replace("open = 8", "open = 2"), workers=2) as service:
        wait_for(lambda: len(rooms(service)) == 2, "a room on each worker")
        service.join("--ticks", "0")
        waiting = wait_for(
            lambda: next((room for room in rooms(service) if room["seats_open"] == 1), None),
            "the seat of the first one")
        sent = service.invite.replace("/#", f"/any@{1 - waiting['worker']}#")
        assert sent != service.invite
        with subprocess.Popen([silent, service.invite, "1", sent], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as second:
            service.wait_until(waiting["name"], lambda room: room["state"] == "running")
            assert second.stdout.readline() == "1 0\n"


def test_journal_of_silent_players_goes_after_a_crash_too(silent):
    kind = ROOMS.replace("open = 8", "open = 1").replace("timeout = 1000", "timeout = 60000")
    with Service(kind.replace("[match]", "[match]\nresume-wait = 1"), workers=1) as service:
        with subprocess.Popen([silent, service.invite, "2"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as attack:
            service.wait_until("pair-1", lambda room: room["state"] == "running" and room["tick"])
            wait_for(lambda: len(rooms(service)) == 2, "the next room")
            service.stop(by=signal.SIGKILL)
            attack.stdin.close()
            attack.wait()
        service.start()
        wait_for(lambda: "pair-1" not in [room["name"] for room in rooms(service)],
                 "the room that goes on ends")
        # Others may be there: the room that was open goes on as well, once its worker is gone.
        wait_for(lambda: not any("pair-1" in str(path) for path in journals(service)),
                 "its journal goes")


SOLO = """[limits]
address-connections = 2
address-joins = 20
address-rooms = 1
[[rooms]]
name = "solo"
open = 1
sim = "arena"
players = 1
ticks = 5
"""


def test_player_who_plays_begins_as_many_rooms_as_it_likes():
    with Service(SOLO, workers=1) as service:
        for _ in range(4):
            code, text = service.ended(service.join())
            assert code == 0, text
        service.admin("create", "name=mine", "players=2")
        made = service.room("mine")["invite"]
        for _ in range(2):
            service.join("--ticks", "0", to=made)  # both connections of the address
        service.wait_until("mine", lambda room: room["state"] == "running")
        denied = service.join("--connect-wait", "1")
        code, text = service.ended(denied)
        assert code == 1 and "too many connections" in text, (code, text)


def test_connections_of_an_address_are_counted_over_all_workers():
    apart = ROOMS.replace("open = 8", "open = 2").replace("keep-seat = 0", "keep-seat = 60")
    with Service("[limits]\naddress-connections = 2\n" + apart, workers=2) as service:
        wait_for(lambda: len(rooms(service)) == 2, "a room on each worker")
        made = rooms(service)
        for room in made:
            service.join("--ticks", "0", "--reconnect", "60", to=room["invite"])
            service.wait_until(room["name"], lambda room: room["seats_open"] == 1)
        for room in made:
            code, text = service.ended(service.join("--connect-wait", "1", to=room["invite"]))
            assert code == 1 and "too many connections" in text, (code, text)
        workers = json.loads(service.ask("GET", API + "/workers")[2])["workers"]
        os.kill(workers[made[0]["worker"]]["pid"], signal.SIGKILL)  # with what it counted
        name = made[0]["name"]
        wait_for(lambda: f"{name}: player (slot 0) is back" in service.log(),
                 "the one whose worker was killed")


def test_holders_of_tokens_share_an_address(token):
    with tempfile.TemporaryDirectory(prefix="lockstep-limits-") as folder:
        key = pathlib.Path(folder) / "key"
        subprocess.run([token, "new-key", key], check=True)
        limits = SOLO.replace("address-joins = 20", "address-joins = 1")
        with Service(limits, options=("--token-key", key), workers=1) as service:
            log = service.log()
            address = re.search("listening on ([0-9.:]*)", log)[1]
            for number in range(5):
                out = pathlib.Path(folder) / f"token-{number}"
                subprocess.run([token, "make", "--key", key, "--server", address, "--client-id",
                                str(number), "--out", out], check=True)
                service.join("--token", out, to=address)
            for number in range(5):
                code, text = service.ended(number)
                assert code == 0, text


def main():
    Programs.server, Programs.client, Programs.admin = sys.argv[1:4]
    for workers in (1, 3):
        test_silent_pairs_of_one_address(sys.argv[4], workers)
    test_newcomer_who_was_sent_to_another_worker_before_waits_with_the_others(sys.argv[4])
    test_journal_of_silent_players_goes_after_a_crash_too(sys.argv[4])
    test_player_who_plays_begins_as_many_rooms_as_it_likes()
    test_connections_of_an_address_are_counted_over_all_workers()
    test_holders_of_tokens_share_an_address(sys.argv[5])


if __name__ == "__main__":
    main()
