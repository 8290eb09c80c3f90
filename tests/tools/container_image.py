"""The image of lockstep-server, built by buildah from the Containerfile as it is in the tree: what
it starts, as whom, and how it ends.

usage: container_image.py SOURCE_DIR"""

import json
import shutil
import subprocess
import sys
import uuid

SOURCE = sys.argv[1]
BASE = "docker.io/library/debian:12-slim"
RUN = """id -un
/usr/bin/lockstep-server --version
/usr/bin/lockstep-server --config /etc/lockstep/lockstep.toml 2>&1 &
sleep 3; kill -TERM $!; wait $!; echo exit code $?"""


def buildah(*words):
    return subprocess.run(["buildah", *words], capture_output=True, text=True, check=False)


def checked(*words):
    result = buildah(*words)
    if result.returncode != 0:
        sys.exit(f"buildah {words}: {result.stdout[-3000:]}{result.stderr[-3000:]}")
    return result.stdout.strip()


def main():
    if not shutil.which("buildah"):
        print("skipped: buildah is not there")
        return
    if buildah("inspect", "--type", "image", BASE).returncode != 0:
        print(f"skipped: buildah has no image {BASE}, and a test asks no registry for one")
        return
    tag = f"localhost/lockstep-test-{uuid.uuid4().hex}"
    checked("bud", "--isolation", "chroot", "--pull-never", "-t", tag,
            "-f", f"{SOURCE}/tools/package/Containerfile", SOURCE)
    container = checked("from", "--pull-never", tag)
    try:
        config = json.loads(checked("inspect", "--type", "image", tag))["OCIv1"]["config"]
        assert config["User"] == "10001:10001" and config["StopSignal"] == "SIGTERM", config
        said = checked("run", "--isolation", "chroot", container, "--", "bash", "-c", RUN)
        assert said.startswith("lockstep\nlockstep-server "), said
        assert "listening on" in said and said.endswith("exit code 0"), said
    finally:
        buildah("rm", container)
        buildah("rmi", tag)


main()
