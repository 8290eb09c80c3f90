"""Which files somebody gets at who may make rooms: those beneath the folders that the configuration
names, and code by its digest alone; and that no answer has a word of a file."""

import hashlib
import pathlib
import subprocess
import sys
import tempfile

from described import API
from fake_service import PATIENCE_S
from whole_service import Programs, Service

WORD = "zebra7"


def lay_out(root, plugins):
    """As Kubernetes lays out a volume: names are links through a link to the newest folder."""
    for name in ("plug-ins", "maps", "maps/..2026", "more"):
        (root / name).mkdir()
    for plugin in plugins:
        (root / "plug-ins" / pathlib.Path(plugin).name).symlink_to(plugin)
    (root / "maps/..data").symlink_to("..2026")
    for name, content in (("secret", WORD), ("own.map", "M of the operator"),
                          ("maps/..2026/hill", "M"), ("maps/bad", WORD), ("more/lake", "M"),
                          ("more/listed.core", "listed " + WORD), ("more/other.core", WORD)):
        (root / name).write_text(content, encoding="ascii")
    (root / "maps/hill").symlink_to("..data/hill")
    (root / "maps/out").symlink_to("../secret")
    (root / "maps/absolute").symlink_to(root / "secret")


def configuration(root):
    digest = hashlib.sha256((root / "more/listed.core").read_bytes()).hexdigest()
    head = f"""plug-ins = "{root}/plug-ins"
files = ["{root}/maps", "{root}/more"]
code = ["{digest.upper()}"]
"""
    rooms = f"""[[rooms]]
name = "own"
open = 1
sim = "level.so"
params = {{map = "{root}/own.map"}}
"""
    return rooms, head


def attempts(root):
    """The simulation, a parameter, what is answered and a word of the answer."""
    outside = (root / "secret", "../secret", "maps/../../secret", "out", "absolute",
               f"/proc/self/root{root}/secret", "..", "", "/etc/passwd")
    for sim, name in (("level.so", "map"), ("level.so", "music"), ("lua.so", "script"),
                      ("libretro.so", "core"), ("libretro.so", "content")):
        for path in outside:
            yield sim, f"{name}={path}", 400, f"--param {name}: "
    yield "level.so", "map=hill", 201, "own"
    yield "level.so", "map=..data/hill", 201, "own"
    yield "level.so", "map=lake", 201, "own"
    yield "level.so", "map=none", 400, "cannot read none"
    yield "level.so", "map=bad", 400, "lockstep-synctest says why"
    yield "lua.so", "script=bad", 400, "lockstep-synctest says why"
    yield "libretro.so", "core=other.core", 400, "does not list"
    yield "libretro.so", "core=listed.core", 400, "lockstep-synctest says why"


def later_matches(root):
    """A match that cannot be played behind two that can be, and words of the answer."""
    yield "map=none", "cannot read none"
    yield "map=bad", "lockstep-synctest says why"
    yield f"map={root}/secret", "--param map: "
    yield "map=../secret", "--param map: "
    yield "map=hill depth=9", "depth"
    yield "sim=none.so", "none.so"
    yield "sim=canyon", "canyon"
    yield "sim=units map=nowhere", "nowhere"
    yield "map=hill players=99", "players"


def refuse_later_matches(service, root):
    for following in ("in-turn", "vote"):
        for match, words in later_matches(root):
            body = {"name": "cup", "sim": "level.so", "rotation": ["map=hill", "map=lake", match],
                    "next": following}
            answer, _, text = service.ask("POST", API + "/rooms", body)
            assert answer in (400, 404) and words in text, (match, answer, text)
            assert "match 3 of the rotation" in text and match[:20] in text, (match, text)
            assert WORD not in text and service.room("cup") is None, (match, text)
    body["rotation"][2:] = ["sim=units ticks=60"]
    assert service.ask("POST", API + "/rooms", body)[0] == 201
    service.admin("end", "cup")


def check_rotation(root, match, code):
    """What --check says of a configuration, where the operator may name any file."""
    config = root / "lockstep.toml"
    config.write_text(f"""plug-ins = "{root}/plug-ins"
[[rooms]]
name = "cup"
sim = "level.so"
rotation = ["map={root}/own.map", "{match}"]
""", encoding="utf-8")
    done = subprocess.run([Programs.server, "--config", config, "--check"], capture_output=True,
                          text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == code, done
    return done.stderr


def check_rotations(root):
    assert "no faults" in check_rotation(root, f"map={root}/maps/hill", 0)
    for match, words in (("map=none", "none"), ("map=hill depth=9", "depth"),
                         ("sim=none.so", "none.so"), (f"map={root}/secret", "not an M")):
        text = check_rotation(root, match, 2)
        assert "line 2:" in text and "match 2 of the rotation" in text and words in text, text


def main():
    Programs.server, Programs.client, Programs.admin = sys.argv[1:4]
    with tempfile.TemporaryDirectory(prefix="lockstep-files-") as folder:
        root = pathlib.Path(folder)
        lay_out(root, sys.argv[4:])
        with Service(*configuration(root), workers=1) as service:
            service.wait_until("own-1", lambda room: room["state"] == "waiting")
            answered = {}
            for number, (sim, param, status, words) in enumerate(attempts(root)):
                body = {"name": f"own-room-{number}", "sim": sim, "param": [param]}
                answer, _, text = service.ask("POST", API + "/rooms", body)
                assert answer == status and words in text, (sim, param, answer, text)
                answered[answer] = answered.get(answer, 0) + 1
                assert WORD not in text.replace(param, ""), (sim, param, text)
            refuse_later_matches(service, root)
            # A group's own file, and another one in its place.
            for param, status in (({}, 201), ({"param": [f"map={root}/secret"]}, 400)):
                answer = service.ask("POST", API + "/rooms", {"group": "own", **param})
                assert answer[0] == status, answer
            assert WORD not in service.log()
        check_rotations(root)
    print(f"rooms that were made of files, or refused: {answered}")


if __name__ == "__main__":
    main()
