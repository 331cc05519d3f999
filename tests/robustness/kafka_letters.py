#!/usr/bin/env python3
"""Letters on a real Kafka, seen by Kafka's own client: their dialects, the topics they lie in, replays.

Usage: kafka_letters.py PROGRAM. Prints a line per check. An office and a worker run as two processes; a third process
is an office without a key. Where Kafka cannot be had every check is skipped.
"""

import base64
import json
import os
import pathlib
import re
import sys
import tempfile
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_server import Kafka, Witness  # noqa: E402
from kafka_world import a_property_that_there_is_not  # noqa: E402
from processes import Bartleby, Endpoint, wait_for  # noqa: E402
from script_server import Missing  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE = 240.0
SECRET = "of the office and of its workers, 32 bytes and more"
TICKET = '{"ticket_id": "t-1", "task_type":"BUILD", "n":1.50 } '


class World:
    def __init__(self, program, folder, kafka):
        self.program, self.folder, self.kafka = program, pathlib.Path(folder), kafka
        self.witness = Witness(kafka.bootstrap)
        self.broken = True
        self.endpoint = Endpoint(lambda message: 500 if self.broken else 200)
        self.other = Endpoint()
        self.witness.ask("create", "money", 2)
        self.witness.ask("create", "tickets", 4)
        self.witness.ask("create", "bulky", 1)
        self.witness.ask("create", "bulky.dlq", 1)
        self.witness.ask("set", "bulky.dlq", "max.message.bytes", 100000)
        signing = f'signing: {{office: {{kid: o1, secret: "{SECRET}"}}}}\n'
        self.worker = self.process("worker", "[runtime]", signing)
        self.office = self.process("office", "[office]", signing)
        self.keyless = self.process("keyless", "[office]", "")

    def process(self, name, roles, signing):
        home = self.folder / name
        home.mkdir()
        home.joinpath("b.yaml").write_text(f"""roles: {roles}
{signing}brokers:
  main: {{kafka: {{bootstrap: "{self.kafka.bootstrap}", properties: {{session.timeout.ms: "60000"}}}}}}
defaults: {{guard: null, drain: 1m, retry: {{max_attempts: 3, schedule: [20ms], timeout: 60s}}}}
dlqs:
  money.dlq: {{class: financial}}
  tickets.dlq: {{intake_group: worker-agents-dlq, provision: {{partitions: 3, replicas: 3, retention: 30d,
                compression: snappy, max_message: 2MB}}}}
workers:
  payer: {{topics: [money], handler: {{http: {{url: "{self.endpoint.url}"}}}}}}
  bulky: {{topics: [bulky], handler: {{http: {{url: "{self.endpoint.url}"}}}}}}
  auditor: {{topics: [money], handler: {{http: {{url: "{self.other.url}"}}}}}}
  tickets: {{group: worker-agents, dead_letter: {{dialect: dlq_metadata}},
            handler: {{http: {{url: "{self.endpoint.url}"}}}}}}
""")
        return Bartleby(self.program, home, ["-c", str(home / "b.yaml")])

    def send(self, topic, key, value):
        def sent():
            return self.office.call("POST", f"/api/v1/topics/{topic}/messages", value, {"Bartleby-Key": key},
                                    PATIENCE)[0] == 200
        wait_for(f"{topic} to take a message", sent, PATIENCE)

    def letters(self, dlq, office=None):
        return (office or self.office).get(f"/api/v1/letters?limit=50&q=dlq:{dlq}")["items"]

    def value(self, letter):
        status, value = self.office.call("GET", f"/api/v1/letters/{letter['id']}/value")
        assert status == 200, (status, value)
        return value

    def end(self):
        for one in (self.worker, self.office, self.keyless):
            one.end()
        self.witness.end()
        self.endpoint.end()
        self.other.end()


def settings(world, topic):
    return dict(line.split(" ", 1) for line in world.witness.ask("settings", topic))


def a_dlq_is_made_as_configured(world):
    world.worker.start(PATIENCE)
    world.office.start(PATIENCE)

    def running():
        return "worker_started" in world.worker.log.read_text() and world.worker.log.read_text().count(
            "worker_started") >= 4
    wait_for("its workers", running, PATIENCE)
    tickets, money = settings(world, "tickets.dlq"), settings(world, "money.dlq")
    assert tickets["partitions"] == "3" and money["partitions"] == "2", (tickets, money)
    assert tickets["replicas"] == money["replicas"] == "1", "more than there are brokers"
    assert tickets["retention.ms"] == str(30 * 24 * 3600 * 1000), tickets
    assert tickets["compression.type"] == "snappy", tickets
    assert tickets["max.message.bytes"] == str(2 * 2**20), tickets
    assert money["retention.ms"] == "-1", money
    source = int(settings(world, "money")["max.message.bytes"])
    assert int(money["max.message.bytes"]) == source + 65536, money
    return "3 partitions, 30 days, snappy, 2 MB; financial: for ever"


