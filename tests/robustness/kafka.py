#!/usr/bin/env python3
"""Workers on a real Kafka: stopped, killed, frozen, added and removed, seen by a client that is not ours.

Usage: kafka.py PROGRAM TOOLS [--long] [--brokers=N] [--protocol=consumer]. TOOLS is the folder of a test build, with
`replay` and `contract_tests`. Prints a line per check. 12 partitions, 1,000 keys; of the messages 5 % fail twice on
their way to success and 1 % die. 20,000 messages and 90 s of faults on one broker; with --long 100,000 and 10 minutes
on three, which are killed too. By the protocol of KIP-848 3,000 messages and 20 s, and the contract's part about
groups; on a Kafka that does not have it, what is told. Where Kafka cannot be had every check is skipped.
"""

import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_world import (ATTEMPTS, DLQ, GROUP, PATIENCE, TOPIC, dies, failures, out_of_turn,  # noqa: E402
                         run_in_world, without_letters)
from processes import Bartleby, wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(sys.argv[2]).resolve()
LONG = "--long" in sys.argv
BROKERS = next((int(word.split("=")[1]) for word in sys.argv if word.startswith("--brokers=")), 3 if LONG else 1)
PARTITIONS, KEYS = 12, 1000
CONSUMER = "--protocol=consumer" in sys.argv
CLEAN, ROUGH, ROUGH_SECONDS = (20000, 80000, 600) if LONG else (1000, 2000, 20) if CONSUMER else (5000, 15000, 90)
SESSION, FROZEN = 10000, 13.0  # the group goes on without who is frozen


def clean_stops(world):
    """SIGTERM, one after the other, one more and one less, while messages flow: nothing is handled twice."""
    world.protocol = "consumer" if CONSUMER else "classic"
    for name in ("a", "b", "c"):
        world.begin(name)
    world.watcher.start()
    sender = threading.Thread(target=world.send, args=(0, CLEAN, 8), daemon=True)
    sender.start()
    stops = 0
    for name in ("a", "b", "d", "c"):
        time.sleep(1.0)
        if name == "d":
            world.begin("d")
            continue
        world.stop(name)
        stops += 1
        if name != "c":  # c stays away
            world.begin(name)
    sender.join()
    assert len(world.where) == CLEAN, "not everything could be sent"
    world.await_all()
    times = collections.Counter(n for n, _, good in world.endpoint.attempts if good)
    twice = [n for n, count in times.items() if count > 1]
    assert not twice, f"handled twice after clean stops: {twice[:5]}"
    wrong = [n for n in range(CLEAN) if world.endpoint.failed[n] != failures(n)]
    assert not wrong, f"more or fewer failed attempts than configured: {wrong[:5]}"
    return f"{CLEAN} messages, {stops} stops, 0 handled twice"


def rough(world):
    """kill -9, SIGTERM, frozen and thawed, added and removed; of several brokers one at a time dies and comes back, and
    leaders and coordinators move."""
    chooser = random.Random(5)
    world.session = SESSION
    for name in world.running():
        world.stop(name)
        world.begin(name)
    sender = threading.Thread(target=world.send, args=(CLEAN, CLEAN + ROUGH, ROUGH_SECONDS), daemon=True)
    sender.start()
    done = collections.Counter()
    until = time.monotonic() + ROUGH_SECONDS
    several = ["broker", "leaders"] if world.kafka.brokers > 1 else []
    plan = ["kill", "freeze", *several, "stop", "add", "kill"]
    while time.monotonic() < until or plan:
        world.nobody_died()
        what = plan.pop(0) if plan else chooser.choice(["kill", "kill", "stop", "freeze", "add", *several])
        alive = world.running()
        name = chooser.choice(alive)
        worker = world.workers[name]
        if what == "kill":
            worker.kill()
            time.sleep(chooser.uniform(0.1, 1.0))
            world.begin(name)
        elif what == "stop" and len(alive) > 2:
            world.stop(name)
        elif what == "add":
            away = sorted(set(world.workers) - set(alive))
            world.begin(away[0] if away else f"more{len(world.workers)}") if len(alive) < 5 else None
        elif what == "freeze":
            worker.process.send_signal(signal.SIGSTOP)
            time.sleep(FROZEN)
            worker.process.send_signal(signal.SIGCONT)
        elif what == "broker":
            world.kafka.crash(chooser.randint(1, world.kafka.brokers), chooser.uniform(1.0, 8.0))
        elif what == "leaders":
            for topic in (TOPIC, f"{TOPIC}.parked.{GROUP}", DLQ, "__consumer_offsets", "__transaction_state"):
                world.witness.ask("move", topic)
        else:
            continue
        done[what] += 1
        time.sleep(chooser.uniform(0.2, 2.0))
    sender.join()
    assert len(world.where) == CLEAN + ROUGH, "not everything could be sent"
    world.await_all()
    world.nobody_died()
    return ", ".join(f"{count} × {what}" for what, count in done.items())


def every_end_once(world):
    """Handled or a letter, never both, no letter twice."""
    world.await_letters(world.where)
    letters = world.letters()
    both = [n for n, *_ in letters if n in world.endpoint.succeeded]
    assert not both, f"handled and a letter: {both[:5]}"
    lost = [n for n in world.where if not dies(n) and n not in world.endpoint.succeeded]
    assert not lost, f"lost: {lost[:5]}"
    for number, key, value, headers in letters:
        assert headers["bartleby-attempts"] == str(ATTEMPTS), headers
        assert (key, value) == (f"k{number % KEYS}", f"m{number}"), (key, value, headers)
    return f"{len(world.endpoint.succeeded)} handled, {len(letters)} letters"


