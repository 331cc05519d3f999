#!/usr/bin/env python3
"""Made-up requests against a real server: no answer of 500 or more, and every answer as the server's document says.

Usage: made_up_requests.py PROGRAM SCHEMATHESIS EXAMPLES. There are letters, an issue, topics and a worker,
a channel with a consumer, messages and dead jobs, and every request has their tokens, so that names and ids from the
answers lead somewhere.
"""

import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from api import claimed, letters_found, send, served  # noqa: E402
from processes import run_checks, wait_for  # noqa: E402

# A stream of events does not end; api.py reads it and holds it against the document.
LEFT_OUT = ["/api/v1/events"]
TOKENS = {"X-Broker-Channel-Token": "channel-secret", "X-Broker-Consumer-Token": "consumer-secret"}
# Those of the channel that is there: made-up words would never meet them. Names that are not there are in access.py.
NAMES = """
[parameters]
"path.channel" = "orders"
"path.consumer" = "pay"
"path.message" = "m0"
"path.job" = "0-1"
"""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def make_channel(api):
    def put(path, body, headers=None):
        status, answer = api.call("PUT", path, json.dumps({"name": "n", **body}), headers)
        assert status == 200, answer
    put("/channel/orders", {"token": TOKENS["X-Broker-Channel-Token"]})
    put("/channel/orders/consumer/pay", {"token": TOKENS["X-Broker-Consumer-Token"], "retry": {"max_attempts": 1},
                                         "callbackUrl": "http://127.0.0.1:9/"}, TOKENS)
    for n in range(2):
        headers = {**TOKENS, "X-Broker-Message-ID": f"m{n}", "Content-Type": "text/plain"}
        assert api.call("POST", "/channel/orders/broadcast", "x", headers)[0] == 201
    wait_for("two dead jobs", lambda: api.call("GET", "/channel/orders/consumer/pay/dlq", None, TOKENS)[1]["count"][
        "value"] == 2, 60)


def no_answer_surprises(program, tool, examples):
    with served(program) as api:
        for value in (b"plain", b"\xff\xfe", b'{"a": 1}', b"parked"):
            send(api, value)
        for _ in range(3):
            token = claimed(api)["token"]
            assert api.call("POST", f"/api/v1/attempts/{token}:finish", '{"outcome": "reject"}')[0] == 204
        wait_for("the letters to be taken in", lambda: letters_found(api)["count"]["value"] == 3)
        make_channel(api)
        address = f"http://127.0.0.1:{api.bartleby.port}"
        command = [tool, "run", address + "/openapi.json", "--url", address, "--checks", CHECKS, "--max-examples",
                   str(examples), "--generation-deterministic", "--request-timeout", "30", "--no-color"]
        pathlib.Path(api.bartleby.folder, "schemathesis.toml").write_text(NAMES)
        for name, value in TOKENS.items():
            command += ["--header", f"{name}: {value}"]
        for path in LEFT_OUT:
            command += ["--exclude-path", path]
        ran = subprocess.run(command, cwd=api.bartleby.folder, capture_output=True, text=True, timeout=3000,
                             check=False)
        assert ran.returncode == 0, ran.stdout[-6000:] + ran.stderr[-2000:]
        assert api.bartleby.process.poll() is None, "the server has ended"
        figures = api.bartleby.call("GET", "/metrics")[1].decode()
        for route in ("consumers", "message/{message}"):
            answered = f'bartleby_http_requests_total{{route="/channel/{{channel}}/{route}",code="200"}}'
            assert re.search(re.escape(answered) + " [1-9]", figures), f"{route} has never succeeded"
        assert "internal_error" not in api.bartleby.log.read_text()
        return re.search(r"(\d+ generated.*)", ran.stdout).group(1) + f", {' '.join(LEFT_OUT)} left out"


if __name__ == "__main__":
    sys.exit(run_checks([no_answer_surprises], pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])))
