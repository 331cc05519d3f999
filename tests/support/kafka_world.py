"""Workers on a real Kafka, for tests: an endpoint that fails by rule, worker processes, and a witness of it all.

Message n is m{n} with the key k{n % keys}; `failures` says how many of its attempts fail. A world belongs to one test
program and is ended by it. The time that things take is never looked at: whoever waits, waits long.
"""

import asyncio
import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from kafka_server import Kafka, Witness  # noqa: E402
from processes import Bartleby, started, tell_last_lines, wait_for  # noqa: E402
from script_server import Missing  # noqa: E402

TOPIC, GROUP, DLQ = "orders", "orders", "orders.dlq"
ATTEMPTS = 4
# What a process says that does not end as it should.
LAST_WORDS = ("assertion failed", "double free", "corrupted", "malloc():", "free():",
              "terminate called")
# Of whoever waits for something that must come, on a machine that has much else to do.
PATIENCE = float(os.environ.get("BARTLEBY_PATIENCE", "240"))


def lot(number):
    """0 to 99, whatever the key is."""
    return zlib.crc32(b"%d" % number) % 100


def dies(number):
    return lot(number) == 0


def failures(number):
    """How many of its attempts fail before one succeeds: 1 % die, 5 % fail twice."""
    return ATTEMPTS if dies(number) else 2 if lot(number) <= 5 else 0


def out_of_turn(attempts, keys):
    """Numbers that were attempted before the message before them in their key had its first end.

    A repetition counts for nothing: who died before it could commit begins where it was.
    """
    ended, wrong = set(), []
    for number, attempt, good in attempts:
        if number >= keys and number - keys not in ended:
            wrong.append(number)
        if good or attempt == ATTEMPTS:
            ended.add(number)
    return wrong


def without_letters(passed, letters):
    """Numbers that a commit had passed when their letters were not in the dlq yet.

    `passed`: {number: {partition: end}}, what was written to the dlq when a look found the message passed, by whatever
    transaction; `letters`: [(number, partition, offset)]. A letter is written before the transaction that commits its
    offset ends, so its place is below that end; when it can be read says nothing.
    """
    found = {(number, partition, offset) for number, partition, offset in letters}
    return [number for number, ends in passed.items()
            if not any(n == number and offset < ends.get(partition, 0) for n, partition, offset in found)]


