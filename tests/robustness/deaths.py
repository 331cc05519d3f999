#!/usr/bin/env python3
"""The server dies at named places, under load: between the commit and its answer, and the like.

Usage: deaths.py PROGRAM [--long], PROGRAM being a test build, which knows BARTLEBY_DIE_AT (src/base/death_point.h).
Without --long 24 deaths, with it 200. After all of them every acknowledged message is handled or a letter, in the
order of its key, with no more attempts than allowed, and no letter is there twice.
"""

import collections
import os
import pathlib
import random
import signal
import sys
import tempfile
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import (TOPIC, Bartleby, Endpoint, Sender, disorder, flaky, wait_all_over, wait_for,  # noqa: E402
                       worker_file)

POINTS = ["append.begun", "append.committed", "write.begun", "write.committed", "write.published", "attempt.begun",
          "attempt.answered", "http.answer", "checkpoint.done", "upkeep.slice", "stop.begun", "stop.released"]
STOPS = {"stop.begun", "stop.released"}  # reached by a clean stop only


def deaths(program, rounds):
    chooser = random.Random(23)
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(flaky(0.2, 3))
        bartleby = Bartleby(program, folder, worker_file(folder, endpoint.url), environment=dict(os.environ))
        bartleby.start()
        sender = Sender(bartleby, TOPIC)
        try:
            for number in range(rounds):
                point = POINTS[number % len(POINTS)]
                once = point in STOPS or point.startswith(("checkpoint", "upkeep"))
                bartleby.environment["BARTLEBY_DIE_AT"] = f"{point}:{1 if once else chooser.randint(1, 40)}"
                bartleby.kill()
                try:
                    bartleby.start()
                except AssertionError:
                    assert bartleby.process.returncode == -signal.SIGKILL, bartleby.log.read_text()[-2000:]
                if point in STOPS and bartleby.process.poll() is None:
                    # A worker that has not joined its group yet has nothing to hand over.
                    wait_for("the worker to run",
                             lambda: bartleby.get("/api/v1/workers")["items"][0]["state"] == "running")
                    bartleby.process.send_signal(signal.SIGTERM)
                status = bartleby.process.wait(60)
                assert status == -signal.SIGKILL, f"{point}: {status}: {bartleby.log.read_text()[-2000:]}"
                seen[point] += 1
                del bartleby.environment["BARTLEBY_DIE_AT"]
                bartleby.start()
            acknowledged = dict(sender.stop())
            wait_all_over(bartleby, endpoint, acknowledged)
            bad = disorder(endpoint.succeeded())
            assert not bad, f"order not kept: {bad[:3]}"
            highest = max(attempt for _value, _key, _offset, attempt, _status in endpoint.attempts)
            assert highest <= 4, "more attempts than the policy allows"
            values = [letter["value"] for letter in bartleby.messages(f"{TOPIC}.dlq")]
            assert len(values) == len(set(values)), "a message became a letter twice"
            assert all(int(value[1:]) % 97 == 13 for value in values), "a letter that need not have been"
            return f"{rounds} deaths at {len(seen)} places, {len(acknowledged)} messages, {len(values)} letters, 0 lost"
        finally:
            sender.stop()
            bartleby.end()
            endpoint.end()


def main():
    rounds = 200 if "--long" in sys.argv else 24
    try:
        print(f"ok deaths_at_named_places {deaths(pathlib.Path(sys.argv[1]).resolve(), rounds)}")
        return 0
    except Exception:
        print(f"FAIL deaths_at_named_places\n{traceback.format_exc()}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
