#!/usr/bin/env python3
"""Partitions whose leader has just died, on a real Kafka of three brokers: nothing is lost, and nobody waits for them.

Usage: kafka_leaders.py PROGRAM [--rounds=N]. Prints a line per check; where Kafka cannot be had every check is skipped.
The topic `fragile` and some idle dlqs have their only copy on one broker, which is killed and comes back; every message
of `fragile` fails once and is parked.
"""

import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import PATIENCE, Endpoint, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = next((int(word.split("=")[1]) for word in sys.argv if word.startswith("--rounds=")), 2)
NODE, PARTITIONS, COUNT = 3, 12, 60
IDLE = 10  # dlqs, each with as many partitions
AWAY = 18.0  # seconds; a leader that dies is still the leader for six of them
# What people and scrapers wait at most, with nothing else to do: about a second. The rest is for a busy machine.
ANSWERED = float(os.environ.get("BARTLEBY_ANSWERED", "8"))


def answers(worker, waited):
    for path in ("/metrics", "/actuator/health/readiness", "/api/v1/workers", "/api/v1/topics"):
        began = time.monotonic()
        status, _ = worker.call("GET", path, seconds=30)
        waited.append((time.monotonic() - began, path))
        assert status in (200, 503), (path, status)


def lost(world):
    return world.said("lost_by_retention") + world.said("offset_reset") + world.said("passed_unread")


def a_dead_leader(world):
    """Killed with the leader, and started again: whoever takes over asks a leader that does not answer."""
    endpoint = Endpoint(lambda number: 1)
    world.witness.ask("place", "fragile", PARTITIONS, NODE)
    for number in range(IDLE):
        world.witness.ask("place", f"idle{number}.dlq", PARTITIONS, NODE)
    workers = f"""  fragile:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 3, schedule: [{int(AWAY) + 20}s], timeout: 60s}}
    guard: null
"""
    world.session = 6000
    names = ("l1", "l2")
    for name in names:
        world.launch(name, workers, "[runtime, office]" if name == "l1" else "[runtime]")
    waited = []
    for turn in range(ROUNDS):
        numbers = range(turn * COUNT, (turn + 1) * COUNT)
        world.witness.produce("fragile", numbers.start, numbers.stop, 1000)
        wait_for("all to be parked", lambda: all(endpoint.failed[n] == 1 for n in numbers), PATIENCE)
        outage = threading.Thread(target=world.kafka.crash, args=(NODE, AWAY))
        outage.start()
        time.sleep(1.0)
        name = names[turn % 2]
        world.workers[name].kill()
        world.workers[name].start(PATIENCE)
        while outage.is_alive():
            world.nobody_died()
            for one in names:
                answers(world.workers[one], waited)
            time.sleep(0.5)
        outage.join()
        wait_for("all to be handled", lambda: all(n in endpoint.succeeded for n in numbers), PATIENCE)
        world.nobody_died()
    wait_for("all commits", lambda: world.witness.offsets("fragile", "fragile") == world.witness.ends("fragile"),
             PATIENCE)
    assert not world.witness.read("fragile.dlq"), world.witness.read("fragile.dlq")[:3]
    assert lost(world) == 0, world.last_words()
    # A failure that was not durable when its worker was killed is tried again; of more nobody may have known.
    often = [n for n in range(ROUNDS * COUNT) if not 1 <= endpoint.failed[n] <= 1 + ROUNDS]
    assert not often, f"failed more often than it should: {often[:5]}"
    slow = [(seconds, path) for seconds, path in waited if seconds > ANSWERED]
    assert not slow, f"{len(slow)} of {len(waited)} answers took long: {slow[:5]}"
    for name in names:
        world.stop(name)
    return (f"{ROUNDS} deaths, {ROUNDS * COUNT} messages, {len(waited)} answers, the slowest after "
            f"{max(waited)[0]:.1f} s")


def nobody_there(world):
    """All brokers are away for longer than a question about a group may take, and come back: what is answered then is
    asked no more."""
    endpoint = Endpoint(lambda number: 0)
    world.witness.ask("create", "lonely", 1)
    name = "n1"
    world.launch(name, f"""  lonely:
    handler: {{http: {{url: "{endpoint.url}"}}}}
""", "[runtime, office]")
    waited = []
    for turn in range(ROUNDS):
        world.witness.produce("lonely", turn, turn + 1, 1000)
        wait_for("a message to be handled", lambda: turn in endpoint.succeeded, PATIENCE)
        answers(world.workers[name], waited)
        outages = [threading.Thread(target=world.kafka.crash, args=(node, AWAY)) for node in (1, 2, 3)]
        for outage in outages:
            outage.start()
        while any(outage.is_alive() for outage in outages):
            world.nobody_died()
            answers(world.workers[name], waited)
            time.sleep(0.5)
    last = ROUNDS
    world.witness.produce("lonely", last, last + 1, 1000)
    wait_for("the last message to be handled", lambda: last in endpoint.succeeded, PATIENCE)
    slow = [(seconds, path) for seconds, path in waited if seconds > ANSWERED]
    assert not slow, f"{len(slow)} of {len(waited)} answers took long: {slow[:5]}"
    world.stop(name)
    return f"{ROUNDS} times, {len(waited)} answers, the slowest after {max(waited)[0]:.1f} s"


CHECKS = (a_dead_leader, nobody_there)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, 1, 1000, CHECKS, brokers=3))
