"""lockstep-schema as a program: what it writes compiles, in C and C++, and covers the struct; what
it cannot describe it refuses with a sentence and leaves no file."""

import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM, INCLUDE, CORE, BASE, COMPILER, *LINK_FLAGS = sys.argv[1:]
LIBRARIES = (CORE, BASE, "-lm", *LINK_FLAGS)

HEAD = '#include "lockstep/common/simulation/simulation.h"\n'
CHECK = """
#include "lockstep/common/base/allocator.h"
#include "lockstep/common/simulation/state_schema.h"
#include <stdio.h>
int main(void)
{
    static ls_field list[LS_FIELDS_MAX];
    ls_text why;
    ls_schema *schema = 0;
    unsigned count = fields(0, list, LS_FIELDS_MAX);
    if (ls_schema_create(list, count, sizeof(state), ls_allocator_heap(), &schema, &why) != LS_OK) {
        puts(why.bytes);
        return 1;
    }
    for (unsigned i = 0; i < count; i++) {
        printf("%s %s %u\\n", list[i].path, ls_field_type_name(list[i].type), list[i].length);
    }
    ls_schema_destroy(schema);
    return 0;
}
"""

# (what, the struct's members, arguments, words of the refusal)
REFUSED = (
    ("a pointer", "int a; struct state *next;", (), ("next is a pointer", "index")),
    ("a function", "void (*run)(void);", (), ("run is a pointer",)),
    ("pointers", "struct { char *names[3]; } s;", (), ("s.names[0] is a pointer",)),
    ("a union", "union { int i; float f; } u;", (), ("u is a union", "--union-as-bytes")),
    ("a union without a name", "int a; union { int i; float f; };", (), ("union without a name",)),
    ("a bit-field", "unsigned a : 3;", (), ("a is a bit-field",)),
    ("a long double", "long double x;", (), ("x is of a type that no field has", "long double")),
    ("a complex number", "double _Complex x;", (), ("x is of a type that no field has",)),
    ("128 bits", "__extension__ __int128 x;", (), ("x is of a type that no field has", "16 bytes")),
    ("an open array", "int n; int list[];", (), ("list is an array without a length", "--count")),
    ("a count for nothing", "int n;", ("--count", "list=3"), ("no array list",)),
    ("a unit for nothing", "int n;", ("--unit", "m=kg"), ("no field m",)),
    ("a unit with a quote", "int n;", ("--unit", 'n="'), ("cannot be a unit",)),
    ("a long path", f"int {'a' * 64};", (), ("longer than the 63 bytes",)),
    ("too many fields", "struct { struct { int a; } b[2000]; } c[2001];", (), ("more than 1024",)),
    (
        "one path twice",
        "char a; int padding_at_1;",
        (),
        ("two fields would have the path padding_at_1",),
    ),
)

# (what, members, arguments, what the fields must be)
WRITTEN = (
    ("a union on request", "union { int i; char c[6]; } u;", ("--union-as-bytes", "u"), "u u8 8"),
    ("an enum", "enum { A, B } e;", (), "e u32 1"),
    ("an enum below zero", "enum { A = -1, B } e;", (), "e i32 1"),
    ("an unsigned long long", "unsigned long long l;", (), "l u64 1"),
    ("a plain char has no sign", "char c; signed char s;", (), "c u8 1\ns i8 1"),
    ("a hole at the end", "double d; char c;", (), "d f64 1\nc u8 1\npadding_at_9 padding 7"),
    (
        "holes of structs without names",
        "struct { char a; int b; }; struct { char c; int d; };",
        (),
        "a u8 1\npadding_at_1 padding 3\nb i32 1\nc u8 1\npadding_at_9 padding 3\nd i32 1",
    ),
    (
        "a name for padding",
        "int a; char spare[4]; int padding;",
        ("--padding", "spare"),
        "a i32 1\nspare padding 4\npadding i32 1",
    ),
    (
        "the longer of two arrays becomes the items",
        "struct { struct { int a; } b[9]; } c[2];",
        (),
        "c[0].b[].a i32 1\nc[1].b[].a i32 1",
    ),
)


def run(*command):
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False
    )


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


