#!/usr/bin/env python3
"""Makes connect tokens of netcode 1.02 without any of Lockstep's code: XChaCha20-Poly1305 from
RFC 8439 and draft-irtf-cfrg-xchacha, the token from the standard's STANDARD.md, the user data from
docs/tokens.md.

usage: make_tokens.py DIRECTORY          writes the samples there
       make_tokens.py --check DIRECTORY  compares those that are there

The samples are what tests/unit/test_token_gate.c reads. Before anything else the cipher is held
to the test vectors of its documents."""

import ipaddress
import pathlib
import struct
import sys

MASK = 0xFFFFFFFF
VERSION = b"NETCODE 1.02\0"
KEY = bytes(range(0x80, 0xA0))


# ---- the cipher ----


def rotated(value, bits):
    return (value << bits | value >> (32 - bits)) & MASK


def quarter(x, a, b, c, d):
    for left, right, other, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        x[left] = (x[left] + x[right]) & MASK
        x[other] = rotated(x[other] ^ x[left], bits)


def rounds(words):
    x = list(words)
    for _ in range(10):
        for column in range(4):
            quarter(x, column, column + 4, column + 8, column + 12)
        for column in range(4):
            quarter(
                x, column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4
            )
    return x


def first_words(key, rest):
    return struct.unpack("<16I", b"expand 32-byte k" + key + rest)


def chacha_block(key, counter, nonce):
    words = first_words(key, struct.pack("<I", counter) + nonce)
    mixed = rounds(words)
    return struct.pack("<16I", *((a + b) & MASK for a, b in zip(words, mixed)))


def chacha(key, counter, nonce, text):
    out = bytearray()
    for at in range(0, len(text), 64):
        stream = chacha_block(key, counter + at // 64, nonce)
        out += bytes(a ^ b for a, b in zip(text[at : at + 64], stream))
    return bytes(out)


def hchacha(key, nonce16):
    mixed = rounds(first_words(key, nonce16))
    return struct.pack("<8I", *mixed[0:4], *mixed[12:16])


def poly1305(key, text):
    r = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
    total = 0
    for at in range(0, len(text), 16):
        block = int.from_bytes(text[at : at + 16] + b"\x01", "little")
        total = (total + block) * r % (2**130 - 5)
    return ((total + int.from_bytes(key[16:], "little")) % 2**128).to_bytes(16, "little")


def padded(text):
    return text + bytes(-len(text) % 16)


def seal(key, nonce, header, text):
    """ChaCha20-Poly1305 with a nonce of 12 bytes; the tag stands behind."""
    hidden = chacha(key, 1, nonce, text)
    lengths = struct.pack("<QQ", len(header), len(hidden))
    one_time = chacha_block(key, 0, nonce)[:32]
    return hidden + poly1305(one_time, padded(header) + padded(hidden) + lengths)


def seal_long(key, nonce, header, text):
    """The same with a nonce of 24 bytes."""
    return seal(hchacha(key, nonce[:16]), bytes(4) + nonce[16:], header, text)


def check_cipher():
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the "
        b"future, sunscreen would be it."
    )
    header = bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    # RFC 8439, 2.8.2
    short = seal(KEY, bytes.fromhex("070000004041424344454647"), header, text)
    assert short[-16:].hex() == "1ae10b594f09e26a7e902ecbd0600691"
    assert short[:16].hex() == "d31a8d34648e60db7b86afbc53ef7ec2"
    # draft-irtf-cfrg-xchacha-03, A.3.1
    long = seal_long(KEY, bytes(range(0x40, 0x58)), header, text)
    assert long[-16:].hex() == "c0875924c1c7987947deafd8780acf49"
    assert long[:16].hex() == "bd6d179d3e83d43b9576579493c0e939"


# ---- the token ----


def address(host, port):
    parsed = ipaddress.ip_address(host)
    if parsed.version == 4:
        return b"\x01" + parsed.packed + struct.pack("<H", port)
    groups = struct.unpack(">8H", parsed.packed)
    return b"\x02" + struct.pack("<8H", *groups) + struct.pack("<H", port)


def token(sample, key=KEY):
    shared = struct.pack("<iI", sample["timeout"], len(sample["servers"]))
    shared += b"".join(address(*server) for server in sample["servers"])
    shared += sample["up"] + sample["down"]
    hidden = struct.pack("<Q", sample["client"]) + shared + sample["user_data"]
    header = VERSION + struct.pack("<QQ", sample["protocol"], sample["expire"])
    private = seal_long(key, sample["nonce"], header, hidden.ljust(1008, b"\0"))
    times = struct.pack("<QQQ", sample["protocol"], sample["create"], sample["expire"])
    whole = VERSION + times + sample["nonce"] + private + shared
    return whole.ljust(2048, b"\0")


def user_data(place, seat, match, name):
    head = struct.pack("<BBH", 1, place, seat)
    return (head + match.encode().ljust(64, b"\0") + name.encode().ljust(32, b"\0")).ljust(
        256, b"\0"
    )


SAMPLES = {
    "seat.token": {
        "protocol": 0x1122334455667788,
        "create": 1_700_000_000,
        "expire": 1_700_000_045,
        "nonce": bytes(range(0x10, 0x28)),
        "client": 0xFEDCBA9876543210,
        "timeout": 15,
        "servers": (("192.0.2.7", 7300), ("2001:db8::1:2", 40001)),
        "up": bytes(range(0x20, 0x40)),
        "down": bytes(range(0xC0, 0xE0)),
        "user_data": user_data(1, 3, "cup-7", "Åsa Šimić"),
    },
    # The largest: as many addresses as there may be, all of them of IPv6, and no end.
    "largest.token": {
        "protocol": 1,
        "create": 0,
        "expire": 2**64 - 1,
        "nonce": bytes(24),
        "client": 1,
        "timeout": -1,
        "servers": tuple((f"2001:db8::{number:x}", number) for number in range(1, 33)),
        "up": bytes([0xAA] * 32),
        "down": bytes([0x55] * 32),
        "user_data": bytes(256),
    },
}


def main(arguments):
    check_cipher()
    is_check = arguments[:1] == ["--check"]
    directory = pathlib.Path(arguments[-1])
    for name, sample in SAMPLES.items():
        if not is_check:
            (directory / name).write_bytes(token(sample))
        elif (directory / name).read_bytes() != token(sample):
            sys.exit(f"make_tokens: {name} is not what the script makes")


if __name__ == "__main__":
    main(sys.argv[1:])
