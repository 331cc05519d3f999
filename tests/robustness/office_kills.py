#!/usr/bin/env python3
"""The office of a real server that is killed with kill -9 again and again: every letter once, counts exact.

    office_kills.py PROGRAM [--long]

Everything that is sent dies. After each start and at the end, the letters in office.db are compared with the records of
the dlq, and the summary with counting the view `job`, through a connection of the test's own.
"""

import collections
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


def one(program, kills):
    chosen = random.Random(1853)
    with tempfile.TemporaryDirectory(prefix="bartleby-office-") as folder:
        config = pathlib.Path(folder, "bartleby.yaml")
        config.write_text(CONFIG.format(port=free_port()))  # where nobody listens
        bartleby = Bartleby(program, folder, ["-c", str(config)]).start()
        sent = 0
        try:
            for _ in range(kills):
                for _ in range(chosen.randrange(5, 40)):
                    status, body = bartleby.call("POST", "/api/v1/topics/orders/messages", body=f"v{sent}",
                                                 headers={"Bartleby-Key": f"k{sent % 7}"})
                    assert status in (200, 201), (status, body)
                    sent += 1
                time.sleep(chosen.random() * 0.4)  # the moment of death
                bartleby.kill()
                bartleby.start()
                counts_are_exact(bartleby)
            wait_for("all letters in the dlq", lambda: len(bartleby.messages("orders.dlq")) == sent, 60)
            wait_for("all letters in the office",
                     lambda: rows(bartleby, "SELECT count(*) FROM letters") == [(sent,)], 60)
            counts_are_exact(bartleby)
            ids = collections.Counter(dict(m["headers"])["bartleby-letter"] for m in bartleby.messages("orders.dlq"))
            stored = collections.Counter(row[0] for row in rows(bartleby, "SELECT id FROM letters"))
            assert ids == stored, (ids - stored, stored - ids)
            assert rows(bartleby, "SELECT sum(missed) FROM cursors") == [(0,)]
            return sent
        finally:
            bartleby.end()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    kills = 200 if "--long" in sys.argv else 10
    try:
        print(f"ok office_kills {kills} kills, {one(program, kills)} letters, each once", flush=True)
        return 0
    except Exception:  # told as the runner wants it
        print(f"FAIL office_kills\n{traceback.format_exc()}", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(main())
