#!/usr/bin/env python3
"""What goes wrong around workers on a real Kafka: dlqs that take nothing, topics that come late, grow, vanish, return.

Usage: kafka_troubles.py PROGRAM. One worker process at a time, office included. Prints a line per check; where Kafka
cannot be had every check is skipped.
"""

import collections
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import ATTEMPTS, DLQ, GROUP, PATIENCE, TOPIC, Endpoint, dies, run_in_world  # noqa: E402
from processes import wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
PARTITIONS, KEYS = 2, 100000  # a key of its own for each message


def ask(world, method, path, body=None):
    """The answer, when the server has one: Kafka may take its time."""
    answers = []

    def answered():
        status, answer = world.workers["a"].call(method, path, body and json.dumps(body),
                                                 {"Content-Type": "application/json"}, PATIENCE)
        assert status < 500 or status == 503, (path, status, answer)
        answers.append((status, answer))
        return status != 503

    wait_for(path, answered, PATIENCE)
    status, answer = answers[-1]
    assert status < 400, (path, status, answer)
    return answer


def metric(world, name):
    lines = ask(world, "GET", "/metrics").decode().splitlines()
    found = [line.split()[-1] for line in lines if line.startswith((name + " ", name + "{"))]
    assert len(found) == 1, (name, found)
    return float(found[0])


def with_deaths(world, deaths):
    """As many messages as it takes for so many of them to die; their numbers."""
    count, first = 0, max(world.where, default=-1) + 1
    while sum(1 for n in range(first, first + count) if dies(n)) < deaths:
        count += 1
    return world.send_more(count)


def handled_once(world, numbers):
    times = collections.Counter(n for n, _, good in world.endpoint.attempts if good and n in numbers)
    wrong = [n for n in numbers if times[n] != (0 if dies(n) else 1)]
    assert not wrong, f"not handled exactly once: {wrong[:5]}"


def letters_wait(world, close, reopen):
    """A dlq that takes nothing: its letters wait, their handler does not run again, all others go on."""
    alarms = world.said("dlq_publish_failed")
    close()
    fresh = with_deaths(world, 2)
    dying = {n for n in fresh if dies(n)}
    wait_for("all others to be handled", lambda: all(world.endpoint.finished(n) for n in fresh), PATIENCE)
    wait_for("the alarm", lambda: world.said("dlq_publish_failed") > alarms, PATIENCE)
    wait_for("the metric", lambda: metric(world, "bartleby_dlq_pending") == len(dying), PATIENCE)
    passed = [n for n in dying if world.witness.offsets(GROUP, TOPIC).get(world.where[n][0], 0) > world.where[n][1]]
    assert not passed, f"passed by a commit without a letter: {passed}"
    reopen()
    world.await_all()
    world.await_letters(fresh)
    again = [n for n in dying if world.endpoint.failed[n] != ATTEMPTS]
    assert not again, f"their handler ran again: {again}"
    handled_once(world, fresh)
    wait_for("nothing to wait", lambda: metric(world, "bartleby_dlq_pending") == 0, PATIENCE)
    return f"{len(fresh)} messages, {len(dying)} letters waited"


def dlq_forbidden(world):
    world.begin("a", "[runtime, office]")
    with_deaths(world, 1)
    world.await_all()
    return letters_wait(world, lambda: world.witness.ask("deny", DLQ), lambda: world.witness.ask("allow", DLQ))


def dlq_takes_less(world):
    return letters_wait(world, lambda: world.witness.ask("set", DLQ, "max.message.bytes", 200),
                        lambda: world.witness.ask("set", DLQ, "max.message.bytes", 2000000))


def letters_with(world, state):
    return ask(world, "GET", f"/api/v1/letters?limit=1&q=dlq:{DLQ}+state:{state}")["count"]["value"]


def await_office(world):
    """Until the office has every letter that there ever was."""
    letters = sum(1 for n in world.where if dies(n))
    wait_for("the office", lambda: letters_with(world, "open") == letters, PATIENCE)
    return letters


def dlq_deleted(world):
    """Made again by whoever misses it, with as many partitions as its topic; the letters go there."""
    await_office(world)
    alarms = world.said("dlq_publish_failed")
    world.witness.ask("delete", DLQ)
    fresh = with_deaths(world, 2)
    wait_for("the alarm", lambda: world.said("dlq_publish_failed") > alarms, PATIENCE)
    world.await_all()
    wait_for("a dlq", lambda: len(world.witness.ends(DLQ)) == PARTITIONS, PATIENCE)
    letters = world.await_letters(fresh)
    again = [n for n in fresh if dies(n) and world.endpoint.failed[n] != ATTEMPTS]
    assert not again, f"their handler ran again: {again}"
    handled_once(world, fresh)
    assert world.said("topics_made_again") > 0, world.last_words()
    wait_for("nothing to wait", lambda: metric(world, "bartleby_dlq_pending") == 0, PATIENCE)
    return f"{letters} letters in a dlq that was made again"


