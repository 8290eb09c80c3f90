"""HTTP of a service with a certificate: who trusts it gets in by TLS 1.2 or 1.3, who speaks plain
HTTP does not, and a certificate that is put in place of the old one counts for new connections,
while the stream of events goes on over the old one."""

import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile

from described import API
from fake_service import PATIENCE_S, wait_for

SERVER, ADMIN = sys.argv[1:3]
TOKEN = "a-token-of-somebody-else"


def make_certificate(folder, number):
    """A certificate of its own and its key, put in the place of those that are there."""
    for place in ("next.crt", "next.key"):
        (folder / place).unlink(missing_ok=True)
    subprocess.run(
        ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-subj", f"/CN=server {number}",
         "-set_serial", str(number), "-days", "30",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "next.key", "-out", folder / "next.crt"],
        check=True, capture_output=True)
    (folder / "next.key").chmod(0o600)
    shutil.copyfile(folder / "next.crt", folder / f"trusted-{number}.crt")


def put_in_place(folder):
    (folder / "next.key").replace(folder / "server.key")
    (folder / "next.crt").replace(folder / "server.crt")


def context_for(folder, number):
    return ssl.create_default_context(cafile=folder / f"trusted-{number}.crt")


class Service:
    def __init__(self, folder):
        self.folder = folder
        (folder / "token").write_text(TOKEN, encoding="ascii")
        (folder / "token").chmod(0o600)
        self.config = folder / "lockstep.toml"
        self.config.write_text(f"""workers = 1
[server]
bind = "127.0.0.1"
port = 0
identity = "{folder}/identity"
[http]
port = 0
token-file = "{folder}/token"
tls-certificate = "{folder}/server.crt"
tls-key = "{folder}/server.key"
""", encoding="ascii")

    def start(self):
        port = self.folder / "port"
        port.unlink(missing_ok=True)
        log = open(self.folder / "log", "w", encoding="utf-8")
        with log:
            self.process = subprocess.Popen(
                [SERVER, "--config", self.config, "--http-port-file", port], stderr=log)
        wait_for(lambda: port.exists() or self.process.poll() is not None, "it starts or ends")
        self.port = int(port.read_text(encoding="ascii")) if port.exists() else 0

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=PATIENCE_S) == 0, self.log()

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8")

    def connect(self, context):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S,
                                           context=context)

    def ask(self, context, path):
        connection = self.connect(context)
        connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text

    def serial(self):
        text = ssl.get_server_certificate(("127.0.0.1", self.port))
        run = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=text, text=True,
                             capture_output=True, check=True)
        return int(re.search("serial=(.*)", run.stdout)[1], 16)


def is_refused(call):
    try:
        call()
        return False
    except (OSError, http.client.HTTPException):
        return True


def plain(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", "/healthz")
    connection.getresponse()


def test_who_gets_in(service):
    folder = service.folder
    context = context_for(folder, 1)
    assert service.ask(context, "/healthz") == (200, "ok\n")
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context.minimum_version = context.maximum_version = version
        status, text = service.ask(context, API + "/service")
        assert status == 200 and json.loads(text)["workers"] == 1, text
    assert f"https://127.0.0.1:{service.port}/" in service.log()
    assert is_refused(lambda: plain(service.port))
    assert is_refused(lambda: service.ask(ssl.create_default_context(), "/healthz"))
    words = [ADMIN, "--url", f"https://127.0.0.1:{service.port}", "--token-file", folder / "token",
             "--ca-file", folder / "trusted-1.crt", "service"]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and "0 rooms on 1 workers" in run.stdout, run
    run = subprocess.run([*words[:5], "service"], capture_output=True, text=True, check=False)
    assert run.returncode == 1, run


def test_silent_connections_keep_nobody_out(service):
    """So many that the oldest have to go."""
    silent = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(100)]
    assert service.ask(context_for(service.folder, 1), "/healthz")[0] == 200
    for one in silent:
        one.close()


def test_certificate_changes(service):
    folder = service.folder
    follower = service.connect(context_for(folder, 1))
    follower.request("GET", API + "/events", headers={"Authorization": f"Bearer {TOKEN}"})
    events = follower.getresponse()
    assert events.status == 200
    assert service.serial() == 1
    make_certificate(folder, 2)
    put_in_place(folder)
    wait_for(lambda: service.serial() == 2, "the new certificate")
    assert service.ask(context_for(folder, 2), "/healthz")[0] == 200
    (folder / "server.key").write_text("no key", encoding="ascii")
    wait_for(lambda: "the certificate stays as it was" in service.log(), "a word about it")
    assert service.serial() == 2
    make_certificate(folder, 3)
    (folder / "next.key").chmod(0o644)
    put_in_place(folder)
    wait_for(lambda: "chmod 600" in service.log(), "what is to be done")
    assert service.serial() == 2
    (folder / "server.key").chmod(0o600)
    wait_for(lambda: service.serial() == 3, "the new certificate")
    run = subprocess.run(
        [ADMIN, "--url", f"https://127.0.0.1:{service.port}", "--token-file", folder / "token",
         "--ca-file", folder / "trusted-3.crt", "create", "name=late"],
        capture_output=True, text=True, check=False)
    assert run.returncode == 0, run
    line = events.readline()
    while not line.startswith(b"data:"):
        line = events.readline()
    assert json.loads(line[5:])["room"] == "late", line
    follower.close()


def test_files_that_are_no_good(service):
    folder = service.folder
    make_certificate(folder, 4)
    (folder / "next.crt").replace(folder / "server.crt")
    for key, words in (("no key", "no certificate and key"),
                       ((folder / "next.key").read_text(encoding="ascii"), None)):
        (folder / "server.key").write_text(key, encoding="ascii")
        (folder / "server.key").chmod(0o600)
        service.start()
        if words:
            assert service.process.wait() in (1, 2) and words in service.log(), service.log()
        else:
            service.stop()
    make_certificate(folder, 5)
    (folder / "next.key").replace(folder / "server.key")
    service.start()
    assert service.process.wait() in (1, 2) and "is not that of the certificate" in service.log()
    (folder / "server.key").chmod(0o644)
    service.start()
    assert service.process.wait() == 1 and "chmod 600" in service.log(), service.log()


def main():
    if not shutil.which("openssl"):
        print("skipped: openssl is not there, which makes the certificates")
        return
    with tempfile.TemporaryDirectory(prefix="lockstep-tls-") as folder:
        service = Service(pathlib.Path(folder))
        make_certificate(service.folder, 1)
        put_in_place(service.folder)
        service.start()
        try:
            test_who_gets_in(service)
            test_silent_connections_keep_nobody_out(service)
            test_certificate_changes(service)
            service.stop()
        finally:
            if service.process.poll() is None:
                print(service.log(), file=sys.stderr)
                service.process.kill()
        test_files_that_are_no_good(service)


if __name__ == "__main__":
    main()
