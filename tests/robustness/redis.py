#!/usr/bin/env python3
"""Counters and heartbeats in a real Redis, and everything that can happen to it. Usage: redis.py PROGRAM

Whatever Redis does, no message is lost and none is tried more often than configured: on the embedded log, and once more
on a real Kafka, where it can be had.
"""

import contextlib
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import exposition  # noqa: E402
from kafka_server import Kafka, Witness  # noqa: E402
from kafka_world import a_property_that_there_is_not  # noqa: E402
from processes import Bartleby, Endpoint, run_checks, wait_for  # noqa: E402
from redis_server import RedisServer, SlowProxy, available  # noqa: E402
from script_server import Missing  # noqa: E402

ATTEMPTS = 3
MESSAGES = 400
PATIENCE = float(os.environ.get("BARTLEBY_PATIENCE", "240"))  # with Kafka, on a machine that has much else to do


def counters_file(folder, url, port, more=""):
    path = pathlib.Path(folder, "counted.yaml")
    path.write_text(f"""
heartbeats: {{every: 200ms, ttl: 2s, stopping_ttl: 4s}}
counters: {{redis: {{url: "redis://127.0.0.1:{port}/0"}}}}
workers:
  tickets:
    topics: [tickets]
    handler: {{http: {{url: "{url}"}}}}
    retry: {{max_attempts: {ATTEMPTS}, schedule: [20ms], timeout: 5s}}
    guard: null
    counter: {{key: "ticket:retry_count:{{/ticket_id}}", ttl: 7d}}
    {more}
""")
    return ["-c", str(path)]


class World:
    """A worker with counters in Redis; a third of the tickets fail once, a tenth of them always."""

    def __init__(self, program, folder, port):
        self.endpoint = Endpoint(self.decide)
        self.bartleby = Bartleby(program, folder, self.file(folder, port)).start(PATIENCE)
        self.sent = 0

    def file(self, folder, port):
        return counters_file(folder, self.endpoint.url, port)

    @staticmethod
    def decide(message):
        number = json.loads(message["value"])["ticket_id"]
        if number % 10 == 7:
            return 500
        return 500 if number % 3 == 1 and message["attempt"] == 1 else 200

    def send(self, count=MESSAGES):
        lines = "".join(json.dumps({"key": f"k{n % 50}", "value": json.dumps({"ticket_id": n})}) + "\n"
                        for n in range(self.sent, self.sent + count))
        status, answer = self.bartleby.call("POST", "/api/v1/topics/tickets/messages", lines.encode(),
                                            {"Content-Type": "application/x-ndjson"})
        assert status == 200, answer
        self.sent += count

    def metric(self, name, **labels):
        page = exposition.parse(self.bartleby.get("/metrics").decode())
        return page[name].samples.get(("", tuple(sorted(labels.items()))))

    def letters(self):
        topics = {t["name"]: t for t in self.bartleby.get("/api/v1/topics")["items"]}
        return sum(p["end"] - p["start"] for p in topics["tickets.dlq"]["partitions"]) if "tickets.dlq" in topics else 0

    def wait_over(self, seconds=60.0):
        """Each ticket is handled or a letter, and none was tried more often than it may be."""
        dying = sum(1 for n in range(self.sent) if n % 10 == 7)
        wait_for("every ticket to end", lambda: len({a[0] for a in self.endpoint.succeeded()}) == self.sent - dying
                 and self.letters() == dying, seconds)
        tried = {}
        with self.endpoint.lock:
            for value, *_ in self.endpoint.attempts:
                tried[value] = tried.get(value, 0) + 1
        wrong = {v: n for v, n in tried.items() if n > ATTEMPTS}
        assert not wrong, f"tried too often: {list(wrong.items())[:5]}"
        for value, n in tried.items():
            number = json.loads(value)["ticket_id"]
            wanted = ATTEMPTS if number % 10 == 7 else 2 if number % 3 == 1 else 1
            assert n == wanted, (value, n, wanted)

    def end(self):
        self.bartleby.end()
        self.endpoint.end()


class KafkaWorld(World):
    """The same on a real Kafka."""

    def __init__(self, program, folder, port, kafka):
        self.kafka, self.witness = kafka, Witness(kafka.bootstrap)
        try:
            self.witness.ask("create", "tickets", 3)
            super().__init__(program, folder, port)
        except BaseException:
            self.witness.end()
            raise

    def file(self, folder, port):
        arguments = counters_file(folder, self.endpoint.url, port)
        # A busy machine must not look like a dead member: what is handled again is tried more often.
        with open(arguments[1], "a", encoding="utf-8") as file:
            file.write(f"""
brokers: {{main: {{kafka: {{bootstrap: "{self.kafka.bootstrap}", properties: {{session.timeout.ms: "60000"}}}}}}}}
""")
        return arguments

    def letters(self):
        return len(self.witness.read("tickets.dlq"))

    def end(self):
        super().end()
        self.witness.end()


