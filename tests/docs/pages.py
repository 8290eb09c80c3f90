"""What pages must keep: the README is short, prose is wrapped, a program has every flag that a page
names, and code that a page shows from a file (`<!-- from: FILE -->`) stands so in that file.

usage: pages.py SOURCE_DIR
       pages.py --catches

The flags are those of docs/reference.md, which docs.reference compares with the programs. Exit code
0 when nothing was found; with --catches when every wrong page was."""

import pathlib
import re
import sys

README_LINES_MAX = 150
README_WORDS_MAX = 1200
COLUMNS_MAX = 100
REFERENCE = "docs/reference.md"
# The changelog names flags of old versions.
WITHOUT_FLAGS = (REFERENCE, "docs/changelog.md")
# Flags of other people's programs.
FOREIGN = set(
    "--preset --build --install --prefix --cflags --libs --root --target --from-file --now "
    "--arm64 --variant --pull-never --static --offline --release --manifest-path".split()
)

CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
EXCERPT = re.compile(r"^<!-- from: (\S+) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*[a-z0-9]")
UNWRAPPED = ("|", "!", "[", "#")  # tables, pictures, targets of links, headings


def blanked(match):
    return re.sub(r"[^\n]", "", match.group())


def long_lines(text):
    for number, line in enumerate(CODE.sub(blanked, text).splitlines(), 1):
        if len(line) > COLUMNS_MAX and not line.startswith(UNWRAPPED):
            yield f"{number}: {len(line)} columns, the limit is {COLUMNS_MAX}"


def unknown_flags(text, known):
    for number, line in enumerate(text.splitlines(), 1):
        for flag in FLAG.findall(line):
            # lockstep-netcond takes its flags for one direction, too.
            either = re.sub(r"^--(up|down)-", "--", flag)
            if not {flag, either} & known and flag not in FOREIGN:
                yield f"{number}: no program has {flag}"


def stale_excerpts(path, text, files):
    """A file is named as the page would link to it."""
    if len(EXCERPT.findall(text)) != text.count("<!-- from: "):
        yield "a mark `from:` without a code block after it"
    for match in EXCERPT.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        name = (pathlib.PurePath(path).parent / match.group(1)).as_posix()
        if "\n" + match.group(2) not in "\n" + files.get(name, ""):
            yield f"{number}: these lines do not stand so in {name}"


def problems(pages, files):
    """`pages` and `files` are texts by their paths."""
    known = set(FLAG.findall(pages[REFERENCE])) | {"--help", "--usage", "--version"}
    found = []
    for path, text in pages.items():
        if path == "README.md":
            lines, words = text.count("\n"), len(text.split())
            if lines > README_LINES_MAX or words > README_WORDS_MAX:
                found.append(
                    f"{path}: {lines} lines and {words} words, the limits are {README_LINES_MAX} "
                    f"and {README_WORDS_MAX}"
                )
        if path != REFERENCE:
            found += [f"{path}:{problem}" for problem in long_lines(text)]
        found += [f"{path}:{problem}" for problem in stale_excerpts(path, text, files)]
        if path not in WITHOUT_FLAGS:
            found += [f"{path}:{problem}" for problem in unknown_flags(text, known)]
    return found


HELP = "```text\n      --fps=HZ\n      --find-causes=on|off\n```\n"
LONG = "word " * 21
CODE_FILE = {"docs/examples/a.c": "int a;\nint b;\nint c;\n"}
MARK = "<!-- from: examples/a.c -->\n"
# (what is wrong, a page, how many findings)
SAMPLES = (
    ("nothing", "docs/a.md", "`--fps 60 --find-causes off`, --help, and a--b\n", 0),
    ("nothing in code", "docs/a.md", f"```\n{LONG}\n```\n| {LONG} |\n", 0),
    ("nothing of an old version", "docs/changelog.md", "`--gone` is gone\n", 0),
    ("one direction", "docs/a.md", "`--up-fps 9`\n", 0),
    ("a foreign flag", "docs/a.md", "```sh\ncmake --preset release\n```\n", 0),
    ("a flag that is not there", "docs/a.md", "```sh\nx --fsp 60\n```\nAnd `--find`.\n", 2),
    ("a long line", "docs/a.md", f"Words.\n\n{LONG}\n", 1),
    ("nothing in an excerpt", "docs/a.md", f"{MARK}```c\nint b;\nint c;\n```\n", 0),
    ("an excerpt that has changed", "docs/a.md", f"{MARK}```c\nint a;\nint c;\n```\n", 1),
    ("half of a line", "docs/a.md", f"{MARK}```c\nb;\n```\n", 1),
    ("an excerpt of nothing", "docs/a.md", "<!-- from: b.c -->\n```c\nint a;\n```\n", 1),
    ("a mark alone", "docs/a.md", MARK, 1),
    ("a long README", "README.md", "a line\n" * 151, 1),
    ("a README of many words", "README.md", "one two three four five six seven eight 9\n" * 140, 1),
)


def catches():
    wrong = 0
    for title, path, text, expected in SAMPLES:
        found = problems({REFERENCE: HELP, path: text}, CODE_FILE)
        if len(found) != expected:
            wrong += 1
            print(f"{title}: expected {expected} findings, not {found}")
    print(f"{len(SAMPLES)} pages, {wrong} judged wrongly")
    return wrong == 0


def main():
    if sys.argv[1] == "--catches":
        sys.exit(0 if catches() else 1)
    root = pathlib.Path(sys.argv[1])
    paths = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    pages = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}
    examples = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in (root / "docs" / "examples").iterdir()
    }
    found = problems(pages, examples)
    print("\n".join(found))
    print(f"{len(pages)} pages, {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
