#!/usr/bin/env python3
"""Channels, consumers and their jobs with a real server and a real endpoint. Usage: channels.py PROGRAM

Prints a line per check.
"""

import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from api import Checked  # noqa: E402
from processes import Bartleby, Endpoint, audit_is_good, free_port, run_checks, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAST = {"max_retries": 1, "schedule": ["10ms"], "timeout": "5s"}
C, K = {"X-Broker-Channel-Token": "channel-secret"}, {"X-Broker-Consumer-Token": "consumer-secret"}
BOTH = {**C, **K}
DOCUMENTED, SEEN = set(), set()  # routes


class Hook(Endpoint):
    """An endpoint that remembers the headers of channels; `down` makes it refuse."""

    def __init__(self):
        self.down = False
        self.seen, self.paths = [], []
        super().__init__(lambda message: 503 if self.down else 200)
        handler = self.server.RequestHandlerClass
        hook, plain = self, handler.do_POST

        def do_post(request):
            hook.paths.append(request.path.replace("%7B", "{").replace("%7D", "}"))
            hook.seen.append({name.lower(): value for name, value in request.headers.items()})
            plain(request)
        handler.do_POST = do_post


class Broker:
    def __init__(self, program, folder, config="{}\n"):
        path = pathlib.Path(folder, "c.yaml")
        path.write_text(config)
        self.server = Bartleby(program, folder, ["-c", str(path)])

    def __enter__(self):
        self.server.start()
        self.api = Checked(self.server)
        return self

    def __exit__(self, *_):
        SEEN.update(self.api.seen)
        DOCUMENTED.update((method.upper(), path) for path, operations in self.api.document["paths"].items()
                          for method in operations if path.startswith("/channel"))
        self.server.end()

    def call(self, method, path, body=None, headers=None, wanted=None):
        if body is not None and not isinstance(body, (str, bytes)):
            body, headers = json.dumps(body), {"Content-Type": "application/json", **(headers or {})}
        status, answer = self.api.call(method, path, body, headers)
        assert wanted is None or status == wanted, (method, path, status, answer)
        return answer if wanted else (status, answer)

    def setup(self, url, consumer="payment-service", retry=None):
        self.call("PUT", "/channel/order-events", {"name": "Order Events", "token": "channel-secret"}, wanted=200)
        body = {"name": "Payment Service", "callbackUrl": url, "token": "consumer-secret", "retry": retry or FAST}
        return self.call("PUT", f"/channel/order-events/consumer/{consumer}", body, wanted=200)

    def broadcast(self, value, message=None, wanted=201):
        headers = {**C, **({"X-Broker-Message-ID": message} if message else {})}
        return self.call("POST", "/channel/order-events/broadcast", value, headers, wanted)

    def counts(self, consumer="payment-service"):
        rows = self.call("GET", "/job-status", wanted=200).get("order-events", {}).get(consumer, [])
        return {row["statusName"]: row["count"] for row in rows}

    def dead(self):
        return {row["consumerId"]: row["deadCount"] for row in self.call("GET", "/dlq-status", wanted=200)["consumers"]}

    def gauge(self, consumer="payment-service"):
        page = self.call("GET", "/metrics", wanted=200).decode()
        found = re.search(rf'dead_job_count{{channel="order-events",consumer="{consumer}"}} (\d+)', page)
        return int(found.group(1)) if found else None


