#!/usr/bin/env python3
"""Consumers that come, go and die, and who did it, with a real server. Usage: consumers.py PROGRAM

What a sender is told of a job while its letter is on its way, names that meet, a consumer that comes again, tokens of
several tenants, and what the audit says of all that. Prints a line per check.
"""

import http.client
import json
import pathlib
import sqlite3
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from channels import BOTH, C, FAST, Broker, Hook  # noqa: E402
from processes import Endpoint, audit_is_good, run_checks, wait_for  # noqa: E402

AT = "/channel/order-events/consumer/payment-service"
WORKER = "/api/v1/workers/order-events.payment-service"
KEYS = """
auth: {keys: store}
workers:
  pulled: {handler: {pull: {}}, retry: {max_attempts: 2, schedule: [1h]}, guard: null}
"""


def jobs_of(broker, message):
    answer = broker.call("GET", f"/channel/order-events/message/{message}", None, C, 200)
    return {job["consumerId"]: job["statusName"] for job in answer["jobs"]}


def a_dead_job_is_never_called_delivered(program):
    """While its letter lies in the dlq and the office cannot take it in, nobody knows yet; afterwards it is dead."""
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        go = threading.Event()
        hook = Endpoint(lambda message: 503 if go.wait(60) else 500)
        broker.setup(hook.url)
        broker.broadcast("x", "m-1")
        wait_for("the first attempt", lambda: jobs_of(broker, "m-1") == {"payment-service": "INFLIGHT"})
        store = sqlite3.connect(pathlib.Path(folder, "data/office.db"), isolation_level=None, timeout=30)
        store.execute("BEGIN IMMEDIATE")  # nobody else writes
        go.set()
        seen = set()

        def written():
            seen.update(jobs_of(broker, "m-1").values())
            return len(broker.server.messages("order-events.payment-service.dlq")) == 1
        wait_for("the letter to be in the dlq", written, 60)
        for _ in range(20):
            seen.update(jobs_of(broker, "m-1").values())
        assert seen <= {"QUEUED", "INFLIGHT"}, seen
        store.execute("ROLLBACK")
        store.close()

        def dead():
            seen.update(jobs_of(broker, "m-1").values())
            return "DEAD" in seen
        wait_for("it to be dead", dead, 60)
        assert "DELIVERED" not in seen, seen
        # The job names the message as its sender did.
        job = broker.call("GET", f"{AT}/dlq", None, BOTH, 200)["items"][0]
        assert job["messageId"] == "m-1", job
        assert broker.call("GET", f"{AT}/job/{job['id']}", None, BOTH, 200)["messageId"] == "m-1"
        hook.end()


def names_that_meet_are_refused(program):
    """By the store, so that it holds for a process that runs no workers too."""
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder, "roles: [office]\n") as broker:
        for channel in ("a", "a.b"):
            broker.call("PUT", f"/channel/{channel}", {"name": channel, "token": "channel-secret"}, wanted=200)
        body = {"name": "n", "callbackUrl": "http://127.0.0.1:1/"}
        broker.call("PUT", "/channel/a/consumer/b.c", body, wanted=200)
        refused = broker.call("PUT", "/channel/a.b/consumer/c", body, wanted=409)
        assert "a/b.c" in refused["detail"], refused
        broker.call("PUT", "/channel/a/consumer/b.c", body, wanted=200)
        assert broker.call("GET", "/channel/a.b/consumers", wanted=200)["items"] == []


