"""A headless browser, driven through the pipe of its debugging protocol."""

import fcntl
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
PATIENCE_S = 300


def find():
    """None: no browser is installed."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def own_address():
    """This machine's, but for that of its loopback, from which browsers open no data channels; "":
    there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return ""
        address = probe.getsockname()[0]
        return "" if address.startswith("127.") else address


def _out_of_the_way(descriptor):
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 20)
    os.close(descriptor)
    return moved


class Browser:
    """A page in a browser of its own; `with` ends it."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.commands = map(_out_of_the_way, os.pipe())
        self.answers, answers = map(_out_of_the_way, os.pipe())

        def connect():  # the protocol's places, in the browser's process
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={self.directory.name}", "about:blank"],
            preexec_fn=connect,
            pass_fds=(3, 4),
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.dialogs = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        self.ask("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_S)
        os.close(self.commands)
        os.close(self.answers)
        self.directory.cleanup()

    def _send(self, method, parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        return self.number

    def _receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.answers, 65536)
            assert piece, "the browser has ended"
            self.buffer += piece
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def ask(self, method, **parameters):
        """One command; questions that the page asks meanwhile are answered with yes, with what
        they suggest, or with "be kind"."""
        number = self._send(method, parameters)
        while True:
            message = self._receive()
            if message.get("method") == "Page.javascriptDialogOpening":
                self.dialogs.append(message["params"]["message"])
                given = message["params"].get("defaultPrompt") or "be kind"
                self._send("Page.handleJavaScriptDialog", {"accept": True, "promptText": given})
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    def open(self, address):
        self.ask("Page.navigate", url=address)

    def run(self, script):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait_for(self, script):
        """Until the expression is true, or a page that is not there yet has it."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
            value = answer["result"].get("value")
            if value and "exceptionDetails" not in answer:
                return value
            time.sleep(0.1)
        raise AssertionError(f"never came true: {script}\n" + self.run("document.body.innerText"))