def dlq_metadata_is_in_the_ticket(world):
    world.send("tickets", "t-1", TICKET)
    wait_for("the letter", lambda: world.witness.read("tickets.dlq"), PATIENCE)
    (_, _, key, value, _), = world.witness.read("tickets.dlq")
    assert key == "t-1" and value.startswith(TICKET[:-3] + ' ,"dlq_metadata":{'), value
    metadata = json.loads(value)["dlq_metadata"]
    assert list(metadata) == ["original_error", "error_type", "retry_count", "last_failure_timestamp",
                              "dlq_published_at"], metadata
    assert metadata["retry_count"] == 3 and metadata["error_type"] == "HTTP 500", metadata
    assert 0 <= metadata["dlq_published_at"] - metadata["last_failure_timestamp"] < 10**6, metadata
    wait_for("it to be taken in", lambda: world.letters("tickets.dlq"), PATIENCE)
    letter, = world.letters("tickets.dlq")
    assert letter["dialect"] == "dlq_metadata" and letter["attempts"] == 3, letter
    assert world.value(letter) == TICKET.encode(), world.value(letter)
    return "and out of it again, byte for byte"


def a_letter_in_parts_is_one_letter(world):
    """A message that is larger than what its dlq takes in one record, however well it is packed."""
    original = base64.b64encode(os.urandom(225000)).decode()
    world.send("bulky", "b-1", original)
    wait_for("the letter", lambda: world.letters("bulky.dlq"), PATIENCE)
    parts = world.witness.ends("bulky.dlq")[0] - 1  # the last is the end of the transaction
    letter, = world.letters("bulky.dlq")
    assert parts > 2 and world.value(letter) == original.encode(), (parts, letter)
    return f"{len(original)} bytes in {parts} records"


def intake_shows_how_far_it_is(world):
    ends = world.witness.ends("tickets.dlq")
    wait_for("the group's offsets", lambda: world.witness.offsets("worker-agents-dlq", "tickets.dlq") == ends, PATIENCE)
    return f"worker-agents-dlq at {sorted(ends.values())}"


def a_replay_goes_through_the_lane_to_another_process(world):
    world.send("money", "deal-1", '{"deal": 1}')
    wait_for("the letter", lambda: world.letters("money.dlq"), PATIENCE)
    letter, = world.letters("money.dlq")
    assert letter["group"] == "payer" and letter["state"] == "open", letter
    seen = len(world.other.attempts)
    world.broken = False
    status, answer = world.office.call("POST", f"/api/v1/letters/{letter['id']}:replay", "{}", seconds=PATIENCE)
    assert status in (200, 202), (status, answer)

    def resolved():
        return world.office.get(f"/api/v1/letters/{letter['id']}")["state"] == "resolved"
    wait_for("its outcome to come back", resolved, PATIENCE)
    operation = world.office.get("/api/v1/operations")["items"][0]
    sent = world.office.get(f"/api/v1/operations/{operation['id']}/items")["items"]
    assert [one["result"] for one in sent] == ["succeeded"], sent
    assert len(world.witness.read("money.replay.payer")) == 1, "it went another way"
    assert len(world.other.attempts) == seen, "the other group saw it"
    return "succeeded"


def without_the_key_no_lane(world):
    world.keyless.start(PATIENCE)
    world.broken = True
    world.send("money", "deal-2", '{"deal": 2}')
    wait_for("the letter", lambda: len([one for one in world.letters("money.dlq", world.keyless)]) == 2, PATIENCE)
    body = json.dumps({"kind": "replay", "q": "dlq:money.dlq", "scope": "group"})
    status, answer = world.keyless.call("POST", "/api/v1/operations", body, {"Content-Type": "application/json"})
    assert status == 422 and "signing.office" in json.dumps(answer), (status, answer)
    body = json.dumps({"kind": "replay", "q": "dlq:money.dlq"})
    status, answer = world.keyless.call("POST", "/api/v1/operations", body, {"Content-Type": "application/json"})
    assert status == 201 and answer["letters"] == 0, (status, answer)
    assert "signing.office" in answer["excluded"][0]["why"], answer
    return "refused, and says why"


def a_plan_knows_what_was_handled_since(world):
    """By the log and the commit of a group whose worker is another process."""
    body = json.dumps({"kind": "replay", "q": "dlq:money.dlq key:deal-2", "scope": "topic"})

    def plan():
        status, answer = world.office.call("POST", "/api/v1/operations", body, {"Content-Type": "application/json"},
                                           PATIENCE)
        assert status == 201 and answer["letters"] == 1, (status, answer)
        assert not [text for text in answer["warnings"] if "newer messages" in text], answer
        return answer["order_conflicts"]
    wait_for("the letter", lambda: len(world.letters("money.dlq")) == 2, PATIENCE)
    assert plan() == 0
    world.broken = False
    world.send("money", "deal-2", '{"deal": 2, "corrected": true}')
    wait_for("the newer message to be handled", lambda: plan() == 1, PATIENCE)
    world.broken = True
    return "after the commit"