def one_that_comes_again_gets_what_is_new(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook = Hook()
        broker.setup(hook.url)
        broker.broadcast("1", "m-1")
        wait_for("it to be delivered", lambda: jobs_of(broker, "m-1") == {"payment-service": "DELIVERED"})
        assert broker.call("DELETE", AT, None, C)[0] == 204
        wait_for("its worker to be gone", lambda: broker.call("GET", WORKER)[0] == 404, 60)
        broker.broadcast("2", "m-2")
        wait_for("it to be registered again", lambda: broker.call("PUT", AT, {
            "name": "P", "callbackUrl": hook.url, "token": "consumer-secret", "retry": FAST})[0] == 200, 60)
        broker.broadcast("3", "m-3")
        wait_for("what is new", lambda: jobs_of(broker, "m-3") == {"payment-service": "DELIVERED"}, 60)
        assert [attempt[0] for attempt in hook.succeeded()] == ["1", "3"], hook.attempts
        assert jobs_of(broker, "m-1") == jobs_of(broker, "m-2") == {}
        wait_for("the counts", lambda: broker.counts() == {"QUEUED": 0, "INFLIGHT": 0, "DELIVERED": 1, "DEAD": 0})
        # A restart changes nothing of that.
        broker.server.kill()
        broker.server.start()
        broker.broadcast("4", "m-4")
        wait_for("what is new after a restart", lambda: jobs_of(broker, "m-4") == {"payment-service": "DELIVERED"}, 60)
        assert [attempt[0] for attempt in hook.succeeded()] == ["1", "3", "4"], hook.attempts
        hook.end()


def one_whose_jobs_are_sent_again_stays(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder) as broker:
        hook = Hook()
        hook.down = True
        broker.setup(hook.url)
        broker.broadcast("x", "m-1")
        wait_for("a dead job", lambda: sum(broker.dead().values()) == 1, 60)
        body = {"name": "P", "callbackUrl": hook.url, "retry": FAST}
        broker.call("PUT", AT, {**body, "paused": True}, wanted=200)
        wait_for("the pause", lambda: broker.call("GET", WORKER)[1].get("state") == "paused", 60)
        assert broker.call("POST", f"{AT}/dlq", None, BOTH, 202)["requeuedCount"] == 1
        wait_for("it to be sent again", lambda: jobs_of(broker, "m-1") == {"payment-service": "QUEUED"}, 60)
        refused = broker.call("DELETE", AT, None, C, 409)
        assert "sent again" in refused["detail"] and "restore" in refused["detail"], refused
        hook.down = False
        broker.call("PUT", AT, {**body, "paused": False}, wanted=200)
        wait_for("it to be delivered", lambda: jobs_of(broker, "m-1") == {"payment-service": "DELIVERED"}, 60)
        # Its letter goes as retention lets it go; that takes nothing back.
        purge = broker.call("POST", "/api/v1/operations", {"kind": "purge", "q": "state:resolved"}, wanted=201)
        broker.call("POST", f"/api/v1/operations/{purge['id']}:start", {}, wanted=200)
        wait_for("the purge", lambda: broker.call("GET", "/api/v1/letters", wanted=200)["count"]["value"] == 0)
        assert jobs_of(broker, "m-1") == {"payment-service": "DELIVERED"}
        assert broker.call("DELETE", AT, None, C)[0] == 204
        hook.end()


def the_file_pauses_a_consumer(program):
    config = """
channels:
  order-events:
    token: channel-secret
    consumers: {payment-service: {token: consumer-secret, url: "http://127.0.0.1:1/", paused: %s}}
"""
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder, config % "false") as broker:
        for paused, state in (("true", "paused"), ("false", "running")):
            broker.server.terminate()
            pathlib.Path(folder, "c.yaml").write_text(config % paused)
            broker.server.start()
            wait_for(f"it to be {state}", lambda: broker.call("GET", WORKER)[1].get("state") == state, 60)
            assert broker.call("GET", AT, None, C, 200)["paused"] == (paused == "true")


def ask(broker, method, path, body=None, headers=None):
    """(status, headers, document)."""
    connection = http.client.HTTPConnection("127.0.0.1", broker.server.port, timeout=20)
    try:
        connection.request(method, path, body=json.dumps(body) if isinstance(body, dict) else body,
                           headers=headers or {})
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, answer.headers, json.loads(text) if text else None
    finally:
        connection.close()


