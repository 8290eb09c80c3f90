"""A headless Firefox, driven through its Marionette protocol, plays a match as a bot to the end.

usage: firefox.py URL [PICTURE]    the last report, as JSON"""

import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 120
REPORT = "JSON.parse(document.body.dataset.report ?? '{}')"


class Firefox:
    """With a profile of its own, which ends with it."""

    def __init__(self, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (pathlib.Path(folder) / "user.js").write_text(
            f'user_pref("marionette.port", {port});\n'
            'user_pref("browser.shell.checkDefaultBrowser", false);\n', encoding="ascii")
        self.process = subprocess.Popen(
            ["firefox-esr", "--headless", "--marionette", "--no-remote", "--profile", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder})
        self.bytes, self.last = b"", 0
        self.connection = self._connect(port)
        self._receive()  # who it is
        self.call("WebDriver:NewSession", {"capabilities": {}})

    @staticmethod
    def _connect(port):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
            except OSError:
                assert time.monotonic() < end, "Firefox does not listen"
                time.sleep(0.1)

    def _receive(self):
        """A message is its size, a colon and JSON."""
        size, colon, rest = self.bytes.partition(b":")
        while not colon or len(rest) < int(size):
            self.bytes += self.connection.recv(65536)
            size, colon, rest = self.bytes.partition(b":")
        self.bytes = rest[int(size):]
        return json.loads(rest[:int(size)])

    def call(self, name, words):
        self.last += 1
        text = json.dumps([0, self.last, name, words]).encode()
        self.connection.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._receive()
        assert not error, error
        return result

    def evaluate(self, expression):
        words = {"script": f"return {expression}", "args": []}
        return self.call("WebDriver:ExecuteScript", words)["value"]

    def until(self, expression):
        """Waits until it is true, and gives its value."""
        end = time.monotonic() + PATIENCE_S
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < end, (
                expression, self.evaluate("document.getElementById('words').textContent"))
            time.sleep(0.05)
        return value

    def picture(self, path):
        shot = self.call("WebDriver:TakeScreenshot", {"full": False})["value"]
        pathlib.Path(path).write_bytes(base64.b64decode(shot))

    def close(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait(PATIENCE_S)


def play(firefox, url, picture):
    firefox.call("WebDriver:Navigate", {"url": url.replace("#", "?bot#", 1)})
    firefox.until("document.activeElement?.id === 'play'")
    firefox.evaluate("document.getElementById('play').click()")
    if picture:
        firefox.until(f"Number({REPORT}.tick) >= 120")
        firefox.picture(picture)
    return firefox.until(f"{REPORT}.state === '7' && {REPORT}")


def main():
    url, picture = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(prefix="lockstep-", ignore_cleanup_errors=True) as name:
        firefox = Firefox(name)
        try:
            print(json.dumps(play(firefox, url, picture)))
        finally:
            firefox.close()


main()
