#!/usr/bin/env python3
"""The office of a real server that is killed with kill -9 again and again: every letter once, counts exact.

    office_kills.py PROGRAM [--long]

Everything that is sent dies, and dies again when it is replayed. Between kills letters are replayed, discarded,
restored and purged, one by one and by operations. After each start and at the end, letters and audit in office.db are
compared with the records of the dlq, and the summary with counting the view `job`, through a connection of the test's.
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
from support.processes import Bartleby, free_port, wait_for  # noqa: E402

CONFIG = """
workers:
  orders:
    topics: [orders]
    handler: {{http: {{url: "http://127.0.0.1:{port}/", allow_private: true}}}}
    guard: null
    retry: {{max_attempts: 2, schedule: [1ms]}}
"""
KEYS = 7


def rows(bartleby, sql):
    database = sqlite3.connect(f"file:{bartleby.folder / 'data/office.db'}?mode=ro", uri=True, timeout=20)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def counts_are_exact(bartleby):
    counted = rows(bartleby, "SELECT d.dead_count, (SELECT count(*) FROM job WHERE status = 1004 AND"
                             " consumerId = d.consumerId) FROM dlq_summary d")
    assert all(summary == letters for summary, letters in counted), counted
    assert bartleby.get("/api/v1/audit:verify")["good"]


class People:
    """Who gives orders to the office, by chance."""

    def __init__(self, bartleby, chosen):
        self.bartleby, self.chosen, self.done = bartleby, chosen, collections.Counter()

    def post(self, path, body, *wanted):
        status, answer = self.bartleby.call("POST", path, json.dumps(body))
        assert status in (*wanted, 409), (path, body, status, answer)
        return answer if status in wanted else None

    def act(self):
        if self.chosen.random() < 0.4:
            found = self.bartleby.get("/api/v1/letters?limit=20")["items"]
            if not found:
                return
            verb = self.chosen.choice(("replay", "discard", "restore"))
            if self.post(f"/api/v1/letters/{self.chosen.choice(found)['id']}:{verb}", {}, 200, 202):
                self.done[verb] += 1
            return
        kind = self.chosen.choice(("replay", "replay", "discard", "restore", "purge"))
        query = f"key:k{self.chosen.randrange(KEYS)}" + (" state:discarded" if kind == "purge" else "")
        pace = {"rate": 0, "canary": 0, "halt": {"came_back": 100}} if kind == "replay" else {}
        plan = self.post("/api/v1/operations", {"kind": kind, "q": query, **pace}, 201)
        if plan["letters"] and self.post(f"/api/v1/operations/{plan['id']}:start", {}, 200):
            self.done[f"{kind} of many"] += 1


def every_letter_is_accounted_for(bartleby, sent):
    """What died is in the office, once, or somebody purged it."""
    headers = [dict(message["headers"]) for message in bartleby.messages("orders.dlq")]
    lineage = {one["bartleby-letter"]: one["bartleby-lineage"] for one in headers}
    died = set(lineage.values())
    assert len(died) == sent, (len(died), sent)
    stored = collections.Counter(row[0] for row in rows(bartleby, "SELECT lineage FROM letters"))
    assert not stored or stored.most_common(1)[0][1] == 1, stored.most_common(3)
    purged = {lineage[row[0]] for row in rows(bartleby, "SELECT subject FROM audit_log WHERE action = 'purge'")}
    assert died == set(stored) | purged, (died - set(stored) - purged, set(stored) - died)
    assert rows(bartleby, "SELECT coalesce(sum(missed), 0) FROM cursors") == [(0,)]
    return len(purged)


def one(program, kills):
    chosen = random.Random(1853)
    with tempfile.TemporaryDirectory(prefix="bartleby-office-") as folder:
        config = pathlib.Path(folder, "bartleby.yaml")
        config.write_text(CONFIG.format(port=free_port()))  # where nobody listens
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
        people = People(bartleby, chosen)
        sent = 0

        def first_lives():
            return sum(dict(m["headers"])["bartleby-replays"] == "0" for m in bartleby.messages("orders.dlq"))
        try:
            for _ in range(kills):
                for _ in range(chosen.randrange(5, 40)):
                    status, body = bartleby.call("POST", "/api/v1/topics/orders/messages", body=f"v{sent}",
                                                 headers={"Bartleby-Key": f"k{sent % KEYS}"})
                    assert status in (200, 201), (status, body)
                    sent += 1
                for _ in range(chosen.randrange(4)):
                    people.act()
                time.sleep(chosen.random() * 0.4)  # the moment of death
                bartleby.kill()
                bartleby.start()
                counts_are_exact(bartleby)
            wait_for("all letters in the dlq", lambda: first_lives() == sent, 60)
            wait_for("the end of all operations",
                     lambda: bartleby.get("/api/v1/operations?state=running")["count"]["value"] == 0, 120)
            wait_for("all letters in the office",
                     lambda: bartleby.get("/api/v1/dlqs/orders.dlq")["intake_lag"] == 0, 60)
            on_their_way = "SELECT count(*) FROM letters WHERE state = 1"
            wait_for("nothing on its way", lambda: rows(bartleby, on_their_way) == [(0,)], 60)
            counts_are_exact(bartleby)
            purged = every_letter_is_accounted_for(bartleby, sent)
            said = ", ".join(f"{what} {count}" for what, count in sorted(people.done.items()))
            return f"{sent} letters, each once, {purged} purged; {said}"
        finally:
            bartleby.end()


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
