#!/usr/bin/env python3
"""The promise of liblockstep.so.0: sizes, offsets, numbers, prototypes and symbols of lockstep.h as
they are, against lockstep_0.abi, where they are written down.

usage: abi.py HEADER LIBRARY COMPILER            compares
       abi.py HEADER LIBRARY COMPILER write      writes the file anew, after something was added
       abi.py HEADER LIBRARY COMPILER planted    every break that is planted has to be found

A struct that begins with its size may grow at its end, and nothing else may change.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

STORED = pathlib.Path(__file__).with_name("lockstep_0.abi")
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\n\} \1;", re.DOTALL)
ENUM = re.compile(r"typedef enum \w+ \{(.*?)\n\}", re.DOTALL)
FUNCTION = re.compile(r"^LOCKSTEP_API ([^;]*);", re.MULTILINE)
MEMBER = re.compile(r"(\w+)(?:\[\w+\])?\s*(?=[,;])|\(\*(\w+)\)\(")
NUMBER = re.compile(r"^#define (LOCKSTEP_\w+) (\d+u?|UINT32_MAX)$", re.MULTILINE)


def members(body):
    for declaration in filter(None, map(str.strip, body.split(";"))):
        if "(*" in declaration:
            yield re.search(r"\(\*(\w+)\)", declaration).group(1)
            continue
        for name in declaration.split(","):
            yield re.search(r"(\w+)(?:\[\w+\])?$", name.strip()).group(1)


def program(header):
    """Prints what the compiler makes of the header."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)
    lines = []
    for name, body in STRUCT.findall(text):
        lines.append(f'printf("struct {name} %zu\\n", sizeof({name}));')
        for member in members(body):
            place = f"offsetof({name}, {member}), sizeof((({name} *)0)->{member})"
            lines.append(f'printf("member {name}.{member} %zu %zu\\n", {place});')
    rows = [line.split() for body in ENUM.findall(text) for line in body.split(",")]
    constants = [row[0] for row in rows if row]
    constants += [name for name, _ in NUMBER.findall(text)]
    lines += [f'printf("number {name} %lld\\n", (long long){name});' for name in constants]
    for prototype in FUNCTION.findall(text):
        lines.append(f'puts("function {" ".join(prototype.split())}");')
    body = "\n    ".join(lines)
    return f'#include "lockstep.h"\n#include <stdio.h>\nint main(void)\n{{\n    {body}\n}}\n'


def described(header, compiler):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "lockstep.h").write_text(header)
        (place / "abi.c").write_text(program(header))
        subprocess.run([compiler, "-std=c99", "-o", place / "abi", place / "abi.c"], check=True)
        return subprocess.run([place / "abi"], check=True, capture_output=True, text=True).stdout


def symbols(library):
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True
    ).stdout
    names = sorted(line.split()[-1] for line in shown.splitlines() if " A " not in line)
    return "".join(f"symbol {name}\n" for name in names)


def growing(lines):
    """Structs that begin with their size."""
    first = [line for line in lines if re.match(r"member \w+\.size 0 ", line)]
    return {line.split()[1].split(".")[0] for line in first}


def differences(before, now):
    grown = growing(before)
    sizes = {line.split()[1]: int(line.split()[2]) for line in now if line.startswith("struct ")}
    for line in before:
        kind, name = line.split()[:2]
        if kind == "struct" and name in grown and sizes.get(name, 0) >= int(line.split()[2]):
            continue
        if line not in now:
            yield f"was: {line}"
    for line in now:
        kind, name = line.split()[:2]
        if line not in before and not (kind == "struct" and name in grown):
            yield f"is new: {line}"


# What is broken, how, and the line that has to be missed. All are planted at once: a compiler takes
# longer than the rest.
PLANTED = (
    ("    int32_t kind; /*", "    int32_t more, kind; /*", "member lockstep_event.kind "),
    ("    uint32_t tick; /* of `state` */", "    uint64_t tick;", "member lockstep_view.tick "),
    ("    size_t stride;", "    uint32_t more;\n    size_t stride;", "struct lockstep_field "),
    ("LOCKSTEP_DESYNC = 16", "LOCKSTEP_DESYNC = 26", "number LOCKSTEP_DESYNC "),
    ("uint32_t slot, const char *why", "int32_t slot, const char *why", "function int lockstep_k"),
    ("const char *lockstep_version(void)", "int lockstep_version(void)", "function const char *l"),
    ("#define LOCKSTEP_PLAYERS_MAX 128", "#define LOCKSTEP_PLAYERS_MAX 64", "number LOCKSTEP_P"),
)
# A member behind all others is what a struct with a size is for.
GROWN = ("} lockstep_player;", "    uint32_t later;\n} lockstep_player;")


def check_planted(header, shown, compiler, before):
    for old, new, _ in (*PLANTED, (*GROWN, "")):
        assert header.count(old) == 1, f"there is no {old!r}"
        header = header.replace(old, new)
    shown = "".join(line for line in shown.splitlines(True) if "lockstep_poll" not in line)
    found = list(differences(before, (described(header, compiler) + shown).splitlines()))
    expected = [line for _, _, line in PLANTED] + ["symbol lockstep_poll@@LOCKSTEP_0"]
    missed = [line for line in expected if not any(f"was: {line}" in one for one in found)]
    grown = [line for line in found if "was:" in line and "lockstep_player" in line]
    grown = [line for line in grown if "function" not in line]
    for line in missed + grown:
        print(f"MISSED: {line}" if line in missed else f"REFUSED: {line}")
    print(f"{len(expected) - len(missed)} of {len(expected)} planted breaks are found")
    return 1 if missed or grown else 0


def main():
    path, library, compiler = sys.argv[1:4]
    mode = sys.argv[4] if len(sys.argv) > 4 else "compare"
    header = pathlib.Path(path).read_text()
    shown = symbols(library)
    if mode == "write":
        STORED.write_text(described(header, compiler) + shown)
        return 0
    before = STORED.read_text().splitlines()
    if mode == "compare":
        found = list(differences(before, (described(header, compiler) + shown).splitlines()))
        print("\n".join(found) or f"as they were: lockstep.h and its library, {len(before)} lines")
        return 1 if found else 0
    return check_planted(header, shown, compiler, before)


if __name__ == "__main__":
    sys.exit(main())
