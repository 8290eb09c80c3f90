"""Programs of all platforms in one match: a server and a client of this machine, and clients of
others."""

import arm64
import mixed_match
import stages
import windows


def make_sources():
    arm64.make_sysroot()
    return windows.make_libraries()


def build():
    stages.build("arm64", "lockstep-client")
    stages.build("windows", "lockstep-client")
    stages.build("release", "lockstep-server", "lockstep-client", "lockstep-netcond")
    return "a client for each"


def play_match():
    return mixed_match.play({
        "arm64": [*arm64.EMULATOR, arm64.BUILD / "bin" / "lockstep-client"],
        "windows": windows.client(),
    })


def play(report):
    report.stage("libraries", make_sources)
    report.stage("build", build, needs=["libraries"])
    report.stage("match of all", play_match, needs=["build"])
