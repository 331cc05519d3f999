#!/usr/bin/env python3
"""What goes wrong around workers on a real Kafka: dlqs that take nothing, topics that grow, vanish and come back.

Usage: kafka_troubles.py PROGRAM. One worker process, office included. Prints a line per check; where Kafka cannot be
had every check is skipped.
"""

import collections
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import ATTEMPTS, DLQ, GROUP, PATIENCE, TOPIC, dies, run_in_world  # noqa: E402
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


def dlq_short_of_replicas(world):
    def close():
        world.witness.ask("set", DLQ, "min.insync.replicas", 2)
        time.sleep(2)  # so long it is believed that enough are in step: then a transaction is begun in vain

    return letters_wait(world, close,
                        lambda: world.witness.ask("set", DLQ, "min.insync.replicas", 1))


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
    world.witness.ask("delete", TOPIC)
    world.witness.ask("create", TOPIC, PARTITIONS)
    note = handled_from_the_beginning(world, PARTITIONS * (before + 200))
    # By the member, by the engine, or by librdkafka where the group was faster.
    words = ("made anew", "is gone", "offset_reset", "Subscribed topic not available")
    assert sum(world.said(one) for one in words) > 0, world.last_words()
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


CHECKS = (dlq_forbidden, dlq_takes_less, dlq_short_of_replicas, dlq_deleted, partitions_added, letters_replayed,
          topic_made_anew, topic_away)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, PARTITIONS, KEYS, CHECKS, needed=(dlq_forbidden,)))
