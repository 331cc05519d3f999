#!/usr/bin/env python3
"""Messages that kill the process they are handled in. Usage: crashes.py PROGRAM [--long]

PROGRAM is built from crashing.cc. It is started again whenever it dies, as a service manager would. The culprit must
become a letter with reason PROCESS_CRASH after the configured deaths; its innocent neighbours must be handled, and a
second worker beside it that is never idle must not hide who did it.
"""

import json
import pathlib
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import Bartleby  # noqa: E402

NEIGHBOURS = 60
MAX_CRASHES = 3


def one(program, how, number):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "worker.yaml").write_text(
            "workers: {busy: {concurrency: 4}, orders: {concurrency: 8, "
            f"retry: {{max_crashes: {MAX_CRASHES}, schedule: [50ms], timeout: 20s}}}}}}\n")
        bartleby = Bartleby(program, folder, ["-c", str(pathlib.Path(folder, "worker.yaml"))])
        bartleby.start()
        try:
            busy = "\n".join(json.dumps({"value": f"b{i}"}) for i in range(3000))
            for _ in range(3):
                bartleby.call("POST", "/api/v1/topics/busy/messages", busy, {"Content-Type": "application/x-ndjson"})
            lines = [json.dumps({"key": f"k{i}", "value": f"m{i}"}) for i in range(NEIGHBOURS)]
            lines.insert(NEIGHBOURS // 3 + number, json.dumps({"key": "culprit", "value": how}))
            status, answer = bartleby.call("POST", "/api/v1/topics/orders/messages", "\n".join(lines),
                                           {"Content-Type": "application/x-ndjson"})
            assert status == 200, (status, answer)
            deaths = 0
            until = time.monotonic() + 60
            while time.monotonic() < until:
                if bartleby.process.poll() is not None:
                    deaths += 1
                    assert deaths <= 4 * MAX_CRASHES, f"died {deaths} times; {bartleby.log.read_text()[-1500:]}"
                    try:
                        bartleby.start()
                    except AssertionError:  # it died again before it listened
                        continue
                try:
                    letters = bartleby.messages("orders.dlq")
                    worker = bartleby.get("/api/v1/workers/orders")
                except (OSError, AssertionError, LookupError):  # dead again, or not all there yet
                    continue
                part = worker["partitions"][0] if worker["partitions"] else None
                if letters and part and part["committed"] == NEIGHBOURS + 1:
                    break
                time.sleep(0.05)
            else:
                raise AssertionError(f"not over after 60 s, {deaths} deaths: {bartleby.log.read_text()[-2000:]}")
            assert [letter["value"] for letter in letters] == [how], f"letters: {[x['value'] for x in letters]}"
            headers = dict(letters[0]["headers"])
            assert headers["bartleby-reason"] == "PROCESS_CRASH", headers
            assert deaths >= MAX_CRASHES, deaths
            return deaths
        finally:
            bartleby.end()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    rounds = 20 if "--long" in sys.argv else 2
    good = True
    for how in ("segv", "abort", "exit", "overflow", "memory"):
        try:
            deaths = [one(program, how, number) for number in range(rounds)]
            print(f"ok {how} deaths {deaths}", flush=True)
        except Exception:  # the next kind still runs
            good = False
            print(f"FAIL {how}\n{traceback.format_exc()}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
