"""Writes the code blocks that README.md marks `<!-- compiled-by-tests: NAME -->` into a folder."""

import os
import re
import sys

MARK = re.compile(r"^<!-- compiled-by-tests: (\S+) -->\n```\w+\n(.*?)^```$", re.S | re.M)
LINES_MAX = 60  # as the README says
COLUMNS_MAX = 100


def main():
    readme, folder = sys.argv[1:]
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    blocks = dict(MARK.findall(text))
    if len(blocks) != text.count("compiled-by-tests:") or not blocks:
        sys.exit(f"{readme}: a mark without a code block after it, a name used twice, or no mark")
    for name, code in blocks.items():
        lines = code.splitlines()
        if len(lines) > LINES_MAX or any(len(line) > COLUMNS_MAX for line in lines):
            sys.exit(f"{readme}: {name} has more than {LINES_MAX} lines or {COLUMNS_MAX} columns")
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(code)
        print(f"{name}: {len(lines)} lines")


if __name__ == "__main__":
    main()
