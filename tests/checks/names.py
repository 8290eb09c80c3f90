"""Names: types, external functions and variables, LS_ constants: one meaning each in the tree.

A name that other files can see (in a header, or not static) means one thing: nothing else in the
product or the tools has it, and no test defines it again. File-local names may repeat. The prefix
ls_ is the library's: each tool has one of its own.
"""

import collections

import declarations
from tree import Finding, is_test

TEMPLATES = "tools/new/template/"  # code of a project of its own
TOOLS = ("tools/", "tests/lab/")
PREFIX = "LS_"
ENTRIES = ("main", "lockstep_plugin", "lockstep_simulation")  # each program and plug-in has its own


def shared_names(source):
    """Names that other files see: (name, offset)."""
    is_header = source.path.endswith(".h")
    if is_header:
        yield from declarations.types(source)
    for name, offset in [*declarations.enumerators(source), *declarations.macros(source)]:
        # X-macros define and undefine their LS_ names where they are used.
        if name.startswith(PREFIX) and (is_header or not is_undefined(source, name)):
            yield name, offset
    for name, offset in declarations.external_functions(source):
        if name not in ENTRIES:
            yield name, offset
    if not is_header:
        yield from declarations.external_variables(source)


def is_undefined(source, name):
    return f"#undef {name}" in source.code or f"# undef {name}" in source.code


def all_names(source):
    """Those, and the types of a .c file, which clash with the header's when they have its name."""
    yield from shared_names(source)
    if not source.path.endswith(".h"):
        yield from declarations.types(source)


def declared_names(sources):
    """Every identifier of a header: a definition that no header knows belongs to its program."""
    return {
        name
        for source in sources
        if source.path.endswith(".h")
        for name in declarations.IDENTIFIER.findall(source.code)
    }


def prefix_findings(source):
    """Names of a tool that look like the library's."""
    if source.path.startswith(TOOLS):
        for name in sorted({name for name, _ in shared_names(source)}):
            if name.upper().startswith(PREFIX):
                message = f"{name}: ls_ is the library's, a tool has a prefix of its own"
                yield Finding(source.path, 1, message)


def find(sources, context):
    sources = [source for source in sources if source.is_c]
    declared = declared_names(sources)
    by_path = {source.path: source for source in sources}
    shared = {}
    places = collections.defaultdict(dict)
    for source in sources:
        for name, offset in all_names(source):
            places[name].setdefault(source.path, offset)
        if not is_test(source.path) and not source.path.startswith(TEMPLATES):
            for name, _ in shared_names(source):
                if name in declared or name.startswith(PREFIX):
                    shared.setdefault(name, []).append(source.path)
    findings = []
    for name, defined in sorted(shared.items()):
        first = declarations.without_stand_ins(defined)[0]
        paths = declarations.without_stand_ins(places[name])
        for path in paths:
            if path != first:
                line = by_path[path].line_of(places[name][path])
                findings.append(Finding(path, line, f"{name} means another thing in {first}"))
    return findings + [finding for source in sources for finding in prefix_findings(source)]


SAMPLES = (
    (
        "one meaning each; local names, forward declarations and stand-ins repeat",
        {
            "server/a.h": "typedef struct ls_a {\n    int x;\n} ls_a;\nvoid ls_run(ls_a *a);\n"
            "enum { LS_A_MAX = 1 };\nstruct ls_later;\n",
            "server/a.c": "static void help(void)\n{\n}\n\nvoid ls_run(ls_a *a)\n{\n}\n"
            "typedef struct place {\n    int x;\n} place;\n#define LS_ROW(x) x\n#undef LS_ROW\n",
            "server/a_none.c": "void ls_run(ls_a *a)\n{\n}\n#define LS_ROW(x) y\n#undef LS_ROW\n",
            "client/b.h": "typedef struct ls_a ls_a;\nstruct ls_later {\n    ls_a *a;\n};\n",
            "client/b.c": "static void help(void)\n{\n}\n"
            "typedef struct place {\n    int y;\n} place;\n",
            "tools/x.c": "int main(void)\n{\n}\n",
            "tools/y.c": "int main(void)\n{\n}\n",
            "tests/a.c": "static void help(void)\n{\n}\n\nvoid time(void)\n{\n}\n",
            "tools/shims.c": "void time(void)\n{\n}\n",
        },
        [],
    ),
    (
        "types, functions, variables and constants with two meanings",
        {
            "server/a.h": "typedef enum ls_kind {\n    LS_KIND_A,\n} ls_kind;\n"
            "typedef void (*ls_call)(int a);\nvoid ls_run(void);\nextern const int ls_row;\n"
            "#define LS_MAX 1\n",
            "server/a.c": "void ls_run(void)\n{\n}\n\nconst int ls_row = 1;\n",
            "client/b.h": "typedef struct ls_kind {\n    int x;\n} ls_kind;\n"
            "enum { LS_KIND_A = 3 };\n",
            "client/b.c": "bool\nls_run(int a)\n{\n}\n\nstruct ls_call {\n    int x;\n};\n"
            "int ls_row = 2;\n#define LS_MAX 2\n",
        },
        ["a.c:1: ls_run", "a.c:5: ls_row means another thing in client/b.c", "a.h:1: ls_kind"]
        + ["a.h:2: LS_KIND_A", "b.c:6: ls_call", "a.h:7: LS_MAX"],
    ),
    (
        "a tool's names without a prefix of its own",
        {
            "tools/a.h": "typedef struct ls_a {\n    int x;\n} ls_a;\nvoid bench_a(void);\n",
            "tools/a.c": "void bench_a(void)\n{\n}\n\nvoid ls_b(void)\n{\n}\n",
        },
        ["a.c:1: ls_b: ls_ is the library's", "a.h:1: ls_a"],
    ),
    (
        "a test that takes a name of the product",
        {
            "server/a.h": "void ls_run(void);\n",
            "server/a.c": "void ls_run(void)\n{\n}\n",
            "tests/support/a.c": "void ls_run(void)\n{\n}\n",
            "tests/support/b.c": "static void ls_run(void)\n{\n}\n",
        },
        ["tests/support/a.c:1: ls_run means another thing in server/a.c"],
    ),
)