def in_world(check):
    def run(program):
        with tempfile.TemporaryDirectory() as folder:
            redis = RedisServer().start()
            proxy = SlowProxy(redis.port)
            world = World(program, folder, proxy.port)
            try:
                return check(world, redis, proxy)
            finally:
                world.end()
                proxy.end()
                redis.end()
    run.__name__ = check.__name__
    return run


@contextlib.contextmanager
def flushing(redis):
    stopping = threading.Event()

    def flush():
        while not stopping.wait(0.02):
            redis.ask("FLUSHALL")
    flusher = threading.Thread(target=flush)
    flusher.start()
    try:
        yield
    finally:
        stopping.set()
        flusher.join()


@in_world
def counters_follow_each_ticket_and_are_gone_at_its_end(world, redis, _proxy):
    seen = {}

    def watch(message):
        number = json.loads(message["value"])["ticket_id"]
        key = f"ticket:retry_count:{number}"
        # Told beside the attempt, never before it: it is there soon.
        if message["attempt"] > 1:
            wait_for("the count", lambda: redis.ask("GET", key) == str(message["attempt"] - 1), 10)
            seen[number, message["attempt"]] = redis.ask("TTL", key)
        return World.decide(message)
    world.endpoint.decide = watch
    world.send(20)
    world.wait_over()
    assert seen and all(604000 <= ttl <= 604800 for ttl in seen.values()), seen
    wait_for("all counters to be deleted", lambda: redis.ask("KEYS", "ticket:*") == [])
    assert world.metric("bartleby_counters_up") == 1
    assert world.metric("bartleby_counter_updates_total", worker="tickets", result="failed") == 0
    assert world.metric("bartleby_counter_differs_total", worker="tickets") == 0
    return f"{len(seen)} counts were looked at while their tickets were tried again"


@in_world
def killed_and_back(world, redis, _proxy):
    world.send()
    redis.kill()
    world.send()
    world.wait_over()
    wait_for("it to be said to be away", lambda: world.metric("bartleby_counters_up") == 0)
    status, health = world.bartleby.call("GET", "/actuator/health")
    assert status == 200 and health["status"] == "DEGRADED", health
    assert health["components"]["counters"]["status"] == "DEGRADED", health
    assert world.metric("bartleby_counter_updates_total", worker="tickets", result="failed") > 0
    redis.start()
    wait_for("it to be found again", lambda: world.metric("bartleby_counters_up") == 1)
    wait_for("heartbeats", lambda: redis.ask("KEYS", "worker:tickets:*"))
    world.send(50)
    world.wait_over()
    return world.bartleby.call("GET", "/actuator/health")[1]["status"]


@in_world
def flushed_again_and_again(world, redis, _proxy):
    with flushing(redis):
        world.send()
        world.wait_over()
    return f"{world.metric('bartleby_counter_differs_total', worker='tickets'):.0f} counters were seen to be lost"


@in_world
def slow_and_frozen(world, redis, proxy):
    proxy.delay = 0.2
    world.send()
    world.wait_over()
    proxy.delay = 0
    redis.ask("CLIENT", "PAUSE", "3000", "ALL")
    world.send()
    world.wait_over()
    proxy.delay = 2.0  # longer than any limit
    world.send()
    world.wait_over()
    proxy.delay = 0
    wait_for("it to be found again", lambda: world.metric("bartleby_counters_up") == 1)


@in_world
def a_replica_takes_no_writes(world, redis, _proxy):
    redis.ask("REPLICAOF", "127.0.0.1", "1")
    world.send()
    world.wait_over()
    wait_for("that to be said", lambda: world.metric("bartleby_counters_up") == 0)
    why = world.bartleby.get("/actuator/health")["components"]["counters"]["details"]["error"]
    assert "READONLY" in why, why
    redis.ask("REPLICAOF", "NO", "ONE")
    wait_for("it to take writes again", lambda: world.metric("bartleby_counters_up") == 1)
    return why


@in_world
def keys_that_hold_something_else(world, redis, _proxy):
    for number in range(MESSAGES):
        redis.ask("RPUSH", f"ticket:retry_count:{number}", "x")
    world.send()
    world.wait_over()
    assert world.metric("bartleby_counter_updates_total", worker="tickets", result="failed") > 0
    assert world.metric("bartleby_counters_up") == 1


