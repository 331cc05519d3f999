#!/usr/bin/env python3
"""examples/tickets as it is shipped: on the embedded log, and on Kafka with Redis and a server of MongoDB's protocol.

Usage: tickets.py PROGRAM. Prints a line per check. Where one of the servers cannot be had, what needs it is skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_server import Kafka  # noqa: E402
from mongodb_server import MongodbServer  # noqa: E402
from processes import Bartleby, free_port, run_checks, wait_for  # noqa: E402
from script_server import Missing  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/tickets"
DLQ = "execution.tickets.dlq"
PATIENCE = 150
METADATA = {"original_error", "error_type", "retry_count", "last_failure_timestamp", "dlq_published_at"}


class Tickets(Bartleby):
    """`examples/tickets/run`, in a folder of its own."""

    def __init__(self, program, folder, arguments=(), **variables):
        super().__init__(program, folder, environment={**os.environ, "BARTLEBY": str(program), **variables})
        self.program = program
        self.command = [str(EXAMPLE / "run"), *arguments, "--data-dir", str(pathlib.Path(folder, "data"))]

    def send(self, number, **how):
        body = how.pop("raw", None) or json.dumps({"ticket_id": number, "task_type": "BUILD", **how})
        path, key = "/api/v1/topics/execution.tickets/messages", {"Bartleby-Key": str(number)}

        def sent():
            return self.call("POST", path, body, key)[0] == 200
        wait_for("a ticket to be taken", sent, PATIENCE)

    def done(self):
        """What the engine says that it has done for the first time."""
        return sorted(re.findall(r"^(\S+) attempt \d+ done$", self.log.read_text(), re.M))

    def repair(self):
        wait_for("the engine", lambda: "engine http" in self.log.read_text(), PATIENCE)
        url = re.search(r"^engine (\S+)$", self.log.read_text(), re.M).group(1)
        with urllib.request.urlopen(urllib.request.Request(url + "repair", data=b"", method="POST"), timeout=30):
            pass

    def cli(self, *words):
        done = subprocess.run([self.program, *words, "--server", f"http://127.0.0.1:{self.port}"], capture_output=True,
                              text=True, timeout=120, check=False)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def letters(self, query=f"dlq:{DLQ} state:open"):
        return self.get("/api/v1/letters?limit=50&q=" + query.replace(" ", "%20"))["items"]

    def metric(self, name, **labels):
        for line in self.get("/metrics").decode().splitlines():
            if line.startswith(name + "{") and dict(re.findall(r'(\w+)="([^"]*)"', line)) == labels:
                return float(line.split()[-1])
        return None


def dies_and_comes_back(example):
    """Tickets that go well, late, never and not at all; then the engine is repaired and dead ones are sent again."""
    example.send("t-ok")
    example.send("t-late", fails=2)
    example.send("t-never", fails=-1, task_type="DEPLOY")
    example.send("t-wrong", wrong=True, task_type="SING")
    example.send("t-text", raw="no ticket at all")
    wait_for("those that go well", lambda: len(example.done()) >= 2, PATIENCE)
    wait_for("three letters", lambda: len(example.letters()) == 3, PATIENCE)
    assert example.done() == ["t-late", "t-ok"], example.done()
    letters = {one["origin"]["key"]: one for one in example.letters()}
    assert letters["t-never"]["reason"] == "EXHAUSTED" and letters["t-never"]["attempts"] == 3, letters
    assert letters["t-never"]["error"]["type"] == "TimeoutError", letters["t-never"]
    assert letters["t-wrong"]["reason"] == letters["t-text"]["reason"] == "REJECTED", letters

    records = {one["key"]: one for one in example.messages(DLQ)}
    never = json.loads(records["t-never"]["value"])
    assert set(never["dlq_metadata"]) == METADATA, never
    assert never["dlq_metadata"]["retry_count"] == 3 and never["dlq_metadata"]["error_type"] == "TimeoutError", never
    assert never["ticket_id"] == "t-never" and never["fails"] == -1, never
    assert records["t-text"]["value"] == "no ticket at all", records["t-text"]  # no object: as it was

    for reason, task_type, count in (("max_retries_exceeded", "DEPLOY", 1), ("rejected", "other", 2)):
        found = example.metric("worker_agent_dlq_messages_total", reason=reason, task_type=task_type)
        assert found == count, (reason, task_type, found)
    listed = example.cli("letters", "ls", "-q", f"dlq:{DLQ}")
    assert "TimeoutError" in listed and "3 letters" in listed, listed

    example.repair()
    plan = example.cli("letters", "replay", "-q", f"dlq:{DLQ} error:TimeoutError")
    assert "Nothing sent" in plan, plan
    example.cli("letters", "replay", "-q", f"dlq:{DLQ} error:TimeoutError", "--yes", "--reason", "the farm is back")
    wait_for("it to be done", lambda: "t-never" in example.done(), PATIENCE)  # and without dlq_metadata: see engine.py
    wait_for("it to be resolved", lambda: len(example.letters(f"dlq:{DLQ} state:resolved")) == 1, PATIENCE)


def purges(example):
    example.cli("dlqs", "purge", DLQ, "--older-than", "90d", "--yes")
    assert len(example.letters()) == 2, "they are young"
    wait_for("them to be older than a second", lambda: len(example.letters(f"dlq:{DLQ} state:open before:1s")) == 2,
             PATIENCE)
    example.cli("dlqs", "purge", DLQ, "--older-than", "1s", "--yes")
    wait_for("none to be left", lambda: not example.letters(), PATIENCE)


def one_command_on_the_embedded_log(program):
    with tempfile.TemporaryDirectory() as folder:
        example = Tickets(program, folder).start(PATIENCE)
        try:
            dies_and_comes_back(example)
            purges(example)
        finally:
            example.terminate()


def variables_say_where_and_after_how_many_attempts(program):
    with tempfile.TemporaryDirectory() as folder:
        example = Tickets(program, folder, KAFKA_DLQ_TOPIC="tickets.dead", KAFKA_MAX_RETRIES_BEFORE_DLQ="2")
        example.start(PATIENCE)
        try:
            example.send("t-never", fails=-1)
            wait_for("a letter", lambda: example.letters("dlq:tickets.dead"), PATIENCE)
            assert example.letters("dlq:tickets.dead")[0]["attempts"] == 2
        finally:
            example.terminate()


def without_a_dlq_exhausted_tickets_stay_parked(program):
    with tempfile.TemporaryDirectory() as folder:
        example = Tickets(program, folder, KAFKA_DLQ_ENABLED="false").start(PATIENCE)
        try:
            example.send("t-never", fails=-1)

            def exhausted():
                parked = example.get("/api/v1/workers/tickets/parked")["items"]
                return [(one["state"], one["attempts"]) for one in parked] == [("kept", 3)]
            wait_for("it to be kept", exhausted, PATIENCE)
            assert "exhausted_kept" in example.log.read_text()
            example.repair()
            run = example.call("POST", "/api/v1/workers/tickets/parked:run-now", '{"all": true}')
            assert run[0] == 200, run
            wait_for("it to be done all the same", lambda: example.done() == ["t-never"], PATIENCE)
            assert not example.messages(DLQ)
        finally:
            example.terminate()


def both_files_say_the_same_of_the_worker(_program):
    embedded, kafka = ((EXAMPLE / name).read_text() for name in ("bartleby.yaml", "kafka.yaml"))
    assert embedded[embedded.index("\nworkers:"):] == kafka[kafka.index("\nworkers:"):]


def one_command_on_kafka_redis_and_mongodb(program, kafka, mongodb, redis):
    def counters():
        found = subprocess.run(["redis-cli", "-p", str(redis), "keys", "ticket:*"], capture_output=True, text=True,
                               timeout=30, check=True)
        return found.stdout.split()

    with tempfile.TemporaryDirectory() as folder:
        example = Tickets(program, folder, ["--all"], KAFKA_BOOTSTRAP=kafka.bootstrap, MONGO_URL=mongodb.url,
                          REDIS_URL=f"redis://127.0.0.1:{redis}/0").start(PATIENCE)
        try:
            example.send("t-counted", fails=2)
            wait_for("a counter", lambda: counters() == ["ticket:retry_count:t-counted"], PATIENCE)
            wait_for("it to be gone", lambda: "t-counted" in example.done() and not counters(), PATIENCE)
            dies_and_comes_back_with(example, mongodb)
            assert not counters(), counters()
        finally:
            example.terminate()


def dies_and_comes_back_with(example, mongodb):
    before = example.done()
    example.send("t-never", fails=-1, task_type="DEPLOY")
    example.send("t-wrong", wrong=True)
    wait_for("two letters", lambda: len(example.letters()) == 2, PATIENCE)

    def documents():
        return {one["ticket_id"]: one for one in mongodb.documents("neural_hive", "execution_tickets_dlq")}
    wait_for("two documents", lambda: len(documents()) == 2, PATIENCE)
    never = documents()["t-never"]
    assert set(never["dlq_metadata"]) == METADATA and never["dlq_metadata"]["retry_count"] == 3, never
    assert never["task_type"] == "DEPLOY" and never["fails"] == -1 and never["history"] == [], never
    # It dies again: the same document, with its first life in the history.
    letter = next(one for one in example.letters() if one["origin"]["key"] == "t-never")
    assert example.call("POST", f"/api/v1/letters/{letter['id']}:replay", "{}", seconds=60)[0] in (200, 202)
    wait_for("its second life", lambda: len(documents()["t-never"]["history"]) == 1, PATIENCE)
    example.repair()
    wait_for("it to be open again", lambda: len(example.letters()) == 2, PATIENCE)
    example.cli("letters", "replay", "-q", f"dlq:{DLQ} error:TimeoutError", "--yes")
    wait_for("it to be done", lambda: example.done() == sorted([*before, "t-never"]), PATIENCE)
    assert len(documents()) == 2


class Redis:
    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "",
                                         "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait(30)


def with_all_of_them(program):
    """On Kafka, where Kafka, Redis and a server of MongoDB's protocol can be had."""
    name = one_command_on_kafka_redis_and_mongodb.__name__
    if not shutil.which("redis-server"):
        print(f"skip {name} no Redis here: scripts/setup test")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        kafka = mongodb = redis = None
        try:
            kafka = Kafka(folder)  # one after the other: what was started is ended
            mongodb = MongodbServer(folder)
            redis = Redis(folder)
            return run_checks([one_command_on_kafka_redis_and_mongodb], program, kafka, mongodb, redis.port)
        except Missing as why:
            print(f"skip {name} not all of Kafka, Redis and MongoDB's protocol are here: {why}")
            return 0
        finally:
            if redis:
                redis.end()
            if mongodb:
                mongodb.stop()
            if kafka:
                kafka.stop()


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    status = run_checks([both_files_say_the_same_of_the_worker, one_command_on_the_embedded_log,
                         variables_say_where_and_after_how_many_attempts, without_a_dlq_exhausted_tickets_stay_parked],
                        program)
    return status | with_all_of_them(program)


if __name__ == "__main__":
    sys.exit(main())
