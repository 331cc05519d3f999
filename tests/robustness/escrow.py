#!/usr/bin/env python3
"""examples/escrow as it is shipped: its schedules are those of the scenarios, and it runs on both kinds of log.

Usage: escrow.py PROGRAM [--long]. Prints a line per check. On Kafka only with --long; where it cannot be had, that one
is skipped.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_server import Kafka  # noqa: E402
from processes import Bartleby, run_checks, wait_for  # noqa: E402
from script_server import Missing  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/escrow"
PATIENCE = 150
COMMANDS = [  # worker, what the service is asked for, topic, type
    ("ton-deposit-watcher", "watch", "escrow.commands", "WATCH_DEPOSIT"),
    ("payout-executor", "payout", "escrow.commands", "EXECUTE_PAYOUT"),
    ("refund-executor", "refund", "escrow.commands", "EXECUTE_REFUND"),
    ("deal-timeout", "timeout", "deal.deadlines", "DEADLINE"),
    ("post-scheduler", "publish", "delivery.commands", "PUBLISH_POST"),
    ("delivery-verifier", "verify", "delivery.commands", "VERIFY_DELIVERY"),
    ("reconciliation", "reconcile", "reconciliation.triggers", "TRIGGER"),
]
GROUPS = sorted(f"cg-{one}" for one in ("deposit-watcher", "payout-executor", "refund-executor", "deal-timeout",
                                         "post-scheduler", "delivery-verifier", "reconciliation"))


def settings(text, worker):
    """What a configuration says of a worker: topics, match and retries, as text without where it came from."""
    block = re.search(rf"^  {worker}:\n((?:    .*\n)+)", re.sub(r" +#.*", "", text) + "\n", re.M).group(1)
    flat = re.sub(r"[\s{}]+", " ", block)
    return {key: re.search(rf"\b{key}: ?(\[[^\]]*\]|\S+?)[, ]", flat).group(1)
            for key in ("topics", "max_retries", "schedule", "is") if f"{key}:" in flat}


def schedules_are_those_of_the_scenarios(program):
    shown = subprocess.run([program, "config", "show", "-c", EXAMPLE / "bartleby.yaml"], capture_output=True, text=True,
                           check=True, env={**os.environ, "ESCROW_URL": "http://127.0.0.1:1"}).stdout
    scenarios = sorted((ROOT / "tests/scenario").glob("commands_*.scenario"))
    assert len(scenarios) == len(COMMANDS), scenarios
    for scenario in scenarios:
        worker = scenario.stem.removeprefix("commands_").replace("_", "-")
        wanted = settings(scenario.read_text().split("---")[0], worker)
        assert settings(shown, worker) == wanted, (worker, settings(shown, worker), wanted)
    groups = re.findall(r"^    group: (\S+)", shown, re.M)
    assert sorted(groups) == GROUPS, groups


class Example(Bartleby):
    """`examples/escrow/run`, in a folder of its own."""

    def __init__(self, program, folder, arguments=()):
        super().__init__(program, folder, environment={**os.environ, "BARTLEBY": str(program)})
        self.command = [str(EXAMPLE / "run"), "--data-dir", str(pathlib.Path(folder, "data")), *arguments]

    def command_for(self, topic, what, deal, **how):
        body = json.dumps({"event_type": what, "deal": deal, **how})

        path, key = f"/api/v1/topics/{topic}/messages", {"Bartleby-Key": f"deal-{deal}"}

        def sent():
            return self.call("POST", path, body, key)[0] == 200
        wait_for(f"{topic} to take a command", sent, PATIENCE)

    def done(self):
        """What it was asked for, deal: what the service says that it has done for the first time."""
        return sorted(re.findall(r"([a-z-]+) (\d+) attempt \d+ done$", self.log.read_text(), re.M))

    def gives_up_one(self):
        """Not while its next attempt runs: nothing is parked then, and the order means nobody."""
        status, body = self.call("POST", "/api/v1/workers/payout-executor/parked:give-up", '{"all": true}')
        assert status == 200, body
        return body["messages"] == 1

    def letters(self):
        found = self.get("/api/v1/letters?limit=50&q=dlq:escrow.commands.dlq")["items"]
        return sorted((one["reason"], one["attempts"]) for one in found)


def goes_through(program, folder, arguments=()):
    example = Example(program, folder, arguments).start(PATIENCE)
    try:
        for deal, (_, _, topic, what) in enumerate(COMMANDS):
            example.command_for(topic, what, deal)
        example.command_for("escrow.commands", "EXECUTE_PAYOUT", 20, fails=2)
        example.command_for("escrow.commands", "EXECUTE_PAYOUT", 21, fails=-1)
        example.command_for("escrow.commands", "EXECUTE_PAYOUT", 22, wrong=True)
        wanted = [(asked, str(deal)) for deal, (_, asked, _, _) in enumerate(COMMANDS)]
        wanted = sorted([*wanted, ("payout", "20")])
        wait_for("all that can be done", lambda: len(example.done()) >= len(wanted), PATIENCE)
        assert example.done() == wanted, example.log.read_text()
        wait_for("the one that always fails to be given up", example.gives_up_one, PATIENCE)
        wait_for("two letters", lambda: len(example.letters()) == 2, PATIENCE)
        reasons = [reason for reason, _ in example.letters()]
        assert reasons == ["GIVEN_UP", "REJECTED"], example.letters()
        dlqs = {one["name"]: one["class"] for one in example.get("/api/v1/dlqs")["items"]}
        assert dlqs["escrow.commands.dlq"] == "financial", dlqs
        assert example.done() == wanted, example.log.read_text()
    finally:
        example.terminate()


def runs_on_the_embedded_log(program):
    with tempfile.TemporaryDirectory() as folder:
        goes_through(program, folder)


def runs_on_kafka(program, kafka):
    with tempfile.TemporaryDirectory() as folder:
        goes_through(program, folder, ["--kafka", kafka.bootstrap])


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    status = run_checks([schedules_are_those_of_the_scenarios, runs_on_the_embedded_log], program)
    if "--long" not in sys.argv:
        return status
    with tempfile.TemporaryDirectory() as folder:
        try:
            kafka = Kafka(folder)
        except Missing as why:
            print(f"skip runs_on_kafka no Apache Kafka here: {why}")
            return status
        try:
            return status | run_checks([runs_on_kafka], program, kafka)
        finally:
            kafka.stop()


if __name__ == "__main__":
    sys.exit(main())
