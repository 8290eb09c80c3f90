"""The Debian packages of a build: what is in them, what they pull in, and what lintian, man and
bash say of them.

usage: debian_packages.py BUILD_SCRIPT BUILD_DIR"""

import gzip
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SCRIPT, BUILD = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
PARTS = ("server", "client", "window", "tools", "lib", "dev", "common")
PACKAGES = {part: "liblockstep0" if part == "lib" else f"lockstep-{part}" for part in PARTS}
PROGRAMS = {
    "server": {"lockstep-server", "lockstep-admin", "lockstep-relay", "lockstep-token"},
    "client": {"lockstep-client"},
    "window": set(),
    "lib": set(),
    "dev": set(),
    "common": set(),
}


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        sys.exit(f"{command}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def version_of_commit():
    """That of the project, and of the commit unless that has the version's tag."""
    root = SCRIPT.parents[2]

    def git(*words):
        return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True,
                              check=False).stdout.strip()

    project = re.search(r"project\(Lockstep VERSION (\S+)",
                        (root / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
    commit, changes = git("rev-parse", "--short=8", "HEAD"), git("status", "--porcelain", "-uno")
    if not commit or (f"v{project}" in git("tag", "--points-at", "HEAD").split() and not changes):
        return f"{project}-1"
    count = git("rev-list", "--count", "HEAD")
    return f"{project}+git{count}.{commit}{'.modified' if changes else ''}-1"


def check_parts(packages):
    for part in PARTS:
        fields = dict(re.findall(r"^(\S+): (.*)$", run("dpkg-deb", "-f", packages[part]),
                                 re.MULTILINE))
        depends = fields.get("Depends", "")
        assert fields["Package"] == PACKAGES[part]
        assert fields["Version"] == version_of_commit(), fields["Version"]
        is_documented = f"lockstep-common (= {fields['Version']})" in depends
        assert part in ("common", "lib") or is_documented, depends
        assert ("libsdl2" in depends) == (part == "window"), (part, depends)
        assert ("libcapstone" in depends) == (part == "tools"), (part, depends)
        assert part != "dev" or f"liblockstep0 (= {fields['Version']})" in depends, depends
        assert part != "lib" or not re.search("curl|gnutls|systemd|microhttpd", depends), depends


def check_trees(trees):
    for part in PARTS:
        names = {path.name for path in (trees[part] / "usr/bin").glob("*")}
        assert part == "tools" and "lockstep-replay" in names or names == PROGRAMS.get(part), names
        for name in names:
            page = gzip.decompress((trees[part] / f"usr/share/man/man1/{name}.1.gz").read_bytes())
            assert b"\n.SH OPTIONS\n" in page, name
            completion = trees[part] / "usr/share/bash-completion/completions" / name
            call = f"COMP_WORDS=({name} --); COMP_CWORD=1; _{name.replace('-', '_')}"
            offered = run("bash", "-c",
                          f"source {completion}; {call}; echo ${{COMPREPLY[@]}}").split()
            flags = set(re.findall(r"^ .*?(--[a-z][a-z0-9-]*)", run(
                trees[part] / "usr/bin" / name, "--help"), re.MULTILINE))
            assert {flag.rstrip("=") for flag in offered} == flags, (name, offered)
        document = trees[part] / f"usr/share/doc/{PACKAGES[part]}"
        assert "License: Expat" in (document / "copyright").read_text(encoding="utf-8")
        assert b"lockstep (" in gzip.decompress((document / "changelog.Debian.gz").read_bytes())
    server = trees["server"]
    check_units(server)
    check_tools(trees["tools"])
    for name in ("lockstep.toml", "relay.conf"):
        assert (server / "etc/lockstep" / name).is_file(), name
    assert (trees["dev"] / "usr/include/lockstep/simulation.h").is_file()
    check_library(trees["lib"], trees["dev"])
    assert list((trees["common"] / "usr/lib/lockstep").glob("*.so"))
    rules = next(trees["common"].rglob("tools/fleet/prometheus-rules.yaml"))
    assert "## Alerts" in (rules.parents[2] / "docs/operating.md").read_text(encoding="utf-8")
    assert "lockstep-server" in run(server / "usr/bin/lockstep-server", "--version")


def check_library(library, development):
    """What runs needs the library alone; what is built needs the rest."""
    # By their names: links lead to a file of another package.
    runs = {path.name for path in library.rglob("*")}
    builds = {path.name for path in development.rglob("*")}
    assert "liblockstep.so.0" in runs and "liblockstep.so" not in runs, runs
    wanted = {"liblockstep.so", "liblockstep.a", "lockstep.h", "lockstep.pc", "lockstep-static.pc"}
    wanted |= {"pyproject.toml", "Lockstep.cs", "Cargo.toml"}
    assert wanted <= builds, wanted - builds


def check_tools(tree):
    """Hosts size their machines with bench; the fault simulation is for who works on Lockstep."""
    names = {path.name for path in (tree / "usr/bin").glob("*")}
    assert "lockstep-bench" in names and "lockstep-faultsim" not in names, names


def check_units(server):
    """What systemd says of the units: whether it reads them, and how exposed the service is."""
    units = [server / "lib/systemd/system" / name
             for name in ("lockstep-server.service", "lockstep-relay.service",
                          "lockstep-server.socket")]
    assert all(unit.is_file() for unit in units)
    for unit in units[:2]:
        assert "\nRestartPreventExitStatus=2\n" in unit.read_text(encoding="utf-8")
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not there: the units were not checked by it")
        return
    with tempfile.TemporaryDirectory() as folder:
        copies = [pathlib.Path(folder, unit.name) for unit in units]
        for unit, copy in zip(units, copies):
            copy.write_text(re.sub("/usr/bin/lockstep-(server|relay)", "/bin/true",
                                   unit.read_text(encoding="utf-8")), encoding="utf-8")
        said = run("systemd-analyze", "verify", "--man=no", *copies)
        assert not said.strip(), said
        for copy in copies[:2]:
            said = run("systemd-analyze", "security", "--offline=true", copy)
            exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
            assert exposure and float(exposure[1]) <= 2.0, said


def check_by_others(packages, trees):
    if shutil.which("lintian"):
        said = subprocess.run(["lintian", "--allow-root", *packages.values()], text=True,
                              capture_output=True, check=False).stdout
        errors = [line for line in said.splitlines() if line.startswith("E:")]
        assert not errors, errors
        print(f"lintian: no errors, {said.count('W: ')} warnings")
    else:
        print("lintian is not there: the packages were not checked by it")
    if shutil.which("man"):
        for page in sorted(trees["tools"].glob("usr/share/man/man1/*.gz")):
            result = subprocess.run(["man", "--warnings", "-l", "-Tutf8", page], text=True,
                                    capture_output=True, check=False)
            assert result.returncode == 0 and not result.stderr.strip(), result.stderr
    else:
        print("man is not there: the manual pages were not rendered")


def main():
    names = run(SCRIPT, "--build", BUILD).split()
    packages = {part: name for part in PARTS for name in names
                if pathlib.Path(name).name.startswith(PACKAGES[part] + "_")}
    assert set(packages) == set(PARTS) and len(names) == len(PARTS), names
    check_parts(packages)
    with tempfile.TemporaryDirectory() as folder:
        trees = {part: pathlib.Path(folder, part) for part in PARTS}
        for part in PARTS:
            run("dpkg-deb", "-x", packages[part], trees[part])
        check_trees(trees)
        check_by_others(packages, trees)
    print("six packages are as they should be")


main()
