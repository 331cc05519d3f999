#!/usr/bin/env python3
"""A real server whose clocks run fast: letters that nobody deals with are archived, and come back.

Usage: archives.py PROGRAM, which is the one of a test build: its clock can be hurried.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api import ELSEWHERE, Checked  # noqa: E402
from processes import TOPIC, Bartleby, Endpoint, run_checks, wait_for, worker_file  # noqa: E402

VALUE = bytes(range(256)) + b'{"amount": 9007199254740993}'


def letters(bartleby, state):
    return [one["id"] for one in bartleby.get(f"/api/v1/letters?q=state%3A{state}")["items"]]


def archived_and_back(program):
    """The same bytes, the same letters, also when the server is killed between the two."""
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(lambda message: 422)
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        without = path.read_text()
        path.write_text(without + 'dlqs:\n  "*": {retention: 3650d}\n')
        bartleby = Bartleby(program, folder, arguments, {**os.environ, "BARTLEBY_TIME_SCALE": "600"})

        def run(*words):
            ran = subprocess.run([str(program), *words, "--server", f"http://127.0.0.1:{bartleby.port}"],
                                 capture_output=True, text=True, timeout=30, check=False)
            assert ran.returncode == 0, (words, ran)
            return ran.stdout

        bartleby.start()
        try:
            for key in ("a", "b", "c"):
                status, _ = bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", VALUE, {"Bartleby-Key": key})
                assert status == 200
            wait_for("the letters", lambda: len(letters(bartleby, "open")) == 3, 30)
            ids = sorted(letters(bartleby, "open"))
            # How long letters are kept counts from the reload on.
            path.write_text(without + 'dlqs:\n  "*": {retention: 30m}\n  other.dlq: {class: financial}\n')
            bartleby.process.send_signal(signal.SIGHUP)
            wait_for("the archive", lambda: sorted(letters(bartleby, "archived")) == ids, 60)
            assert bartleby.call("GET", f"/api/v1/letters/{ids[0]}/value")[0] == 410, "its bytes are in the archive"
            archives = bartleby.get("/api/v1/archives")["items"]
            assert sum(one["here"] for one in archives) == 3, archives
            kept = pathlib.Path(folder, "data", "archive")
            assert {f"{one['id']}.jsonl.zst" for one in archives} <= {f.name for f in kept.iterdir()}
            assert json.loads((kept / f"{archives[0]['id']}.json").read_text())["dlq"] == f"{TOPIC}.dlq"
            assert archives[0]["id"] in run("archive", "ls")
            bartleby.kill()
            bartleby.start()
            api = Checked(bartleby)
            for one in archives:
                assert "open again" in run("archive", "restore", one["id"], "--reason", "wanted")
            assert sorted(letters(bartleby, "open")) == ids
            assert api.call("GET", f"/api/v1/archives/{archives[0]['id']}")[1]["here"] == 0
            status, again = api.call("POST", f"/api/v1/archives/{archives[0]['id']}:restore", "{}")
            assert status == 200 and again["restored"] == 0, again
            assert api.seen == ELSEWHERE, api.seen
            status, value = bartleby.call("GET", f"/api/v1/letters/{ids[0]}/value")
            assert status == 200 and value == VALUE, (status, value)
            return f"{len(archives)} archives, 3 letters"
        finally:
            bartleby.end()
            endpoint.end()


if __name__ == "__main__":
    sys.exit(run_checks([archived_and_back], pathlib.Path(sys.argv[1]).resolve()))
