#!/usr/bin/env python3
"""Workers on a real Kafka: stopped, killed, frozen, added and removed, seen by a client that is not ours.

Usage: kafka.py PROGRAM TOOLS [--long]. TOOLS is the folder of a test build, with `replay`. Prints a line per check.
12 partitions, 1,000 keys; of the messages 5 % fail twice on their way to success and 1 % die. Without --long 6,000
messages and some 20 s of faults, with it 100,000 and 10 minutes. Where Kafka cannot be had every check is skipped.
"""

import asyncio
import collections
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from kafka_server import Kafka, Missing, Witness  # noqa: E402
from processes import Bartleby, wait_for  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
TOOLS = pathlib.Path(sys.argv[2]).resolve()
LONG = "--long" in sys.argv
TOPIC, GROUP = "orders", "orders"
PARTITIONS, KEYS, ATTEMPTS = 12, 1000, 4
CLEAN, ROUGH, ROUGH_SECONDS = (20000, 80000, 600) if LONG else (2000, 4000, 20)
FROZEN = 13.0  # longer than a session: the group goes on without it


def lot(number):
    """0 to 99, whatever the key is."""
    return zlib.crc32(b"%d" % number) % 100


def dies(number):
    return lot(number) == 0


def failures(number):
    """How many of its attempts fail before one succeeds."""
    return ATTEMPTS if dies(number) else 2 if lot(number) <= 5 else 0