def a_message_reaches_every_consumer(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook = Hook()
        assert broker.call("POST", "/channel/order-events/broadcast", "x", C)[0] == 404
        broker.setup(hook.url)
        # What was broadcast before a consumer came is not for it.
        broker.call("PUT", "/channel/order-events", {"name": "Order Events"}, wanted=200)  # the token stays
        before = broker.broadcast('{"n": 0}', "m-0")["id"]
        wait_for("the first delivery", lambda: len(hook.succeeded()) == 1)
        second = Hook()
        broker.setup(second.url, "mail-service")
        for wrong in ({}, {"X-Broker-Channel-Token": "channel-secreT"}):
            assert broker.call("POST", "/channel/order-events/broadcast", "x", wrong)[0] == 403
        broker.broadcast('{"n": 1}', "m-1")
        broker.broadcast('{"n": 1}', "m-1")
        assert broker.call("POST", "/channel/order-events/broadcast", '{"n": 2}', {**C, "X-Broker-Message-ID": "m-1"})[
            0] == 409
        wait_for("both deliveries", lambda: len(hook.succeeded()) == 2 and len(second.succeeded()) == 1)
        assert [a[0] for a in second.succeeded()] == ['{"n": 1}']
        told = hook.seen[-1]
        assert (told["x-broker-channel-id"], told["x-broker-consumer-id"], told["x-broker-consumer-token"],
                told["x-broker-message-id"]) == ("order-events", "payment-service", "consumer-secret", "m-1"), told
        wait_for("both jobs to be delivered", lambda: {
            job["statusName"] for job in broker.call("GET", "/channel/order-events/message/m-1", None, C, 200)["jobs"]
        } == {"DELIVERED"})
        jobs = broker.call("GET", f"/channel/order-events/message/{before}", None, C, 200)["jobs"]
        assert [job["consumerId"] for job in jobs] == ["payment-service"], jobs
        wait_for("the counts", lambda: broker.counts() == {"QUEUED": 0, "INFLIGHT": 0, "DELIVERED": 2, "DEAD": 0})
        wait_for("the other's", lambda: broker.counts("mail-service") == {
            "QUEUED": 0, "INFLIGHT": 0, "DELIVERED": 1, "DEAD": 0})
        assert broker.dead() == {"payment-service": 0, "mail-service": 0}, broker.dead()
        assert len(broker.call("GET", "/channels", wanted=200)["items"]) == 1
        assert broker.call("GET", "/channel/order-events/consumer/mail-service", None, C, 200)["name"]
        # A form instead of JSON; a token is told once.
        form = "name=Other&token=other-secret"
        made = broker.call("PUT", "/channel/other", form, {"Content-Type": "application/x-www-form-urlencoded"}, 200)
        assert made["token"] == "other-secret"
        assert "token" not in broker.call("GET", "/channel/other", wanted=200)
        hook.end()
        second.end()


def dead_jobs_are_requeued_and_deleted(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook = Hook()
        hook.down = True
        broker.setup(hook.url)
        dlq = "/channel/order-events/consumer/payment-service/dlq"
        for n in range(5):
            broker.broadcast(f'{{"n": {n}}}', f"m-{n}")
        wait_for("five dead jobs", lambda: sum(broker.dead().values()) == 5, 60)
        assert broker.gauge() == 5 and broker.counts()["DEAD"] == 5
        for wrong in ({}, C, K, {**C, "X-Broker-Consumer-Token": "x"}):
            assert broker.call("GET", dlq, None, wrong)[0] == 403, wrong
            assert broker.call("DELETE", dlq, None, wrong)[0] == 403, wrong
        jobs = broker.call("GET", dlq, None, BOTH, 200)
        assert jobs["count"] == {"value": 5, "exact": True}, jobs
        assert broker.call("DELETE", "/channel/order-events/consumer/payment-service", None, C)[0] == 409
        one = jobs["items"][0]["id"]
        at = f"/channel/order-events/consumer/payment-service/job/{one}"
        shown = broker.call("GET", at, None, BOTH, 200)
        assert (shown["statusName"], shown["attempts"]) == ("DEAD", 2), shown
        # One, then all, to this consumer alone.
        other = Hook()
        broker.setup(other.url, "mail-service")
        hook.down = False
        assert broker.call("POST", f"{at}/requeue-dead-job", None, BOTH, 202)["requeuedCount"] == 1
        wait_for("the requeued job", lambda: broker.call("GET", at, None, BOTH, 200)["statusName"] == "DELIVERED", 60)
        assert sum(broker.dead().values()) == 4 == broker.gauge()
        assert broker.call("DELETE", at, None, BOTH)[0] == 409
        assert broker.call("POST", f"{at}/requeue-dead-job", None, BOTH)[0] == 409
        # Deleted: only with its retries exhausted, by the configuration of now.
        two = broker.call("GET", dlq, None, BOTH, 200)["items"][0]["id"]
        at = f"/channel/order-events/consumer/payment-service/job/{two}"
        broker.setup(hook.url, retry={**FAST, "max_retries": 9})
        assert broker.call("DELETE", at, None, BOTH)[0] == 409
        assert broker.call("DELETE", dlq, None, BOTH, 200)["deletedCount"] == 0
        broker.setup(hook.url)
        assert broker.call("DELETE", at, None, BOTH)[0] == 204 and broker.call("DELETE", at, None, BOTH)[0] == 404
        assert sum(broker.dead().values()) == 3 == broker.gauge()

        def requeue_all():
            status, answer = broker.call("POST", dlq, None, BOTH)
            assert status in (202, 409), answer
            return status == 202 and answer["requeuedCount"] == 3
        wait_for("the first replay to be over", requeue_all, 60)
        wait_for("all to be delivered", lambda: broker.counts() == {
            "QUEUED": 0, "INFLIGHT": 0, "DELIVERED": 4, "DEAD": 0}, 60)
        assert other.attempts == [], "a requeued job went to another consumer"
        assert sum(broker.dead().values()) == 0 == broker.gauge()
        assert broker.call("POST", dlq, None, BOTH, 202)["requeuedCount"] == 0
        for missing in ("job/0-9999", "job/x", "job/1-1"):
            target = f"/channel/order-events/consumer/payment-service/{missing}"
            assert broker.call("GET", target, None, BOTH)[0] == 404, missing
        # All at once.
        hook.down = True
        for n in range(5, 8):
            broker.broadcast(f'{{"n": {n}}}')
        wait_for("three dead jobs", lambda: sum(broker.dead().values()) == 3, 60)
        assert broker.call("DELETE", dlq, None, BOTH, 200) == {"deletedCount": 3}
        assert sum(broker.dead().values()) == 0 == broker.gauge()
        assert audit_is_good(lambda path: broker.call("GET", path, wanted=200))
        hook.end()
        other.end()


def very_many_dead_jobs_are_deleted_by_an_operation(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook = Hook()
        hook.down = True
        broker.setup(hook.url)
        broker.broadcast("x")
        wait_for("a dead job", lambda: sum(broker.dead().values()) == 1, 60)
        broker.server.terminate()
        # More of it, and five that have retries left.
        store = sqlite3.connect(pathlib.Path(folder, "data/office.db"))
        first = store.execute("SELECT next FROM numbers WHERE name = 'letter'").fetchone()[0]
        more = 10004
        new = {"seq": "s.n", "id": "'ltr_x' || s.n", "lineage": "'msg_x' || s.n", "dlq_offset": "1000 + s.n",
               "origin_offset": "1000 + s.n", "job_offset": "1000 + s.n",
               "attempts": f"CASE WHEN s.n < {first + 5} THEN 1 ELSE l.attempts END"}
        columns = [row[1] for row in store.execute("PRAGMA table_info(letters)")]
        values = ", ".join(new.get(name, "l." + name) for name in columns)
        numbers = f"SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {first + more - 1}"
        store.execute(f"WITH RECURSIVE s(n) AS ({numbers})"
                      f" INSERT INTO letters({', '.join(columns)}) SELECT {values} FROM letters l, s")
        store.execute("UPDATE numbers SET next = next + ? WHERE name = 'letter'", (more,))
        store.execute("UPDATE counters SET letters = letters + ? WHERE state = 0", (more,))
        store.execute("UPDATE dlq_summary SET dead_count = dead_count + ?", (more,))
        store.execute("UPDATE issues SET open = open + ?, total = total + ?", (more, more))
        store.commit()
        store.close()
        broker.server.start()
        assert sum(broker.dead().values()) == more + 1 == broker.gauge()
        dlq = "/channel/order-events/consumer/payment-service/dlq"
        operation = broker.call("DELETE", dlq, None, BOTH, 202)
        assert operation["kind"] == "purge" and operation["letters"] == more - 4, operation
        assert operation["excluded"] == [{"why": "its retries are not exhausted", "count": 5}], operation
        at = f"/api/v1/operations/{operation['id']}"
        seen = set()

        def over():
            seen.add(sum(broker.dead().values()))
            return broker.call("GET", at, wanted=200)["state"] == "done"
        wait_for("the operation to be over", over, 120)
        assert sum(broker.dead().values()) == 5 == broker.gauge(), seen
        assert all(5 <= count <= more + 1 for count in seen), seen
        assert broker.call("DELETE", dlq, None, BOTH, 200) == {"deletedCount": 0}
        assert audit_is_good(lambda path: broker.call("GET", path, wanted=200))
        store = sqlite3.connect(f"file:{folder}/data/office.db?mode=ro", uri=True)
        assert store.execute("SELECT count(*) FROM job WHERE status = 1004").fetchone() == (5,)
        store.close()
        hook.end()


def consumers_come_and_go(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook, second = Hook(), Hook()
        at = "/channel/order-events/consumer/payment-service"
        broker.setup(hook.url)
        for wrong, status in (({"name": "x"}, 422), ({"name": "x", "callbackUrl": "ftp://x"}, 422),
                              ({"name": "x", "callbackUrl": hook.url, "retry": {"max_attempts": 0}}, 422),
                              ({"name": "x", "callbackUrl": hook.url, "retry": {"unknown": 1}}, 422),
                              ({"name": "x", "callbackUrl": hook.url, "token": "short"}, 422)):
            assert broker.call("PUT", at, wrong)[0] == status, wrong
        # What somebody sends is not looked up in the server's environment.
        literal = {"name": "${HOME}", "callbackUrl": hook.url + "${HOME}", "retry": FAST}
        assert broker.call("PUT", f"{at}-2", literal, wanted=200)["callbackUrl"] == hook.url + "${HOME}"
        broker.broadcast("0")
        wait_for("the literal path", lambda: any("${HOME}" in path for path in hook.paths), 60)
        assert broker.call("DELETE", f"{at}-2", None, C)[0] == 204
        # Another address: what comes goes there, nothing is lost on the way.
        broker.broadcast("1")
        broker.setup(second.url)
        broker.broadcast("2")
        wait_for("both messages", lambda: {a[0] for a in hook.succeeded() + second.succeeded()} == {"0", "1", "2"}, 60)
        # Paused, and on again.
        body = {"name": "P", "callbackUrl": second.url, "retry": FAST}
        broker.call("PUT", at, {**body, "paused": True}, wanted=200)
        wait_for("the pause", lambda: broker.call("GET", "/api/v1/workers/order-events.payment-service")[1].get(
            "state") == "paused", 60)
        broker.broadcast("3")
        wait_for("it to be queued", lambda: broker.counts()["QUEUED"] == 1)
        broker.call("PUT", at, {**body, "paused": False}, wanted=200)
        wait_for("it to be delivered", lambda: broker.counts()["DELIVERED"] == 4, 60)
        # A restart finds it again.
        broker.server.kill()
        broker.server.start()
        broker.broadcast("4")
        wait_for("a delivery after the restart", lambda: "4" in {a[0] for a in second.succeeded()}, 60)
        listed = broker.call("GET", "/channel/order-events/consumers", wanted=200)["items"]
        assert [one["id"] for one in listed] == ["payment-service"] and "token" not in listed[0], listed
        assert broker.call("DELETE", at, None, C)[0] == 204
        wait_for("its worker to be gone", lambda: broker.call("GET", "/api/v1/workers/order-events.payment-service")[
            0] == 404, 60)
        assert broker.call("GET", at, None, C)[0] == 404 and broker.dead() == {}
        hook.end()
        second.end()


def a_broadcast_is_taken_once(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook = Hook()
        broker.setup(hook.url)
        heard = []
        threads = [threading.Thread(target=lambda: heard.append(broker.broadcast("x", "same", None)[0]))
                   for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(heard) <= {201, 409} and 201 in heard, heard
        broker.server.kill()
        broker.server.start()
        broker.broadcast("x", "same")
        assert len(broker.server.messages("order-events")) == 1
        assert broker.call("POST", "/channel/order-events/broadcast", "y" * (2 << 20), C)[0] == 413
        hook.end()


def a_first_try_that_died_is_looked_for_in_steps(program):
    """Where very many records came since, a repeated broadcast is told to come again instead of waiting for all."""
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        broker.call("PUT", "/channel/order-events", {"name": "Order Events", "token": "channel-secret"}, wanted=200)
        line = json.dumps({"key": "lost", "value": "x"}) + "\n"  # with the message's key: in its partition
        for _ in range(102):
            broker.call("POST", "/api/v1/topics/order-events/messages", line * 1000,
                        {"Content-Type": "application/x-ndjson"}, 200)
        broker.broadcast("x", "lost")
        before = len(broker.server.messages("order-events"))
        broker.server.terminate()
        with sqlite3.connect(pathlib.Path(folder, "data/office.db")) as store:
            store.execute("UPDATE channel_messages SET at_offset = NULL, from_offset = 0 WHERE id = 'lost'")
        store.close()
        broker.server.start()
        told = []
        while not told or told[-1] == 503:
            assert len(told) < 60, told
            told.append(broker.broadcast("x", "lost", None)[0])
        assert told[0] == 503 and told[-1] == 201, told
        assert len(broker.server.messages("order-events")) == before, "it was found, not sent again"


def the_example_and_the_command_line(program):
    with tempfile.TemporaryDirectory() as folder:
        hook = Hook()
        environment = {**os.environ, "CHANNEL_TOKEN": "channel-secret", "CONSUMER_TOKEN": "consumer-secret",
                       "RECEIVER_URL": hook.url}
        server = Bartleby(program, folder, ["-c", str(ROOT / "examples/webhooks/bartleby.yaml")],
                          environment=environment)
        server.start()
        try:
            url = f"http://127.0.0.1:{server.port}"

            def run(*words):
                return subprocess.run([program, *words], capture_output=True, text=True, timeout=30, check=False,
                                      env={**os.environ, "BARTLEBY_URL": url, "HOME": folder})
            status, _ = server.call("POST", "/channel/order-events/broadcast", "x", C)
            assert status == 201
            wait_for("the delivery", lambda: len(hook.succeeded()) == 1)
            assert re.search(r"order-events +Order Events", run("channels", "ls").stdout)
            made = run("channels", "put", "c2", "--name", "Second")
            assert made.returncode == 0 and len(made.stdout.strip()) == 26, made
            hook.down = True
            put = run("consumers", "put", "c2", "k", "--url", hook.url, "--retry", json.dumps(FAST))
            assert put.returncode == 0, put
            assert "running" in run("consumers", "ls", "c2").stdout
            fine = run("check", "--warn", "1", "--crit", "3")
            assert fine.returncode == 0 and fine.stdout.startswith("OK - 0 dead jobs"), fine
            token = {"X-Broker-Channel-Token": made.stdout.strip()}
            for wanted, status in ((1, 1), (3, 2)):
                while run_count(server) < wanted:
                    assert server.call("POST", "/channel/c2/broadcast", "x", token)[0] == 201
                    before = run_count(server)
                    wait_for("it to die", lambda: run_count(server) > before, 60)
                ran = run("check", "--warn", "1", "--crit", "3")
                assert ran.returncode == status and f"{wanted} dead jobs" in ran.stdout, ran
            assert run("check", "--dlq", "c2.k.dlq", "--warn", "1", "--crit", "3").returncode == 2
            away = subprocess.run([program, "check", "--server", f"http://127.0.0.1:{free_port()}"],
                                  capture_output=True, text=True, timeout=30, check=False)
            assert away.returncode == 3 and away.stdout.startswith("UNKNOWN - "), away
            assert run("consumers", "rm", "c2", "k").returncode == 5
            assert run("consumers", "rm", "c2", "nobody").returncode == 3
        finally:
            server.end()
            hook.end()


def every_route_was_answered(_program):
    assert DOCUMENTED <= SEEN, f"never answered as documented: {DOCUMENTED - SEEN}"


def run_count(server):
    return sum(row["deadCount"] for row in server.get("/dlq-status")["consumers"])


def main():
    return run_checks([a_message_reaches_every_consumer, dead_jobs_are_requeued_and_deleted,
                       very_many_dead_jobs_are_deleted_by_an_operation, consumers_come_and_go,
                       a_broadcast_is_taken_once, a_first_try_that_died_is_looked_for_in_steps,
                       the_example_and_the_command_line, every_route_was_answered],
                      pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