def the_audit_says_who_did_it(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder, KEYS) as broker:
        hook = Hook()
        hook.down = True
        admin = {"Authorization": "Bearer " + pathlib.Path(folder, "data/first-admin.key").read_text().strip()}

        def lines(subject=""):
            return ask(broker, "GET", f"/api/v1/audit?limit=500&subject={subject}", None, admin)[2]["items"]
        made = {"name": "Order Events", "token": "channel-secret"}
        assert ask(broker, "PUT", "/channel/order-events", made, admin)[0] == 200
        body = {"name": "P", "callbackUrl": hook.url, "token": "consumer-secret", "retry": FAST}
        status, headers, _ = ask(broker, "PUT", AT, body, {**C, "X-Request-Id": "mine-1"})
        assert status == 200 and headers["x-request-id"] == "mine-1"
        assert ask(broker, "PUT", AT, {**body, "name": "Q"}, {**C, "X-Request-Id": "not fit"})[0] == 200
        changed, first = lines("order-events.payment-service")
        assert (first["actor"], first["request_id"]) == ("channel:order-events", "mine-1"), first
        assert changed["detail"]["changed"] == "name" and changed["request_id"].startswith("req_"), changed
        assert "consumer-secret" not in json.dumps([changed, first])
        for n in range(2):
            assert ask(broker, "POST", "/channel/order-events/broadcast", f"{n}", C)[0] == 201
        wait_for("two dead jobs", lambda: ask(broker, "GET", f"{AT}/dlq", None, BOTH)[2]["count"]["value"] == 2, 60)
        one, two = ask(broker, "GET", f"{AT}/dlq", None, BOTH)[2]["items"]
        assert ask(broker, "DELETE", f"{AT}/job/{one['id']}?reason=paid%20by%20hand", None, BOTH)[0] == 204
        purged = lines(one["letter"])[0]
        assert purged["reason"] == "paid by hand", purged
        assert purged["actor"] == "consumer:order-events/payment-service" and purged["request_id"], purged
        # Requeued by an operation: its lines have who asked, and the request.
        hook.down = False
        status, headers, _ = ask(broker, "POST", f"{AT}/dlq", None, BOTH)
        assert status == 202
        wait_for("it to be sent", lambda: any(line["action"] == "replay" for line in lines(two["letter"])), 60)
        sent = [line for line in lines(two["letter"]) if line["action"] == "replay"][0]
        assert (sent["actor"], sent["request_id"]) == ("consumer:order-events/payment-service",
                                                       headers["x-request-id"]), sent
        # Orders to workers.
        ask(broker, "POST", "/api/v1/topics/pulled/messages", "x", admin)
        claim = ask(broker, "POST", "/api/v1/workers/pulled/attempts:claim", {"wait": "20s"}, admin)[2]
        assert ask(broker, "POST", f"/api/v1/attempts/{claim['attempts'][0]['token']}:finish", {"outcome": "retry"})[
            0] == 204
        for verb, order in ((":pause", None), (":resume", None), ("/parked:run-now", {"all": True})):
            at = f"/api/v1/workers/pulled{verb}?reason=the%20bank%20is%20away"
            wait_for(verb, lambda: ask(broker, "POST", at, order, admin)[2].get("messages") != 0)
        ordered = [(line["action"], line["actor"], line.get("detail")) for line in reversed(lines("pulled"))]
        assert ordered == [("pause-worker", "first-admin", None), ("resume-worker", "first-admin", None),
                           ("run-parked-now", "first-admin", {"all": True, "messages": 1})], ordered
        assert {line["reason"] for line in lines("pulled")} == {"the bank is away"}, lines("pulled")
        for reason in ("x" * 1001, "%FF"):
            status, _, refused = ask(broker, "POST", f"/api/v1/workers/pulled:pause?reason={reason}", None, admin)
            assert status == 422 and refused["errors"][0]["pointer"] == "reason", refused
        # A key that is revoked, and a channel that is changed.
        key = ask(broker, "POST", "/api/v1/keys", {"name": "ann", "role": "viewer"}, admin)[2]["id"]
        assert ask(broker, "DELETE", f"/api/v1/keys/{key}?reason=left", None, admin)[0] == 204
        assert lines(key)[0]["reason"] == "left", lines(key)
        made["name"] = "Orders"
        assert ask(broker, "PUT", "/channel/order-events?reason=shorter", made, admin)[0] == 200
        assert lines("order-events")[0]["reason"] == "shorter", lines("order-events")
        # Ids do not come again after a restart; a name that tokens have is nobody's key.
        ids = {line["request_id"] for line in lines() if line["request_id"]}
        broker.server.kill()
        broker.server.start()
        assert ask(broker, "GET", "/api/v1/audit", None, admin)[1]["x-request-id"] not in ids
        taken = {"name": "channel:order-events", "role": "viewer"}
        assert ask(broker, "POST", "/api/v1/keys", taken, admin)[0] == 422
        assert audit_is_good(lambda path: ask(broker, "GET", path, None, admin)[2])
        hook.end()


def tenants_do_not_get_in_each_others_way(program):
    with tempfile.TemporaryDirectory() as folder, Broker(program, folder, KEYS) as broker:
        admin = {"Authorization": "Bearer " + pathlib.Path(folder, "data/first-admin.key").read_text().strip()}
        for channel in ("one", "two"):
            made = {"name": channel, "token": f"secret-of-{channel}"}
            assert ask(broker, "PUT", f"/channel/{channel}", made, admin)[0] == 200

        def send(channel, value, **headers):
            return ask(broker, "POST", f"/channel/{channel}/broadcast", value, headers)[:2]
        tokens = {name: {"X-Broker-Channel-Token": f"secret-of-{name}"} for name in ("one", "two")}
        # The same Idempotency-Key, by chance.
        for name in ("one", "two", "one"):
            assert send(name, f"of {name}", **tokens[name], **{"Idempotency-Key": "1"})[0] == 201, name
        assert send("one", "another", **tokens["one"], **{"Idempotency-Key": "1"})[0] == 422
        # A token that is left out is no guess; who guesses locks nobody out who has it, and waits itself.
        assert {send("one", "x")[0] for _ in range(40)} == {403}
        assert send("one", "x", **tokens["one"])[0] == 201
        guessed = [send("one", "x", **{"X-Broker-Channel-Token": f"guess-{n}"})[0] for n in range(40)]
        assert set(guessed) == {403, 429} and guessed[0] == 403, guessed
        assert send("one", "x", **tokens["one"])[0] == 201
        assert send("two", "x", **{"X-Broker-Channel-Token": "guess-guess"})[0] == 403, "another channel's are counted"


def main():
    return run_checks([a_dead_job_is_never_called_delivered, names_that_meet_are_refused,
                       one_that_comes_again_gets_what_is_new, one_whose_jobs_are_sent_again_stays,
                       the_file_pauses_a_consumer, the_audit_says_who_did_it, tenants_do_not_get_in_each_others_way],
                      pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    sys.exit(main())
