#!/usr/bin/env python3
"""A dlq whose replicas go missing, on a real Kafka of three brokers where everything else has enough of them.

Usage: kafka_replicas.py PROGRAM TEST_PROGRAMS. Prints a line per check; where Kafka cannot be had all are skipped.
"""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import ATTEMPTS, DLQ, PATIENCE, Endpoint, run_in_world  # noqa: E402
from kafka_troubles import letters_wait, with_deaths  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(sys.argv[2]).resolve()
PARTITIONS, KEYS, BROKERS = 2, 100000, 3
MORTAL = 3  # the broker that dies: letters have a copy there, and two must be in step


def fewer_copies_than_are_asked_for(world):
    """One copy where the cluster asks for two in step: Kafka takes records then, and so letters are written."""
    endpoint = Endpoint(lambda number: ATTEMPTS)
    world.witness.ask("create", "few", 1)
    world.witness.ask("place", "few.dlq", 1, 1)
    world.witness.ask("set", "few.dlq", "min.insync.replicas", 2)
    world.launch("few", f"""  few:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 1}}
    guard: null
""")
    world.witness.produce("few", 0, 5, 1000)
    wait_for("letters", lambda: len(world.witness.read("few.dlq")) == 5, PATIENCE)
    world.stop("few")
    return "5 letters"


def replicas_missing(world):
    """Before a letter is written: it waits, and no transaction is begun in vain."""
    world.witness.ask("place", DLQ, PARTITIONS, f"2,{MORTAL}")
    world.begin("a", "[runtime, office]")
    with_deaths(world, 1)
    world.await_all()

    changed, written = world.said("writes go on as"), []

    def close():
        world.kafka.kill(MORTAL)
        wait_for("the death to be noticed", lambda: MORTAL not in in_step(world), PATIENCE)
        time.sleep(2)  # so long it is believed that enough are in step
        written.append(world.witness.written(DLQ))

    def reopen():
        assert world.witness.written(DLQ) == written[0], "a letter was written in vain"
        assert world.said("writes go on as") == changed, "a transaction was begun in vain"
        world.kafka.restart(MORTAL)

    return letters_wait(world, close, reopen)


def in_step(world, topic=DLQ):
    return {int(one) for line in world.witness.ask("in_step", topic) for one in line.split()[1].split(",")}


def kept_by_others(world, *topics):
    """Only the copies of letters go missing with the mortal one. Kafka writes down that a transaction has a partition
    before anything is sent there; where that waited for the death to be noticed, no letter would be sent any more."""
    for topic in (*topics, "__transaction_state", "__consumer_offsets"):
        wait_for(f"{topic} to be with the others",
                 lambda topic=topic: all(line.endswith(" 1 2") for line in world.witness.ask("keep", topic, "1,2")),
                 PATIENCE)


def replicas_go_missing(world):
    """While letters are written: a transaction is begun that cannot end before they are back. Others go on, also after
    a clean stop, and no handler runs again."""
    dying, fine, letters = "storm", "calm", 120
    endpoint = Endpoint(lambda number: ATTEMPTS if number < letters else 0)
    for topic in (dying, fine):
        world.witness.ask("create", topic, 2)
    world.witness.ask("place", f"{dying}.dlq", 2, f"2,{MORTAL}")

    def launch():
        return world.launch(dying, f"""  {dying}:
    topics: [{dying}, {fine}]
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 1}}
    guard: null
""")

    def commits(count):
        return sum(world.witness.offsets(dying, fine).values()) == count

    launch()
    before, early = world.said("writes go on as"), letters // 3
    for first in range(0, letters, 2):
        if first == early // 2:
            wait_for("the first letters", lambda: len(world.witness.read(f"{dying}.dlq")) == early // 2, PATIENCE)
            kept_by_others(world, dying, fine, f"{dying}.parked.{dying}", f"{fine}.parked.{dying}")
        if first == early:
            world.kafka.kill(MORTAL)
        world.witness.produce(dying, first, first + 2, 1000)
        time.sleep(0.05)
    wait_for("another id", lambda: world.said("writes go on as") > before, PATIENCE)
    world.witness.produce(fine, 1000, 1050, 1000)
    wait_for("others to go on", lambda: commits(50), PATIENCE)
    world.stop(dying)  # cleanly, under its other id
    launch()
    world.witness.produce(fine, 1050, 1100, 1000)
    wait_for("others to go on after a stop", lambda: commits(100), PATIENCE)
    assert MORTAL not in in_step(world, f"{dying}.dlq") and len(world.witness.read(f"{dying}.dlq")) < letters
    world.kafka.restart(MORTAL)
    wait_for("the letters", lambda: len(world.witness.read(f"{dying}.dlq")) >= letters, PATIENCE)
    wait_for("their commits", lambda: sum(world.witness.offsets(dying, dying).values()) == letters, PATIENCE)
    found = sorted(value for _, _, _, value, _ in world.witness.read(f"{dying}.dlq"))
    assert found == sorted(f"m{n}" for n in range(letters)), found
    again = {n: times for n, times in endpoint.failed.items() if times != 1}
    assert not again, f"their handler ran again: {again}"
    world.stop(dying)
    return f"{letters} letters, {len(endpoint.succeeded)} others"


def gone_before_the_end(world):
    """Between a letter and the end of its transaction, which is decided and held up. Nobody fails after that: what
    is left to write is offsets alone."""
    topic, gate = "late", world.folder / "gate"
    endpoint = Endpoint(lambda number: ATTEMPTS if number == 0 else 0)
    world.witness.ask("create", topic, 2)
    world.witness.ask("place", f"{topic}.dlq", 2, f"2,{MORTAL}")
    world.launch(topic, f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 1}}
    guard: null
