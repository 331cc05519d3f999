#!/usr/bin/env python3
"""examples/webhooks as it is shipped: one command starts it and shows what became of three orders.

Usage: webhooks.py PROGRAM. Prints a line per check.
"""

import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import Bartleby, run_checks, wait_for  # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/webhooks"
BOTH = {"X-Broker-Channel-Token": "channel-secret", "X-Broker-Consumer-Token": "consumer-secret"}


class Example(Bartleby):
    """`examples/webhooks/run`, in a folder of its own."""

    def __init__(self, program, folder):
        left_out = ("RECEIVER_URL", "BARTLEBY_KEY")
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        super().__init__(program, folder, environment={**environment, "BARTLEBY": str(program)})
        self.command = [str(EXAMPLE / "run"), "--data-dir", str(pathlib.Path(folder, "data"))]

    def told(self):
        return re.findall(r"^(order-\d+): (.*)$", self.log.read_text(), re.M)


def one_command_shows_it(program):
    with tempfile.TemporaryDirectory() as folder:
        example = Example(program, folder).start(60)
        try:
            wait_for("the last line", lambda: "the pages: " in example.log.read_text(), 120)
            states = "mail-service DEAD payment-service DELIVERED"
            assert example.told() == [(f"order-{n}", states) for n in (17, 18, 19)], example.log.read_text()
            assert "3 dead jobs" in example.log.read_text()
            status, again = example.call("POST", "/channel/order-events/consumer/mail-service/dlq", None, BOTH)
            assert (status, again["requeuedCount"]) == (202, 3), again
            assert example.terminate(60) == 0
        finally:
            example.end()


def main():
    return run_checks([one_command_shows_it], str(pathlib.Path(sys.argv[1]).resolve()))


if __name__ == "__main__":
    sys.exit(main())
