#!/usr/bin/env python3
"""Long waits, long queues and sudden deaths on a real Kafka.

Usage: kafka_waits.py PROGRAM TOOLS [--long]. TOOLS is the folder of a test build: a `bartleby` whose clock can be
hurried and which dies where it is told to, and `crashing`. Prints a line per check. 100,000 messages behind a parked
one, with --long a million. Where Kafka cannot be had every check is skipped.
"""

import calendar
import collections
import json
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import PATIENCE, Endpoint, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(sys.argv[2]).resolve()
BEHIND = 1000000 if "--long" in sys.argv else 100000
TRANSACTION = 10.0  # seconds: `transaction_limit` of the Kafka broker's options
SOON = 3.0  # seconds from the session's end to the heir's first message
MEMORY = 300  # MB, whatever waits
MAX_CRASHES = 2


def parked(worker, name):
    status, answer = worker.call("GET", f"/api/v1/workers/{name}/parked", seconds=PATIENCE)
    return answer["items"] if status == 200 else []


def stamp(text):
    return calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:-1])


def metric(worker, name):
    """The sum of what the process shows under that name, labels or not."""
    status, text = worker.call("GET", "/metrics", seconds=PATIENCE)
    assert status == 200, text
    prefix, _, label = name.partition("{")
    lines = [line for line in text.decode().splitlines() if line.startswith((prefix + " ", prefix + "{")) and
             label.rstrip("}") in line]
    return sum(float(line.split()[-1]) for line in lines)


