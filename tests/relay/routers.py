"""lockstep-relay between real routers: a server and a player behind each of the four kinds of NAT,
as nftables make them in network namespaces of their own, all sixteen pairs at once, at two relays;
a player who is behind the same router as the server, which lets nobody reach its own address from
inside; and a player who has IPv6 alone. In mid-match routers forget all that they know.

usage: routers.py FOLDER_OF_THE_PROGRAMS

Exit code 77, with the reason, where namespaces or nftables are not to be had."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path(sys.argv[1]).resolve()
NEIGHBOURLY = "port-restricted"  # the server there has a player at home
KINDS = ("full-cone", "restricted", "port-restricted", "symmetric")
WORLD = "203.0.113"
WORLD_6 = "2001:db8:"
PATIENCE_S = 90
FORGETFUL = ("server", "symmetric"), ("player", "symmetric"), ("player", "port-restricted")
SKIPPED = 77

# What a router of each kind lets in that is no answer, and how it chooses ports. All of them drop
# what is for the router itself, as real ones do: else a datagram that comes too early takes the
# port that the player's own would have had.
RULES = """
table ip nat {{
    chain prerouting {{
        type nat hook prerouting priority dstnat; policy accept;
        {forwarding}
    }}
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
        oifname "out" masquerade {ports}
    }}
}}
table ip filter {{
    set reached {{ type ipv4_addr; flags dynamic; }}
    chain input {{ type filter hook input priority filter; policy drop; }}
    chain forward {{
        type filter hook forward priority filter; policy drop;
        iifname "in" add @reached {{ ip daddr }}
        iifname "in" accept
        ct state established,related accept
        {unsolicited}
    }}
}}
"""
UNSOLICITED = {"full-cone": 'iifname "out" accept',
               "restricted": 'iifname "out" ip saddr @reached accept'}


def run(*command, text=None):
    result = subprocess.run([str(word) for word in command], input=text, capture_output=True,
                            text=True, check=False)
    if result.returncode != 0:
        raise OSError(f"{' '.join(map(str, command))}: {result.stderr.strip()}")


def enter_namespaces():
    """Runs this again where it may make networks, which end with it."""
    if "LS_ROUTERS" in os.environ:
        return
    missing = [word for word in ("ip", "nft", "unshare", "mount") if not shutil.which(word)]
    if missing:
        print(f"skipped: {', '.join(missing)} is not installed")
        sys.exit(SKIPPED)
    maps = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    unshare = ["unshare", *maps, "--net", "--mount"]
    tried = subprocess.run([*unshare, "nft", "list", "tables"], capture_output=True, text=True,
                           check=False)
    if tried.returncode != 0:
        print(f"skipped: no network namespace with nftables: {tried.stderr.strip()}")
        sys.exit(SKIPPED)
    os.execvpe("unshare", [*unshare, sys.executable, "-B", *sys.argv],
               {**os.environ, "LS_ROUTERS": "1"})


def inside(place, *command):
    return ("ip", "netns", "exec", place, *command)


def add_address(place, name, address):
    # An address of IPv6 is otherwise looked for in the network for a second before it is of use.
    alone = ("nodad",) if ":" in address else ()
    run(*inside(place, "ip", "address", "add", address, "dev", name, *alone))


def plug(place, name, address, switch):
    """A cable from a place to a switch."""
    cable = f"{place}.{name}"[-15:]
    run("ip", "link", "add", cable, "type", "veth", "peer", "name", name, "netns", place)
    run("ip", "link", "set", cable, "master", switch, "up")
    add_address(place, name, address)
    run(*inside(place, "ip", "link", "set", name, "up"))


def make_place(place):
    run("ip", "netns", "add", place)
    run(*inside(place, "ip", "link", "set", "lo", "up"))


def make_switch(name):
    run("ip", "link", "add", name, "type", "bridge")
    run("ip", "link", "set", name, "up")


def plug_in(home, name, number, machine):
    """A machine that is the router's second, third and so on."""
    make_place(home)
    plug(home, "eth", f"10.0.{number}.{machine}/24", f"s{name}")
    run(*inside(home, "ip", "route", "add", "default", "via", f"10.0.{number}.1"))
    return home


def make_home(name, number, kind, rules=None):
    """A machine behind a router of a kind, or with rules of its own."""
    router = f"r{name}"
    make_place(router)
    make_switch(f"s{name}")
    plug(router, "out", f"{WORLD}.{number}/24", "world")
    plug(router, "in", f"10.0.{number}.1/24", f"s{name}")
    home = plug_in(f"h{name}", name, number, 2)
    run(*inside(router, "sysctl", "-qw", "net.ipv4.ip_forward=1"))
    forwarding = f'iifname "out" ip protocol udp dnat to 10.0.{number}.2'
    rules = rules or RULES.format(forwarding=forwarding if kind in UNSOLICITED else "",
                         ports="fully-random" if kind == "symmetric" else "",
                         unsolicited=UNSOLICITED.get(kind, ""))
    run(*inside(router, "nft", "-f", "-"), text=rules)
    return home