""", program=TOOLS / "bartleby", environment={"BARTLEBY_WAIT_AT": f"transaction.sent:{gate}"})
    world.witness.produce(topic, 100, 110, 1000)
    wait_for("ten to be handled", lambda: len(endpoint.succeeded) == 10, PATIENCE)
    wait_for("a quiet worker", lambda: sum(world.witness.offsets(topic, topic).values()) == 10, PATIENCE)
    kept_by_others(world, topic, f"{topic}.parked.{topic}")
    before = world.said("writes go on as")
    gate.touch()
    world.witness.produce(topic, 0, 1, 1000)
    wait_for("the letter to be sent", lambda: pathlib.Path(f"{gate}.waits").exists(), PATIENCE)
    # It leaves at once, and says so.
    os.kill(int((world.kafka.folder / f"node{MORTAL}.pid").read_text()), signal.SIGTERM)
    wait_for("it to be gone", lambda: MORTAL not in in_step(world, f"{topic}.dlq"), PATIENCE)
    gate.unlink()
    wait_for("the letter's offset", lambda: sum(world.witness.offsets(topic, topic).values()) == 11, PATIENCE)
    assert not world.witness.read(f"{topic}.dlq"), "its transaction has ended everywhere"
    world.witness.produce(topic, 200, 210, 1000)
    wait_for("another id", lambda: world.said("writes go on as") > before, PATIENCE)
    wait_for("the others' commit", lambda: sum(world.witness.offsets(topic, topic).values()) == 21, PATIENCE)
    world.kafka.restart(MORTAL)
    wait_for("the letter", lambda: len(world.witness.read(f"{topic}.dlq")) == 1, PATIENCE)
    world.stop(topic)
    return f"{len(endpoint.succeeded)} messages, 1 letter"


def made_while_a_broker_is_away(world):
    """A topic keeps the copies that it is made with: a worker's first start in a rolling restart makes no fewer."""
    topic, endpoint = "rolling", Endpoint(lambda number: ATTEMPTS)
    world.witness.ask("create", topic, 1, BROKERS)
    world.kafka.kill(MORTAL)
    wait_for("the death to be noticed", lambda: MORTAL not in in_step(world, topic), PATIENCE)
    world.launch(topic, f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 1}}
    guard: null
""")
    world.witness.produce(topic, 0, 5, 1000)
    dlq = f"{topic}.dlq"

    def copies():
        """Of the dlq; none while it is not there."""
        try:
            return dict(line.split(" ", 1) for line in world.witness.ask("settings", dlq))["replicas"]
        except AssertionError:
            return None
    # Kafka makes them while it knows of all its brokers; one that does not lets the worker wait.
    wait_for("its topics, or the worker to wait for them",
             lambda: copies() or "cannot create journal" in world.workers[topic].log.read_text(), PATIENCE)
    world.kafka.restart(MORTAL)
    wait_for("its topics", copies, PATIENCE)
    wait_for("letters", lambda: len(world.witness.read(dlq)) == 5, PATIENCE)
    for made in (dlq, f"{topic}.parked.{topic}"):
        settings = dict(line.split(" ", 1) for line in world.witness.ask("settings", made))
        assert settings["replicas"] == str(BROKERS), (made, settings["replicas"])
    world.stop(topic)
    return f"{BROKERS} copies"


CHECKS = (fewer_copies_than_are_asked_for, replicas_missing, replicas_go_missing, gone_before_the_end,
          made_while_a_broker_is_away)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, PARTITIONS, KEYS, CHECKS, needed=(replicas_missing,), brokers=BROKERS))