class Endpoint:
    """The handler, on one thread: what it has answered is in the order in which it has answered it."""

    def __init__(self, rule=failures):
        self.rule = rule  # number -> how many of its attempts fail
        self.attempts = []  # (number, attempt, succeeded)
        self.succeeded = set()
        self.spent = set()  # the last attempt that they may have has failed
        self.failed = collections.Counter()
        self.mended = False  # then nothing fails any more
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=(started,), daemon=True).start()
        assert started.wait(60)
        self.url = f"http://127.0.0.1:{self.port}/"

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(self.loop.create_server(lambda: Connection(self), "127.0.0.1", 0,
                                                                      backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()

    def decide(self, number, attempt):
        good = self.mended or attempt > self.rule(number)
        self.attempts.append((number, attempt, good))
        if good:
            self.succeeded.add(number)
        else:
            self.failed[number] += 1
            if attempt == ATTEMPTS:
                self.spent.add(number)
        return good

    def finished(self, number):
        return number in self.succeeded or number in self.spent


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

    def __init__(self, program, folder, kafka, partitions, keys):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.kafka = kafka
        self.keys = keys
        self.witness = Witness(kafka.bootstrap)
        self.endpoint = Endpoint()
        self.recordings = self.folder / "recordings"
        self.workers = {}
        self.mortal = set()  # names of those that are meant to die by themselves
        self.session = 60000  # ms; a busy machine must not look like a dead member
        self.protocol = "classic"  # of groups
        self.where = {}  # number -> (partition, offset)
        self.at = collections.defaultdict(dict)  # partition -> offset -> number
        self.committed = collections.Counter()
        self.passed = {}  # number of a dead message -> what was written to the dlq when it was seen to be passed
        self.looks = 0
        self.looking = threading.Lock()
        self.seen_wrong = []
        self.ending = threading.Event()
        self.watcher = threading.Thread(target=self.watch, daemon=True)
        self.witness.ask("create", TOPIC, partitions)

    def begin(self, name, roles="[runtime]"):
        """A worker process of that name, new or again."""
        self.launch(name, f"""  {TOPIC}:
    handler: {{http: {{url: "{self.endpoint.url}"}}}}
    retry: {{max_attempts: {ATTEMPTS}, schedule: [20ms, 50ms, 100ms], timeout: 60s}}
    drain: 2m
    guard: null
""", roles)

    def launch(self, name, workers, roles="[runtime]", program=None, environment=None, bootstrap=None, properties=None):
        """The same with any workers; a test build as `program` may be told more by its environment."""
        home = self.folder / name
        home.mkdir(exist_ok=True)
        said = {"topic.metadata.refresh.interval.ms": "2000", **(properties or {})}
        if self.protocol == "classic":  # of the other one the broker says it
            said["session.timeout.ms"] = str(self.session)
        home.joinpath("worker.yaml").write_text(f"""roles: {roles}
brokers:
  main:
    kafka:
      bootstrap: "{bootstrap or self.kafka.bootstrap}"
      group_protocol: {self.protocol}
      properties: {json.dumps(said)}
workers:
{workers}""")
        if "BARTLEBY_DIE_AT" in (environment or {}) or (program and pathlib.Path(program).name == "crashing"):
            self.mortal.add(name)
        if name not in self.workers:
            self.workers[name] = Bartleby(program or self.program, home, ["-c", str(home / "worker.yaml")])
        self.workers[name].environment = {**os.environ, "BARTLEBY_RECORD": str(self.recordings),
                                          **(environment or {})}
        self.workers[name].start(PATIENCE)
        return self.workers[name]

    def stop(self, name):
        status = self.workers[name].terminate(PATIENCE)
        assert status == 0, f"{name} ended with {status}: {self.workers[name].log.read_text()[-2000:]}"

    def nobody_died(self):
        """No process has ended that the test has not ended, and none has said why it must."""
        for name, worker in self.workers.items():
            if name in self.mortal:
                continue
            assert not worker.died(), f"{name} died with {worker.process.poll()}: {worker.log.read_text()[-2000:]}"
            for log in sorted(worker.folder.glob("serve-*.log")):
                said = [line for line in log.read_text(errors="replace").splitlines()
                        if "kafka_client" not in line and any(word in line for word in LAST_WORDS)]
                assert not said, f"{name}, {log.name}: {said[:5]}"

    def running(self):
        return [name for name, worker in self.workers.items() if worker.process.poll() is None]

    def send(self, start, end, seconds=0.0):
        """Spread over that time, so that whatever happens meanwhile meets messages."""
        began, many = time.monotonic(), 50
        for first in range(start, end, many):
            told = self.witness.produce(TOPIC, first, min(first + many, end), self.keys)
            for number, (partition, offset) in told.items():
                self.at[partition][offset] = number
            self.where.update(told)
            time.sleep(max(0.0, began + seconds * (first - start + many) / (end - start) - time.monotonic()))

    def send_more(self, count):
        """The numbers of messages that were not sent before."""
        first = max(self.where, default=-1) + 1
        self.send(first, first + count)
        return range(first, first + count)

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
            dead = []
            for partition, offset in self.witness.offsets(GROUP, TOPIC).items():
                before = self.committed[partition]
                assert offset >= before, f"the commit of {partition} fell from {before} to {offset}"
                for passed in range(before, offset):
                    number = self.at[partition].get(passed)
                    if number is None:  # sent, and we have not been told where yet
                        offset = passed
                        break
                    assert self.endpoint.finished(number), f"{partition}:{passed} (m{number}) was passed unfinished"
                    if number not in self.endpoint.succeeded:
                        dead.append(number)
                self.committed[partition] = offset
            if dead:
                written = self.witness.written(DLQ)
                self.passed.update((number, written) for number in dead)
            self.looks += 1

    def await_all(self, quiet=PATIENCE):
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

    def letters(self):
        """What lies in the dlq, by where it came from: (number, key, value, headers). A value may be compressed."""
        return [(self.at[int(headers["bartleby-partition"])].get(int(headers["bartleby-offset"])), key, value, headers)
                for _, _, key, value, headers in self.witness.read(DLQ)]

    def await_letters(self, numbers):
        """Until exactly these of `numbers`' span have letters, each one."""
        wanted = sorted(n for n in numbers if dies(n))

        def there():
            return sorted(n for n, *_ in self.letters() if n in numbers)

        # A transaction ends partition by partition: its letters may be there a moment after its offsets.
        wait_for("the letters", lambda: len(there()) >= len(wanted), PATIENCE)
        assert there() == wanted, f"letters of {there()}, not of {wanted}"
        return len(wanted)

    def said(self, event):
        """How often the workers have logged it."""
        return sum(file.read_text().count(event) for file in self.folder.glob("*/serve-*.log"))

    def last_words(self):
        return {name: worker.log.read_text()[-1500:] for name, worker in self.workers.items()}

    def end(self):
        self.ending.set()
        for worker in self.workers.values():
            if worker.process is not None and worker.process.poll() is None:
                worker.process.send_signal(signal.SIGCONT)
            worker.end()
        self.witness.end()


def a_property_that_there_is_not(program):
    """Refused when the process starts, in librdkafka's words; or there is no Kafka in this program."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "bad.yaml")
        file.write_text('brokers: {main: {kafka: {bootstrap: "127.0.0.1:1", properties: {no.such.property: x}}}}\n')
        done = subprocess.run([program, "serve", "-c", file, "--data-dir", folder, "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        said = done.stdout + done.stderr
        if "built without Kafka" in said:
            raise Missing("the program was built without Kafka: scripts/setup test, then build again")
        assert done.returncode != 0 and 'No such configuration property: "no.such.property"' in said, said


def run_in_world(program, partitions, keys, checks, needed=(), brokers=1, secure=False):
    """A line per check. Where one of `needed` failed nothing after it means anything. Without Kafka all are skipped.

    Names of checks on the command line: these alone. BARTLEBY_KEEP names a folder for what a failed check leaves
    behind: logs and recordings.
    """
    good = True
    checks = [check for check in checks if check.__name__ in sys.argv] or checks
    with tempfile.TemporaryDirectory() as folder:
        try:
            a_property_that_there_is_not(program)
            kafka = Kafka(folder, brokers, secure)
        except Missing as why:
            for check in checks:
                print(f"skip {check.__name__} no Apache Kafka here: {why}", flush=True)
            return 0
        world = None
        try:
            world = World(program, folder, kafka, partitions, keys)
            for check in checks:
                began = time.monotonic()
                started.clear()
                try:
                    note = check(world)
                    world.nobody_died()
                    print(f"ok {check.__name__} {note} ({time.monotonic() - began:.1f} s)", flush=True)
                except Exception:  # noqa: BLE001 - whatever it is, it is the answer of this check
                    good = False
                    print(f"FAIL {check.__name__}", flush=True)
                    tell_last_lines(dict.fromkeys(started[-2:]))
                    print(traceback.format_exc(), flush=True)
                    if "BARTLEBY_KEEP" in os.environ:
                        shutil.copytree(folder, pathlib.Path(os.environ["BARTLEBY_KEEP"], check.__name__),
                                        ignore=shutil.ignore_patterns("data*"), dirs_exist_ok=True)
                    if check in needed:
                        break
                    kafka.revive()
        finally:
            if world:
                world.end()
            kafka.stop()
    return 0 if good else 1