class Started:
    """A program in a place, and what it logs."""

    def __init__(self, folder, name, place, program, *words):
        self.name, self.path = name, folder / f"{name}.log"
        with open(self.path, "wb") as log:
            command = inside(place, PROGRAMS / program, *words)
            self.process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, cwd=folder)

    def log(self):
        return self.path.read_text(encoding="utf-8", errors="replace")

    def fail(self, why):
        sys.exit(f"{self.name}: {why}\n{self.log()}")

    def wait_for(self, words, before=0):
        """The rest of the first line with these words, behind so many of them."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            ended = self.process.poll() is not None
            lines = [each for each in self.log().split("\n")[:-1] if words in each]
            if len(lines) > before:
                return lines[before].split(words, 1)[1]
            if ended:
                self.fail(f"has ended without {words!r}")
            time.sleep(0.05)
        return self.fail(f"never says {words!r}")

    def expect_end(self):
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.fail("does not end")
        if code != 0:
            self.fail(f"exit code {code}")


def is_direct(server, player):
    if player in ("neighbour", "ipv6"):
        return player == "neighbour"
    closed = ("port-restricted", "symmetric")
    return not ("symmetric" in (server, player) and server in closed and player in closed)


def players_of(server):
    return (*KINDS, *(("neighbour", "ipv6") if server == NEIGHBOURLY else ()))


def relay_of(server, player=None):
    number = 1 + KINDS.index(server) % 2
    return f"[{WORLD_6}:{number}]" if player == "ipv6" else f"{WORLD}.{number}"


def forget(router):
    """As at a new connection to the Internet: nothing that was translated is known any more."""
    run(*inside(router, "ip", "link", "set", "out", "down"))
    run(*inside(router, "ip", "link", "set", "out", "up"))


def start_relays(folder, started):
    for place in ("relay1", "relay2"):
        relay = Started(folder, place, place, "lockstep-relay", "--port", "7310")
        started.append(relay)
        relay.wait_for("listening on")


def play(folder, homes, started):
    start_relays(folder, started)
    servers, players = {}, {}
    for kind in KINDS:
        servers[kind] = Started(
            folder, f"server {kind}", homes["server", kind], "lockstep-server", "--sim", "arena",
            "--players", len(players_of(kind)), "--publish", relay_of(kind), "--find", "off",
            "--identity", folder / f"identity-{kind}", "--bundle-dir", "none")
        started.append(servers[kind])
    for kind in KINDS:
        code = servers[kind].wait_for("join with lockstep-client ").split("@")[0]
        for player in players_of(kind):
            players[kind, player] = Started(folder, f"{player} at {kind}", homes["player", player],
                                            "lockstep-client", f"{code}@{relay_of(kind, player)}",
                                            "--bot", "1", "--name", player, "--connect-wait",
                                            PATIENCE_S)
            started.append(players[kind, player])
    other = KINDS[KINDS.index(kind) - 1]
    lost = Started(folder, "lost", homes["player", other], "lockstep-client",
                   f"{code}@{relay_of(other)}", "--bot", "1", "--connect-wait", "0")
    started.append(lost)
    for (server, player), each in players.items():
        each.wait_for("the match starts")
        each.wait_for("server is direct" if is_direct(server, player) else "the relay carries")
    for home in FORGETFUL:
        forget(f"r{homes[home][1:]}")
    for pair, each in players.items():
        if pair[0] == "symmetric" and is_direct(*pair):  # which hears nothing any more as it was
            each.wait_for("the relay carries")
            each.wait_for("server is direct", before=1)
    lost.wait_for("the relay has no server of this code")
    for each in servers.values():
        each.process.send_signal(signal.SIGINT)
    for each in (*players.values(), *servers.values()):
        each.expect_end()
    for pair, each in players.items():
        if not is_direct(*pair) and "server is direct" in each.log():
            each.fail("these routers open no direct way")
        if each.log().count(": joined ") != 1:
            each.fail("has lost its connection")
    for server in servers.values():
        hashes = {line.rsplit(" ", 1)[1] for each in (*players.values(), server)
                  if each is server or each.name.endswith(f" at {server.name.split(' ')[1]}")
                  for line in each.log().split("\n") if "hash " in line and "hashes" not in line}
        hashes.add(server.log().rstrip().rsplit("final hash ", 1)[1].split("\n")[0])
        if len(hashes) != 1:
            server.fail(f"hashes differ: {hashes}")
    direct = sum(is_direct(*pair) for pair in players)
    print(f"{len(players)} players met their servers, {direct} directly, and had the same hashes")


def begin():
    """The world, and a relay in it."""
    enter_namespaces()
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    make_switch("world")
    for number in (1, 2):
        make_place(f"relay{number}")
        plug(f"relay{number}", "out", f"{WORLD}.{number}/24", "world")


def run_and_stop(play_in):
    started = []
    with tempfile.TemporaryDirectory(prefix="lockstep-routers-", dir="/tmp") as folder:
        try:
            play_in(pathlib.Path(folder), started)
        finally:
            for each in started:
                if each.process.poll() is None:
                    each.process.terminate()
                    each.process.wait()


def main():
    homes = {}
    begin()
    for i, kind in enumerate(KINDS):
        homes["server", kind] = make_home(f"a{i}", 10 + i, kind)
        homes["player", kind] = make_home(f"b{i}", 20 + i, kind)
        if kind == NEIGHBOURLY:
            homes["player", "neighbour"] = plug_in("neighbour", f"a{i}", 10 + i, 3)
    homes["player", "ipv6"] = "six"
    make_place("six")
    plug("six", "out", f"{WORLD_6}:6/64", "world")
    for number in (1, 2):
        add_address(f"relay{number}", "out", f"{WORLD_6}:{number}/64")
    run_and_stop(lambda folder, started: play(folder, homes, started))


if __name__ == "__main__":
    main()