def groups_that_nobody_configured_count(world):
    """Whoever has offsets on a topic would see what is sent there again."""
    letter, = world.letters("tickets.dlq")
    world.witness.ask("commit", "stranger", "tickets", 0, 0)

    def plan(**more):
        body = json.dumps({"kind": "replay", "ids": [letter["id"]], **more})
        status, answer = world.office.call("POST", "/api/v1/operations", body, {"Content-Type": "application/json"},
                                           PATIENCE)
        assert status == 201, (status, answer)
        return answer

    # Who reads what is asked for twice a minute.
    wait_for("the stranger", lambda: plan(scope="topic")["also_read_by"] == ["stranger"], PATIENCE)
    to = plan()["to"]
    assert [one["topic"] for one in to] == ["tickets.replay.worker-agents"], to
    return "the stranger is named, and the lane is taken"


def escrow_writes_the_envelope(world):
    """examples/escrow as it is shipped, but for its long waits."""
    home = world.folder / "escrow"
    home.mkdir()
    environment = {**os.environ, "BARTLEBY": str(world.program), "BARTLEBY_INSTANCE": "payout-executor-1",
                   "BARTLEBY__POLICIES__MONEY__RETRY__SCHEDULE": "[20ms]"}
    example = Bartleby(world.program, home, environment=environment)
    example.command = [str(ROOT / "examples/escrow/run"), "--kafka", world.kafka.bootstrap, "--data-dir",
                       str(home / "data")]
    original = '{"event_type": "EXECUTE_PAYOUT", "deal": 7,  "amount": 1.50, "fails": -1}'
    try:
        example.start(PATIENCE)

        def sent():
            return example.call("POST", "/api/v1/topics/escrow.commands/messages", original,
                                {"Bartleby-Key": "deal_550e8400"}, PATIENCE)[0] == 200
        wait_for("the command to be taken", sent, PATIENCE)
        wait_for("its letter", lambda: world.witness.read("escrow.commands.dlq"), PATIENCE)
    finally:
        if example.process and example.process.poll() is None:
            example.terminate(PATIENCE)
    (partition, _, key, value, headers), = world.witness.read("escrow.commands.dlq")
    time = r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"'
    expected = re.escape(
        f'{{"original_topic":"escrow.commands","original_partition":{partition},"original_offset":0,'
        f'"original_key":"deal_550e8400","original_value":{original},"error_details":{{"exception_class":"HTTP 503",'
        '"message":"the chain does not answer","stack_trace":""},"retry_count":5,'
        '"worker_instance":"payout-executor-1","first_failure_at":FIRST,"last_failure_at":LAST}')
    found = re.fullmatch(expected.replace("FIRST", f"({time})").replace("LAST", f"({time})"), value)
    assert found and found.group(1) < found.group(2), value
    assert key == "deal_550e8400" and headers["bartleby-attempts"] == "6", (key, headers)
    assert settings(world, "escrow.commands.dlq")["retention.ms"] == "-1"
    wait_for("it to be taken in", lambda: world.letters("escrow.commands.dlq"), PATIENCE)
    letter, = world.letters("escrow.commands.dlq")
    assert letter["dialect"] == "envelope" and letter["attempts"] == 6, letter
    assert world.value(letter) == original.encode(), world.value(letter)
    return "field for field, and out of it again, byte for byte"


CHECKS = (a_dlq_is_made_as_configured, dlq_metadata_is_in_the_ticket, a_letter_in_parts_is_one_letter,
          intake_shows_how_far_it_is, a_replay_goes_through_the_lane_to_another_process, without_the_key_no_lane,
          a_plan_knows_what_was_handled_since, groups_that_nobody_configured_count, escrow_writes_the_envelope)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    good = True
    with tempfile.TemporaryDirectory() as folder:
        try:
            a_property_that_there_is_not(program)
            kafka = Kafka(folder)
        except Missing as why:
            for check in CHECKS:
                print(f"skip {check.__name__} no Apache Kafka here: {why}", flush=True)
            return 0
        world = None
        try:
            world = World(program, folder, kafka)
            for check in CHECKS:
                try:
                    print(f"ok {check.__name__} {check(world)}", flush=True)
                except Exception:  # noqa: BLE001 - whatever it is, it is the answer of this check
                    good = False
                    print(f"FAIL {check.__name__}\n{traceback.format_exc()}", flush=True)
                    for one in (world.worker, world.office, world.keyless):
                        if one.starts:
                            print(one.log.read_text()[-1500:], flush=True)
        finally:
            if world:
                world.end()
            kafka.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
