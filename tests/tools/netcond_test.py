"""lockstep-netcond as its users run it: bad input, files, signals, and a real match through it.

Usage: netcond_test.py DIRECTORY_OF_PROGRAMS [names of tests...]
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = ""
PATIENCE_S = 60


def program(name, *arguments):
    return [os.path.join(PROGRAMS, name), *map(str, arguments)]


class WithPrograms(unittest.TestCase):
    """What a test starts ends with it."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, name, *arguments):
        process = subprocess.Popen(
            program(name, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.communicate()

    def start_listening(self, name, *arguments):
        """The process and the port that it told."""
        file = self.path(f"port of {name}")
        process = self.start(name, "--port", 0, "--port-file", file, *arguments)
        deadline = time.monotonic() + PATIENCE_S
        while not (os.path.exists(file) and os.path.getsize(file)):
            self.assertIsNone(process.poll(), f"{name} ended")
            self.assertLess(time.monotonic(), deadline, f"{name} told no port")
            time.sleep(0.01)
        with open(file) as text:
            return process, int(text.read())

    def load(self, name):
        with open(self.path(name)) as file:
            return json.load(file)


class BadInput(WithPrograms):
    def refused(self, code, words, *arguments):
        done = subprocess.run(
            program("lockstep-netcond", *arguments),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_a_command_line_that_cannot_be_right_is_refused(self):
        server = "127.0.0.1:9"
        for words, arguments in (
            ("SERVER_HOST:PORT is missing", []),
            ("'x' is not HOST:PORT", ["x"]),
            ("the port in '127.0.0.1:0'", ["127.0.0.1:0"]),
            ("unexpected argument 'y'", [server, "y"]),
            ("unrecognized option '--nonsense'", [server, "--nonsense"]),
            ("'--delay' requires an argument", [server, "--delay"]),
            ("--delay takes a number from 0 to 10000", [server, "--delay", "-1"]),
            ("--jitter takes a number from 0 to 4000", [server, "--jitter", "4001"]),
            ("--loss takes a number from 0 to 100", [server, "--loss", "5%"]),
            ("--duplicate takes a number from 0 to 100", [server, "--duplicate", ""]),
            ("--reorder takes PCT[:MS]", [server, "--reorder", "1:2:3"]),
            ("--burst takes PCT:LENGTH[:LOSS]", [server, "--burst", "5"]),
            ("--rate takes a number from 0 to 10000000", [server, "--rate", "1.5"]),
            ("--bucket takes a number from 0 to 65536", [server, "--bucket", "65537"]),
            ("--queue takes a number from 3 to 65536", [server, "--queue", "1"]),
            ("--partition takes START:LENGTH[:EVERY]", [server, "--partition", "5"]),
            ("partition: it comes again", [server, "--partition", "0:9:9"]),
            ("--profile takes lan or wifi", [server, "--profile", "best"]),
            ("--up-loss takes a number from 0 to 100", [server, "--up-loss", "101"]),
            ("--down-delay takes a number", [server, "--down-delay", "x"]),
            ("--up-profile takes lan", [server, "--up-profile", "x"]),
            ("--seed takes a number", [server, "--seed", "18446744073709551616"]),
            ("--port takes a number from 0 to 65535", [server, "--port", "65536"]),
            ("--listen takes ADDR or ADDR:PORT", [server, "--listen", ""]),
            ("--listen PORT takes a number", [server, "--listen", "127.0.0.1:"]),
            ("--clients takes a number from 1 to 512", [server, "--clients", "513"]),
            ("--idle takes a number from 1 to 86400", [server, "--idle", "0"]),
        ):
            with self.subTest(arguments=arguments):
                self.refused(2, words, *arguments)

    def test_what_the_machine_does_not_give_is_told_from_bad_usage(self):
        taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        self.refused(1, f"cannot listen on {address}", "127.0.0.1:9", "--listen", address)
        taken.close()
        self.refused(2, "the server is the proxy itself", address, "--listen", address)
        file = self.path("no/such/directory")
        self.refused(1, f"cannot write to {file}", "127.0.0.1:9", "--port", 0, "--port-file", file)

    def test_help_lists_settings_and_profiles(self):
        done = subprocess.run(
            program("lockstep-netcond", "--help"), capture_output=True, text=True, check=True
        )
        for words in ("--delay=MS", "--burst=PCT:LENGTH[:LOSS]", "--up-NAME", "satellite:"):
            self.assertIn(words, done.stdout)
        self.assertNotIn("--up-delay", done.stdout)


class Run(WithPrograms):
    def stop(self, process, number):
        process.send_signal(number)
        output, log = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, log)
        return output, log

    def test_a_signal_ends_it_with_figures_of_what_passed(self):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for end in (server, client):
            self.addCleanup(end.close)
            end.settimeout(PATIENCE_S)
        server.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%u" % server.getsockname()[1]
        asked = ["--delay", "12.5", "--down-delay", "20", "--up-duplicate", "100", "--seed", "9"]
        process, port = self.start_listening("lockstep-netcond", address, "--json", "-", *asked)
        start = time.monotonic()
        client.sendto(b"ping", ("127.0.0.1", port))
        for _ in range(2):
            datagram, sender = server.recvfrom(100)
            self.assertEqual(datagram, b"ping")
        server.sendto(b"pong!", sender)
        self.assertEqual(client.recv(100), b"pong!")
        self.assertGreaterEqual(time.monotonic() - start, 0.0325)
        output, log = self.stop(process, signal.SIGTERM)
        report = json.loads(output)
        self.assertEqual(report["program"], "lockstep-netcond")
        self.assertEqual(report["server"], address)
        self.assertEqual(report["port"], port)
        self.assertEqual(report["seed"], "9")
        self.assertEqual(report["clients"], {"now": 1, "seen": 1, "forgotten": 0})
        up, down = report["up"], report["down"]
        self.assertEqual(up["asked"]["delay_ms"], 12.5)
        self.assertEqual(down["asked"]["delay_ms"], 20)
        self.assertEqual(up["asked"]["duplicate_percent"], 100)
        self.assertEqual(up["measured"]["received"], 1)
        self.assertEqual(up["measured"]["received_bytes"], 32)
        self.assertEqual(up["measured"]["forwarded"], 2)
        self.assertEqual(up["measured"]["duplicated"], 1)
        self.assertEqual(down["measured"]["forwarded_bytes"], 33)
        self.assertGreaterEqual(up["measured"]["delay_ms"]["min"], 12.5)
        self.assertGreaterEqual(down["measured"]["delay_ms"]["mean"], 20)
        self.assertEqual(down["measured"]["lost"]["total"], 0)
        self.assertIn("1 in, 2 out", log)

    def test_without_a_packet_there_are_figures_too(self):
        process, _ = self.start_listening(
            "lockstep-netcond", "127.0.0.1:9", "--quiet", "--json", self.path("json")
        )
        _, log = self.stop(process, signal.SIGINT)
        self.assertEqual(log, "")
        self.assertEqual(self.load("json")["up"]["measured"]["received"], 0)

    def test_a_report_that_cannot_be_written_is_a_failure(self):
        file = self.path("no/such/file")
        process, _ = self.start_listening("lockstep-netcond", "127.0.0.1:9", "--json", file)
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn(f"cannot write to {file}", log)


class Match(WithPrograms):
    TICKS = 180

    def test_a_match_over_a_bad_network_ends_with_equal_hashes(self):
        match = ["--sim", "arena", "--players", 2, "--ticks", self.TICKS, "--tick-rate", 60]
        server, server_port = self.start_listening(
            "lockstep-server", "--bind", "127.0.0.1", "--json", self.path("server"), *match
        )
        network = ["--profile", "bad", "--seed", 3, "--json", self.path("proxy")]
        proxy, port = self.start_listening(
            "lockstep-netcond", f"127.0.0.1:{server_port}", *network
        )
        clients = []
        for bot in range(2):
            player = ["--bot", bot, "--json", self.path(f"client {bot}")]
            clients.append(self.start("lockstep-client", f"127.0.0.1:{port}", *player))
        for process in (server, *clients):
            _, log = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(process.returncode, 0, log)
        proxy.send_signal(signal.SIGTERM)
        proxy.communicate(timeout=PATIENCE_S)
        ended = [self.load(name) for name in ("server", "client 0", "client 1")]
        self.assertEqual([end["final_tick"] for end in ended], [self.TICKS] * 3)
        self.assertEqual(len({end["final_hash"] for end in ended}), 1)
        self.assertGreaterEqual(ended[0]["hashes_compared"], 2 * self.TICKS)
        self.assertEqual(ended[0]["desyncs"], [])
        self.check_network(self.load("proxy"), ended[1:])

    def check_network(self, report, clients):
        """The match went through the bad network, and not around it."""
        self.assertEqual(report["clients"]["seen"], 2)
        for direction in ("up", "down"):
            measured = report[direction]["measured"]
            self.assertGreater(measured["received"], self.TICKS)
            self.assertGreater(measured["lost"]["random"], 0)
            self.assertGreater(measured["delay_ms"]["min"], 60)
        for client in clients:
            self.assertGreaterEqual(client["players"][0]["rtt_ms"], 120)


if __name__ == "__main__":
    PROGRAMS = sys.argv.pop(1)
    unittest.main(verbosity=2)