def dlq_made_anew(world):
    """A dlq that is as long as the deleted one was: what lies in it is taken in, and told."""
    def letters():
        return ask(world, "GET", "/api/v1/letters?limit=10&q=dlq:twin.dlq")["items"]

    world.witness.ask("create", "twin.dlq", 1)
    world.witness.ask("send", "twin.dlq", "k", "before")
    wait_for("the first", lambda: len(letters()) == 1, PATIENCE)
    world.witness.ask("delete", "twin.dlq")
    world.witness.ask("create", "twin.dlq", 1)
    world.witness.ask("send", "twin.dlq", "k", "after")
    wait_for("the second", lambda: len(letters()) == 2, PATIENCE)
    assert world.said("dlq_made_anew dlq=twin.dlq") == 1, world.last_words()
    return "one letter before, one after"


def partitions_added(world):
    """Read from their beginning, with journal and dlq grown, and no incident."""
    resets = world.said("offset_reset")
    world.witness.ask("partitions", TOPIC, 2 * PARTITIONS)
    sent = []

    def everywhere():
        sent.extend(with_deaths(world, 1))
        return {world.where[n][0] for n in sent} == set(range(2 * PARTITIONS))

    wait_for("messages in every partition", everywhere, PATIENCE)
    world.await_all()
    world.await_letters(sent)
    handled_once(world, sent)
    for grown in (f"{TOPIC}.parked.{GROUP}", DLQ):
        assert len(world.witness.ends(grown)) == 2 * PARTITIONS, world.witness.ends(grown)
    assert world.said("offset_reset") == resets, world.last_words()
    return f"{len(sent)} messages in {2 * PARTITIONS} partitions"


def letters_replayed(world):
    """The office of the same process sends its letters once more; mended, they end resolved."""
    letters = await_office(world)
    world.endpoint.mended = True
    attempts = len(world.endpoint.attempts)
    plan = ask(world, "POST", "/api/v1/operations", {"kind": "replay", "q": f"dlq:{DLQ}", "rate": 1000})
    assert plan["letters"] == letters, plan
    ask(world, "POST", f"/api/v1/operations/{plan['id']}:start")
    wait_for("its end", lambda: ask(world, "GET", f"/api/v1/operations/{plan['id']}")["state"] == "done", PATIENCE)
    done = ask(world, "GET", f"/api/v1/operations/{plan['id']}")
    assert done["results"]["succeeded"] == letters, done
    assert letters_with(world, "resolved") == letters and letters_with(world, "open") == 0
    sent = [n for n, _, _ in world.endpoint.attempts[attempts:]]
    assert len(sent) == len(set(sent)) == letters and all(dies(n) for n in sent), sent
    return f"{letters} letters"


def handled_from_the_beginning(world, count):
    """Of a topic that is new under its old name."""
    first = max(world.where) + 1
    for kept in (world.where, world.at, world.committed):
        kept.clear()
    world.send(first, first + count)
    wait_for("all to be handled", lambda: world.endpoint.succeeded.issuperset(range(first, first + count)), PATIENCE)
    wait_for("all to be committed", lambda: world.witness.offsets(GROUP, TOPIC) == world.witness.ends(TOPIC), PATIENCE)
    return f"{count} messages"


def topic_made_anew(world):
    """Another topic under the same name, that grows past where we were: read from its beginning, and told."""
    before = max(world.witness.ends(TOPIC).values())
    resets = metric(world, "bartleby_offset_resets_total")
    world.witness.ask("delete", TOPIC)
    world.witness.ask("create", TOPIC, PARTITIONS)
    note = handled_from_the_beginning(world, PARTITIONS * (before + 200))
    # By the member, by the engine, or by the worker that joins again where the group was faster.
    words = ("topic_made_anew", "offset_reset", "offsets_gone")
    assert sum(world.said(one) for one in words) > 0, world.last_words()
    assert metric(world, "bartleby_offset_resets_total") > resets, world.last_words()
    return note


def topic_away(world):
    """Deleted for a while: somebody is told, the worker waits and goes on by itself."""
    def told():  # by the member, or by librdkafka where the group was faster
        return world.said("is gone") + world.said("Subscribed topic not available")

    before = told()
    world.witness.ask("delete", TOPIC)
    wait_for("somebody to be told", lambda: told() > before, PATIENCE)
    world.witness.ask("create", TOPIC, PARTITIONS)
    note = handled_from_the_beginning(world, 100)
    world.stop("a")
    return note


