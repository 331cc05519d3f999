#!/usr/bin/env python3
"""The MongoDB sink of a whole server, on a real server that is killed, frozen and full of duplicates: nothing is lost.

Usage: sinks.py PROGRAM. Prints a line per check; where the server cannot be had all are skipped, and say why.
"""

import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from mongodb_server import MongodbServer  # noqa: E402
from processes import Bartleby, Endpoint, run_checks, wait_for  # noqa: E402
from script_server import Missing  # noqa: E402

PATIENCE = 120
DATABASE = "neural_hive"


class Office(Bartleby):
    """A worker whose every message dies at once, and a sink for its letters."""

    def __init__(self, program, folder, url, server, collection, options=""):
        path = pathlib.Path(folder, "office.yaml")
        where = f'url: "{server.url}{options}", database: {DATABASE}, collection: {collection}, key: ticket_id'
        path.write_text(f"""
sinks: {{forensics: {{mongodb: {{{where}}}}}}}
dlqs: {{tickets.dlq: {{sinks: [forensics]}}}}
workers:
  tickets:
    handler: {{http: {{url: "{url}"}}}}
    retry: {{max_attempts: 1, schedule: [10ms]}}
    guard: null
""")
        super().__init__(program, folder, ["-c", str(path)])
        self.server, self.collection = server, collection

    def send(self, first, last):
        lines = "\n".join(json.dumps({"key": f"k{n}", "value": ticket(n)}) for n in range(first, last))
        status, answer = self.call("POST", "/api/v1/topics/tickets/messages", lines,
                                   {"content-type": "application/x-ndjson"}, seconds=60)
        assert status == 200, (status, answer)

    def letters(self):
        return self.get("/api/v1/letters?limit=1")["count"]["value"]

    def sink(self):
        return self.get("/actuator/health")["components"]["sinks"]["components"]["forensics"]

    def metric(self, name):
        for line in self.get("/metrics").decode().splitlines():
            if line.startswith(f'{name}{{sink="forensics"}}'):
                return float(line.split()[-1])
        raise AssertionError(name)

    def documents(self):
        return self.server.documents(DATABASE, self.collection)

    def whole(self, count):
        """One document for each ticket, each with one life."""
        documents = self.documents()
        assert sorted(one["ticket_id"] for one in documents) == sorted(f"t-{n}" for n in range(count)), len(documents)
        assert all(one["history"] == [] for one in documents)


def ticket(n):
    return json.dumps({"ticket_id": f"t-{n}", "task_type": "BUILD", "n": n})


def dying():
    return Endpoint(lambda message: 422)


def a_letter_becomes_a_document(program, server):
    endpoint = dying()
    with tempfile.TemporaryDirectory() as folder:
        office = Office(program, folder, endpoint.url, server, "documents").start(PATIENCE)
        try:
            office.send(0, 50)
            wait_for("50 documents", lambda: len(office.documents()) == 50, PATIENCE)
            office.whole(50)
            one = next(one for one in office.documents() if one["ticket_id"] == "t-7")
            letter = office.get("/api/v1/letters?q=key:k7")["items"][0]
            assert one["task_type"] == "BUILD" and one["n"] == 7, one
            assert one["bartleby"]["letter"] == letter["id"], (one, letter)
            assert set(one["dlq_metadata"]) == {"original_error", "error_type", "retry_count",
                                                "last_failure_timestamp", "dlq_published_at"}, one
            assert one["dlq_metadata"]["retry_count"] == 1, one
            names = {index["name"] for index in
                     server.command(DATABASE, {"listIndexes": "documents"})["cursor"]["firstBatch"]}
            assert names == {"_id_", "ticket_id_1", "task_type_1", "dlq_metadata.dlq_published_at_1",
                             "task_type_1_dlq_metadata.error_type_1"}, names
            wait_for("nothing to wait", lambda: office.sink()["details"]["waiting"] == 0, PATIENCE)
            assert office.sink()["status"] == "UP" and office.metric("bartleby_sink_written_total") == 50
        finally:
            office.end()
            endpoint.end()


def a_life_after_a_replay_goes_into_the_same_document(program, server):
    endpoint = dying()
    with tempfile.TemporaryDirectory() as folder:
        office = Office(program, folder, endpoint.url, server, "lives").start(PATIENCE)
        try:
            office.send(0, 1)
            wait_for("a letter", lambda: office.letters() == 1, PATIENCE)
            letter = office.get("/api/v1/letters")["items"][0]["id"]
            assert office.call("POST", f"/api/v1/letters/{letter}:replay", "{}", seconds=60)[0] in (200, 202)

            def lives():
                documents = office.documents()
                return len(documents) == 1 and len(documents[0]["history"]) == 1
            wait_for("two lives", lives, PATIENCE)
            one = office.documents()[0]
            assert one["bartleby"]["replays"] == 1 and one["history"][0]["bartleby"]["replays"] == 0, one
            assert one["history"][0]["ticket_id"] == "t-0" and "dlq_metadata" in one["history"][0], one
        finally:
            office.end()
            endpoint.end()


