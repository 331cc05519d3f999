#!/usr/bin/env python3
"""The office of a real server that is killed with kill -9 again and again: every letter once, counts exact.

    office_kills.py PROGRAM [--long]

Everything that is sent dies, and dies again when it is replayed: messages of a topic, and jobs of a channel's consumer.
Between kills letters are replayed, discarded, restored and purged, one by one and by operations, and jobs are requeued
and deleted by their own routes. After each start and at the end, letters and audit in office.db are compared with the
records of the dlqs, and the summary with counting the view `job`, through a connection of the test's.

Operations go on beside whoever gives the next order, and after a kill. One of them may deal with a letter between its
being listed and its being ordered about; what is refused then must be told by the audit, as the doing of an operation
that was started here.
"""

import collections
import json
import pathlib
import random
import sqlite3
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.processes import Bartleby, Endpoint, audit_is_good, free_port, wait_for  # noqa: E402

CONFIG = """
workers:
  orders:
    topics: [orders]
    handler: {{http: {{url: "http://127.0.0.1:{port}/", allow_private: true}}}}
    guard: null
    retry: {{max_attempts: 2, schedule: [1ms]}}
channels:
  events:
    token: channel-secret
    consumers:
      mail:
        url: "{url}"
        token: consumer-secret
        retry: {{max_attempts: 1}}
        reject: [422]
"""
KEYS = 7
DLQS = ("orders.dlq", "events.mail.dlq")
CONSUMER = "/channel/events/consumer/mail"
TOKENS = {"X-Broker-Channel-Token": "channel-secret", "X-Broker-Consumer-Token": "consumer-secret"}
DISCARDED = 3  # of a letter's states, as they are stored


def rows(bartleby, sql, *values):
    database = sqlite3.connect(f"file:{bartleby.folder / 'data/office.db'}?mode=ro", uri=True, timeout=20)
    try:
        return database.execute(sql, values).fetchall()
    finally:
        database.close()


def counts_are_exact(bartleby):
    """How many are dead, of each consumer; one statement, so that nothing happens in between."""
    counted = rows(bartleby, "SELECT consumerId, sum(dead_count), sum(dead) FROM ("
                             " SELECT consumerId, dead_count, 0 AS dead FROM dlq_summary UNION ALL"
                             " SELECT consumerId, 0, 1 FROM job WHERE status = 1004) GROUP BY consumerId")
    assert all(summary == dead for _, summary, dead in counted), counted
    assert audit_is_good(bartleby.get)
    return {consumer: dead for consumer, _, dead in counted}


class People:
    """Who gives orders to the office, by chance."""

    def __init__(self, bartleby, chosen):
        self.bartleby, self.chosen, self.done = bartleby, chosen, collections.Counter()
        self.started = {}  # operations, by id: what they do to letters

    def post(self, path, body, *wanted):
        status, answer = self.bartleby.call("POST", path, json.dumps(body))
        assert status in wanted, (path, body, status, answer)
        return status, answer

    def job(self, what, method, path, *wanted):
        status, answer = self.bartleby.call(method, CONSUMER + path, headers=TOKENS)
        assert status in wanted, (method, path, status, answer)
        if status < 300:
            self.done[what] += 1
        if status == 202 and "operation" in answer:
            self.started[answer["operation"]] = "replay"
        return status

    def audit_end(self):
        return rows(self.bartleby, "SELECT seq FROM audit_head")[0][0]

    def refused(self, what, letter, since, expected, states):
        """Since that line of the audit one of the expected (state, action) was done to the letter, by an operation that
        was started here, and the letter is left in one of these states; in none: it is gone."""
        lines = rows(self.bartleby, "SELECT from_state, action, detail FROM audit_log WHERE subject = ? AND seq > ?",
                     letter, since)
        by_us = {(state, action) for state, action, detail in lines
                 if detail and self.started.get(json.loads(detail).get("operation")) == action}
        left = [state for (state,) in rows(self.bartleby, "SELECT state FROM letters WHERE id = ?", letter)]
        assert by_us & expected and left in states, (what, letter, lines, left)
        self.done[f"{what} too late"] += 1

    def job_refused(self, what, status, letter, since):
        """A dead job is none any more (404) when it was discarded, and is queued (409) when it was sent again; one that
        is to be deleted may also change after it was looked at (409).

        It is never deleted by another: who lists and orders is one, so every plan is older than the list, and a plan
        leaves alone what has another version. So its row is there, and after a discard as that has left it.
        """
        if status == 404:
            return self.refused(what, letter, since, {("open", "discard")}, ([DISCARDED],))
        expected = {("open", "replay")} | ({("open", "discard")} if what == "delete" else set())
        self.refused(what, letter, since, expected, [[state] for state in range(DISCARDED + 1)])

    def act_on_jobs(self):
        what = self.chosen.choice(("requeue", "requeue", "delete", "requeue all", "requeue all", "delete all"))
        if what == "requeue all":
            return self.job(what, "POST", "/dlq", 202, 409)  # while another runs
        if what == "delete all":
            return self.job(what, "DELETE", "/dlq", 200)
        since = self.audit_end()
        status, dead = self.bartleby.call("GET", CONSUMER + "/dlq", headers=TOKENS)
        assert status == 200, (status, dead)
        if not dead["items"]:
            return
        job = self.chosen.choice(dead["items"])
        path = f"/job/{job['id']}"
        if what == "requeue":
            status = self.job(what, "POST", f"{path}/requeue-dead-job", 202, 404, 409)
        else:
            status = self.job(what, "DELETE", path, 204, 404, 409)
        if status >= 400:
            self.job_refused(what, status, job["letter"], since)

    def act_on_a_letter(self):
        since = self.audit_end()
        found = self.bartleby.get("/api/v1/letters?limit=20")["items"]
        if not found:
            return
        verb = self.chosen.choice(("replay", "discard", "restore"))
        letter = self.chosen.choice(found)
        status, answer = self.post(f"/api/v1/letters/{letter['id']}:{verb}", {}, 200, 202, 404, 409)
        if status == 404:  # only what was discarded when it was listed can be in the plan of a purge
            assert letter["state"] == "discarded", (verb, letter, answer)
            return self.refused(verb, letter["id"], since, {("discarded", "purge")}, ([],))
        if status == 409:
            return
        self.done[verb] += 1
        if verb == "replay":
            self.started[answer["operation"] if status == 200 else answer["id"]] = verb

    def act(self):
        if self.chosen.random() < 0.4:
            return self.act_on_jobs()
        if self.chosen.random() < 0.4:
            return self.act_on_a_letter()
        kind = self.chosen.choice(("replay", "replay", "discard", "restore", "purge"))
        query = f"key:k{self.chosen.randrange(KEYS)}" + (" state:discarded" if kind == "purge" else "")
        pace = {"rate": 0, "canary": 0, "halt": {"came_back": 100}} if kind == "replay" else {}
        _, plan = self.post("/api/v1/operations", {"kind": kind, "q": query, **pace}, 201)
        if plan["letters"] and self.post(f"/api/v1/operations/{plan['id']}:start", {}, 200, 409)[0] == 200:
            self.done[f"{kind} of many"] += 1
            self.started[plan["id"]] = kind


