"""lockstep-token as a program: keys, tokens that are byte for byte those of the script in
tests/tokens, which shares no code with it, what is shown of them, and what is refused.

usage: token_program.py PROGRAM TOKENS_DIR"""

import os
import pathlib
import stat
import struct
import subprocess
import sys
import tempfile
import time

CLEAN, ENVIRONMENT, USAGE = 0, 1, 2
PROGRAM, TOKENS = sys.argv[1], pathlib.Path(sys.argv[2])
sys.path.insert(0, str(TOKENS))
import make_tokens  # noqa: E402


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, check=False,
                          **options)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}: exit code {result.returncode}\n-- stdout:\n{result.stdout}\n"
                 f"-- stderr:\n{result.stderr}")


def expect_refused(code, words, *arguments):
    result = run(*arguments)
    expect(result.returncode == code and words in result.stderr.decode() and not result.stdout,
           f"{arguments} is not refused with '{words}'", result)


def expect_shown(result, words):
    text = result.stdout.decode()
    for word in words:
        expect(word in text, f"'{word}' is not shown", result)


def key_of(path, name="key"):
    lines = dict(line.split(" ", 1) for line in path.read_text().splitlines())
    return bytes.fromhex(lines[name])


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def check_keys():
    result = run("new-key", "first.key")
    expect(result.returncode == CLEAN, "new-key", result)
    first = pathlib.Path("first.key")
    expect(mode_of(first) == 0o600 and first.read_text().startswith("lockstep token key 1\n"),
           "the key file", result)
    expect(key_of(first).hex() not in result.stdout.decode(), "a key is not printed", result)
    expect_refused(ENVIRONMENT, "is there already", "new-key", "first.key")
    expect(run("new-key", "second.key", "--old", "first.key").returncode == CLEAN, "--old", result)
    expect(key_of(pathlib.Path("second.key"), "old-key") == key_of(first), "the old key", result)


def make(name, *arguments):
    before = int(time.time())
    result = run("make", "--key", "first.key", "--out", name, *arguments)
    expect(result.returncode == CLEAN and not result.stdout, "make", result)
    expect(mode_of(name) == 0o600, "only its owner reads a token", result)
    token = pathlib.Path(name).read_bytes()
    create = struct.unpack_from("<Q", token, 21)[0]
    expect(len(token) == 2048 and before <= create <= time.time(), "the token", result)
    return token, create


def check_make():
    """All but what is random and the time is known: the script makes the same."""
    token, create = make(
        "seat.token", "--protocol-id", "0x1122334455667788", "--client-id", "18446744073709551615",
        "--server", "192.0.2.7:7301,[2001:db8::1]:9,192.0.2.8", "--expires", 60, "--timeout", 7,
        "--seat", 3, "--match", "cup-7", "--name", " Åsa Šimić ")
    end = 1093 + 7 + 19 + 7
    sample = {
        "protocol": 0x1122334455667788,
        "create": create,
        "expire": create + 60,
        "nonce": token[37:61],
        "client": 2**64 - 1,
        "timeout": 7,
        "servers": (("192.0.2.7", 7301), ("2001:db8::1", 9), ("192.0.2.8", 7300)),
        "up": token[end : end + 32],
        "down": token[end + 32 : end + 64],
        "user_data": make_tokens.user_data(1, 3, "cup-7", "Åsa Šimić"),
    }
    if make_tokens.token(sample, key_of(pathlib.Path("first.key"))) != token:
        sys.exit("the token is not what the standard says")
    other, _ = make("other.token", "--client-id", 1, "--server", "192.0.2.7", "--timeout", "none")
    if other[37:61] == token[37:61]:
        sys.exit("two tokens have one nonce")
    return token[end : end + 32].hex()


