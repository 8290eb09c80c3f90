"""Every machine and compiler of tools/platform-matrix: golden values and saves."""

from stages import ROOT, run


def compare_all():
    printed = run([ROOT / "tools" / "platform-matrix", "--all"]).splitlines()
    return printed[-1]


def play(report):
    report.stage("platform matrix", compare_all)