class Bench:
    """A folder with one struct in it, called state."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.types = self.folder / "types.so"

    def compile(self, text, *flags, compiler=COMPILER, suffix=".c", output=None):
        source = self.folder / ("source" + suffix)
        source.write_text(text, encoding="utf-8")
        output = output or self.types
        result = run(compiler, f"-I{INCLUDE}", f"-I{self.folder}", "-fPIC", *flags, source, "-o",
                     output, *(LIBRARIES if "-shared" not in flags and "-c" not in flags else ()))
        expect(result.returncode == 0, f"compiling {text}", result)

    def compile_state(self, members, *flags):
        text = f"typedef struct state {{ {members} }} state;\nstate value;\n"
        self.compile(HEAD + text, "-g", "-shared", *flags)
        return HEAD + text

    def check(self, what, text, expected, compiler=COMPILER, suffix=".c"):
        """The written file compiles after the struct, and describes it."""
        output = self.folder / "check"
        self.compile(text + '#include "fields.inc"\n' + CHECK, "-Wall", "-Wextra", "-Werror",
                     compiler=compiler, suffix=suffix, output=output)
        result = run(output)
        expect(result.returncode == 0 and result.stdout.strip() == expected, what, result)


def check_refused(bench):
    for what, members, arguments, words in REFUSED:
        bench.compile_state(members)
        output = bench.folder / "refused.inc"
        result = run(PROGRAM, bench.types, "state", "-o", output, *arguments)
        expect(result.returncode == 2, f"{what} ends with 2", result)
        expect(all(word in result.stderr for word in words), f"{what}: {words}", result)
        expect(not output.exists() and result.stdout == "", f"{what}: nothing is written", result)


def check_written(bench):
    for what, members, arguments, expected in WRITTEN:
        text = bench.compile_state(members)
        result = run(PROGRAM, bench.types, "state", "-o", bench.folder / "fields.inc", *arguments)
        expect(result.returncode == 0, what, result)
        bench.check(what, text, expected)


def check_open_types(bench):
    """What the debug information says of types that compilers and flags settle."""
    members = "enum kind { A, B } kind; char sign; char name[3]; int whole;"
    bench.compile_state(members, "-fshort-enums")
    result = run(PROGRAM, bench.types, "state")
    expect("kind is kind: 1 bytes here, but not with every compiler's flags" in result.stderr,
           "a short enum is told", result)
    expect("sign is char: with a sign on some machines alone" in result.stderr,
           "a char that counts is told", result)
    bench.compile_state(members)
    result = run(PROGRAM, bench.types, "state")
    expect("name is char" not in result.stderr and "kind is kind" not in result.stderr,
           "a text is no number, and a usual enum is one", result)


def check_warnings(bench):
    bench.compile_state("long l; int64_t i; char c; double d;")
    result = run(PROGRAM, bench.types, "state")
    expect(result.returncode == 0, "holes and long are written", result)
    expect("l is long" in result.stderr, "long is warned of", result)
    expect("i is" not in result.stderr, "int64_t is as long everywhere", result)
    expect("padding_at_17: 7 bytes" in result.stderr, "the hole is named", result)
    check_open_types(bench)
    result = run(PROGRAM, bench.types, "state", "--quiet")
    expect(result.returncode == 0 and result.stderr == "", "--quiet warns of nothing", result)


def check_cpp(bench):
    compiler = shutil.which("g++")
    if compiler is None:
        print("no g++: C++ is not tried")
        return
    text = HEAD + (
        "namespace game { enum class side : signed char { left = -1 };\n"
        "struct unit { ls_vec2 at; side which; bool on; char16_t sign;\n"
        "  static int count; void act() {} };\n"
        "struct state { unit units[3]; ls_fixed sum; }; }\n"
    )
    bench.compile(text + "game::state value;\n", "-g", "-shared", compiler=compiler, suffix=".cpp")
    result = run(PROGRAM, bench.types, "game::state", "-o", bench.folder / "fields.inc")
    expect(result.returncode == 0, "a C++ struct", result)
    bench.check("a C++ struct", text + "using game::state;\n",
                "units.at.x fixed 1\nunits.at.y fixed 1\nunits.which i8 1\nunits.on u8 1\n"
                "units.sign u16 1\nunits.padding_at_20 padding 4\nsum fixed 1",
                compiler=compiler, suffix=".cpp")
    bench.compile("struct state { virtual void act() {} int a; } value;", "-g", "-shared",
                  compiler=compiler, suffix=".cpp")
    result = run(PROGRAM, bench.types, "state")
    expect(result.returncode == 2 and "pointer" in result.stderr, "a virtual function", result)


def check_files(bench):
    result = run(PROGRAM, bench.folder / "none.so", "state")
    expect(result.returncode == 1 and "none.so" in result.stderr, "a missing file", result)
    result = run(PROGRAM, bench.folder / "source.c", "state")
    expect(result.returncode == 2 and "no ELF file" in result.stderr, "not a binary", result)
    bench.compile("int a;", "-g", "-c", output=bench.folder / "types.o")
    result = run(PROGRAM, bench.folder / "types.o", "state")
    expect(result.returncode == 2 and "not linked" in result.stderr, "an object file", result)
    bench.compile("int a;", "-g0", "-shared")
    result = run(PROGRAM, bench.types, "state")
    expect(result.returncode == 2 and "-g" in result.stderr, "no debug information", result)


def check_names(bench):
    bench.compile("struct ship_state { int a; } a; typedef struct { int b[2]; } other; other b;\n"
                  "struct hidden; struct hidden *p;", "-g", "-shared")
    result = run(PROGRAM, bench.types, "--list")
    listed = [line.split() for line in result.stdout.splitlines()]
    expect(listed == [["8", "other"], ["4", "ship_state"]], "the list", result)
    for wanted in ("ship_stat", "state"):
        result = run(PROGRAM, bench.types, wanted)
        expect(result.returncode == 1, f"{wanted} is not there", result)
        expect("did you mean ship_state?" in result.stderr, f"{wanted} is near", result)
    result = run(PROGRAM, bench.types, "zebra")
    expect(result.returncode == 1 and "mean" not in result.stderr, "nothing is near", result)
    result = run(PROGRAM, bench.types, "struct ship_state", "--function", "mine")
    is_named = "mine(const" in result.stdout and "struct ship_state, a" in result.stdout
    expect(is_named, "a tag, and the function's name", result)
    for arguments in ((), (bench.types,), (bench.types, "a", "--unit", "m"), ("--bogus",)):
        result = run(PROGRAM, *arguments)
        expect(result.returncode == 2, f"{arguments} is a usage error", result)


def check_parts(bench):
    text = HEAD + "typedef struct ship { int a; } ship; typedef struct head { int b; } head;\n"
    bench.compile(text + "ship s; head h;\n", "-g", "-shared")
    result = run(PROGRAM, bench.types, "head", "ship:ships:3:sizeof(head)", "-o",
                 bench.folder / "fields.inc")
    expect(result.returncode == 0, "two parts", result)
    bench.check("two parts", text + "typedef struct { head h; ship s[3]; } state;\n",
                "b i32 1\nships.a i32 1")


# The rows that the macros of lockstep.h make are the same.
OF_ONE_HEADER = """
#include "lockstep/tools/liblockstep/lockstep.h"
#include <stdio.h>
#include <string.h>
typedef struct ship { double speed; unsigned short flags[4]; } ship;
typedef struct state { ship ships[3]; unsigned long long seed; signed char marks[8]; } state;
state value;
#ifdef WRITTEN
static const lockstep_field written[] = {
#include "fields.inc"
};
static const lockstep_field made[] = {
    LOCKSTEP_FIELDS(state, ships, speed, "m/s", LOCKSTEP_F64),
    LOCKSTEP_FIELDS(state, ships, flags, "", LOCKSTEP_U16),
    LOCKSTEP_FIELD(state, seed, "", LOCKSTEP_U64),
    LOCKSTEP_FIELD(state, marks, "", LOCKSTEP_I8),
};
int main(void)
{
    for (unsigned i = 0; i < sizeof made / sizeof made[0]; i++) {
        const lockstep_field *a = &written[i], *b = &made[i];
        printf("%d", !strcmp(a->path, b->path) && !strcmp(a->unit, b->unit) &&
                         a->type == b->type && a->length == b->length && a->count == b->count &&
                         a->offset == b->offset && a->stride == b->stride);
    }
    return sizeof made != sizeof written;
}
#endif
"""


def check_one_header(bench):
    bench.compile(OF_ONE_HEADER, "-g", "-shared")
    result = run(PROGRAM, bench.types, "state", "--lockstep-fields", "--unit", "speed=m/s", "-o",
                 bench.folder / "fields.inc")
    expect(result.returncode == 0, "rows of lockstep_field", result)
    for compiler, suffix in ((COMPILER, ".c"), (shutil.which("g++"), ".cpp")):
        if compiler is None:
            continue
        output = bench.folder / "check"
        bench.compile(OF_ONE_HEADER, "-DWRITTEN", "-Wall", "-Wextra", "-Werror", compiler=compiler,
                      suffix=suffix, output=output)
        result = run(output)
        expect(result.returncode == 0 and result.stdout == "1111", "rows as by the macros", result)


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        check_refused(bench)
        check_written(bench)
        check_warnings(bench)
        check_cpp(bench)
        check_parts(bench)
        check_one_header(bench)
        check_names(bench)
        check_files(bench)


main()