def a_killed_server_and_a_killed_office_lose_nothing(program, server):
    endpoint = dying()
    with tempfile.TemporaryDirectory() as folder:
        office = Office(program, folder, endpoint.url, server, "killed").start(PATIENCE)
        try:
            office.send(0, 200)
            wait_for("some documents", lambda: office.metric("bartleby_sink_written_total") > 0, PATIENCE)
            server.kill()
            office.send(200, 600)
            wait_for("all to be letters: intake waits for nobody", lambda: office.letters() == 600, PATIENCE)
            wait_for("the sink to be behind", lambda: office.sink()["status"] == "DEGRADED", PATIENCE)
            assert office.get("/actuator/health")["status"] == "DEGRADED"
            assert office.metric("bartleby_sink_errors_total") > 0 and office.metric("bartleby_sink_lag") > 0
            status, answer = office.call("POST", "/api/v1/operations",
                                         json.dumps({"kind": "purge", "q": "key:k599", "reason": "test"}))
            assert status == 201, answer
            started = office.call("POST", f"/api/v1/operations/{answer['id']}:start", "{}", seconds=60)
            assert started[0] in (200, 202), started
            wait_for("one to be purged", lambda: office.letters() == 599, PATIENCE)
            office.kill()
            server.restart()
            office.start(PATIENCE)
            wait_for("600 documents", lambda: len(office.documents()) == 600, PATIENCE)
            office.whole(600)
            wait_for("it to be well", lambda: office.sink()["status"] == "UP", PATIENCE)
        finally:
            office.end()
            endpoint.end()


def a_frozen_server_repeats_batches_and_no_document(program, server):
    endpoint = dying()
    with tempfile.TemporaryDirectory() as folder:
        office = Office(program, folder, endpoint.url, server, "frozen", "?socketTimeoutMS=1000").start(PATIENCE)
        try:
            wait_for("it to be well", lambda: office.sink()["status"] == "UP", PATIENCE)
            for first in range(0, 300, 100):
                server.freeze()
                errors = office.metric("bartleby_sink_errors_total")
                office.send(first, first + 100)
                wait_for("the sink to give up", lambda: office.metric("bartleby_sink_errors_total") > errors, PATIENCE)
                server.thaw()
            wait_for("300 letters", lambda: office.letters() == 300, PATIENCE)
            wait_for("300 documents", lambda: len(office.documents()) == 300, PATIENCE)
            wait_for("nothing to wait", lambda: office.sink()["details"]["waiting"] == 0, PATIENCE)
            office.whole(300)
        finally:
            server.thaw()
            office.end()
            endpoint.end()


def a_collection_full_of_duplicates_keeps_what_was_there(program, server):
    endpoint = dying()
    there = [{"ticket_id": f"t-{n}", "task_type": "DEPLOY", "by": "somebody else"} for n in range(60)]
    server.command(DATABASE, {"insert": "duplicates", "documents": there})
    with tempfile.TemporaryDirectory() as folder:
        office = Office(program, folder, endpoint.url, server, "duplicates").start(PATIENCE)
        try:
            office.send(0, 100)
            wait_for("nothing to wait", lambda: office.metric("bartleby_sink_written_total") == 100, PATIENCE)
            documents = {one["ticket_id"]: one for one in office.documents()}
            assert len(documents) == 100
            for n in range(100):
                one = documents[f"t-{n}"]
                assert one["task_type"] == "BUILD", one
                assert [life["by"] for life in one["history"]] == (["somebody else"] if n < 60 else []), one
        finally:
            office.end()
            endpoint.end()


CHECKS = [a_letter_becomes_a_document, a_life_after_a_replay_goes_into_the_same_document,
          a_killed_server_and_a_killed_office_lose_nothing, a_frozen_server_repeats_batches_and_no_document,
          a_collection_full_of_duplicates_keeps_what_was_there]


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        try:
            server = MongodbServer(folder)
        except Missing as why:
            for check in CHECKS:
                print(f"skip {check.__name__} no server of MongoDB's protocol here: {why}")
            return 0
        try:
            return run_checks(CHECKS, program, server)
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
