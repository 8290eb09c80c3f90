"""A page without a browser: the WebSocket of a door, and a bridge that lets a stock lockstep-client
play by it: its datagrams go through the WebSocket, each as a message."""

import base64
import os
import select
import socket
import ssl
import struct
import threading

PATIENCE_S = 60
PATH = "/play/socket"
BINARY, CLOSE, PING, PONG = 2, 8, 9, 10


def connect(port, context=None, host="127.0.0.1"):
    raw = socket.create_connection((host, port), timeout=PATIENCE_S)
    return context.wrap_socket(raw, server_hostname="localhost") if context else raw


def handshake_lines(port, origin=None, **changed):
    host = f"127.0.0.1:{port}"
    lines = {"Host": host, "Connection": "Upgrade", "Upgrade": "websocket",
             "Sec-WebSocket-Version": "13", "Sec-WebSocket-Protocol": "lockstep",
             "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
             "Origin": origin or f"http://{host}"}
    lines.update({name.replace("_", "-"): value for name, value in changed.items()})
    return "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)


def read_head(connection):
    """The head of an answer, and what came behind it."""
    text = b""
    while b"\r\n\r\n" not in text:
        piece = connection.recv(4096)
        if not piece:
            break
        text += piece
    head, _, rest = text.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def frame(payload, opcode=BINARY, final=True, masked=True, length=None):
    """`length` is said in place of the payload's."""
    size = len(payload) if length is None else length
    first = bytes([(0x80 if final else 0) | opcode])
    mask_bit = 0x80 if masked else 0
    if size < 126:
        head = first + bytes([mask_bit | size])
    elif size < 65536:
        head = first + struct.pack("!BH", mask_bit | 126, size)
    else:
        head = first + struct.pack("!BQ", mask_bit | 127, size)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class WebSocket:
    """Open; `status` is that of the handshake, and 101 when it was taken."""

    def __init__(self, port, context=None, origin=None, **changed):
        self.connection = connect(port, context)
        if context and not origin:
            origin = f"https://127.0.0.1:{port}"
        lines = handshake_lines(port, origin, **changed)
        self.connection.sendall(f"GET {PATH} HTTP/1.1\r\n{lines}\r\n".encode())
        self.head, self.bytes = read_head(self.connection)
        self.status = int(self.head.split()[1]) if self.head else 0

    def send(self, payload, opcode=BINARY, **odd):
        self.connection.sendall(frame(payload, opcode, **odd))

    def take(self):
        """A whole frame of what has come, or None."""
        have = self.bytes
        if len(have) < 2:
            return None
        size, at = have[1] & 0x7f, 2
        if size == 126:
            if len(have) < 4:
                return None
            size, at = struct.unpack("!H", have[2:4])[0], 4
        if len(have) < at + size:
            return None
        self.bytes = have[at + size:]
        return have[0] & 0x0f, have[at:at + size]

    def receive(self):
        """(opcode, payload); None: the connection is over."""
        while (whole := self.take()) is None:
            try:
                piece = self.connection.recv(65536)
            except ConnectionError:
                piece = b""
            if not piece:
                return None
            self.bytes += piece
        return whole

    def close_code(self):
        """The code that the door closes it with."""
        while (whole := self.receive()) is not None:
            if whole[0] == CLOSE:
                return struct.unpack("!H", whole[1][:2])[0]
        return None

    def close(self):
        self.connection.close()


class Bridge:
    """A UDP port for one client, whose other side is a WebSocket; one thread serves both, as TLS
    needs it."""

    def __init__(self, port, context=None):
        self.web = WebSocket(port, context)
        assert self.web.status == 101, self.web.head
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.port = self.udp.getsockname()[1]
        self.client = None
        self.carried = [0, 0]
        self.is_over = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        connection = self.web.connection
        connection.setblocking(False)
        while not self.is_over:
            ready, _, _ = select.select([self.udp, connection], [], [], 0.2)
            if self.udp in ready:
                datagram, self.client = self.udp.recvfrom(4096)
                self.carried[0] += 1
                self._send(datagram, BINARY)
            if connection in ready and not self._receive():
                return

    def _send(self, payload, opcode):
        self.web.connection.setblocking(True)
        try:
            self.web.send(payload, opcode)
        except OSError:
            self.is_over = True
        finally:
            self.web.connection.setblocking(False)

    def _receive(self):
        """False: the connection is over."""
        try:
            while True:
                piece = self.web.connection.recv(65536)
                if not piece:
                    return False
                self.web.bytes += piece
        except (BlockingIOError, ssl.SSLWantReadError):
            pass
        except OSError:
            return False
        while (whole := self.web.take()) is not None:
            self._forward(*whole)
        return True

    def _forward(self, opcode, payload):
        if opcode == BINARY and self.client:
            self.carried[1] += 1
            self.udp.sendto(payload, self.client)
        elif opcode == PING:
            self._send(payload, PONG)

    def close(self):
        self.is_over = True
        self.thread.join(timeout=PATIENCE_S)
        self.web.close()
        self.udp.close()


def tls_context(certificate):
    return ssl.create_default_context(cafile=certificate)
