#!/usr/bin/env python3
"""What the server says of itself is true: its metrics, its OpenAPI document, its heartbeats. Usage: api.py PROGRAM

Every answer that is seen here, and every answer to the rows of hostile_http.txt, is held against the document.
Prints a line per check.
"""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import exposition  # noqa: E402
import hostile_http  # noqa: E402
import schema  # noqa: E402
from processes import Bartleby, run_checks, wait_for  # noqa: E402

WORKER = """
heartbeats: {every: 100ms, ttl: 2s, stopping_ttl: 4s}
workers:
  pulled: {handler: {pull: {}}, retry: {max_attempts: 2, schedule: [1m]}, guard: null, counter: {key: "retry:{/id}"},
           metrics: {family: worker_agent, label: {task_type: {json: /task_type, in: [BUILD]}}}}
  other: {topics: [pulled], group: second, handler: {pull: {}}, dead_letter: {topic: "{topic}.dlq"}}
"""


WITH_A_SINK = {f"bartleby_sink_{name}" for name in ("errors_total", "written_total", "lag", "refused")}  # see sinks.py
WITH_THE_FIRST_LETTER = {"bartleby_oldest_open_letter_timestamp_seconds", "dead_job_count"}


def started(program, folder):
    path = pathlib.Path(folder, "w.yaml")
    path.write_text(WORKER)
    return Bartleby(program, folder, ["-c", str(path)]).start()


# Held against the document by archives.py: there is nothing in an archive without days of waiting.
ELSEWHERE = {("GET", "/api/v1/archives/{id}"), ("POST", "/api/v1/archives/{id}:restore")}


class Checked:
    """Calls, and holds each answer against the document of the server."""

    def __init__(self, bartleby):
        self.bartleby = bartleby
        self.document = bartleby.get("/openapi.json")
        self.seen = set()

    def operation(self, method, path):
        for pattern, operations in self.document["paths"].items():
            parts = re.split(r"\{[^}]*\}", pattern)
            if re.fullmatch("[^/]+".join(map(re.escape, parts)), path) and method.lower() in operations:
                return pattern, operations[method.lower()]
        return None, None

    def check(self, method, target, status, kind, body):
        pattern, operation = self.operation(method, target.split("?")[0])
        problem = {"$ref": "#/components/schemas/Problem"}
        if operation is None:
            assert status >= 400, (method, target, status)
            wanted = problem
        else:
            described = operation["responses"].get(str(status))
            if described is None:
                assert status >= 400, f"{method} {target} answered {status}, which is not in the document"
                described = operation["responses"]["default"]
            else:
                self.seen.add((method, pattern))
            content = described.get("content", {})
            if not content:
                assert not body, f"{method} {target}: a body though there is none"
                return
            assert kind.split(";")[0] in content, f"{method} {target}: {kind} is not one of {list(content)}"
            wanted = content[kind.split(";")[0]]["schema"]
        value = json.loads(body) if "json" in kind else body.decode("latin-1")
        found = schema.complaints(value, wanted, self.document)
        assert not found, f"{method} {target} {status}: {found[:5]}"

    def call(self, method, target, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.bartleby.port, timeout=20)
        try:
            if body is not None and (headers or {}).get("Content-Type") is None:
                self.check_body(method, target, body)
            connection.request(method, target, body=body, headers=headers or {})
            answer = connection.getresponse()
            text = answer.read()
            kind = answer.getheader("content-type") or ""
            self.check(method, target, answer.status, kind, text)
            return answer.status, json.loads(text) if "json" in kind and text else text
        finally:
            connection.close()

    def check_body(self, method, target, body):
        _, operation = self.operation(method, target.split("?")[0])
        content = operation["requestBody"]["content"]
        if "application/json" in content:
            found = schema.complaints(json.loads(body), content["application/json"]["schema"], self.document)
            assert not found, f"{method} {target}: the request {body} {found}"


def claim(api, worker, wait):
    body = json.dumps({"wait": wait, "instance": "t"})
    status, answer = api.call("POST", f"/api/v1/workers/{worker}/attempts:claim", body)
    assert status == 200, (status, answer)
    return answer["attempts"]


def claimed(api, worker="pulled"):
    attempts = claim(api, worker, "20s")
    assert len(attempts) == 1, attempts
    return attempts[0]


def send(api, value, key="k"):
    headers = {"Bartleby-Key": key, "Content-Type": "x/y"}
    status, body = api.call("POST", "/api/v1/topics/pulled/messages", value, headers)
    assert status == 200, body
    return body