def key_order(world):
    """A message begins when the one before it in its key has ended, by success or by its last failure; no attempt has a
    higher number than there are."""
    for number, attempt, _ in world.endpoint.attempts:
        assert 1 <= attempt <= ATTEMPTS, f"attempt {attempt} of m{number}"
    wrong = out_of_turn(world.endpoint.attempts, KEYS)
    assert not wrong, f"key k{wrong[0] % KEYS}: m{wrong[0]} began before m{wrong[0] - KEYS} had ended"
    behind_the_dead = sum(1 for n in world.where if n >= KEYS and dies(n - KEYS))
    return f"{KEYS} keys, {behind_the_dead} messages behind one that died"


def commits_never_ahead(world):
    """Of what has no end yet; and of letters, in the dlq's own order."""
    world.look()
    assert not world.seen_wrong, world.seen_wrong[0]
    assert sum(world.committed.values()) == len(world.where), dict(world.committed)
    assert set(world.passed) == {n for n in world.where if dies(n)}, "not every death was looked at"
    letters = [(world.at[int(headers["bartleby-partition"])].get(int(headers["bartleby-offset"])), partition, offset)
               for partition, offset, _, _, headers in world.witness.read(DLQ)]
    wrong = without_letters(world.passed, letters)
    assert not wrong, f"passed before their letters were written: {wrong[:5]}"
    return f"{world.looks} looks at {PARTITIONS} partitions, {len(letters)} letters before their commits"


def office(world):
    """A process that is only an office finds the letters of the group."""
    home = world.folder / "office"
    home.mkdir()
    desk = Bartleby(PROGRAM, home, ["--kafka", world.kafka.bootstrap, "--roles", "[office]"])
    try:
        desk.start(PATIENCE)
        expected = sum(1 for n in world.where if dies(n))

        def taken_in():
            status, answer = desk.call("GET", "/api/v1/dlqs", seconds=PATIENCE)
            items = answer["items"] if status == 200 else []
            return items and items[0]["name"] == DLQ and items[0]["open"] == expected

        wait_for("all letters to be taken in", taken_in, PATIENCE)
        status, answer = desk.call("GET", f"/api/v1/letters?limit=500&q=dlq:{DLQ}", seconds=PATIENCE)
        assert status == 200, answer
        letters = answer["items"]
        assert len(letters) == min(expected, 500) and all(one["state"] == "open" for one in letters), letters[:2]
        assert desk.terminate(PATIENCE) == 0
        return f"{expected} letters taken in"
    finally:
        desk.end()


def recordings(world):
    """What the engines were told, told again to fresh ones: they must answer the same."""
    for name in world.running():
        world.stop(name)
    files = sorted(world.recordings.glob("*.events"))
    lives = world.said("worker_started")  # a process that was killed before has nothing to record
    assert len(files) >= lives > 0, f"{len(files)} recordings of {lives} lives"
    steps = 0
    for file in files:
        done = subprocess.run([TOOLS / "replay", file], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0 and ": identical" in done.stdout, (done.stdout + done.stderr)[-3000:]
        steps += int(done.stdout.split(": ")[1].split(" steps")[0])
    return f"{len(files)} recordings, {steps} steps"


GROUPS = ("TwoMembers*", "ARevokedPartition*", "AWriteBetween*", "LeavingHands*", "ACrashedMember*",
          "AGenerationThatMoves*", "AFencedWriter*")


def contract(world):
    """What is about groups in the contract of brokers, by this protocol."""
    environment = {**os.environ, "BARTLEBY_TEST_KAFKA": world.kafka.bootstrap,
                   "BARTLEBY_TEST_GROUP_PROTOCOL": "consumer"}
    chosen = ":".join(f"Kafka/BrokerContract.{name}" for name in GROUPS)
    done = subprocess.run([TOOLS / "contract_tests", f"--gtest_filter={chosen}"], capture_output=True, text=True,
                          env=environment, timeout=1200, check=False)
    assert done.returncode == 0 and "/Consumer" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]
    return f"{done.stdout.count('       OK ')} behaviours"


def told_that_it_cannot(world):
    """A Kafka that does not have the protocol: said, again and again, and nothing is done."""
    world.protocol = "consumer"
    world.begin("a")
    words = "group_protocol: consumer needs brokers since 4.0"
    wait_for("its complaint", lambda: words in world.workers["a"].log.read_text(), PATIENCE)
    assert not world.endpoint.attempts
    world.stop("a")
    return words


CHECKS = (clean_stops, rough, every_end_once, key_order, commits_never_ahead, office, recordings)
if CONSUMER:
    CHECKS = (*CHECKS[:5], CHECKS[6], contract)
    if os.environ.get("KAFKA_VERSION", "4").startswith("3"):
        CHECKS = (told_that_it_cannot,)

if __name__ == "__main__":
    sys.exit(run_in_world(PROGRAM, PARTITIONS, KEYS, CHECKS, needed=(clean_stops, rough),
                          brokers=BROKERS))