@in_world
def two_processes_are_seen_by_one_office(world, redis, _proxy):
    with tempfile.TemporaryDirectory() as folder:
        arguments = counters_file(folder, world.endpoint.url, redis.port)
        other = Bartleby(world.bartleby.command[0], folder, arguments).start()
        try:
            def instances(of):
                return {i["id"]: i for i in of.get("/api/v1/workers/tickets")["instances"]}
            wait_for("both at the first", lambda: len(instances(world.bartleby)) == 2)
            wait_for("both at the second", lambda: len(instances(other)) == 2)
            mine = next(i for i in instances(world.bartleby) if i.endswith(f"-{other.port}"))
            text = json.loads(redis.ask("GET", f"worker:tickets:{mine}"))
            assert text["status"] == "RUNNING" and text["consumer_lag"] == 0, text
            assert text["advertise"] == f"http://127.0.0.1:{other.port}", text
            assert 0 < redis.ask("PTTL", f"worker:tickets:{mine}") <= 2000
            other.terminate()
            wait_for("it to be gone", lambda: len(instances(world.bartleby)) == 1)
        finally:
            other.end()


def an_idle_one_says_that_it_stops(program):
    """A worker without work stops in no time, and Redis may be slow: it must not look like one that died."""
    left = []
    with tempfile.TemporaryDirectory() as folder:
        redis, endpoint = RedisServer().start(), Endpoint()
        proxy = SlowProxy(redis.port)
        file = pathlib.Path(counters_file(folder, endpoint.url, proxy.port)[1])
        file.write_text(file.read_text().replace("{every: 200ms, ttl: 2s, stopping_ttl: 4s}", "{every: 100ms}"))
        bartleby = Bartleby(program, folder, ["-c", str(file)])
        key = f"worker:tickets:tickets-{socket.gethostname()}-{bartleby.port}"

        def said():
            return json.loads(redis.ask("GET", key) or "{}").get("status")

        try:
            proxy.delay = 0.1
            for _ in range(6):
                bartleby.start()
                wait_for("its heartbeat", lambda: said() == "RUNNING")
                assert bartleby.terminate() == 0
                assert said() == "SHUTTING_DOWN", said()
                left.append(redis.ask("PTTL", key))
                assert 30000 < left[-1] <= 60000, left
        finally:
            bartleby.end()
            endpoint.end()
            proxy.end()
            redis.end()
    return f"{len(left)} stops, each kept for another {min(left) / 1000:.1f} s at least"


def killed_flushed_and_full_of_other_things_beside_kafka(program, kafka):
    with tempfile.TemporaryDirectory() as folder:
        redis = RedisServer().start()
        world = None
        try:
            world = KafkaWorld(program, folder, redis.port, kafka)
            world.send(100)
            redis.kill()
            world.send(100)
            world.wait_over(PATIENCE)
            wait_for("it to be said to be away", lambda: world.metric("bartleby_counters_up") == 0, PATIENCE)
            redis.start()
            wait_for("it to be found again", lambda: world.metric("bartleby_counters_up") == 1, PATIENCE)
            for number in range(world.sent, world.sent + 100):
                redis.ask("RPUSH", f"ticket:retry_count:{number}", "x")  # WRONGTYPE
            world.send(100)
            world.wait_over(PATIENCE)
            with flushing(redis):
                world.send(100)
                world.wait_over(PATIENCE)
            redis.ask("REPLICAOF", "127.0.0.1", "1")  # READONLY
            world.send(100)
            world.wait_over(PATIENCE)
            wait_for("that to be said", lambda: world.metric("bartleby_counters_up") == 0, PATIENCE)
            assert world.metric("bartleby_counter_updates_total", worker="tickets", result="failed") > 0
            assert world.bartleby.terminate(PATIENCE) == 0
            return f"{world.sent} tickets, {world.letters()} letters"
        finally:
            if world:
                world.end()
            redis.end()


def beside_kafka(program):
    check = killed_flushed_and_full_of_other_things_beside_kafka
    with tempfile.TemporaryDirectory() as folder:
        try:
            a_property_that_there_is_not(program)
            kafka = Kafka(folder)
        except Missing as why:
            print(f"skip {check.__name__} no Apache Kafka here: {why}", flush=True)
            return 0
        try:
            return run_checks([check], program, kafka)
        finally:
            kafka.stop()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    if not available():
        print("skip redis there is no redis-server here (Debian: redis-server)")
        return 0
    alone = run_checks([counters_follow_each_ticket_and_are_gone_at_its_end, killed_and_back, flushed_again_and_again,
                       slow_and_frozen, a_replica_takes_no_writes, keys_that_hold_something_else,
                       two_processes_are_seen_by_one_office, an_idle_one_says_that_it_stops], program)
    return beside_kafka(program) or alone


if __name__ == "__main__":
    sys.exit(main())
