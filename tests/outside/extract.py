"""Writes the code blocks that pages mark `<!-- compiled-by-tests: NAME -->` into a folder.
usage: extract.py PAGE... FOLDER"""

import os
import re
import sys

MARK = re.compile(r"^<!-- compiled-by-tests: (\S+) -->\n```\w+\n(.*?)^```$", re.S | re.M)
LINES_MAX = 60
COLUMNS_MAX = 100


def main():
    *pages, folder = sys.argv[1:]
    for page in pages:
        extract(page, folder)


def extract(page, folder):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    blocks = dict(MARK.findall(text))
    if len(blocks) != text.count("compiled-by-tests:") or not blocks:
        sys.exit(f"{page}: a mark without a code block after it, a name used twice, or no mark")
    for name, code in blocks.items():
        lines = code.splitlines()
        if len(lines) > LINES_MAX or any(len(line) > COLUMNS_MAX for line in lines):
            sys.exit(f"{page}: {name} has more than {LINES_MAX} lines or {COLUMNS_MAX} columns")
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(code)
        print(f"{name}: {len(lines)} lines")


if __name__ == "__main__":
    main()
