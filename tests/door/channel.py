"""The data channel of a door: a browser opens it, and a stock lockstep-client plays by it: its
datagrams go to the page, and from there through the channel.

usage: channel.py FOLDER_OF_THE_PROGRAMS

Says "skipped:" where no browser is installed, or the machine has no address but that of the
loopback, which browsers do not come from."""

import base64
import hashlib
import http.client
import os
import pathlib
import socket
import struct
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))

import browser  # noqa: E402
import pages  # noqa: E402
from web_client import read_head  # noqa: E402

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

# A page that has no client of its own: what comes by one way leaves by the other. It begins with
# the WebSocket of the door, and goes on by the channel once it is told to.
PAGE = """
window.state = { open: false, sent: [0, 0], received: [0, 0], error: '', way: 0 };
(async () => {
  const pipe = new WebSocket('ws://127.0.0.1:%d/');
  const socket = new WebSocket('ws://' + location.host + '/play/socket', 'lockstep');
  const peer = new RTCPeerConnection();
  const channel = peer.createDataChannel('lockstep', %s);
  const ways = [socket, channel];
  for (const each of [pipe, ...ways]) {
    each.binaryType = 'arraybuffer';
  }
  const look = () => {
    state.open = channel.readyState === 'open' && socket.readyState === WebSocket.OPEN &&
      pipe.readyState === WebSocket.OPEN;
  };
  channel.onopen = socket.onopen = pipe.onopen = look;
  ways.forEach((way, at) => {
    way.onmessage = (event) => {
      if (at === state.way) { // as if the other one were dead
        state.received[at]++;
        pipe.send(event.data);
      }
    };
  });
  pipe.onmessage = (event) => { state.sent[state.way]++; ways[state.way].send(event.data); };
  await peer.setLocalDescription(await peer.createOffer());
  const answer = await fetch('/play/rtc', { method: 'POST', body: peer.localDescription.sdp,
    headers: { 'Content-Type': 'application/sdp' } });
  await peer.setRemoteDescription({ type: 'answer', sdp: await answer.text() });
  window.keep = [pipe, peer, ...ways];
})().catch((error) => { state.error = String(error); });
"""
UNORDERED = "{ ordered: false, maxRetransmits: 0%s }"
NEGOTIATED = ", negotiated: true, id: 3"


class PageBridge:
    """A UDP port for a client, whose other side is a WebSocket that a page opens to here."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.web_port = self.listener.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.port = self.udp.getsockname()[1]
        self.client = None
        self.page = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        self.page, _ = self.listener.accept()
        head, rest = read_head(self.page)
        key = next(line.split(": ")[1] for line in head.split("\r\n")
                   if line.lower().startswith("sec-websocket-key"))
        accept = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        self.page.sendall(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                          f"Connection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        threading.Thread(target=self._to_page, daemon=True).start()
        stream = self.page.makefile("rb")
        assert not rest
        while len(start := stream.read(2)) == 2:
            size = start[1] & 0x7f
            if size == 126:
                size = struct.unpack("!H", stream.read(2))[0]
            mask = stream.read(4)
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(stream.read(size)))
            if self.client:
                self.udp.sendto(payload, self.client)

    def _to_page(self):
        while True:
            datagram, self.client = self.udp.recvfrom(4096)
            size = len(datagram)
            head = bytes([0x82, size]) if size < 126 else struct.pack("!BBH", 0x82, 126, size)
            self.page.sendall(head + datagram)


def open_page(match, window, options):
    """A page with both ways open, and the client behind it."""
    bridge = PageBridge()
    window.ask("Page.setBypassCSP", enabled=True)  # for the pipe to this test
    window.open(f"http://127.0.0.1:{match.web_port}/play")
    window.wait_for("document.body && document.body.innerText.includes('the page')")
    window.run(PAGE % (bridge.web_port, options))
    window.wait_for("state.open || state.error")
    assert not window.run("state.error"), window.run("state.error")
    match.join(bridge.port)


def check_move(match, window):
    """The match begins by the WebSocket, and goes on by the channel as that of a player who is in
    another network."""
    open_page(match, window, UNORDERED % "")
    match.join(match.port)
    window.wait_for("state.received[0] > 30")
    window.run("state.way = 1")
    match.end()
    sent, received = window.run("[state.sent, state.received]")
    assert min(sent + received) > 10, (sent, received)


def check_negotiated(match, window):
    """Without the channel's first message, from the first datagram on."""
    open_page(match, window, UNORDERED % NEGOTIATED)
    window.run("state.way = 1")
    match.join(match.port)
    match.end()
    sent, received = window.run("[state.sent[1], state.received[1]]")
    assert min(sent, received) > pages.TICKS // 4, (sent, received)


def offer(match, body, origin=None, kind="application/sdp"):
    port = match.web_port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=pages.PATIENCE_S)
    connection.request("POST", "/play/rtc", body, {
        "Content-Type": kind, "Origin": origin or f"http://127.0.0.1:{port}"})
    reply = connection.getresponse()
    answer = reply.status, reply.read()
    connection.close()
    return answer[0]


def check_hostile(match):
    """What is no offer gets no answer, and garbage at the port of the channels nothing at all."""
    print_of = ":".join(f"{byte:02X}" for byte in range(32))
    good = ("m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=setup:actpass\r\na=mid:0\r\n"
            f"a=sctp-port:5000\r\na=fingerprint:sha-256 {print_of}\r\n")
    assert offer(match, good) == 200
    assert offer(match, good, origin="http://example.net") == 403
    assert offer(match, good, kind="text/plain") in (400, 405)
    assert offer(match, good + "m=audio 9 RTP/SAVPF 0\r\n") == 400
    assert offer(match, "x" * 9000) == 400
    assert {offer(match, good) for _ in range(80)} == {200}  # and the page still gets in
    server, door = match.process.pid, match.door()
    before = pages.memory_kib(server), pages.memory_kib(door)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.connect(("127.0.0.1", match.web_port))
    for number in range(20000):
        first = bytes([number % 64 if number % 3 else 22])
        udp.send(first + os.urandom(number % 97))
    after = pages.memory_kib(server), pages.memory_kib(door)
    udp.setblocking(False)
    try:
        assert not udp.recv(2048), "an answer to garbage"
    except BlockingIOError:
        pass
    udp.close()
    for one in range(2):
        assert after[one] - before[one] < pages.GROWTH_KIB_MAX, (before, after)


def main():
    if not browser.find() or not browser.own_address():
        print("skipped: there is no browser, or no network")
        return 0
    pages.PROGRAMS = pathlib.Path(sys.argv[1])
    with browser.Browser() as window:
        with pages.Match() as match:
            check_hostile(match)
            check_negotiated(match, window)
        with pages.Match() as match:
            check_move(match, window)
    return 0


if __name__ == "__main__":
    sys.exit(main())
