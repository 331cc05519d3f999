#!/usr/bin/env python3
"""Alerts to a real Alertmanager: there with their severity, ended with the letters, and nobody waits.

Usage: alerts.py PROGRAM
"""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import exposition  # noqa: E402
from processes import Bartleby, Endpoint, free_port, run_checks, wait_for  # noqa: E402


class Alertmanager:
    def __init__(self):
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory()
        self.process = None

    def start(self):
        path = pathlib.Path(self.folder.name, "am.yml")
        path.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        self.process = subprocess.Popen(
            ["prometheus-alertmanager", f"--config.file={path}", f"--storage.path={self.folder.name}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--cluster.listen-address="],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("Alertmanager", self.ready)
        return self

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return json.load(answer) if "json" in answer.headers["content-type"] else answer.read()

    def ready(self):
        try:
            self.get("/-/ready")
            return True
        except OSError:
            return False

    def alerts(self):
        """Those that hold, by name and dlq or issue."""
        return {(a["labels"]["alertname"], a["labels"].get("dlq", "")): a for a in self.get("/api/v2/alerts")}

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def end(self):
        self.kill()
        self.folder.cleanup()


CONFIG = """
dlqs: {{payouts.dlq: {{class: financial}}}}
alerts: {{alertmanager: {{url: "http://127.0.0.1:{port}"}}, log: {{}}, resend: 1s}}
defaults: {{retry: {{max_attempts: 1}}, guard: null, handler: {{http: {{url: "{url}"}}}}}}
workers: {{payouts: {{}}, mails: {{}}}}
"""


class World:
    def __init__(self, program, folder, port, config=CONFIG):
        self.endpoint = Endpoint(lambda _message: 500)
        self.path = pathlib.Path(folder, "alerts.yaml")
        self.path.write_text(config.format(port=port, url=self.endpoint.url))
        self.bartleby = Bartleby(program, folder, ["-c", str(self.path)]).start()

    def send(self, topic, value="x"):
        assert self.bartleby.call("POST", f"/api/v1/topics/{topic}/messages", value)[0] == 200

    def letters(self, query):
        return self.bartleby.get(f"/api/v1/letters?q={query}")["items"]

    def errors(self):
        page = exposition.parse(self.bartleby.get("/metrics").decode())
        return page["bartleby_alert_push_errors_total"].samples[("", (("to", "alertmanager"),))]

    def end(self):
        self.bartleby.end()
        self.endpoint.end()


def in_world(check):
    def run(program):
        with tempfile.TemporaryDirectory() as folder:
            alertmanager = Alertmanager().start()
            world = World(program, folder, alertmanager.port)
            try:
                return check(world, alertmanager)
            finally:
                world.end()
                alertmanager.end()
    run.__name__ = check.__name__
    return run


@in_world
def letters_are_alerts_until_they_are_dealt_with(world, alertmanager):
    assert alertmanager.alerts() == {}
    world.send("payouts")
    world.send("mails")
    wait_for("both alerts", lambda: {("LetterArrived", "payouts.dlq"), ("LetterArrived", "mails.dlq")}
             <= set(alertmanager.alerts()))
    about_money = alertmanager.alerts()["LetterArrived", "payouts.dlq"]
    assert about_money["labels"] == {"alertname": "LetterArrived", "dlq": "payouts.dlq", "class": "financial",
                                     "severity": "critical"}, about_money
    assert about_money["generatorURL"].startswith(f"http://127.0.0.1:{world.bartleby.port}/letters?q="), about_money
    assert alertmanager.alerts()["LetterArrived", "mails.dlq"]["labels"]["severity"] == "warning"
    wait_for("the issue", lambda: ("IssueNew", "") in alertmanager.alerts())
    world.send("payouts", "y")
    wait_for("the count to follow", lambda: alertmanager.alerts()["LetterArrived", "payouts.dlq"]["annotations"]["open"]
             == "2")
    # Discarded here, replayed there: both end it.
    for letter in world.letters("dlq:payouts.dlq"):
        assert world.bartleby.call("POST", f"/api/v1/letters/{letter['id']}:discard", "{}")[0] == 200
    wait_for("the alert to end", lambda: ("LetterArrived", "payouts.dlq") not in alertmanager.alerts())
    assert ("LetterArrived", "mails.dlq") in alertmanager.alerts()
    world.endpoint.decide = lambda _message: 200
    for letter in world.letters("dlq:mails.dlq"):
        assert world.bartleby.call("POST", f"/api/v1/letters/{letter['id']}:replay", "{}")[0] in (200, 202)
    wait_for("all to end", lambda: alertmanager.alerts() == {})
    assert world.errors() == 0
    log = world.bartleby.log.read_text()
    for event in ("letter_arrived", "dlq_publish_ok", "dlq_consumer_started", "alert_raised", "alert_ended"):
        assert event in log, event


@in_world
def one_that_is_away_is_told_later_and_nobody_waits(world, alertmanager):
    alertmanager.kill()
    world.send("payouts")
    wait_for("the letter", lambda: world.letters("dlq:payouts.dlq"))
    wait_for("two tries", lambda: world.errors() >= 2)
    world.send("mails")
    wait_for("another letter meanwhile", lambda: world.letters("dlq:mails.dlq"))
    assert "alert_push_failed" in world.bartleby.log.read_text()
    alertmanager.start()
    wait_for("both alerts", lambda: {("LetterArrived", "payouts.dlq"), ("LetterArrived", "mails.dlq")}
             <= set(alertmanager.alerts()))
    wait_for("a word of it", lambda: "alert_push_works_again" in world.bartleby.log.read_text())
    # A start anew tells the same: it is all in the store.
    world.bartleby.terminate()
    alertmanager.end()
    alertmanager.folder = tempfile.TemporaryDirectory()
    alertmanager.start()
    world.bartleby.start()
    wait_for("both alerts again", lambda: {("LetterArrived", "payouts.dlq"), ("LetterArrived", "mails.dlq")}
             <= set(alertmanager.alerts()))


@in_world
def a_reload_changes_who_is_told(world, alertmanager):
    other = Alertmanager().start()
    try:
        world.path.write_text(CONFIG.format(port=other.port, url=world.endpoint.url))
        world.bartleby.process.send_signal(signal.SIGHUP)
        world.send("mails")
        wait_for("the alert at the other", lambda: ("LetterArrived", "mails.dlq") in other.alerts())
    finally:
        other.end()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    if shutil.which("prometheus-alertmanager") is None:
        print("skip alerts there is no Alertmanager here (Debian: prometheus-alertmanager)")
        return 0
    return run_checks([letters_are_alerts_until_they_are_dealt_with, one_that_is_away_is_told_later_and_nobody_waits,
                       a_reload_changes_who_is_told], program)


if __name__ == "__main__":
    sys.exit(main())
