"""What C files declare and define, read from text that .clang-format has laid out.

A function's opening brace is alone in the first column, and text in the first column is at file
scope. That makes names findable without a compiler, in milliseconds for the whole tree.
"""

import functools
import re

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?:lockstep/)?([^"\n]+)"', re.MULTILINE)
# An identifier that is no field of something: not behind a dot or an arrow.
IDENTIFIER = re.compile(r"(?<![\w.])(?<!->)[A-Za-z_]\w*")

# Defines the functions of a file whose library is not there or is loaded when it is called, whose
# calls Linux alone has, or whose system this is not.
STAND_IN = re.compile(
    r"_(none|built|loaded)\.c$|/portable_\w+\.c$|^common/system/(?:wasm|windows)/\w+\.[ch]$"
    r"|^client/web/web_screen\.c$")

_FUNCTION = re.compile(r"^([A-Za-z_][^;{}#]*)\n\{", re.MULTILINE)
_VARIABLE = re.compile(
    r"^((?!static|extern|typedef|struct|union|enum|return|LS_C_)[A-Za-z_][\w \*]*?|"
    r"(?:const )?struct \w+[ \*]*?)\b(\w+)(?:\[[^\]\n]*\])*[ \n]*(?:=|;)",
    re.MULTILINE,
)
_TAG = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")
_TYPEDEF = re.compile(r"^typedef\b", re.MULTILINE)
_FORWARD = re.compile(r"typedef\s+(?:struct|union)\s+(\w+)\s+\1$")
_OPAQUE = re.compile(r"^(?:typedef\s+)?struct\s+(\w+)(?:\s+\w+)?;", re.MULTILINE)
_ENUM = re.compile(r"\benum\b[^{};()]*\{([^}]*)\}")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def includes(source):
    """The paths of our own headers that the file includes: (path, offset)."""
    for match in INCLUDE.finditer(source.text):
        if source.code[match.start() : match.end()].strip():
            yield match.group(1), match.start(1)


def once(find):
    """What is found in a file is kept with it: the checks ask for it thousands of times."""

    @functools.wraps(find)
    def found(source):
        if find.__name__ not in source.found:
            source.found[find.__name__] = tuple(find(source))
        return source.found[find.__name__]

    return found


def without_stand_ins(paths):
    return [path for path in paths if not STAND_IN.search(path)] or list(paths)


def _function_name(head):
    """The identifier before the parameters of what ends with a closing parenthesis."""
    depth = 0
    for place in range(len(head) - 1, -1, -1):
        depth += (head[place] == ")") - (head[place] == "(")
        if depth == 0:
            name = re.search(r"(\w+)\s*$", head[:place])
            return name.group(1) if name else None
    return None


@once
def _functions(source):
    """Functions that the file defines: (name, offset, static or not)."""
    for match in _FUNCTION.finditer(source.code):
        head = match.group(1).rstrip()
        name = _function_name(head) if head.endswith(")") else None
        # A capital first letter: a macro that makes a function, as Criterion's Test.
        if name and not name[0].isupper():
            yield name, match.start(), bool(re.search(r"\bstatic\b", head))


def external_functions(source):
    """Functions that the file defines for others: (name, offset)."""
    return [(name, offset) for name, offset, is_static in _functions(source) if not is_static]


def static_functions(source):
    return [name for name, _, is_static in _functions(source) if is_static]


@once
def external_variables(source):
    """Variables that a .c file defines for others: (name, offset)."""
    for match in _VARIABLE.finditer(source.code):
        yield match.group(2), match.start()


def _typedef_end(code, start):
    depth = 0
    for match in re.compile(r"[{};]").finditer(code, start):
        depth += (match.group() == "{") - (match.group() == "}")
        if match.group() == ";" and depth == 0:
            return match.start()
    return len(code)


def _typedef_name(text):
    pointer = re.search(r"\(\s*\*\s*(\w+)", text) if "{" not in text else None
    if pointer:
        return pointer.group(1)
    plain = re.search(r"(\w+)\s*(\[[^\]]*\]|\([^()]*\))*\s*$", text)
    return plain.group(1) if plain else None


@once
def types(source):
    """Types that the file defines: tags with their members and typedefs, (name, offset)."""
    for match in _TAG.finditer(source.code):
        yield match.group(1), match.start()
    for match in _TYPEDEF.finditer(source.code):
        text = source.code[match.start() : _typedef_end(source.code, match.start())]
        name = _typedef_name(text)
        if name and not _FORWARD.match(text):
            yield name, match.start()


def opaque_structs(source):
    """Structs that the file names without saying what is in them."""
    return {match.group(1) for match in _OPAQUE.finditer(source.code)}


def structs(source):
    """Structs that the file lays out: (tag, offset)."""
    for match in re.finditer(r"^(?:typedef\s+)?struct\s+(\w+)\s*\{", source.code, re.MULTILINE):
        yield match.group(1), match.start()


@once
def enumerators(source):
    for match in _ENUM.finditer(source.code):
        for name in re.finditer(r"(?:^|,)\s*([A-Za-z_]\w*)", match.group(1)):
            yield name.group(1), match.start(1) + name.start(1)


@once
def macros(source):
    for match in _MACRO.finditer(source.code):
        yield match.group(1), match.start(1)
