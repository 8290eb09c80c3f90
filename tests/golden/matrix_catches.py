"""tools/platform-matrix compares: a golden program that prints anything else is found out."""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = "#!/bin/sh\nsed '{edit}' {printed}\n"


def status_of(matrix, printed, edit, folder):
    altered = pathlib.Path(folder) / "altered"
    altered.write_text(SCRIPT.format(printed=printed, edit=edit), encoding="utf-8")
    altered.chmod(0o755)
    return subprocess.run(
        [matrix, "--check-program", altered], capture_output=True, text=True, check=False
    )


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\n-- stdout:\n{result.stdout}\n-- stderr:\n{result.stderr}")


def main():
    matrix, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        printed = pathlib.Path(folder) / "printed"
        with open(printed, "w", encoding="utf-8") as output:
            subprocess.run([program], stdout=output, check=True)
        result = status_of(matrix, printed, "", folder)
        expect(result.returncode == 0, "what is not altered passes", result)
        result = status_of(matrix, printed, "s/^\\(arena.600 ...............\\)./\\1x/", folder)
        expect(result.returncode == 3, "one digit of one value", result)
        expect(result.stdout.count("\n") == 1 and "arena.600" in result.stdout, "its name", result)
        result = status_of(matrix, printed, "/^units.chain/d", folder)
        expect(result.returncode == 3 and "units.chain" in result.stdout, "a missing line", result)
        result = status_of(matrix, printed, "s/^rng .*/&\\nmore 1/", folder)
        expect(result.returncode == 3 and "more" in result.stdout, "a line too many", result)
        result = status_of(matrix, "/none", "", folder)
        expect(result.returncode != 0, "a program that prints nothing", result)
        for wrong in (["--only", "vax"], ["--bogus"]):
            result = subprocess.run([matrix, *wrong], capture_output=True, text=True, check=False)
            expect(result.returncode == 2, f"{wrong} is a usage error", result)


main()
