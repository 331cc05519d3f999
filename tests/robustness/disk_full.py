#!/usr/bin/env python3
"""A server whose disk is full, under load, and has room again. Usage: disk_full.py PROGRAM [--long]

The disk is the limit of file sizes of the running process: it is lowered so that nothing, or nearly nothing, can be
written, and raised again. Meanwhile sends are refused, health says why and what to do, and the worker
begins nothing. Afterwards, without a restart, everything acknowledged is handled exactly once, in the order of its
key. Without --long it happens 3 times, with it 30 times.
"""

import collections
import json
import pathlib
import resource
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import (TOPIC, Bartleby, Endpoint, Sender, disorder, flaky, wait_all_over, wait_for,  # noqa: E402
                       worker_file)

FULL = "the disk is full"


def limit(bartleby, size):
    resource.prlimit(bartleby.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def words(bartleby, event):
    return bartleby.log.read_text().count(event)


def backlog(bartleby, number, acknowledged):
    """More than the worker is through with when the disk is full."""
    lines = [json.dumps({"key": f"b{i % 50}", "value": f"m{number + i}"}) for i in range(300)]
    status, answer = bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "\n".join(lines),
                                   {"Content-Type": "application/x-ndjson"})
    assert status == 200, (status, answer)
    for line in lines:
        acknowledged[json.loads(line)["value"]] = None


def nothing_goes(bartleby, endpoint):
    """Everybody who asks is told, and no attempt begins."""
    status, answer = bartleby.call("GET", "/actuator/health")
    broker = answer["components"]["broker"]
    assert status == 503 and answer["status"] == broker["status"] == "DOWN", answer
    assert FULL in broker["details"]["error"] and "Free space" in broker["details"]["error"], broker
    assert bartleby.call("GET", "/actuator/health/liveness")[0] == 200
    status, answer = bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m", {"Bartleby-Key": "k"})
    assert status == 503 and answer["type"].endswith("broker-unavailable") and FULL in answer["detail"], answer

    def worker():
        return bartleby.get(f"/api/v1/workers/{TOPIC}")

    wait_for("the worker to stop beginning", lambda: FULL in (worker()["trouble"] or "") and worker()["running"] == 0)
    assert "takes no writes" in bartleby.get(f"/api/v1/explain?worker={TOPIC}")["answer"]
    before = len(endpoint.attempts)
    time.sleep(1)
    assert len(endpoint.attempts) == before, "attempts begin though nothing can be written down"


def full_and_room_again(program, rounds):
    with tempfile.TemporaryDirectory() as folder:
        fails = flaky(0.2, 3)

        def slowly(message):
            time.sleep(0.01)
            return fails(message)

        endpoint = Endpoint(slowly)
        bartleby = Bartleby(program, folder, worker_file(folder, endpoint.url, "concurrency: 4"), piped=True)
        bartleby.start()
        sender = Sender(bartleby, TOPIC, pause=0.005)
        more = {}
        try:
            for number in range(rounds):
                backlog(bartleby, 1_000_000 + 1000 * number, more)
                wait_for("some of it", lambda n=len(endpoint.attempts): len(endpoint.attempts) > n + 20)
                limit(bartleby, 0 if number % 2 == 0 else 8192)
                wait_for("the word that it is full", lambda n=number: words(bartleby, "log_not_writable") > n)
                if number % 2 == 0:  # else a small write may find a corner
                    nothing_goes(bartleby, endpoint)
                limit(bartleby, resource.RLIM_INFINITY)
                wait_for("the word that there is room", lambda: words(bartleby, "log_writable_again") ==
                         words(bartleby, "log_not_writable"))
                wait_for("health", lambda: bartleby.call("GET", "/actuator/health")[0] == 200)
                acknowledged = len(sender.acknowledged)
                wait_for("sends to be taken", lambda n=acknowledged: len(sender.acknowledged) > n)
            acknowledged = {**sender.stop(), **more}
            wait_all_over(bartleby, endpoint, acknowledged)
            times = collections.Counter(a[0] for a in endpoint.succeeded())
            assert max(times.values()) == 1, f"handled twice: {[v for v, n in times.items() if n > 1][:5]}"
            assert sender.refused, "nobody was refused"
            assert not set(times) & sender.refused, "handled, but its sender was told that it is not there"
            bad = disorder(endpoint.succeeded())
            assert not bad, f"order not kept: {bad[:3]}"
            letters = [letter["value"] for letter in bartleby.messages(f"{TOPIC}.dlq")]
            assert len(letters) == len(set(letters)) and all(int(v[1:]) % 97 == 13 for v in letters), letters
            highest = max(attempt for _value, _key, _offset, attempt, _status in endpoint.attempts)
            assert highest <= 4, "more attempts than the policy allows"
            assert bartleby.starts == 1 and bartleby.terminate() == 0
            told = words(bartleby, "log_not_writable")
            return (f"{rounds} times full, told {told} times, {len(acknowledged)} messages taken, "
                    f"{len(sender.refused)} refused, {len(letters)} letters")
        finally:
            sender.stop()
            bartleby.end()
            endpoint.end()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    try:
        print(f"ok full_and_room_again {full_and_room_again(program, 30 if '--long' in sys.argv else 3)}")
        return 0
    except Exception:
        print(f"FAIL full_and_room_again\n{traceback.format_exc()}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
