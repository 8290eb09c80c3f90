"""Secrets as Kubernetes and systemd deliver them: the service starts as the user of the fleet's
manifest, with the owners, modes and links of a secret volume and of credentials; and is refused
where anybody may read one. In namespaces of its own, so only root can run it."""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from fake_service import wait_for

SERVER, TOKEN, SOURCE = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
MANIFEST = (SOURCE / "tools/fleet/fleet.yaml").read_text(encoding="utf-8")
API_TOKEN = "a token of sixteen or more".replace(" ", "-")
DYNAMIC_USER = 61234  # as systemd makes them

# The mounts of a container, in namespaces that go with it. The folders that are mounted hide no
# other, and the port is the namespace's own.
CONTAINER = """set -e
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
mkdir -p /mnt/etc/lockstep /mnt/lib/lockstep
mount --bind "$1/config" /mnt/etc/lockstep
mount --bind "$1/state" /mnt/lib/lockstep
mount --rbind /mnt/etc /etc
mount --rbind /mnt/lib /var/lib
shift
exec "$@"
"""


def number(name):
    return int(re.search(rf"^ *{name}: (\d+)", MANIFEST, re.M)[1])


def make(path, content, mode, user, group):
    path.write_text(content, encoding="ascii")
    path.chmod(mode)
    os.chown(path, user, group)


def key_of(folder):
    subprocess.run([TOKEN, "new-key", folder / "new"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    key = (folder / "new").read_text(encoding="ascii")
    (folder / "new").unlink()
    return key


def starts(words, log, is_started, environment=None):
    """Starts it and ends it; how it ended, if that was before it was there."""
    with open(log, "w", encoding="utf-8") as errors:
        with subprocess.Popen([str(word) for word in words], stderr=errors, text=True,
                              env={**os.environ, **(environment or {})}) as server:
            wait_for(lambda: is_started() or server.poll() is not None, "it starts or ends")
            code = server.poll()
            server.terminate()
            server.wait()
    return code, log.read_text(encoding="utf-8")


def as_user(user, group, *groups):
    named = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", f"--reuid={user}", f"--regid={group}", *named]


def as_in_kubernetes(root, mode, group):
    """A volume: the files stand in a folder of their own, which a link names, and links to them."""
    newest = root / "config/..2026_11_28"
    shutil.rmtree(root / "config", ignore_errors=True)
    shutil.rmtree(root / "state", ignore_errors=True)
    newest.mkdir(parents=True)
    os.chown(newest, 0, group)
    (root / "config/..data").symlink_to(newest.name)
    config = re.search(r"lockstep\.toml: \|\n((?:    .*\n)+)", MANIFEST)[1].replace("    ", "")
    for name, content in (("lockstep.toml", config), ("game.key", key_of(root))):
        make(newest / name, content, mode, 0, group)
        (root / "config" / name).symlink_to(f"..data/{name}")
    (root / "state").mkdir()
    (root / "state").chmod(0o2777)
    os.chown(root / "state", 0, group)


def in_pod(root):
    user, group = number("runAsUser"), number("runAsGroup")
    words = ["unshare", "-mn", "sh", "-c", CONTAINER, "sh", root,
             *as_user(user, group, number("fsGroup")), SERVER,
             "--config", "/etc/lockstep/lockstep.toml", "--port-file", "/var/lib/lockstep/port"]
    return starts(words, root / "log", (root / "state/port").exists)


def test_fleet(root):
    image = (SOURCE / "tools/package/Containerfile").read_text(encoding="utf-8")
    users = set(re.findall(r"(?:--[ug]id|USER) (\d+)", image))
    users.add(re.search("USER .*:(.*)", image)[1])
    assert users == {str(number(name)) for name in ("runAsUser", "runAsGroup", "fsGroup")}, users
    mode = int(re.search(r"defaultMode: (0\d+)", MANIFEST)[1], 8)
    as_in_kubernetes(root, mode, number("fsGroup"))
    code, log = in_pod(root)
    assert code is None, log
    as_in_kubernetes(root, 0o444, 0)
    code, log = in_pod(root)
    assert code == 1 and "other users may read or write /etc/lockstep/game.key" in log, (code, log)


def let_user_read(path, user):
    """As systemd does where a file is root's: by an access list, whose mask shows as the group."""
    entries = ((0x01, 4, 0xffffffff), (0x02, 4, user), (0x04, 0, 0xffffffff),
               (0x10, 4, 0xffffffff), (0x20, 0, 0xffffffff))
    bytes_of = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)
    os.setxattr(path, "system.posix_acl_access", bytes_of)
    assert path.stat().st_mode & 0o777 == 0o440


def test_credentials(root):
    folder = root / "credentials"
    folder.mkdir(mode=0o755)
    names = ("lockstep-token-key", "lockstep-api-token", "lockstep-identity")
    identity = ("lockstep server identity 1\n" f"private-key {'17' * 32}\n"
                f"invite-secret {'23' * 16}\n")
    for name, content in zip(names, (key_of(root), API_TOKEN + "\n", identity)):
        make(folder / name, content, 0o400, 0, 0)
        let_user_read(folder / name, DYNAMIC_USER)
    unit = (SOURCE / "tools/package/systemd/lockstep-server.service").read_text(encoding="utf-8")
    assert set(re.findall("LoadCredential=(.*)", unit)) >= set(names)
    config = root / "credentials.toml"
    config.write_text(f"""workers = 1
[server]
bind = "127.0.0.1"
port = 0
token-key = "$CREDENTIALS_DIRECTORY/{names[0]}"
identity = "$CREDENTIALS_DIRECTORY/{names[2]}"
[http]
port = 0
token-file = "$CREDENTIALS_DIRECTORY/{names[1]}"
""", encoding="ascii")
    config.chmod(0o644)
    (root / "free").mkdir()
    (root / "free").chmod(0o777)

    def start(environment):
        (root / "free/http-port").unlink(missing_ok=True)
        words = [*as_user(DYNAMIC_USER, DYNAMIC_USER), SERVER, "--config", config,
                 "--http-port-file", root / "free/http-port"]
        return starts(words, root / "log", (root / "free/http-port").exists, environment)

    given = {"CREDENTIALS_DIRECTORY": str(folder)}
    code, log = start(given)
    assert code is None and "17171717" not in log and API_TOKEN not in log, (code, log)
    code, log = start({"CREDENTIALS_DIRECTORY": ""})
    assert code in (1, 2), log
    for name in names:
        before = (folder / name).stat().st_mode
        (folder / name).chmod(0o444)
        code, log = start(given)
        words = f"other users may read or write $CREDENTIALS_DIRECTORY/{name}"
        assert code == 1 and words in log, (name, code, log)
        os.chmod(folder / name, before & 0o777)


def main():
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
        print("skipped: only root has users and namespaces to give")
        return
    with tempfile.TemporaryDirectory(prefix="lockstep-secrets-") as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        test_fleet(root)
        test_credentials(root)


if __name__ == "__main__":
    main()
