"""Targets: every machine, compiler and optimisation that the platform matrix builds for."""

import dataclasses
import os

WASI_LIBRARY = "/usr/lib/wasm32-wasi/libc.a"
WASM_RUNNER = os.path.join("tests", "golden", "run_wasm.mjs")


@dataclasses.dataclass(frozen=True)
class Row:
    """One build of the golden program and how it is run."""

    target: str
    compiler: str  # the program
    flags: str
    settings: tuple = ()  # of CMake, "NAME=value"
    emulator: tuple = ()  # the command before the program
    needs: tuple = ()  # programs in the path, or files
    is_quick: bool = False
    is_broken: bool = False  # on purpose: a difference is what it must show

    @property
    def name(self):
        parts = (self.target, self.compiler, *self.flags.replace("=", "-").split())
        return "_".join(part.strip("-") for part in parts) + ("_broken" if self.is_broken else "")

    @property
    def emulator_name(self):
        return os.path.basename(self.emulator[0]) if self.emulator else "none"

    def missing(self, find):
        """The first thing it needs that `find` does not find."""
        return next((need for need in (self.compiler, *self.needs) if not find(need)), None)


@dataclasses.dataclass(frozen=True)
class Machine:
    """A target that is not this machine's own."""

    name: str
    triple: str  # of Debian's cross compiler
    emulator: str = ""
    flags: str = ""
    is_quick: bool = False

    def row(self, compiler, optimisation, is_quick=False):
        gcc = self.triple + "-gcc"
        settings = ("CMAKE_SYSTEM_NAME=Linux", "CMAKE_EXE_LINKER_FLAGS=-static")
        if compiler == "clang":
            settings += (f"CMAKE_C_COMPILER_TARGET={self.triple}",)
        emulator = (self.emulator,) if self.emulator else ()
        return Row(
            target=self.name,
            compiler=gcc if compiler == "gcc" else compiler,
            flags=f"{optimisation} {self.flags}".strip(),
            settings=settings,
            emulator=emulator,
            # For clang, gcc stands for the linker and the C library that come with it.
            needs=(gcc, *emulator),
            is_quick=is_quick and self.is_quick,
        )


MACHINES = (
    Machine("i386", "i686-linux-gnu", flags="-msse2 -mfpmath=sse", is_quick=True),
    Machine("aarch64", "aarch64-linux-gnu", "qemu-aarch64"),
    Machine("armhf", "arm-linux-gnueabihf", "qemu-arm"),
    Machine("riscv64", "riscv64-linux-gnu", "qemu-riscv64"),
    Machine("ppc64el", "powerpc64le-linux-gnu", "qemu-ppc64le"),
    Machine("s390x", "s390x-linux-gnu", "qemu-s390x", is_quick=True),  # big-endian
)

# What must make no difference: no __int128 or builtins, the other signedness of char.
HARMLESS = ("-O0 -DLS_FIXED_PORTABLE", "-O2 -funsigned-char")
# What must: fused multiply-add, extended precision, sums in another order.
BREAKS = (
    ("gcc", "-O2 -mfma -ffp-contract=fast"),
    ("gcc", "-O2 -mfpmath=387"),
    ("gcc", "-O3 -ffast-math"),
)


def has_fused_multiply_add():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return " fma " in file.read()
    except OSError:
        return False


def native_rows():
    # What clang makes is in the tests of every preset that it compiles.
    quick = ("-O3 -march=native", HARMLESS[0])
    for compiler in ("gcc", "clang"):
        for flags in ("-O0", "-O2", "-O3", "-O3 -march=native", *HARMLESS):
            yield Row("x86-64", compiler, flags, is_quick=compiler == "gcc" and flags in quick)


def foreign_rows():
    for machine in MACHINES:
        yield machine.row("gcc", "-O0")
        yield machine.row("gcc", "-O2", is_quick=True)
        yield machine.row("gcc", "-O3")
        yield machine.row("clang", "-O2")


def wasm_rows():
    for flags in ("-O0", "-O2", "-O3"):
        yield Row(
            target="wasm32",
            compiler="clang",
            flags=flags,
            settings=("CMAKE_SYSTEM_NAME=Generic", "CMAKE_C_COMPILER_TARGET=wasm32-wasi"),
            emulator=("node", "--no-warnings", WASM_RUNNER),
            needs=(WASI_LIBRARY, "wasm-ld", "node"),
        )


def broken_rows():
    """Builds with one fault each; the first that this machine can run is quick."""
    breaks = [b for b in BREAKS if "-mfma" not in b[1] or has_fused_multiply_add()]
    for index, (compiler, flags) in enumerate(breaks):
        yield Row(
            target="x86-64",
            compiler=compiler,
            flags=flags,
            settings=("LS_GOLDEN_BREAK=" + flags.replace(" ", ";"),),
            is_quick=index == 0,
            is_broken=True,
        )
    aarch64 = next(machine for machine in MACHINES if machine.name == "aarch64").row("gcc", "-O2")
    yield dataclasses.replace(
        aarch64,
        flags="-O2 -ffp-contract=fast",
        settings=(*aarch64.settings, "LS_GOLDEN_BREAK=-O2;-ffp-contract=fast"),
        is_broken=True,
    )


def rows():
    return [*native_rows(), *foreign_rows(), *wasm_rows(), *broken_rows()]