def every_letter_is_accounted_for(bartleby, dlq, sent):
    """What died is in the office, once, or somebody purged it."""
    headers = [dict(message["headers"]) for message in bartleby.messages(dlq)]
    lineage = {one["bartleby-letter"]: one["bartleby-lineage"] for one in headers}
    died = set(lineage.values())
    assert len(died) == sent, (dlq, len(died), sent)
    of_it = f"SELECT l.lineage FROM letters l JOIN shelves s ON s.id = l.shelf WHERE s.dlq = '{dlq}'"
    stored = collections.Counter(row[0] for row in rows(bartleby, of_it))
    assert not stored or stored.most_common(1)[0][1] == 1, stored.most_common(3)
    gone = rows(bartleby, "SELECT subject FROM audit_log WHERE action = 'purge'")
    purged = {lineage[subject] for (subject,) in gone if subject in lineage}
    assert died == set(stored) | purged, (died - set(stored) - purged, set(stored) - died)
    assert rows(bartleby, "SELECT coalesce(sum(missed), 0) FROM cursors") == [(0,)]
    return len(purged)


def one(program, kills):
    chosen = random.Random(1853)
    with tempfile.TemporaryDirectory(prefix="bartleby-office-") as folder:
        config = pathlib.Path(folder, "bartleby.yaml")
        refusing = Endpoint(lambda message: 422)  # consumers have a guard, which knows an outage from a refusal
        config.write_text(CONFIG.format(port=free_port(), url=refusing.url))  # at the port nobody listens
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
        people = People(bartleby, chosen)
        sent = dict.fromkeys(DLQS, 0)

        def first_lives(dlq):
            return sum(dict(m["headers"])["bartleby-replays"] == "0" for m in bartleby.messages(dlq))

        def send(number):
            key = f"k{number % KEYS}"
            if chosen.random() < 0.5:
                sent["orders.dlq"] += 1
                return bartleby.call("POST", "/api/v1/topics/orders/messages", body=f"v{number}",
                                     headers={"Bartleby-Key": key})
            sent["events.mail.dlq"] += 1
            return bartleby.call("POST", "/channel/events/broadcast", body=f"v{number}",
                                 headers={**TOKENS, "X-Broker-Message-Key": key})
        try:
            for _ in range(kills):
                for _ in range(chosen.randrange(5, 40)):
                    status, body = send(sum(sent.values()))
                    assert status in (200, 201), (status, body)
                for _ in range(chosen.randrange(2, 9)):
                    people.act()
                time.sleep(chosen.random() * 0.4)  # the moment of death
                bartleby.kill()
                bartleby.start()
                counts_are_exact(bartleby)
            for dlq in DLQS:
                wait_for(f"all letters in {dlq}", lambda dlq=dlq: first_lives(dlq) == sent[dlq], 60)
            wait_for("the end of all operations",
                     lambda: bartleby.get("/api/v1/operations?state=running")["count"]["value"] == 0, 120)
            for dlq in DLQS:
                wait_for("all letters in the office",
                         lambda dlq=dlq: bartleby.get(f"/api/v1/dlqs/{dlq}")["intake_lag"] == 0, 60)
            on_their_way = "SELECT count(*) FROM letters WHERE state = 1"
            wait_for("nothing on its way", lambda: rows(bartleby, on_their_way) == [(0,)], 60)
            dead = counts_are_exact(bartleby)
            assert sum(dead.values()) > 0, "nothing was counted"
            purged = sum(every_letter_is_accounted_for(bartleby, dlq, sent[dlq]) for dlq in DLQS)
            said = ", ".join(f"{what} {count}" for what, count in sorted(people.done.items()))
            return f"{sum(sent.values())} letters, each once, {purged} purged; {said}"
        finally:
            bartleby.end()
            refusing.end()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    kills = 200 if "--long" in sys.argv else 10
    try:
        print(f"ok office_kills {kills} kills, {one(program, kills)}", flush=True)
        return 0
    except Exception:  # told as the runner wants it
        print(f"FAIL office_kills\n{traceback.format_exc()}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
