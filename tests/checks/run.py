"""Runs checks on the source tree, or their self-tests on samples that each must or must not report.

A check is a module with:
  find(sources, context) -> findings
  SAMPLES: (what it shows, {path: text}, [text in a finding, ...]); an empty list means clean
  measures(sources) -> lines of figures for --list, if it has any
"""

import argparse
import importlib
import os
import sys
import tempfile

import tree

SKIPPED = 77  # as CTest's SKIP_RETURN_CODE says
OWN_TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Context:
    """Where a check that needs more than the text finds it."""

    def __init__(self, root, build, compiler):
        self.root = root
        self.build = build
        self.compiler = compiler


def load_tree(root):
    sources = tree.load(root)
    if not any(source.is_c for source in sources):
        raise tree.SkipCheck(f"no sources below {root}")
    return sources


def check_tree(check, sources, context):
    findings = check.find(sources, context)
    for finding in findings:
        print(finding)
    print(f"{check.__name__}: {len(sources)} files, {len(findings)} findings")
    return 1 if findings else 0


def list_tree(check, sources, context):
    """Everything that the check finds, and its figures."""
    for finding in check.find(sources, context):
        print(finding)
    for line in check.measures(sources) if hasattr(check, "measures") else ():
        print(line)
    return 0


def sample_problems(check, compiler, files, expected):
    """What is wrong with the check's answer to one sample."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        findings = [
            str(f) for f in check.find(tree.load(root), Context(root, None, compiler))
        ]
    problems = [f"not found: {text}" for text in expected if not any(text in f for f in findings)]
    if len(findings) != len(expected):
        problems.append(f"{len(expected)} findings expected, {len(findings)} made: {findings}")
    return problems


def check_samples(check, compiler):
    failures = check.self_test() if hasattr(check, "self_test") else 0
    for shows, files, expected in check.SAMPLES:
        problems = sample_problems(check, compiler, files, expected)
        failures += bool(problems)
        print(f"{'FAILED' if problems else 'ok'}: {shows}", *problems, sep="\n    ")
    rejecting = sum(1 for sample in check.SAMPLES if sample[2])
    if rejecting == 0 or rejecting == len(check.SAMPLES):
        print("FAILED: the samples must hold good and bad ones")
        failures += 1
    return 1 if failures else 0


def run_each(names, run):
    """The worst exit code; all of them share what is read once. Skipped: none could run."""
    codes = set()
    for name in names:
        try:
            codes.add(run(importlib.import_module(name)))
        except tree.SkipCheck as reason:
            print(f"skipped: {reason}")
            codes.add(SKIPPED)
    return next(iter(codes)) if len(codes) == 1 else int(1 in codes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("check", nargs="+")
    parser.add_argument("--root", help="the tree to check; without it the self-test runs")
    parser.add_argument("--list", action="store_true", help="print figures too")
    parser.add_argument("--build", help="its build directory")
    parser.add_argument("--compiler", default="cc")
    arguments = parser.parse_args()

    if arguments.root is None and not arguments.list:
        return run_each(arguments.check, lambda check: check_samples(check, arguments.compiler))
    context = Context(arguments.root or OWN_TREE, arguments.build, arguments.compiler)
    try:
        sources = load_tree(context.root)
    except tree.SkipCheck as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    run = list_tree if arguments.list else check_tree
    return run_each(arguments.check, lambda check: run(check, sources, context))


if __name__ == "__main__":
    sys.exit(main())
