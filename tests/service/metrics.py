#!/usr/bin/env python3
"""The metrics of a running listener: promtool takes them, and many rooms stay few lines."""

import shutil
import subprocess
import sys

from fake_service import FakeService, wait_for

PROGRAM = sys.argv[1]


def value_of(text, series):
    return float(next(line for line in text.splitlines() if line.startswith(series + " "))[
        len(series) + 1 :
    ])


def metrics_but(service, old):
    """What the service says now; None when that is still the old text."""
    text = service.ask("GET", "/metrics", token=None)[2]
    return text if text != old else None


with FakeService(PROGRAM, rooms=300) as service:
    status, headers, text = service.ask("GET", "/metrics", token=None)
    assert status == 200
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line for line in text.splitlines() if line.startswith("lockstep_room_ticks_total{")]
    rooms = {line.split("{")[1] for line in lines}
    assert len(rooms) == 257 and any("_others" in room for room in rooms)
    assert value_of(text, "lockstep_ticks_total") == 2000 + 300 * 10
    assert value_of(text, 'lockstep_room_ticks_total{room="_others"}') == 46 * 10

    assert value_of(text, "lockstep_journal_disk_free_bytes") == 5000
    assert value_of(text, "lockstep_journal_disk_bytes") == 20000
    assert value_of(text, "lockstep_rooms_unrecorded") == 0
    assert value_of(text, "lockstep_uploads_total") == 7
    assert value_of(text, "lockstep_upload_failures_total") == 2
    assert value_of(text, "lockstep_uploads_waiting") == 1
    assert value_of(text, "lockstep_uploads_oldest_seconds") > 0

    # A room of the name of their row is one of the others.
    assert service.ask("POST", "/api/v1/rooms", {"name": "_others"})[0] == 201
    # Who asks soon after another, on a busy machine, is given what was written for that one.
    text = wait_for(lambda: metrics_but(service, text), "metrics that were written anew")
    series = [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
    assert len(series) == len(set(series))
    assert value_of(text, 'lockstep_room_seats{room="_others"}') == 47 * 2

promtool = shutil.which("promtool")
if not promtool:
    print("skipped: promtool is not installed (Debian's package prometheus)")
    sys.exit(0)
run = subprocess.run(
    [promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False
)
assert run.returncode == 0 and not run.stderr, run.stdout + run.stderr