class Events:
    """A stream of server-sent events, read one by one."""

    def __init__(self, port, target="/api/v1/events", headers=None):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.connection.request("GET", target, headers=headers or {})
        self.answer = self.connection.getresponse()
        self.status, self.kind = self.answer.status, self.answer.getheader("content-type")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.close()
        self.connection.close()

    def next(self):
        """(type, data, id) of the next event; comments are passed over."""
        fields = {}
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            if line.startswith(":"):
                continue
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif fields:
                return fields["event"], json.loads(fields["data"]), fields.get("id")


@contextlib.contextmanager
def served(program):
    """A server in a folder of its own, as something to call; ended and forgotten afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        bartleby = started(program, folder)
        try:
            api = Checked(bartleby)
            api.program = program
            yield api
        finally:
            bartleby.end()


def letters_found(api, query=""):
    return api.call("GET", "/api/v1/letters?" + urllib.parse.urlencode({"q": query}))[1]


def finish(api, attempt, outcome):
    """With this outcome if it is a replay; what else waits to be claimed is done. Whether it was one."""
    replay = any(name == "bartleby-replay" for name, _ in attempt["message"]["headers"])
    body = json.dumps({"outcome": outcome if replay else "done"})
    assert api.call("POST", f"/api/v1/attempts/{attempt['token']}:finish", body)[0] == 204
    return replay


def end_replays(api, outcome):
    """Until a replay comes, which ends with this outcome."""
    while not finish(api, claimed(api), outcome):
        pass


def operation_routes(api, letter):
    """Every route of operations once; what they do is in operations.py."""
    at = f"/api/v1/letters/{letter}"

    def state():
        return api.call("GET", at)[1]["state"]
    for verb in ("discard", "restore"):
        assert api.call("POST", f"{at}:{verb}", "{}")[0] == 200, verb
    plan = api.call("POST", "/api/v1/operations", json.dumps({"kind": "replay", "ids": [letter]}))
    assert plan[0] == 201, plan
    operation = f"/api/v1/operations/{plan[1]['id']}"
    for target in ("/api/v1/operations", operation, operation + "/items", "/internal/v1/dlq?topic=pulled.dlq"):
        assert api.call("GET", target)[0] == 200, target
    assert api.call("PATCH", operation, '{"rate": 5}')[0] == 200
    for verb in ("start", "pause", "resume", "cancel"):
        assert api.call("POST", f"{operation}:{verb}", "{}")[0] == 200, verb
    while state() == "replaying":  # faster than the cancel, and sent; or taken, and given back in a moment
        for attempt in claim(api, "pulled", "1s"):
            finish(api, attempt, "reject")
    for target, body in ((at + ":replay", "{}"), ("/internal/v1/dlq/replay", json.dumps({"id": letter}))):
        wait_for("it to be open", lambda: state() == "open")
        assert api.call("POST", target, body)[0] == 200, target
        end_replays(api, "reject")
    wait_for("it to be open", lambda: state() == "open")
    place = api.call("GET", at)[1]["dlq"]
    assert api.call("DELETE", f"/internal/v1/dlq/pulled.dlq/{place['offset']}")[0] == 200
    assert api.call("POST", f"{at}:restore", "{}")[0] == 200
    assert api.call("POST", "/internal/v1/dlq/replay-all?topic=pulled.dlq")[0] == 202


def office_routes(api):
    """Every route of the office once."""
    assert api.call("POST", f"/api/v1/attempts/{claimed(api)['token']}:finish", '{"outcome": "reject"}')[0] == 204
    wait_for("the letter to be taken in", lambda: letters_found(api)["count"]["value"] > 0)
    letter = letters_found(api)["items"][0]
    at = f"/api/v1/letters/{letter['id']}"
    issue = f"/api/v1/issues/{letter['issue']}"
    for target in ("/api/v1/issues", issue, "/api/v1/dlqs", "/api/v1/dlqs/pulled.dlq", "/api/v1/audit",
                   "/api/v1/audit:verify", at, at + "/value", at + "/story", "/dlq-status", "/job-status"):
        assert api.call("GET", target)[0] == 200, target
    assert api.call("GET", "/api/v1/archives")[1]["items"] == []
    assert api.call("GET", "/api/v1/archives/arc_none")[0] == 404
    assert api.call("POST", "/api/v1/archives/arc_none:restore", '{"reason": "a test"}')[0] == 404
    for verb in ("mute", "resolve", "reopen"):
        assert api.call("POST", f"{issue}:{verb}", '{"reason": "a test"}')[0] == 200, verb
    made = api.call("POST", "/api/v1/keys", '{"name": "ann", "role": "viewer"}')[1]
    assert api.call("GET", "/api/v1/keys")[0] == 200 and api.call("GET", "/api/v1/session")[0] == 200
    assert api.call("DELETE", f"/api/v1/keys/{made['id']}")[0] == 204
    assert api.call("POST", "/api/v1/session", '{"key": "bk_x"}')[0] == 409
    assert api.call("DELETE", "/api/v1/session")[0] == 204
    operation_routes(api, letter["id"])
    with Events(api.bartleby.port) as events:
        assert events.status == 200 and events.next()[0] == "snapshot"
        api.check("GET", "/api/v1/events", events.status, events.kind, b"")


def answers_are_as_documented(program):
    with served(program) as api:
        for value in (b"plain", b"\xff\xfe", b"second"):
            send(api, value)
        api.call("POST", "/api/v1/topics/pulled/messages", '{"value":"a"}\n{"key":"b","value":null}\n',
                 {"Content-Type": "application/x-ndjson"})
        token = claimed(api)["token"]
        assert api.call("POST", f"/api/v1/attempts/{token}:extend", '{"by": "60s"}')[0] == 200
        failed = '{"outcome": "retry", "error": {"type": "Boo", "message": "m"}}'
        assert api.call("POST", f"/api/v1/attempts/{token}:finish", failed)[0] == 204
        wait_for("a parked message", lambda: api.call("GET", "/api/v1/workers/pulled")[1]["parked"] == 1)
        for target in ("/api/v1/topics", "/api/v1/topics/pulled/messages?limit=3", "/api/v1/workers",
                       "/api/v1/workers/pulled/parked", "/api/v1/explain?worker=pulled",
                       "/api/v1/explain?worker=pulled&partition=0&offset=0", "/api/v1/explain?worker=pulled&key=k",
                       "/api/v1/explain?worker=pulled&key=nobody", "/actuator/health", "/actuator/health/liveness",
                       "/actuator/health/readiness", "/metrics", "/actuator/prometheus", "/openapi.json",
                       "/api/v1/status", "/api/v1/config", "/api/v1/suggest?q=state:"):
            assert api.call("GET", target)[0] == 200, target
        for verb in ("pause", "resume"):
            assert api.call("POST", f"/api/v1/workers/pulled:{verb}")[0] == 200
        where = '{"partition": 0, "offset": 0}'
        assert api.call("POST", "/api/v1/workers/pulled/parked:run-now", where)[0] == 200
        assert api.call("POST", "/api/v1/workers/pulled/parked:give-up", '{"all": true}')[0] == 200
        office_routes(api)
        assert api.call("GET", "/api/v1/workers/nobody")[0] == 404
        assert api.call("GET", "/api/v1/explain?worker=pulled&partition=0&offset=1&key=k")[0] == 400
        documented = {(m.upper(), p) for p, ops in api.document["paths"].items() for m in ops}
        seen = api.seen | ELSEWHERE
        documented.discard(("POST", "/api/v1/session"))  # needs keys: access.py
        documented = {route for route in documented if not route[1].startswith("/channel")}  # channels.py
        assert documented == seen, f"never answered as documented: {documented - seen}"
        for name, _, _, request in hostile_http.rows():
            raw = hostile_http.bytes_of(request)
            line = re.match(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n", raw)
            status, received = hostile_http.answer_to(api.bartleby.port, raw)
            head, _, body = received.partition(b"\r\n\r\n")
            kind = re.search(rb"(?i)content-type: ([^\r]*)", head)
            if status == "closed" or line is None or kind is None:
                continue
            method, target = line.group(1).decode(), line.group(2).decode("latin-1")
            api.check(method, target, int(status), kind.group(1).decode(), body)


def explain_by_key(program):
    with served(program) as api:

        def of(key):
            return api.call("GET", f"/api/v1/explain?worker=pulled&key={key}")[1]
        wait_for("the worker to have its partition", lambda: of("k")["answer"] ==
                 "nothing of this key is waiting or running at worker pulled")
        send(api, b"1")
        send(api, b"2")
        token = claimed(api)["token"]
        assert "offset 0 is running" in of("k")["answer"], of("k")
        api.call("POST", f"/api/v1/attempts/{token}:finish", '{"outcome": "retry"}')
        wait_for("the key to be parked", lambda: "waits for attempt 2 of 2" in of("k")["answer"])
        parked, held = of("k")["pinned_by"]
        assert (parked["state"], parked["key"], parked["attempt"]) == ("parked", "k", 2), parked
        assert parked["due"] and parked["error"]["kind"] == "transient", parked
        assert (held["state"], held["key"], held["attempt"]) == ("held", "k", 1), held
        assert held["due"] is None and held["error"] is None, held
        assert of("other")["pinned_by"] == [], of("other")


def parked_in_pages(program):
    with served(program) as api:
        for n in range(7):
            send(api, b"v", f"k{n}")
        for _ in range(7):
            token = claimed(api)["token"]
            assert api.call("POST", f"/api/v1/attempts/{token}:finish", '{"outcome": "retry"}')[0] == 204
        wait_for("seven to be parked", lambda: api.call("GET", "/api/v1/workers/pulled")[1]["parked"] == 7)
        offsets, pages, path = [], 0, "/api/v1/workers/pulled/parked?limit=3"
        page = api.call("GET", path)[1]
        while True:
            pages += 1
            offsets += [item["offset"] for item in page["items"]]
            assert page["count"] == {"value": 7, "exact": True}, page["count"]
            if page["next"] is None:
                break
            page = api.call("GET", f"{path}&cursor={page['next']}")[1]
        assert offsets == list(range(7)) and pages == 3, (offsets, pages)
        assert api.call("GET", f"{path}&cursor=bm90aGluZw")[0] == 400


def metrics(program):
    exposition.self_test()
    table = {}
    for line in pathlib.Path(__file__).with_name("metrics.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, kind, *labels = line.split()
            table[name] = (kind, set(labels))
    page_for_people = (pathlib.Path(__file__).resolve().parents[2] / "docs/metrics.md").read_text()
    told = {name: (kind, set(labels.split(", ")) - {"–"}) for name, kind, labels in
            re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, –]+) \|", page_for_people, re.MULTILINE)}
    assert told == table, f"docs/metrics.md says otherwise: {sorted(set(told) ^ set(table))}"
    with served(program) as api:

        def page():
            return exposition.parse(api.bartleby.get("/metrics").decode())

        def value(name, suffix="", **labels):
            return page()[name].samples.get((suffix, tuple(sorted(labels.items()))))

        def hold_against_table(families, before_the_first_letter=False):
            assert set(families) == set(table), set(families) ^ set(table)
            for name, family in families.items():
                kind, labels = table[name]
                assert family.kind == kind, (name, family.kind)
                empty = name in WITH_A_SINK or before_the_first_letter and name in WITH_THE_FIRST_LETTER
                assert bool(family.samples) != empty, f"{name}: {family.samples}"
                for _, pairs in family.samples:
                    assert {label for label, _ in pairs} - {"le"} == labels, (name, pairs)

        wait_for("the dlq to be found", lambda: page()["bartleby_intake_lag"].samples)
        first = page()
        hold_against_table(first, before_the_first_letter=True)
        for name, family in first.items():
            if family.kind == "counter" and name not in WITH_A_SINK and not name.startswith("bartleby_http"):
                assert set(family.samples.values()) == {0}, name
        send(api, b'{"id": 1, "task_type": "BUILD"}')
        send(api, b"2")
        for outcome in ("retry", "reject"):
            token = claimed(api)["token"]
            body = json.dumps({"outcome": outcome, "error": {"type": 'a "b"\\\n', "message": ""}})
            api.call("POST", f"/api/v1/attempts/{token}:finish", body)
            wait_for("the attempt to be counted",
                     lambda: value("bartleby_attempts_total", worker="pulled", outcome=outcome) == 1)
            if outcome == "retry":
                wait_for("it to be parked", lambda: value("bartleby_parked", worker="pulled") == 1)
                api.call("POST", "/api/v1/workers/pulled/parked:run-now", '{"all": true}')
        wait_for("the letter", lambda: value("worker_dlq_messages_total", topic="pulled.dlq") == 1)
        wait_for("it to be taken in",
                 lambda: value("bartleby_letters", dlq="pulled.dlq", state="open", **{"class": "normal"}) == 1)
        hold_against_table(page())
        assert value("bartleby_letters_taken_in_total", dlq="pulled.dlq") == 1
        assert value("bartleby_intake_lag", dlq="pulled.dlq") == 0
        assert value("bartleby_issues", state="new") == 1 and value("bartleby_issues", state="muted") == 0
        assert value("dead_job_count", channel="pulled", consumer="pulled") == 1
        assert value("worker_retry_count_total", worker="pulled", error='a \\"b\\"\\\\\\n') == 1
        assert value("worker_agent_dlq_messages_total", reason="rejected", task_type="BUILD") == 1
        assert value("worker_agent_dlq_messages_total", reason="rejected", task_type="other") == 0
        assert value("worker_agent_ticket_retry_count", "_bucket", task_type="BUILD", le="1") == 0
        assert value("worker_agent_ticket_retry_count", "_bucket", task_type="BUILD", le="2") == 1
        assert value("bartleby_counters_up") == 1
        wait_for("GET, INCR, GET and DEL",
                 lambda: value("bartleby_counter_updates_total", worker="pulled", result="done") == 4)
        assert value("bartleby_counter_differs_total", worker="pulled") == 0
        assert value("bartleby_attempt_seconds", "_count", worker="pulled") == 2
        assert value("bartleby_timer_lateness_seconds", "_count", worker="pulled") == 1
        assert value("bartleby_commit_seconds", "_count", worker="pulled") >= 2
        assert value("bartleby_metadata_bytes_max", worker="pulled") > 0
        claims = "/api/v1/workers/{name}/attempts:claim"
        assert value("bartleby_http_requests_total", route=claims, code="200") == 2


def heartbeats(program):
    with served(program) as api:

        def instance():
            instances = api.call("GET", "/api/v1/workers/pulled")[1]["instances"]
            assert len(instances) == 1, instances
            return instances[0]

        def missing():
            return api.call("GET", "/actuator/health")[1]["components"]["workers"]["details"]["missing"]
        first = instance()
        assert first["status"] == "RUNNING" and first["last_message_at"] is None, first
        assert first["advertise"] == f"http://127.0.0.1:{api.bartleby.port}", first
        assert first["id"].endswith(f"-{api.bartleby.port}") and first["id"].startswith("pulled-"), first
        assert missing() == [], missing()
        wait_for("the next heartbeat", lambda: instance()["timestamp"] > first["timestamp"])
        send(api, b"1")
        token = claimed(api)["token"]
        api.call("POST", f"/api/v1/attempts/{token}:finish", '{"outcome": "retry"}')
        wait_for("the attempt in the heartbeat",
                 lambda: instance()["last_message_at"] and instance()["parked"] == 1 and instance()["pinned"])
        assert instance()["consumer_lag"] == 0, instance()
        api.call("POST", "/api/v1/workers/pulled:pause")
        wait_for("PAUSED", lambda: instance()["status"] == "PAUSED")
        api.call("POST", "/api/v1/workers/pulled:resume")
        wait_for("RUNNING", lambda: instance()["status"] == "RUNNING")
        send(api, b"2", key="other")
        token = claimed(api)["token"]
        api.bartleby.process.send_signal(signal.SIGTERM)
        wait_for("SHUTTING_DOWN", lambda: instance()["status"] == "SHUTTING_DOWN")
        stopping = instance()["timestamp"]
        wait_for("it to be refreshed while stopping", lambda: instance()["timestamp"] > stopping)
        assert "pulled" in missing(), missing()
        assert api.call("POST", f"/api/v1/attempts/{token}:finish", '{"outcome": "done"}')[0] == 204
        assert api.bartleby.process.wait(40) == 0


def a_claim_that_nobody_received_is_given_back(program):
    with served(program) as api:
        api.call("POST", "/api/v1/workers/pulled:pause")
        send(api, b"1")
        body = b'{"wait":"30s"}'
        with socket.create_connection(("127.0.0.1", api.bartleby.port), timeout=10) as gone:
            gone.sendall(b"POST /api/v1/workers/pulled/attempts:claim HTTP/1.1\r\nHost: localhost\r\n"
                         b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            # The claim waits; the next request on its own connection is answered after it was read.
            api.call("GET", "/actuator/health")
        api.call("POST", "/api/v1/workers/pulled:resume")
        attempt = claimed(api)
        assert attempt["attempt"] == 1 and attempt["message"]["offset"] == 0, attempt


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    return run_checks([schema.self_test]) | run_checks(
        [answers_are_as_documented, explain_by_key, parked_in_pages, metrics, heartbeats,
         a_claim_that_nobody_received_is_given_back], program)


if __name__ == "__main__":
    sys.exit(main())
