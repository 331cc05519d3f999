#!/usr/bin/env python3
"""How many copies topics have that a worker makes, and how many in step, on a Kafka of two brokers that makes one.

Usage: kafka_copies.py PROGRAM. Prints a line per check; where Kafka cannot be had every check is skipped.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import PATIENCE, Endpoint, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
BROKERS = 2


def made_beside(world, topic, copies, in_step=1):
    """Of the topics that a worker makes beside this one: how many copies each has, and how many must be in step."""
    endpoint = Endpoint(lambda number: 0)
    world.witness.ask("create", topic, 2, copies)
    world.witness.ask("set", topic, "min.insync.replicas", in_step)
    world.launch(topic, f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
""", "[runtime, office]")
    world.witness.produce(topic, 0, 1, 1)
    wait_for("a message to be handled", lambda: 0 in endpoint.succeeded, PATIENCE)
    lane = f"{topic}.replay.{topic}"
    made = (f"{topic}.parked.{topic}", lane, f"{lane}.parked.{topic}", f"{topic}.dlq", "bartleby.outcomes")
    found = {name: dict(line.split(" ", 1) for line in world.witness.ask("settings", name)) for name in made}
    world.stop(topic)
    return {name: (int(one["replicas"]), int(one["min.insync.replicas"])) for name, one in found.items()}


def as_many_as_the_topic_has(world):
    """A broker that dies with its disk takes no journal of a topic that survives it."""
    found = made_beside(world, "safe", BROKERS)
    assert set(found.values()) == {(BROKERS, 1)}, found
    return f"{len(found)} topics with {BROKERS} copies"


def as_many_in_step_as_the_topic_wants(world):
    """What was written beside a topic is lost no sooner than what is in it."""
    found = made_beside(world, "strict", BROKERS, BROKERS)
    found.pop("bartleby.outcomes")  # of all topics
    assert set(found.values()) == {(BROKERS, BROKERS)}, found
    return f"{len(found)} topics with {BROKERS} copies in step"


def as_many_as_usual(world):
    """Beside a topic with one copy they have what the cluster makes by default; letters and outcomes have more."""
    found = made_beside(world, "single", 1)
    few = sorted(name for name, (replicas, _) in found.items() if replicas == 1)
    assert few == ["single.parked.single", "single.replay.single", "single.replay.single.parked.single"], found
    return f"{len(few)} topics with one copy"


CHECKS = (as_many_as_the_topic_has, as_many_in_step_as_the_topic_wants, as_many_as_usual)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, 1, 1000, CHECKS, brokers=BROKERS))
