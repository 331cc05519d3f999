#!/usr/bin/env python3
"""Made-up requests against a real server: no answer of 500 or more, and every answer as the server's document says.

Usage: made_up_requests.py PROGRAM SCHEMATHESIS EXAMPLES. There are letters, an issue, topics and a worker,
so that names and ids from the answers lead somewhere.
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api import claimed, letters_found, send, served  # noqa: E402
from processes import run_checks, wait_for  # noqa: E402

# A stream of events does not end; api.py reads it and holds it against the document.
LEFT_OUT = ["/api/v1/events"]
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def no_answer_surprises(program, tool, examples):
    with served(program) as api:
        for value in (b"plain", b"\xff\xfe", b'{"a": 1}', b"parked"):
            send(api, value)
        for _ in range(3):
            token = claimed(api)["token"]
            assert api.call("POST", f"/api/v1/attempts/{token}:finish", '{"outcome": "reject"}')[0] == 204
        wait_for("the letters to be taken in", lambda: letters_found(api)["count"]["value"] == 3)
        address = f"http://127.0.0.1:{api.bartleby.port}"
        command = [tool, "run", address + "/openapi.json", "--url", address, "--checks", CHECKS, "--max-examples",
                   str(examples), "--generation-deterministic", "--request-timeout", "30", "--no-color"]
        for path in LEFT_OUT:
            command += ["--exclude-path", path]
        ran = subprocess.run(command, cwd=api.bartleby.folder, capture_output=True, text=True, timeout=3000,
                             check=False)
        assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
        assert api.bartleby.process.poll() is None, "the server has ended"
        assert "internal_error" not in api.bartleby.log.read_text()
        return re.search(r"(\d+ generated.*)", ran.stdout).group(1) + f", {' '.join(LEFT_OUT)} left out"


if __name__ == "__main__":
    sys.exit(run_checks([no_answer_surprises], pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])))
