#!/usr/bin/env python3
"""The Python binding's structs, numbers and functions, against lockstep_0.abi, where those of
lockstep.h are written down.

usage: python_layout.py LIBRARY             compares
       python_layout.py LIBRARY planted     every difference that is planted has to be found
"""

import ctypes
import os
import pathlib
import re
import sys

os.environ["LOCKSTEP_LIBRARY"] = sys.argv[1]
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/bindings/python"))

from lockstep import abi  # noqa: E402  (it has just been made known)

STORED = pathlib.Path(__file__).with_name("lockstep_0.abi")
ENUMS = (abi.Kind, abi.Status, abi.Type, abi.EventKind, abi.ShapeKind)
OTHERS = ("PLAYERS_MAX", "INPUT_BYTES_MAX", "NO_SLOT", "JOINED", "LEFT")
# How C names what the binding declares. A handle and bytes of any kind are addresses to it, and
# size_t is a number of 64 bits.
PLAIN = {
    None: "void",
    ctypes.c_int: "int",
    ctypes.c_uint32: "uint32_t",
    ctypes.c_int64: "int64_t",
    ctypes.c_uint64: "uint64_t",
    ctypes.c_char_p: "char *",
    ctypes.c_void_p: "*",
    ctypes.POINTER(ctypes.c_char_p): "char **",
    ctypes.POINTER(ctypes.c_void_p): "lockstep **",
    ctypes.POINTER(ctypes.c_uint32): "uint32_t *",
}
PLAIN.update(
    {
        ctypes.POINTER(struct): f"lockstep_{struct.__name__[1:].lower()} *"
        for struct in abi.STRUCTS
    }
)


def described():
    """The lines that the binding has in common with the file."""
    for struct in abi.STRUCTS:
        name = f"lockstep_{struct.__name__[1:].lower()}"
        yield f"struct {name} {ctypes.sizeof(struct)}"
        for member, *_ in struct._fields_:
            place = getattr(struct, member)
            yield f"member {name}.{member} {place.offset} {place.size}"
    for kind in ENUMS:
        for row in kind:
            yield f"number LOCKSTEP_{row.name} {int(row)}"
    for name in OTHERS:
        yield f"number LOCKSTEP_{name} {getattr(abi, name)}"
    for name, (result, *arguments) in abi.FUNCTIONS.items():
        taken = ", ".join(PLAIN[argument] for argument in arguments)
        yield f"function {PLAIN[result]} lockstep_{name}({taken or 'void'})"


def plain_argument(text):
    """A C type as PLAIN has it, without the argument's name."""
    text = text.replace("const ", "").replace("*const ", "**")
    text = re.sub(r"(?<=[ *])\w+$", "", text).strip()
    text = re.sub(r"\*+ ?\*", "**", text).replace("size_t", "uint64_t")
    return "*" if text in ("void *", "lockstep *") else text


def as_stored(lines):
    for line in lines:
        if line.startswith("symbol "):
            continue
        function = re.fullmatch(r"function (.*?)(lockstep_\w+)\((.*)\)", line)
        if function:
            result, name, arguments = function.groups()
            taken = [plain_argument(one) for one in arguments.split(", ") if one != "void"]
            given = plain_argument(result + "x")
            line = f"function {given} {name}({', '.join(taken) or 'void'})"
        yield line


def differences(stored):
    there, own = set(as_stored(stored)), set(described())
    return [f"lockstep.h: {line}" for line in sorted(there - own)] + [
        f"the binding: {line}" for line in sorted(own - there)
    ]


PLANTED = (
    ("member lockstep_event.kind 8 4", "member lockstep_event.kind 12 4"),
    ("struct lockstep_info 128", "struct lockstep_info 136"),
    ("number LOCKSTEP_KICKED -40", "number LOCKSTEP_KICKED -42"),
    ("number LOCKSTEP_NO_SLOT 4294967295", "number LOCKSTEP_NO_SLOT 255"),
    ("member lockstep_player.rtt_ms 24 8", "member lockstep_player.rtt_ms 24 4"),
    ("lockstep_input(lockstep *client, const void *bytes, uint32_t",
     "lockstep_input(lockstep *client, const void *bytes, size_t"),
    ("function uint64_t lockstep_hash", "function uint32_t lockstep_hash"),
    ("int is_paused, const char *why)", "int is_paused)"),
    ("function int lockstep_frame(", "function int lockstep_work("),
)


def check_planted(text):
    missed = 0
    for old, new in PLANTED:
        assert text.count(old) == 1, f"there is no {old!r}"
        found = differences(text.replace(old, new).splitlines())
        # What the binding has, and what the altered file has, and nothing else.
        if len(found) != 2:
            missed += 1
            print(f"MISSED: {new}: {found}")
    print(f"{len(PLANTED) - missed} of {len(PLANTED)} planted differences are found")
    return 1 if missed else 0


def main():
    text = STORED.read_text(encoding="utf-8")
    if sys.argv[2:] == ["planted"]:
        return check_planted(text)
    found = differences(text.splitlines())
    print("\n".join(found) or "the binding is as lockstep_0.abi")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
