"""A room that plays one match after the other: its players come back by themselves, to their seats,
and the room ends when nobody does."""

import json
import re
import sys

from described import API
from fake_service import wait_for
from whole_service import Programs, Service


def rooms(service):
    return [room["name"] for room in json.loads(service.ask("GET", API + "/rooms")[2])["rooms"]]


def said(service, number, pattern):
    return re.findall(pattern, service.said_by(number))


def test_room_plays_its_matches_in_turn():
    with Service("") as service:
        service.admin("create", "name=cup", "players=2", "tick-rate=120", "seed=7",
                      "join-timeout=10", "rotation=ticks=40", "rotation=sim=arena ticks=60")
        invite = service.room("cup")["invite"]
        for number in range(2):
            service.join("--matches", "3", "--name", f"player-{number}", to=invite)
        for number in range(2):
            code, text = service.ended(number)
            assert code == 0, text
        slots = [said(service, number, "as slot ([0-9]): ([a-z]+)") for number in range(2)]
        for own in slots:
            assert [sim for _, sim in own] == ["units", "arena", "units"], slots
            assert len({slot for slot, _ in own}) == 1, slots
        assert slots[0][0] != slots[1][0], slots
        assert said(service, 0, "next in room (.*)") == [
            "cup: sim=arena ticks=60", "cup: ticks=40", "cup: sim=arena ticks=60"]
        assert service.summary(0)["final_tick"] == 40 and service.summary(0)["seed"] == "7"
        assert service.summary(0)["final_hash"] == service.summary(1)["final_hash"]
        wait_for(lambda: rooms(service) == [], "a room where nobody is ends")
        names = sorted(path.name for path in (service.folder / "journals").glob("*.journal"))
        assert [re.sub("[0-9a-f]{16}", "ID", name) for name in names] == [
            "arena-cup-ID.journal", "units-cup-ID.journal", "units-cup-ID.journal"], names


def test_rotation_with_a_fault_is_refused():
    with Service("") as service:
        for words, reason in ((("next=vote",), "there is no rotation"),
                              (("rotation=canyon",), "words like map=canyon"),
                              (("rotation=players=99",), "players")):
            answer = service.admin("create", "name=cup", *words, code=2)
            assert reason in answer, answer
        assert rooms(service) == []


def main():
    Programs.server, Programs.client, Programs.admin = sys.argv[1:4]
    test_room_plays_its_matches_in_turn()
    test_rotation_with_a_fault_is_refused()


if __name__ == "__main__":
    main()