def most_memory(worker):
    """In MB, of the process as it runs now."""
    lines = pathlib.Path(f"/proc/{worker.process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024


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
    # librdkafka's clock is not hurried: in the 30 s that are left of the 30 minutes it must have thrown out five times
    # who does not poll, or has no heartbeat.
    impatient = {"max.poll.interval.ms": "6000"}
    world.session, kept = 6000, world.session
    hurried = {"program": TOOLS / "bartleby", "environment": {"BARTLEBY_TIME_SCALE": "60"}}
    worker = world.launch("w1", workers, properties=impatient)
    world.witness.produce(topic, 0, others // 2, 1000)
    wait_for("the others of its partition", lambda: len(endpoint.succeeded) == others // 2 - 1, PATIENCE)
    wait_for("the first failure", lambda: parked(worker, topic), PATIENCE)
    seen = [parked(worker, topic)[0]]
    assert seen[0]["attempts"] == 1, seen

    assert worker.terminate(PATIENCE) == 0
    world.launch("w1", workers, properties=impatient)
    wait_for("it after a restart", lambda: parked(worker, topic), PATIENCE)
    seen.append(parked(worker, topic)[0])

    other = world.launch("w2", workers, properties=impatient, **hurried)
    world.session = kept
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


def behind_a_parked_head(world):
    """What lies behind a message that waits is handled, and not again after a restart; its own key waits for it.

    Half of all is of its key: far more than a lane keeps in memory, so most of it stays in the log and is read again.
    """
    topic, keys = "quick", 2
    world.witness.ask("create", topic, 1)
    workers = f"""  {topic}:
    retry: {{max_attempts: 3, schedule: [1h], timeout: 20s}}
    drain: 2m
"""
    worker = world.launch("q1", workers, program=TOOLS / "crashing")
    began = time.monotonic()
    for first in range(0, BEHIND, 10000):
        world.witness.produce(topic, first, first + 10000, keys)
    waiting = BEHIND // keys  # of its key, itself among them
    done = f'bartleby_attempts_total{{worker="{topic}",outcome="done"}}'

    def handled():
        return metric(worker, 'bartleby_attempts_total{outcome="done"}')

    wait_for(done, lambda: handled() == BEHIND - waiting, PATIENCE)
    seconds = time.monotonic() - began
    assert world.witness.offsets(topic, topic).get(0, 0) == 0, "the parked one was passed"
    first_memory, first_log = most_memory(worker), worker.log
    assert worker.terminate(PATIENCE) == 0
    worker = world.launch("q1", workers, program=TOOLS / "crashing")
    wait_for("it after a restart", lambda: parked(worker, topic), PATIENCE)
    status, answer = worker.call("POST", f"/api/v1/workers/{topic}/parked:run-now",
                                 json.dumps({"partition": 0, "offset": 0}), seconds=PATIENCE)
    assert status == 200, answer
    wait_for("the rest", lambda: world.witness.offsets(topic, topic) == world.witness.ends(topic), PATIENCE)
    assert handled() == waiting, f"{handled()} handled after the restart, not {waiting}"
    memory = first_memory, most_memory(worker)
    assert max(memory) < MEMORY, f"{memory} MB"
    assert worker.terminate(PATIENCE) == 0
    for log in (first_log, worker.log):
        assert "disorder" not in log.read_text(), log.read_text()[-2000:]
    return (f"{BEHIND - waiting} handled behind it in {seconds:.0f} s, {waiting - 1} of its key came after it and in "
            f"order, none was handled again after a restart; {memory[0]} and {memory[1]} MB at most")


def one_death(world, topic, partitions):
    """How long after the session's end the heir had its first message, and had all; and how many there were."""
    endpoint, count = Endpoint(lambda number: 0), 0
    world.witness.ask("create", topic, partitions)
    workers = f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    retry: {{max_attempts: 3, schedule: [20ms], timeout: 60s}}
    guard: null
"""
    world.session, kept = 3000, world.session
    dying = world.launch(f"dying-{topic}", workers, program=TOOLS / "bartleby",
                         environment={"BARTLEBY_DIE_AT": "transaction.sent:30"})
    until = time.monotonic() + PATIENCE
    while dying.process.poll() is None:  # its first transactions only say that it has begun
        assert time.monotonic() < until, "it does not die"
        world.witness.produce(topic, count, count + 60, 1000)
        count += 60
        time.sleep(0.1)
    assert dying.process.wait(10) == -signal.SIGKILL, dying.log.read_text()[-2000:]
    died = time.monotonic()
    dead = next(iter(world.witness.members(topic)), None)
    world.session = kept
    # It hears at its next heartbeat that the group goes on without the dead one.
    heir = world.launch(f"heir-{topic}", workers, properties={"heartbeat.interval.ms": "300"})
    if dead:
        wait_for("the end of its session", lambda: dead not in world.witness.members(topic), PATIENCE)
    ended, before = time.monotonic(), len(endpoint.attempts)
    wait_for("the first message after that", lambda: len(endpoint.attempts) > before, PATIENCE)
    first, since_death = time.monotonic() - ended, time.monotonic() - died
    where = world.witness.produce(topic, count, 2 * count, 1000)
    assert {p for p, _ in where.values()} == set(range(partitions)), where
    wait_for("all", lambda: len(endpoint.succeeded) == 2 * count, PATIENCE)
    whole = time.monotonic() - ended
    wait_for("all commits", lambda: world.witness.offsets(topic, topic) == world.witness.ends(topic), PATIENCE)
    assert heir.terminate(PATIENCE) == 0
    return first, since_death, whole, 2 * count


def death_in_a_transaction(world):
    """kill -9 between the last request of a transaction and its commit, of the owner of all partitions.

    What else the machine does can only make one slower, so the median counts: of three, and of five where that is not
    quick. The quickest one alone would hide what costs most of them time.
    """
    partitions, deaths = 12, []

    def median():
        return sorted(deaths)[len(deaths) // 2]

    while len(deaths) < 3 or (len(deaths) < 5 and median()[0] > SOON):
        deaths.append(one_death(world, f"sudden{len(deaths)}", partitions))
    first, since_death, whole, count = median()
    said = ", ".join(f"{death[0]:.1f}" for death in deaths)
    assert first <= SOON, f"the heirs went on {said} s after the session's end, most of them not within {SOON} s"
    # The broker gives the open transaction up 10 s after it began: whoever was faster has fenced its writer.
    assert since_death < TRANSACTION - 1, f"{since_death:.1f} s after the death"
    return (f"the heir of {partitions} partitions went on {said} s after the session's end ({since_death:.1f} s after "
            f"the death) and had all after {whole:.1f} s; 0 of {count} lost")


def crash_poison(world):
    """A message that kills whoever handles it, in a group of three that are started again as by a service manager."""
    topic, neighbours = "orders", 300
    workers = f"""  {topic}:
    concurrency: 8
    topics: [poisoned]
    group: poisoned
    retry: {{max_crashes: {MAX_CRASHES}, schedule: [50ms], timeout: 20s}}
"""
    world.witness.ask("create", "poisoned", 6)
    world.session, kept = 6000, world.session
    names = ("c1", "c2", "c3")
    deaths, ending = collections.Counter(), threading.Event()
    for name in names:
        world.launch(name, workers, program=TOOLS / "crashing")

    def manage(name):
        while not ending.wait(0.05):
            if world.workers[name].process.poll() is not None:
                deaths[name] += 1
                try:
                    world.workers[name].start(PATIENCE)
                except AssertionError:  # it died again before it listened
                    continue

    managers = [threading.Thread(target=manage, args=(name,), daemon=True) for name in names]
    for manager in managers:
        manager.start()
    world.session = kept
    try:
        world.witness.produce("poisoned", 0, neighbours // 2, 1000)
        world.witness.ask("send", "poisoned", "culprit", "segv")
        world.witness.produce("poisoned", neighbours // 2, neighbours, 1000)
        # The dlq is made by the first worker, and its records and the commits are there at slightly different times.
        wait_for("the letter", lambda: sum(world.witness.ends("poisoned.dlq").values()) > 0, PATIENCE)
        wait_for("all to be committed", lambda: world.witness.offsets("poisoned", "poisoned") ==
                 world.witness.ends("poisoned"), PATIENCE)
        wait_for("the fleet", lambda: all(world.workers[n].process.poll() is None for n in names), PATIENCE)
    finally:
        ending.set()
        for manager in managers:
            manager.join(PATIENCE)
    letters = world.witness.read("poisoned.dlq")
    assert [(key, value) for _, _, key, value, _ in letters] == [("culprit", "segv")], letters
    assert letters[0][4]["bartleby-reason"] == "PROCESS_CRASH", letters
    assert deaths and max(deaths.values()) <= MAX_CRASHES, f"deaths: {dict(deaths)}"
    for name in names:
        world.stop(name)
    return f"{neighbours} neighbours unharmed, one letter, deaths {dict(sorted(deaths.items()))}"


def crash_while_kafka_is_away(world):
    """The process starts, and only the worker with a handler in it waits until the obituary is written."""
    world.witness.ask("create", "mourned", 1)
    workers = f"""  orders:
    concurrency: 1
    topics: [mourned]
    group: mourned
    retry: {{max_crashes: {MAX_CRASHES}, schedule: [50ms], timeout: 20s}}
"""
    world.session, kept = 6000, world.session
    worker = world.launch("m1", workers, program=TOOLS / "crashing")
    world.session = kept
    world.witness.ask("send", "mourned", "culprit", "segv")
    wait_for("its death", lambda: worker.process.poll() is not None, PATIENCE)
    away = threading.Thread(target=world.kafka.crash, args=(1, 15.0))
    away.start()
    time.sleep(1.0)
    worker.start(PATIENCE)
    assert away.is_alive(), "it has waited for Kafka"
    wait_for("a word", lambda: "obituaries_wait" in worker.log.read_text(), PATIENCE)
    away.join()

    def letters():
        if worker.process.poll() is not None:
            worker.start(PATIENCE)
        return sum(world.witness.ends("mourned.dlq").values()) > 0

    wait_for("the letter", letters, PATIENCE)
    (_, _, key, value, headers), = world.witness.read("mourned.dlq")
    assert (key, value, headers["bartleby-reason"]) == ("culprit", "segv", "PROCESS_CRASH"), headers
    assert worker.starts <= MAX_CRASHES + 1, f"{worker.starts} lives: an obituary was lost"
    world.stop("m1")
    return f"{worker.starts} lives, one letter"


CHECKS = (thirty_minutes, behind_a_parked_head, death_in_a_transaction, crash_poison, crash_while_kafka_is_away)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, 1, 1000, CHECKS))
