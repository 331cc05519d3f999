#!/usr/bin/env python3
"""A real server on a store with very many letters: what it shows is what is there, and its answers come at once.

    many_letters.py PROGRAM [--long]

200,000 letters of 5,000 issues, with --long 23 million of 200,000, put in by SQL without payloads or words to search.
The times are printed beside the statement that counts the dead jobs of the view `job`; with --long they are judged.
"""

import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.processes import Bartleby, run_checks  # noqa: E402

CONSUMERS, SLICE = 50, 500_000
SLOW = 250  # ms: a median above it fails where times are judged
BYTES_OF_ONE = 450  # in the store, with its places in the indexes

SHELVES = """
INSERT INTO shelves WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :consumers)
  SELECT i, 'c' || i || '.dlq', 'test', 'c' || i, 'c' || i || '.x', 'c' || i || '.x', 0, 'c' || i || '.x' FROM n
"""
LETTERS = """
INSERT INTO letters(seq, id, shelf, issue, state, version, replays, attempts, kind, lineage, dlq_partition, dlq_offset,
    job_partition, job_offset, size, payload_hash, payload_life, instance, dialect, error_type, error_message, died_at,
    arrived_at, changed_at)
  WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
  SELECT i, printf('ltr_%026d', i), 1 + i % :consumers, 1 + i % :issues, 0, 1, 0, 6, 1, printf('msg_%026d', i), 0, i, 0,
    i, 100, x'00', 0, 'i', 'record', 'Error' || (i % :issues), 'no answer after ' || i || 's', :base + i,
    :base + i, :base + i FROM n
"""
COUNTS = (
    "INSERT INTO counters SELECT shelf, state, count(*) FROM letters GROUP BY 1, 2",
    "INSERT INTO issues(seq, id, state, version, title, kind, error_type, open, total, first, last, state_since)"
    " SELECT issue, 'iss_' || issue, 1, 1, 'Error', 1, 'Error' || (issue - 1), count(*), count(*), min(died_at),"
    " max(died_at), min(died_at) FROM letters GROUP BY issue",
    "INSERT INTO dlq_summary SELECT consumer, 'x', topic, topic, letters, '2026-01-01 00:00:00.000'"
    " FROM counters JOIN shelves ON id = shelf",
)


def fill(path, letters, issues):
    """As a bulk load does it: no log of the transaction, and the indexes of the letters made afterwards."""
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-1048576", "temp_store=MEMORY"):
        db.execute(f"PRAGMA {pragma}")
    indexes = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'letters'"
                         " AND sql IS NOT NULL").fetchall()
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    # Young enough that no retention touches them.
    shared = {"consumers": CONSUMERS, "issues": issues, "base": int(time.time() * 1000) - letters}
    db.execute(SHELVES, {"consumers": CONSUMERS})
    for first in range(1, letters + 1, SLICE):
        db.execute(LETTERS, {"first": first, "last": min(letters, first + SLICE - 1), **shared})
    for _, statement in indexes:
        db.execute(statement)
    for statement in COUNTS:
        db.execute(statement)
    db.execute("UPDATE numbers SET next = ? WHERE name = 'letter'", (letters + 1,))
    db.close()


def asked(bartleby, path, times=20):
    """The answer, and the median of some times to get it in milliseconds."""
    took = []
    for _ in range(times):
        began = time.monotonic()
        answer = bartleby.get(path)
        took.append((time.monotonic() - began) * 1000)
    return answer, statistics.median(took)


def exact_and_at_once(program, letters, of_issues, judged):
    with tempfile.TemporaryDirectory(prefix="bartleby-many-", dir=pathlib.Path.cwd() / "build") as folder:
        bartleby = Bartleby(program, folder).start()
        bartleby.end()
        store = pathlib.Path(folder, "data", "office.db")
        began = time.monotonic()
        fill(store, letters, of_issues)
        filling = time.monotonic() - began
        bartleby.start(120)
        try:
            status, status_ms = asked(bartleby, "/dlq-status")
            with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
                began = time.monotonic()
                grouped = dict(db.execute("SELECT consumerId, COUNT(id) FROM job WHERE status = 1004"
                                          " GROUP BY consumerId"))
                grouped_ms = (time.monotonic() - began) * 1000
            db.close()
            told = {f"{one['channelId']}.{one['consumerId']}": one["deadCount"] for one in status["consumers"]}
            assert told == grouped and sum(told.values()) == letters, (len(told), sum(told.values()))
            page, page_ms = asked(bartleby, "/api/v1/letters?limit=50")
            assert [one["id"] for one in page["items"]] == [f"ltr_{n:026d}" for n in range(letters, letters - 50, -1)]
            one_topic, topic_ms = asked(bartleby, "/api/v1/letters?q=topic:c7&limit=50")
            assert {one["origin"]["topic"] for one in one_topic["items"]} == {"c7"}, one_topic["items"][0]
            issues, issues_ms = asked(bartleby, "/api/v1/issues")
            counts = [one["count"]["open"] for one in issues["items"]]
            assert len(counts) == 50 and set(counts) == {letters // of_issues}, counts
            assert issues["count"] == {"value": of_issues, "exact": True}, issues["count"]
            dlqs, dlqs_ms = asked(bartleby, "/api/v1/dlqs?limit=100")
            assert sum(one["open"] for one in dlqs["items"]) == letters, dlqs["items"][0]
            medians = {"/dlq-status": status_ms, "letters": page_ms, "of one topic": topic_ms, "issues": issues_ms,
                       "dlqs": dlqs_ms}
            slow = {name: round(ms) for name, ms in medians.items() if ms > SLOW}
            assert not (judged and slow), f"medians above {SLOW} ms: {slow}"
            return (f"{letters} letters of {of_issues} issues, {store.stat().st_size / 1e9:.2f} GB, filled in"
                    f" {filling:.0f} s; medians over HTTP: /dlq-status {status_ms:.1f} ms (the GROUP BY on the"
                    f" view job {grouped_ms:.0f} ms),"
                    f" letters {page_ms:.1f} ms, of one topic {topic_ms:.1f} ms, issues {issues_ms:.1f} ms,"
                    f" dlqs {dlqs_ms:.1f} ms")
        finally:
            bartleby.end()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    judged = "--long" in sys.argv
    letters, issues = (23_000_000, 200_000) if judged else (200_000, 5_000)
    pathlib.Path("build").mkdir(exist_ok=True)
    free, wanted = shutil.disk_usage("build").free, 2 * BYTES_OF_ONE * letters
    if free < wanted:
        print(f"skip exact_and_at_once wants {wanted / 1e9:.0f} GB of room, there are {free / 1e9:.0f}")
        return 0
    return run_checks([exact_and_at_once], program, letters, issues, judged)


if __name__ == "__main__":
    sys.exit(main())
