#!/usr/bin/env python3
"""The rules for Prometheus and the board for Grafana: they name metrics that a service has,
promtool takes the rules, and each alert is raised by what it is for."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

from fake_service import FakeService

FOLDER = pathlib.Path(sys.argv[2])
NAME = re.compile(r"\blockstep_[a-z_]+")
rules = (FOLDER / "prometheus-rules.yaml").read_text(encoding="utf-8")
board = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))

with FakeService(sys.argv[1]) as service:
    metrics = service.ask("GET", "/metrics", token=None)[2]
there = set(NAME.findall(metrics))
expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
assert len(expressions) > 10 and all(panel["title"] for panel in board["panels"])
for text in [*re.findall(r"expr: (.*(?:\n          .*)*)", rules), *expressions]:
    named = set(NAME.findall(text))
    assert named - there == set(), (text, named - there)
recorded = set(re.findall(r"record: (\S+)", rules))
used = {name for text in expressions for name in re.findall(r"lockstep:[a-z_]+:[a-z0-9]+", text)}
assert recorded == used, (recorded, used)

page = (FOLDER.parent.parent / "docs" / "operating.md").read_text(encoding="utf-8")
explained = re.findall(r"^\*\*(\w+)\*\*: ", page[page.index("\n## Alerts\n"):], re.MULTILINE)
assert explained == re.findall(r"alert: (\w+)", rules), (explained, "docs/operating.md")
tried = (FOLDER / "prometheus-rules-test.yaml").read_text(encoding="utf-8")
assert set(explained) == set(re.findall(r"alertname: (\w+)", tried)), "prometheus-rules-test.yaml"

promtool = shutil.which("promtool")
if not promtool:
    print("skipped: promtool is not installed (Debian's package prometheus)")
    sys.exit(0)
for words in (["check", "rules", "prometheus-rules.yaml"],
              ["test", "rules", "prometheus-rules-test.yaml"]):
    run = subprocess.run([promtool, *words], cwd=FOLDER, capture_output=True, text=True,
                         check=False)
    assert run.returncode == 0, run.stdout + run.stderr
alerts = len(re.findall("alert:", rules))
print(f"{alerts} alerts and {len(expressions)} queries are as they should be")
