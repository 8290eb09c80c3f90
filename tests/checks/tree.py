"""The source tree as the checks see it: text files by path, with comments and strings blanked."""

import os
import re

IGNORED_DIRECTORIES = re.compile(r"^(\.git|\.cache|__pycache__|build|build-.*|corpus)$")
IGNORED_FILES = ("compile_commands.json",)

# A comment, a string or a character constant: whichever starts first hides the others.
_HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)


def _blank(text):
    """Spaces of the same shape, so that lines and columns stay; strings keep their quotes."""
    quote = text[0] if text[0] in "\"'" else ""
    inside = text[1:-1] if quote else text
    return quote + re.sub(r"[^\n]", " ", inside) + quote


def is_test(path):
    """The laboratory (bench, faultsim, virtual matches) is held to what holds for a program."""
    return path.startswith("tests/") and not path.startswith("tests/lab/")


class Source:
    """One file. `path` is relative to the root, with slashes."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.found = {}  # what was looked for once in it: declarations.py
        self._code = None
        self._hidden = None

    @property
    def is_c(self):
        return self.path.endswith((".c", ".h"))

    @property
    def hidden(self):
        """Comments, strings and character constants with their delimiters: (text, offset)."""
        if self._hidden is None:
            self._hidden = [(m.group(), m.start()) for m in _HIDDEN.finditer(self.text)]
        return self._hidden

    @property
    def comments(self):
        return [(text, offset) for text, offset in self.hidden if text[0] == "/"]

    @property
    def strings(self):
        return [(text, offset) for text, offset in self.hidden if text[0] == '"']

    @property
    def code(self):
        """The text without comments and the insides of strings, line for line."""
        if self._code is None:
            pieces = []
            end = 0
            for text, offset in self.hidden:
                pieces += [self.text[end:offset], _blank(text)]
                end = offset + len(text)
            self._code = "".join(pieces) + self.text[end:]
        return self._code

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


class Finding:
    def __init__(self, path, line, message):
        self.path = path
        self.line = line
        self.message = message

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


class SkipCheck(Exception):
    """Raised by a check that cannot run here; the text says why."""


def load(root):
    """Every text file below root, sorted by path."""
    sources = []
    for directory, names, files in os.walk(root):
        names[:] = sorted(n for n in names if not IGNORED_DIRECTORIES.match(n))
        for name in sorted(files):
            path = os.path.join(directory, name)
            if name in IGNORED_FILES or name == ".git" or os.path.islink(path):
                continue
            with open(path, "rb") as file:
                content = file.read()
            if b"\0" in content:
                continue
            relative = os.path.relpath(path, root).replace(os.sep, "/")
            sources.append(Source(relative, content.decode("utf-8", "replace")))
    return sources
