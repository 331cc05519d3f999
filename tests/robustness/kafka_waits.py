#!/usr/bin/env python3
"""Long waits on a real Kafka.

Usage: kafka_waits.py PROGRAM TOOLS. TOOLS is the folder of a test build, with a `bartleby` whose clock can be hurried.
Prints a line per check. Where Kafka cannot be had every check is skipped.
"""

import calendar
import collections
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import PATIENCE, Endpoint, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(sys.argv[2]).resolve()


def parked(worker, name):
    status, answer = worker.call("GET", f"/api/v1/workers/{name}/parked", seconds=PATIENCE)
    return answer["items"] if status == 200 else []


def stamp(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:-1])


def thirty_minutes(world):
    """A step of 30 minutes: restarted, moved to another instance, whose clock runs 60 times as fast, and waited for."""
    topic, others = "waits", 200
    endpoint = Endpoint(lambda number: 1 if number == 0 else 0)
    world.witness.ask("create", topic, 1)
    workers = f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 3, schedule: [30m], timeout: 30m}}
    drain: 30m
    guard: null
"""
    hurried = {"program": TOOLS / "bartleby", "environment": {"BARTLEBY_TIME_SCALE": "60"}}
    worker = world.launch("w1", workers)
    world.witness.produce(topic, 0, others // 2, 1000)
    wait_for("the others of its partition", lambda: len(endpoint.succeeded) == others // 2 - 1, PATIENCE)
    wait_for("the first failure", lambda: parked(worker, topic), PATIENCE)
    seen = [parked(worker, topic)[0]]
    assert seen[0]["attempts"] == 1, seen

    assert worker.terminate(PATIENCE) == 0
    world.launch("w1", workers)
    wait_for("it after a restart", lambda: parked(worker, topic), PATIENCE)
    seen.append(parked(worker, topic)[0])

    other = world.launch("w2", workers, **hurried)
    assert worker.terminate(PATIENCE) == 0
    wait_for("it at another instance", lambda: parked(other, topic), PATIENCE)
    seen.append(parked(other, topic)[0])
    for field in ("attempts", "first_failure_at", "last_failure_at", "error"):
        assert len({str(item[field]) for item in seen}) == 1, f"{field}: {[item[field] for item in seen]}"
    # The hurried calendar is ahead when the partition comes; it has begun with everybody else's.
    due = [stamp(item["due"]) for item in seen]
    assert abs(due[0] - due[1]) < 1 and abs(due[0] - due[2]) < 1, [item["due"] for item in seen]

    before, members = world.kafka.rebalances(topic), world.witness.members(topic)
    assert before > 0, "the brokers say nothing of rebalances: nothing is known"
    world.witness.produce(topic, others // 2, others, 1000)
    wait_for("others that came meanwhile", lambda: len(endpoint.succeeded) == others - 1, PATIENCE)
    assert world.witness.offsets(topic, topic) == {0: 0}, "it was passed while it waits"
    wait_for("its second attempt", lambda: 0 in endpoint.succeeded, PATIENCE)
    wait_for("its commit", lambda: world.witness.offsets(topic, topic) == world.witness.ends(topic), PATIENCE)
    assert world.kafka.rebalances(topic) == before and world.witness.members(topic) == members, "a rebalance"
    assert [a for n, a, _ in endpoint.attempts if n == 0] == [1, 2], endpoint.attempts
    times = collections.Counter(n for n, _, good in endpoint.attempts if good)
    assert all(times[n] == 1 for n in range(others)), times
    assert other.terminate(PATIENCE) == 0
    return f"{others - 1} others flowed, attempt, due time and story kept twice, 0 rebalances while it waited"


CHECKS = (thirty_minutes,)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, 1, 1000, CHECKS))