def check_show(secret):
    result = run("show", "seat.token")
    expect(result.returncode == CLEAN, "show", result)
    expect_shown(result, ("0x1122334455667788", "192.0.2.7:7301", "[2001:db8::1]:9", "7 s", "in "))
    expect(b"cup-7" not in result.stdout, "the private part needs a key", result)
    for key in ("first.key", "second.key"):
        result = run("show", "seat.token", "--key", key)
        expect(result.returncode == CLEAN, "show --key", result)
        expect_shown(result, ("0xffffffffffffffff", "cup-7", "Åsa Šimić"))
        expect(secret not in result.stdout.decode(), "no key is printed", result)
    expect_shown(run("show", "seat.token", "--show-secrets"), (secret,))
    with open("other.token", "rb") as token:
        result = run("show", "-", "--key", "first.key", stdin=token)
    expect_shown(result, ("any", "as the player says", "0x504554534b434f4c", "none"))
    result = run("show", TOKENS / "largest.token")
    expect_shown(result, ("[2001:db8::20]:32", "none", "18446744073709551615 s after 1970"))
    result = run("show", TOKENS / "seat.token")
    expect_shown(result, ("2023-11-14 22:14:05 UTC", " s ago", "2023-11-14 22:13:20 UTC"))


def check_refusals():
    pathlib.Path("short.token").write_bytes(b"NETCODE")
    expect_refused(ENVIRONMENT, "a token has 2048 bytes", "show", "short.token")
    pathlib.Path("zeros.token").write_bytes(bytes(2048))
    expect_refused(ENVIRONMENT, "no connect token of netcode 1.02", "show", "zeros.token")
    expect_refused(ENVIRONMENT, "No such file", "show", "nothing")
    expect(run("new-key", "third.key").returncode == CLEAN, "new-key", run("--version"))
    result = run("show", "seat.token", "--key", "third.key")
    expect(result.returncode == ENVIRONMENT and b"another key" in result.stderr, "wrong key",
           result)
    token = bytearray(pathlib.Path("seat.token").read_bytes())
    token[1093 + 4] ^= 1  # the first server's address, for the client alone
    pathlib.Path("altered.token").write_bytes(token)
    result = run("show", "altered.token", "--key", "first.key")
    expect(result.returncode == ENVIRONMENT and b"public part was altered" in result.stderr,
           "altered", result)
    os.chmod("third.key", 0o644)
    good = ("make", "--key", "first.key", "--client-id", "1", "--out", "x.token", "--server")
    expect_refused(ENVIRONMENT, "chmod 600", "make", "--key", "third.key", "--client-id", 1,
                   "--server", "192.0.2.1")
    expect_refused(ENVIRONMENT, "is there already", *good, "192.0.2.1", "--out", "seat.token")
    expect_refused(USAGE, "the port in '192.0.2.1:0'", *good, "192.0.2.1:0")
    expect_refused(USAGE, "--server is empty", *good, "")
    expect_refused(USAGE, "up to 32 servers", *good, ",".join(["192.0.2.1"] * 33))
    many = run(*good, ",".join(["192.0.2.1"] * 32))
    expect(many.returncode == CLEAN, "32 servers", many)


def check_usage():
    good = ("make", "--key", "first.key", "--client-id", "1", "--server", "192.0.2.1")
    expect_refused(USAGE, "the command is missing")
    expect_refused(USAGE, "'made' is no command", "made")
    expect_refused(USAGE, "show takes a FILE", "show")
    expect_refused(USAGE, "unexpected argument 'b'", "show", "a", "b")
    expect_refused(USAGE, "unexpected argument 'a'", "make", "a")
    expect_refused(USAGE, "make takes --key FILE", "make")
    expect_refused(USAGE, "make takes --server", "make", "--key", "a")
    expect_refused(USAGE, "make takes --client-id", "make", "--key", "a", "--server", "b")
    for name, value, words in (
        ("--seat", "128", "--seat takes a number from 0 to 127, any or spectator"),
        ("--client-id", "0x", "1 to 16 hexadecimal digits"),
        ("--client-id", "0x12345678901234567", "1 to 16 hexadecimal digits"),
        ("--protocol-id", "-1", "--protocol-id takes a number"),
        ("--expires", "0", "--expires takes a number from 1 to 2678400"),
        ("--timeout", "never", "--timeout takes a number from 1 to 3600"),
        ("--match", "x" * 64, "--match takes up to 63 bytes"),
        ("--name", "a\nb", "characters that are seen"),
    ):
        expect_refused(USAGE, words, *good, name, value)
    expect_refused(USAGE, "visible", *good, "--match", "a\nb")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_keys()
        secret = check_make()
        check_show(secret)
        check_refusals()
        check_usage()


main()