def topics_missing_at_the_start(world):
    """The worker waits for all of its topics, says once for which, makes nothing, and goes on when they are there."""
    there, missing, group = "early", "late", "latecomer"
    endpoint = Endpoint(lambda number: 0)
    world.witness.ask("create", there, 1)
    world.witness.produce(there, 0, 10, 1000)
    worker = world.launch("b", f"""  {group}:
    topics: [{there}, {missing}]
    handler: {{http: {{url: "{endpoint.url}"}}}}
    guard: null
""", "[runtime, office]")

    def waits():
        return [line for line in worker.log.read_text().splitlines() if "worker_waits" in line]

    wait_for("it to be told", waits, PATIENCE)
    time.sleep(4)  # tries come after 0.2, 0.4, 0.8 and 1.6 s
    assert len(waits()) == 1 and f"topic {missing}: no such topic: {missing}" in waits()[0], waits()
    status = worker.get(f"/api/v1/workers/{group}")
    assert status["state"] == "starting" and missing in status["trouble"], status
    health = worker.get("/actuator/health")
    workers = health["components"]["workers"]
    assert health["status"] == "DEGRADED" and workers["details"]["missing"] == [group], health
    topics = {one["name"] for one in worker.get("/api/v1/topics")["items"]}
    made = {name for name in topics if name.startswith((there + ".", missing))}
    assert not made and not endpoint.attempts, f"made {made}, attempted {endpoint.attempts}"
    world.witness.ask("create", missing, 1)
    world.witness.produce(missing, 10, 20, 1000)
    wait_for("all to be handled", lambda: endpoint.succeeded.issuperset(range(20)), PATIENCE)
    wait_for("health", lambda: worker.get("/actuator/health")["components"]["workers"]["status"] == "UP", PATIENCE)
    assert worker.get(f"/api/v1/workers/{group}")["trouble"] is None
    assert len(waits()) == 1, waits()
    world.stop("b")
    return f"told once: {waits()[0].split('why=')[1].split(' again_in_ms')[0]}"


def stopped_while_kafka_does_not_answer(world):
    """A stop waits for a slow broker longer than for handlers, and ends cleanly when it answers."""
    topic, count = "slow", 50
    endpoint = Endpoint(lambda number: 0)
    world.witness.ask("create", topic, 1)
    worker = world.launch("c", f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    drain: 1s
    guard: null
""")
    world.witness.produce(topic, 0, count, 1000)
    wait_for("all to be handled", lambda: len(endpoint.succeeded) == count, PATIENCE)
    world.kafka.freeze()
    thaw = threading.Timer(10.0, world.kafka.thaw)  # longer than the drain and what handlers have beyond it
    thaw.start()
    try:
        began = time.monotonic()
        world.stop("c")
        took = time.monotonic() - began
    finally:
        thaw.join()
    said = worker.log.read_text()
    assert "info stopped" in said and "handlers_left_behind" not in said, said[-2000:]
    return f"it took {took:.1f} s"


def journal_that_forgets(world):
    """Somebody has made the journal like any other topic: nothing is begun, and what to do is said."""
    topic, endpoint = "careless", Endpoint(lambda number: 0)
    journal = f"{topic}.parked.{topic}"
    for name in (topic, journal, f"{topic}.dlq"):
        world.witness.ask("create", name, 1)
    world.witness.produce(topic, 0, 10, 1000)
    worker = world.launch("d", f"""  {topic}:
    handler: {{http: {{url: "{endpoint.url}"}}}}
    guard: null
dlqs:
  {topic}.dlq: {{class: financial}}
""")
    wait_for("it to be told", lambda: f"journal {journal}: " in worker.log.read_text(), PATIENCE)
    trouble = worker.get(f"/api/v1/workers/{topic}")["trouble"]
    assert "cleanup.policy to compact" in trouble and not endpoint.attempts, (trouble, endpoint.attempts)
    world.witness.ask("set", journal, "cleanup.policy", "compact")
    wait_for("all to be handled", lambda: len(endpoint.succeeded) == 10, PATIENCE)
    said = [line for line in worker.log.read_text().splitlines() if "dlq_forgets" in line]
    assert len(said) == 1 and f"dlq={topic}.dlq" in said[0] and "retention.ms" in said[0], said
    world.stop("d")
    return "told, and read when it was mended"


CHECKS = (topics_missing_at_the_start, journal_that_forgets, stopped_while_kafka_does_not_answer, dlq_forbidden,
          dlq_takes_less, dlq_deleted, dlq_made_anew, partitions_added, letters_replayed, topic_made_anew, topic_away)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, PARTITIONS, KEYS, CHECKS, needed=(dlq_forbidden,)))
