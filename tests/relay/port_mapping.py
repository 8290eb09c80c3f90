"""A server that has its router lead a port to it, with miniupnpd on the router: by NAT-PMP, and by
PCP or UPnP where that is all that the router speaks. The routers choose another port for each
destination, so that without such a port no direct way opens to the first server, and no way at all
to the second one, which is at no relay. In the end the ports are taken back, also when a server was
killed; and what a router says that lies is believed by nobody.

usage: port_mapping.py FOLDER_OF_THE_PROGRAMS

Exit code 77, with the reason, where namespaces, nftables or miniupnpd are not to be had."""

import shutil
import signal
import subprocess
import sys
import time

import routers

routers.WORLD = "93.184.215"  # miniupnpd takes the networks of documentation for private ones
# Of NAT-PMP: it comes to the port of PCP, with another first byte.
SILENT = "udp dport 5351 @th,64,8 0 drop"
RULES = """
table inet filter {
    chain miniupnpd { }
    chain input {
        type filter hook input priority filter; policy drop;
        SILENT
        iifname "in" accept
    }
    chain forward {
        type filter hook forward priority filter; policy drop;
        iifname "in" accept
        ct state established,related accept
        jump miniupnpd
    }
}
table inet nat {
    chain prerouting_miniupnpd { }
    chain postrouting_miniupnpd { }
    chain prerouting {
        type nat hook prerouting priority dstnat; policy accept;
        jump prerouting_miniupnpd
    }
    chain postrouting {
        type nat hook postrouting priority srcnat; policy accept;
        jump postrouting_miniupnpd
        oifname "out" masquerade fully-random
    }
}
"""
SETTINGS = """
ext_ifname=out
listening_ip=in
enable_natpmp={natpmp}
enable_upnp=yes
secure_mode=yes
system_uptime=yes
uuid=5f1d2c3b-0000-4000-8000-{number:012d}
upnp_table_name=filter
upnp_nat_table_name=nat
upnp_forward_chain=miniupnpd
upnp_nat_chain=prerouting_miniupnpd
upnp_nat_postrouting_chain=postrouting_miniupnpd
allow 1024-65535 0.0.0.0/0 1024-65535
deny 0-65535 0.0.0.0/0 0-65535
"""
# A router whose answers to NAT-PMP are cut, about another port, or of a private network.
LIAR = """
import socket
at = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at.bind(("", 5351))
print("lies", flush=True)
count = 0
while True:
    asked, back = at.recvfrom(64)
    count += 1
    if len(asked) == 2:
        answer = bytes([0, 128, 0, 0, 0, 0, 0, 1, 93, 184, 215, 12])
        at.sendto(answer[:7] if count == 1 else answer, back)
    elif len(asked) == 12:
        other = (int.from_bytes(asked[4:6], "big") ^ 1).to_bytes(2, "big")
        at.sendto(bytes([0, 129, 0, 0, 0, 0, 0, 1]) + other + other + bytes([0, 0, 14, 16]), back)
"""


def ports_of(router):
    """What miniupnpd leads in, as nftables has it."""
    shown = subprocess.run(routers.inside(router, "nft", "list", "chain", "inet", "nat",
                                          "prerouting_miniupnpd"),
                           capture_output=True, text=True, check=True)
    return [line for line in shown.stdout.split("\n") if "dnat" in line]


def text_of(path):
    """Of a file that may be made anew just now."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def wait_until(is_so, what):
    until = time.monotonic() + routers.PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            sys.exit(f"never: {what}")
        time.sleep(0.05)


def start_router(folder, started, name, number, natpmp):
    settings = folder / f"{name}.conf"
    settings.write_text(SETTINGS.format(natpmp=natpmp, number=number), encoding="utf-8")
    router = routers.Started(folder, name, name, shutil.which("miniupnpd"), "-d", "-f", settings,
                             "-P", folder / f"{name}.pid")
    started.append(router)
    router.wait_for("HTTP listening on")


def start_server(folder, started, home, name, *words):
    server = routers.Started(folder, name, home, "lockstep-server", "--sim", "arena", "--players",
                             "1", "--find", "off", "--bundle-dir", "none", *words)
    started.append(server)
    return server


def start_service(folder, started, home, invite):
    """Two rooms, one at each worker."""
    file = folder / "service.toml"
    file.write_text(f"""workers = 2
