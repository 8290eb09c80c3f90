"""64-bit ARM: all programs are built by Debian's cross compiler, and run by qemu-user."""

import stages
from stages import ROOT, run

BUILD = ROOT / "build" / "arm64"
EMULATOR = ("qemu-aarch64", "-L", ROOT / "build" / "sysroot-arm64")


def make_sysroot():
    run([ROOT / "tools" / "platforms" / "sysroot"])
    return "Debian's arm64 packages, unpacked"


def build():
    stages.build("arm64", "golden", "programs")
    return f"{len(list((BUILD / 'bin').iterdir()))} programs"


def compare_golden():
    """The same lines as on every machine: the program, run through the emulator."""
    script = BUILD / "golden-under-qemu"
    words = " ".join(f"'{word}'" for word in (*EMULATOR, BUILD / "tests" / "golden" / "golden"))
    script.write_text(f"#!/bin/sh\nexec {words} \"$@\"\n", encoding="utf-8")
    script.chmod(0o755)
    run([ROOT / "tools" / "platform-matrix", "--check-program", script])
    values = (ROOT / "tests" / "golden" / "golden_values.txt").read_text(encoding="ascii")
    return f"{sum(1 for line in values.splitlines() if line and line[0] != '#')} values"


def play(report):
    report.stage("sysroot", make_sysroot)
    report.stage("build", build, needs=["sysroot"])
    report.stage("golden values", compare_golden, needs=["build"])
