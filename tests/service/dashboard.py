#!/usr/bin/env python3
"""The dashboard in a browser: it shows rooms, players and events, and its buttons do what they say.
One of the players is called <script>boo()</script>."""

import re
import sys

import browser
from fake_service import TOKEN, FakeService

PROGRAM = sys.argv[1]

with FakeService(PROGRAM) as service:
    status, headers, page = service.ask("GET", "/", token=None)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert not re.search(r"<script>|<style|\son\w+=|style=", page)
    _, headers, script = service.ask("GET", "/dashboard.js", token=None)
    assert headers["Content-Type"].startswith("text/javascript")
    assert "innerHTML" not in script and "insertAdjacentHTML" not in script

if not browser.find():
    print("skipped: no browser is installed (Debian's package chromium-headless-shell)")
    sys.exit(0)

with FakeService(PROGRAM) as service, browser.Browser() as page:
    page.open(f"http://127.0.0.1:{service.port}/")
    page.wait_for("document.getElementById('service').textContent.includes('Enter the token')")
    assert page.run("document.getElementById('problem').hidden"), "no alarm before a token"
    page.run("boos = 0; boo = () => boos++; 1")
    page.run("document.getElementById('token').value = 'wrong';"
             "document.querySelector('#token-form button').click()")
    page.wait_for("document.getElementById('problem').textContent.includes('another one')")
    page.run(f"document.getElementById('token').value = '{TOKEN}';"
             "document.querySelector('#token-form button').click()")

    # Rooms, workers, events and the players of a room.
    page.wait_for("document.querySelectorAll('#rooms tbody tr').length === 2")
    assert page.run("document.getElementById('problem').hidden")
    assert "ready: 2 rooms, 4 players" in page.run("document.getElementById('service').textContent")
    assert page.run("document.querySelectorAll('#workers tbody tr').length") == 2
    page.wait_for("document.querySelectorAll('#events li').length === 2")
    service.say("<img src=x onerror=boo()> says hello")
    page.wait_for("document.querySelector('#events li').textContent.includes('says hello')")
    page.run("document.querySelector('#rooms button.name').click()")
    page.wait_for("document.querySelectorAll('#players tbody tr').length === 2")
    names = page.run("[...document.querySelectorAll('#players td:nth-child(2)')]"
                     ".map((cell) => cell.textContent)")
    assert names == ["ann", "<script>boo()</script>"]
    assert "one-off 1" in page.run("document.getElementById('room-facts').textContent")
    assert page.run("document.querySelector('#lateness meter').value") == 900
    assert page.run("document.querySelectorAll('main script').length") == 0
    images = page.run("[...document.querySelectorAll('main img')].map((one) => one.id)")
    assert images == ["picture"]

    # The picture of the room; the other room has none.
    page.wait_for("document.getElementById('picture').naturalWidth > 0")
    assert not page.run("document.getElementById('picture').hidden")
    page.run("document.querySelectorAll('#rooms button.name')[1].click()")
    page.wait_for("document.getElementById('picture-problem').textContent"
                  " === 'No picture: the simulation draws nothing'")
    assert page.run("document.getElementById('picture').hidden")
    page.run("document.querySelector('#rooms button.name').click()")
    page.wait_for("!document.getElementById('picture').hidden")
    assert page.run("boos") == 0

    # Trends of the last ten minutes: a line each, with what it is now.
    line = "document.querySelector('#trend-lines polyline').getAttribute('points').split(' ')"
    page.wait_for(line + ".length >= 2")
    captions = page.run("[...document.querySelectorAll('#trend-lines figcaption')]"
                        ".map((one) => one.textContent)")
    assert captions[:2] == ["Players: 4, most 4", "Rooms: 2, most 2"], captions
    assert [one.split(":")[0] for one in captions[2:]] == ["Tick lateness", "Traffic"], captions
    assert captions[3] == "Traffic: 0.0 KiB/s, most 0.0 KiB/s", captions
    points = [[float(part) for part in point.split(",")] for point in page.run(line)]
    assert all(0 < x <= 300 and y == 2 for x, y in points), points  # at the top: it is the most
    assert points == sorted(points), points

    # A phone: nothing is wider than the page.
    page.ask("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1,
             mobile=True)
    page.wait_for("document.documentElement.clientWidth === 390")
    assert page.run("document.documentElement.scrollWidth") == 390
    assert page.run("getComputedStyle(document.querySelector('#rooms td'), '::before').content"
                    ) == '"Name"'
    page.ask("Emulation.clearDeviceMetricsOverride")

    # A room is opened.
    assert not page.run("document.getElementById('open-form').hidden")
    page.run("document.getElementById('open-sim').value = 'arena';"
             "document.getElementById('open-players').value = '3';"
             "document.getElementById('open-name').value = 'mine';"
             "document.querySelector('#open-form button').click()")
    page.wait_for("document.getElementById('notice').textContent === 'opened mine'")
    page.wait_for("document.querySelectorAll('#rooms tbody tr').length === 3")
    assert "mine" in service.ask("GET", "/api/v1/rooms")[2]
    assert service.ask("DELETE", "/api/v1/rooms/mine")[0] == 200
    page.wait_for("document.querySelectorAll('#rooms tbody tr').length === 2")

    # Buttons.
    page.run("document.querySelector('#rooms td:last-child button').click()")
    page.wait_for("document.querySelector('#rooms td:nth-child(2)').textContent === 'paused'")
    page.run("document.querySelector('#rooms td:last-child button').click()")
    page.wait_for("document.querySelector('#rooms td:nth-child(2)').textContent === 'running'")
    page.run("setTimeout(() => document.getElementById('message').click()); 1")
    page.wait_for("document.querySelector('#events li').textContent.includes('be kind')")
    page.run("setTimeout(() => document.querySelectorAll('#players button')[0].click()); 1")
    page.wait_for("document.querySelectorAll('#players td:nth-child(4)')[0].textContent === 'away'")
    page.run("setTimeout(() => document.querySelectorAll('#players button')[1].click()); 1")
    page.wait_for("document.querySelectorAll('#players td:nth-child(4)')[1].textContent === 'away'")
    page.run("setTimeout(() =>"
             " document.querySelectorAll('#rooms td:last-child button')[1].click()); 1")
    page.wait_for("document.querySelectorAll('#rooms tbody tr').length === 1")
    page.wait_for("document.getElementById('room').hidden")
    page.run("document.querySelector('#rooms button.name').click()")
    page.wait_for("!document.getElementById('room').hidden")
    page.run("setTimeout(() => document.getElementById('save').click()); 1")
    page.wait_for("document.getElementById('notice').textContent === 'journals/arena.journal'")
    page.run("setTimeout(() => document.getElementById('drain').click()); 1")
    page.wait_for("document.getElementById('service').textContent.includes('draining')")
    assert page.dialogs == [
        "Message to the players of arena-1:", "Send ann away?",
        "Ban <script>boo()</script>, by its address, for how many hours?", "End the room arena-1?",
        "End arena-2 into its journal?",
        "Open no more rooms, and end the service with the last one?"], page.dialogs

    # The token is the tab's alone, and can be forgotten.
    assert page.run("sessionStorage.length") == 1 and page.run("localStorage.length") == 0
    assert page.run("document.cookie") == ""
    page.run("document.getElementById('forget').click()")
    page.wait_for("document.getElementById('service').textContent.includes('Enter the token')")
    assert page.run("sessionStorage.length") == 0