class Endpoint:
    """The handler, on one thread: what it has answered is in the order in which it has answered it."""

    def __init__(self):
        self.attempts = []  # (number, attempt, succeeded)
        self.succeeded = set()
        self.failed = collections.Counter()
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=(started,), daemon=True).start()
        assert started.wait(10)
        self.url = f"http://127.0.0.1:{self.port}/"

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(self.loop.create_server(lambda: Connection(self), "127.0.0.1", 0,
                                                                      backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()

    def decide(self, number, attempt):
        good = attempt > failures(number)
        self.attempts.append((number, attempt, good))
        if good:
            self.succeeded.add(number)
        else:
            self.failed[number] += 1
        return good

    def finished(self, number):
        return number in self.succeeded or (dies(number) and self.failed[number] >= ATTEMPTS)


class Connection(asyncio.Protocol):
    def __init__(self, endpoint):
        self.endpoint, self.left, self.transport = endpoint, b"", None

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.left += data
        while (head := self.left.find(b"\r\n\r\n")) >= 0:
            headers = dict(line.lower().split(b":", 1) for line in self.left[:head].split(b"\r\n")[1:])
            end = head + 4 + int(headers.get(b"content-length", 0))
            if len(self.left) < end:
                return
            value, self.left = self.left[head + 4:end], self.left[end:]
            good = self.endpoint.decide(int(value[1:]), int(headers[b"bartleby-attempt"]))
            self.transport.write(b"HTTP/1.1 %s\r\ncontent-length: 0\r\n\r\n" % (b"200 OK" if good else b"500 No"))


class World:
    """Broker, witness, endpoint, worker processes, and somebody who looks at the committed offsets all the time."""

    def __init__(self, folder, kafka):
        self.folder = pathlib.Path(folder)
        self.kafka = kafka
        self.witness = Witness(kafka.bootstrap)
        self.endpoint = Endpoint()
        self.recordings = self.folder / "recordings"
        self.workers = {}
        self.where = {}  # number -> (partition, offset)
        self.at = collections.defaultdict(dict)  # partition -> offset -> number
        self.committed = collections.Counter()
        self.looks = 0
        self.looking = threading.Lock()
        self.seen_wrong = []
        self.ending = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.witness.ask("create", TOPIC, PARTITIONS)

    def begin(self, name):
        """A worker process of that name, new or again."""
        if name not in self.workers:
            home = self.folder / name
            home.mkdir()
            home.joinpath("worker.yaml").write_text(f"""roles: [runtime]
brokers: {{main: {{kafka: {{bootstrap: "{self.kafka.bootstrap}"}}}}}}
workers:
  {TOPIC}:
    handler: {{http: {{url: "{self.endpoint.url}"}}}}
    retry: {{max_attempts: {ATTEMPTS}, schedule: [20ms, 50ms, 100ms], timeout: 10s}}
    guard: null
""")
            self.workers[name] = Bartleby(PROGRAM, home, ["-c", str(home / "worker.yaml")],
                                          {**os.environ, "BARTLEBY_RECORD": str(self.recordings)})
        self.workers[name].start(60)

    def send(self, start, end, seconds):
        """Spread over that time, so that whatever happens meanwhile meets messages."""
        began, many = time.monotonic(), 50
        for first in range(start, end, many):
            told = self.witness.produce(TOPIC, first, min(first + many, end), KEYS)
            for number, (partition, offset) in told.items():
                self.at[partition][offset] = number
            self.where.update(told)
            time.sleep(max(0.0, began + seconds * (first - start + many) / (end - start) - time.monotonic()))

    def watch(self):
        while not self.ending.wait(0.2):
            try:
                self.look()
            except AssertionError as error:
                self.seen_wrong.append(str(error))
                return

    def look(self):
        """No committed offset may be past a message that has no end yet, and none may fall."""
        with self.looking:
            for partition, offset in self.witness.offsets(GROUP, TOPIC).items():
                before = self.committed[partition]
                assert offset >= before, f"the commit of {partition} fell from {before} to {offset}"
                for passed in range(before, offset):
                    number = self.at[partition].get(passed)
                    if number is None:  # sent, and we have not been told where yet
                        offset = passed
                        break
                    assert self.endpoint.finished(number), f"{partition}:{passed} (m{number}) was passed unfinished"
                self.committed[partition] = offset
            self.looks += 1

    def await_all(self, quiet=90.0):
        """Until everything sent has its end; in vain when nothing was attempted for so long."""
        seen, since = -1, time.monotonic()
        while True:
            assert not self.seen_wrong, f"{self.seen_wrong[0]}; {self.last_words()}"
            open_ones = [n for n in self.where if not self.endpoint.finished(n)]
            ends = collections.Counter(partition for partition, _ in self.where.values())
            if not open_ones and +collections.Counter(self.witness.offsets(GROUP, TOPIC)) == ends:
                return
            if len(self.endpoint.attempts) != seen:
                seen, since = len(self.endpoint.attempts), time.monotonic()
            if time.monotonic() > since + quiet:
                raise AssertionError(f"{len(open_ones)} of {len(self.where)} have no end, like {open_ones[:5]}; "
                                     f"committed {self.witness.offsets(GROUP, TOPIC)}; {self.last_words()}")
            time.sleep(0.3)

    def alarms(self):
        return sum(file.read_text().count("dlq_publish_failed") for file in self.folder.glob("*/serve-*.log"))

    def last_words(self):
        return {name: worker.log.read_text()[-1500:] for name, worker in self.workers.items()}

    def end(self):
        self.ending.set()
        for worker in self.workers.values():
            if worker.process is not None and worker.process.poll() is None:
                worker.process.send_signal(signal.SIGCONT)
            worker.end()
        self.witness.end()


def clean_stops(world):
    """SIGTERM, one after the other, one more and one less, while messages flow: nothing is handled twice."""
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
        status = world.workers[name].terminate(60)
        assert status == 0, f"{name} ended with {status}: {world.workers[name].log.read_text()[-2000:]}"
        stops += 1
        if name != "c":  # c stays away
            world.begin(name)
    sender.join(300)
    assert len(world.where) == CLEAN, "not everything could be sent"
    world.await_all()
    times = collections.Counter(n for n, _, good in world.endpoint.attempts if good)
    twice = [n for n, count in times.items() if count > 1]
    assert not twice, f"handled twice after clean stops: {twice[:5]}"
    wrong = [n for n in range(CLEAN) if world.endpoint.failed[n] != failures(n)]
    assert not wrong, f"more or fewer failed attempts than configured: {wrong[:5]}"
    return f"{CLEAN} messages, {stops} stops, 0 handled twice"


def rough(world):
    """kill -9, SIGTERM, frozen and thawed, added and removed."""
    chooser = random.Random(5)
    sender = threading.Thread(target=world.send, args=(CLEAN, CLEAN + ROUGH, ROUGH_SECONDS), daemon=True)
    sender.start()
    done = collections.Counter()
    until = time.monotonic() + ROUGH_SECONDS
    plan = ["kill", "freeze", "stop", "add", "kill"]
    while time.monotonic() < until or plan:
        what = plan.pop(0) if plan else chooser.choice(["kill", "kill", "stop", "freeze", "add"])
        alive = [name for name, w in world.workers.items() if w.process.poll() is None]
        name = chooser.choice(alive)
        worker = world.workers[name]
        if what == "kill":
            worker.kill()
            time.sleep(chooser.uniform(0.1, 1.0))
            world.begin(name)
        elif what == "stop" and len(alive) > 2:
            assert worker.terminate(60) == 0, worker.log.read_text()[-2000:]
        elif what == "add":
            away = [n for n, w in world.workers.items() if w.process.poll() is not None]
            world.begin(away[0] if away else f"more{len(world.workers)}") if len(alive) < 5 else None
        elif what == "freeze":
            worker.process.send_signal(signal.SIGSTOP)
            time.sleep(FROZEN)
            worker.process.send_signal(signal.SIGCONT)
        else:
            continue
        done[what] += 1
        time.sleep(chooser.uniform(0.2, 2.0))
    sender.join(300)
    assert len(world.where) == CLEAN + ROUGH, "not everything could be sent"
    world.await_all()
    return ", ".join(f"{count} × {what}" for what, count in done.items())


def every_end_once(world):
    """Handled or a letter, never both, no letter twice."""
    expected = {n for n in world.where if dies(n)}
    # A transaction ends partition by partition: its letters may be there a moment after its offsets.
    wait_for("all letters", lambda: len(world.witness.read(f"{TOPIC}.dlq")) >= len(expected), 30)
    letters = world.witness.read(f"{TOPIC}.dlq")
    numbers = [int(value[1:]) for _, _, _, value, _ in letters]
    twice = [n for n, count in collections.Counter(numbers).items() if count > 1]
    assert not twice, f"a letter twice: {twice[:5]}"
    assert set(numbers) == expected, f"letters too many {sorted(set(numbers) - expected)[:5]}, " \
                                     f"missing {sorted(expected - set(numbers))[:5]}"
    both = [n for n in numbers if n in world.endpoint.succeeded]
    assert not both, f"handled and a letter: {both[:5]}"
    lost = [n for n in world.where if not dies(n) and n not in world.endpoint.succeeded]
    assert not lost, f"lost: {lost[:5]}"
    for _, _, key, value, headers in letters:
        partition, offset = world.where[int(value[1:])]
        assert headers["bartleby-attempts"] == str(ATTEMPTS), headers
        assert (headers["bartleby-partition"], headers["bartleby-offset"]) == (str(partition), str(offset)), headers
        assert key == f"k{int(value[1:]) % KEYS}", (key, value)
    return f"{len(world.endpoint.succeeded)} handled, {len(letters)} letters"


def key_order(world):
    """First ends of a key come in the order of its messages; no attempt has a higher number than there are."""
    first = collections.defaultdict(list)
    seen = set()
    for number, attempt, good in world.endpoint.attempts:
        assert 1 <= attempt <= ATTEMPTS, f"attempt {attempt} of m{number}"
        if good and number not in seen:
            seen.add(number)
            first[number % KEYS].append(number)
    wrong = [key for key, numbers in first.items() if numbers != sorted(numbers)]
    assert not wrong, f"key k{wrong[0]}: {first[wrong[0]]}"
    return f"{len(first)} keys"


def commits_never_ahead(world):
    world.look()
    assert not world.seen_wrong, world.seen_wrong[0]
    assert sum(world.committed.values()) == len(world.where), dict(world.committed)
    return f"{world.looks} looks at {PARTITIONS} partitions"


def office(world):
    """A process that is only an office finds the letters of the group."""
    home = world.folder / "office"
    home.mkdir()
    desk = Bartleby(PROGRAM, home, ["--kafka", world.kafka.bootstrap, "--roles", "[office]"])
    try:
        desk.start(60)
        expected = sum(1 for n in world.where if dies(n))

        def taken_in():
            items = desk.get("/api/v1/dlqs")["items"]
            return items and items[0]["name"] == f"{TOPIC}.dlq" and items[0]["open"] == expected

        wait_for("all letters to be taken in", taken_in, 60)
        letters = desk.get("/api/v1/letters?limit=500&q=" + f"dlq:{TOPIC}.dlq")["items"]
        assert len(letters) == min(expected, 500) and all(one["state"] == "open" for one in letters), letters[:2]
        assert desk.terminate() == 0
        return f"{expected} letters taken in"
    finally:
        desk.end()


def letters_wait(world, close, reopen):
    """A dlq that takes nothing: its letters wait, their handler does not run again, all others go on."""
    alarms = world.alarms()
    close()
    first = len(world.where)
    fresh = range(first, first + 400)  # each with a key of its own
    world.send(first, first + len(fresh), 1)
    dying = {n for n in fresh if dies(n)}
    assert dying
    wait_for("all others to be handled", lambda: all(world.endpoint.finished(n) for n in fresh), 90)
    wait_for("the alarm", lambda: world.alarms() > alarms, 60)
    time.sleep(2)
    again = [n for n in dying if world.endpoint.failed[n] != ATTEMPTS]
    assert not again, f"their handler ran again: {again}"
    passed = [n for n in dying if world.witness.offsets(GROUP, TOPIC)[world.where[n][0]] > world.where[n][1]]
    assert not passed, f"passed by a commit without a letter: {passed}"
    reopen()
    world.await_all(120)

    def written():
        return sorted(int(value[1:]) for _, _, _, value, _ in world.witness.read(f"{TOPIC}.dlq"))

    wait_for("the letters", lambda: [n for n in written() if n in fresh] == sorted(dying), 30)
    assert all(world.endpoint.failed[n] == ATTEMPTS for n in dying), "their handler ran again"
    return f"{len(dying)} letters waited"


def dlq_forbidden(world):
    return letters_wait(world, lambda: world.witness.ask("deny", f"{TOPIC}.dlq"),
                        lambda: world.witness.ask("allow", f"{TOPIC}.dlq"))


def dlq_deleted(world):
    return letters_wait(world, lambda: world.witness.ask("delete", f"{TOPIC}.dlq"),
                        lambda: world.witness.ask("create", f"{TOPIC}.dlq", PARTITIONS))


def recordings(world):
    """What the engines were told, told again to fresh ones: they must answer the same."""
    for name, worker in world.workers.items():
        if worker.process.poll() is None:
            assert worker.terminate(60) == 0, f"{name}: {worker.log.read_text()[-2000:]}"
    files = sorted(world.recordings.glob("*.events"))
    lives = sum(worker.starts for worker in world.workers.values())
    assert len(files) >= lives, f"{len(files)} recordings of {lives} lives"
    steps = 0
    for file in files:
        done = subprocess.run([TOOLS / "replay", file], capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0 and ": identical" in done.stdout, (done.stdout + done.stderr)[-3000:]
        steps += int(done.stdout.split(": ")[1].split(" steps")[0])
    return f"{len(files)} recordings, {steps} steps"


def a_property_that_there_is_not():
    """Refused when the process starts, in librdkafka's words; or there is no Kafka in this program."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "bad.yaml")
        file.write_text('brokers: {main: {kafka: {bootstrap: "127.0.0.1:1", properties: {no.such.property: x}}}}\n')
        done = subprocess.run([PROGRAM, "serve", "-c", file, "--data-dir", folder, "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout + done.stderr
        if "built without Kafka" in said:
            raise Missing("the program was built without Kafka: scripts/setup test, then build again")
        assert done.returncode != 0 and 'No such configuration property: "no.such.property"' in said, said


CHECKS = (clean_stops, rough, every_end_once, key_order, commits_never_ahead, office, dlq_forbidden, dlq_deleted,
          recordings)


def main():
    good = True
    with tempfile.TemporaryDirectory() as folder:
        try:
            a_property_that_there_is_not()
            kafka = Kafka(folder)
        except Missing as why:
            for check in CHECKS:
                print(f"skip {check.__name__} no Apache Kafka here: {why}", flush=True)
            return 0
        world = None
        try:
            world = World(folder, kafka)
            for check in CHECKS:
                began = time.monotonic()
                try:
                    note = check(world)
                    print(f"ok {check.__name__} {note} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:  # noqa: BLE001 - whatever it is, it is the answer of this check
                    good = False
                    print(f"FAIL {check.__name__}\n{traceback.format_exc()}", flush=True)
                    if check in (clean_stops, rough):
                        break  # nothing after it means anything
        finally:
            if world:
                world.end()
            kafka.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