bundle-dir = "none"
drain-timeout = 0
[server]
port = 7302
map-port = "on"
invite-file = "{invite}"
identity = "{folder / 'service-identity'}"
[http]
port = 0
[[rooms]]
name = "solo"
open = 2
sim = "arena"
players = 1
""", encoding="utf-8")
    service = routers.Started(folder, "service", home, "lockstep-server", "--config", file)
    started.append(service)
    return service


def join(folder, started, home, server, words):
    player = routers.Started(folder, f"player of {server.name}", home, "lockstep-client", words,
                             "--bot", "1", "--connect-wait", routers.PATIENCE_S)
    started.append(player)
    player.wait_for("the match starts")
    return player


def play(folder, homes, started):
    routers.start_relays(folder, started)
    start_router(folder, started, "ra", 1, "yes")
    start_router(folder, started, "rb", 2, "no")
    start_router(folder, started, "re", 3, "yes")
    liar = routers.Started(folder, "liar", "rc", sys.executable, "-c", LIAR)
    started.append(liar)
    liar.wait_for("lies")
    relayed = start_server(folder, started, homes["a"], "relayed", "--publish",
                           f"{routers.WORLD}.1")
    invite = folder / "invite"
    alone = start_server(folder, started, homes["b"], "alone", "--map-port", "on", "--invite-file",
                         invite)
    modern = start_server(folder, started, homes["e"], "modern", "--map-port", "on")
    at_service = folder / "invite of the service"
    service = start_service(folder, started, homes["s"], at_service)
    deceived = start_server(folder, started, homes["c"], "deceived", "--map-port", "on")
    killed = start_server(folder, started, homes["d"], "killed", "--map-port", "on", "--port",
                          "7301")

    code = relayed.wait_for("join with lockstep-client ").split("'")[0].strip()
    if "NAT-PMP" not in relayed.wait_for("the router leads UDP port "):
        relayed.fail("not by NAT-PMP")
    killed.wait_for("the router leads UDP port ")
    wait_until(lambda: len(ports_of("ra")) == 2, "two ports on the first router")
    first = join(folder, started, homes["p"], relayed, code)
    first.wait_for("server is direct")

    if "UPnP" not in alone.wait_for(f"the router leads UDP port {routers.WORLD}.11:"):
        alone.fail("not by UPnP")
    wait_until(lambda: f"{routers.WORLD}.11" in text_of(invite), "the invite")
    second = join(folder, started, "relay2", alone, text_of(invite).strip())

    service.wait_for(f"the router leads UDP port {routers.WORLD}.11:")
    wait_until(lambda: f"{routers.WORLD}.11" in text_of(at_service), "the invite of the service")
    third = join(folder, started, "relay2", service, text_of(at_service).strip())

    if "PCP" not in modern.wait_for(f"the router leads UDP port {routers.WORLD}.13:"):
        modern.fail("not by PCP")
    killed.process.kill()
    wait_until(lambda: len(ports_of("ra")) == 1, "the port of a server that was killed")
    why = deceived.wait_for("no router leads a port to this server ")
    if "another port" not in why or "no router answers" not in why:
        deceived.fail("believes a liar, or says nothing of it")

    for each in (relayed, alone, service, modern, deceived, third):
        each.process.send_signal(signal.SIGINT)
    for each in (first, second, third, relayed, alone, service, modern, deceived):
        each.expect_end()
    for server, router in ((relayed, "ra"), (alone, "rb"), (service, "rb"), (modern, "re")):
        server.wait_for("the router has taken its port back")
        if ports_of(router):
            server.fail(f"its router still has {ports_of(router)}")
    print("NAT-PMP, PCP and UPnP led ports to servers, and they were taken back")


def main():
    if not shutil.which("miniupnpd"):
        print("skipped: miniupnpd is not installed")
        sys.exit(routers.SKIPPED)
    routers.begin()
    homes = {name: routers.make_home(name, 10 + i, "symmetric",
                                     RULES.replace("SILENT", SILENT if name == "e" else ""))
             for i, name in enumerate("abce")}
    homes["p"] = routers.make_home("p", 20, "symmetric")
    homes["d"] = routers.plug_in("hd", "a", 10, 3)
    homes["s"] = routers.plug_in("hs", "b", 11, 3)
    routers.run_and_stop(lambda folder, started: play(folder, homes, started))


if __name__ == "__main__":
    main()
