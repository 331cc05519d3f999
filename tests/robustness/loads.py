#!/usr/bin/env python3
"""Much at once: one message that fails among very many, and thousands of attempts in flight.

Usage: loads.py PROGRAM [--long]. Without --long 20,000 messages lie around the one that fails, with it 100,000, which
are then also handled without it for comparison. 5,000 attempts are in flight to a slow endpoint, until 10,000 messages
are handled, with --long 50,000; the memory of the server is printed and bounded. With --long an endpoint is also dead
for ten minutes at 1,000 messages a second.
"""

import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import GUARD, TOPIC, Bartleby, Endpoint, run_checks, wait_for, worker_file  # noqa: E402

IN_FLIGHT = 5000
MOST_MEMORY = 600 << 20


def send(bartleby, messages):
    for at in range(0, len(messages), 2000):
        lines = "\n".join(json.dumps(m) for m in messages[at:at + 2000])
        status, answer = bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", lines,
                                       {"Content-Type": "application/x-ndjson"}, seconds=60)
        assert status == 200, (status, answer)


def handled(program, messages, mended):
    """All but those of the key `slow`, while its first message fails. Returns how long they took, and that key."""
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(lambda m: 500 if m["value"] == "bad" and not mended.is_set() else 200)
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(path.read_text().replace("max_attempts: 4, schedule: [20ms, 50ms, 100ms]",
                                                 "max_attempts: 100, schedule: [1s, 5s, 30s]")
                        .replace("timeout: 5s", "timeout: 60s"))  # an attempt that times out is repeated, rightly
        bartleby = Bartleby(program, folder, arguments)
        bartleby.start()
        try:
            began = time.monotonic()
            send(bartleby, messages)
            others = sum(m["key"] != "slow" for m in messages)
            counted = [0, 0]  # attempts looked at, others among them

            def all_others():
                new = endpoint.attempts[counted[0]:]
                counted[0] += len(new)
                counted[1] += sum(a[4] < 300 and a[1] != "slow" for a in new)
                return counted[1] >= others

            wait_for("the others", all_others, 600)
            took = time.monotonic() - began
            assert len({a[0] for a in endpoint.succeeded() if a[1] != "slow"}) == others == counted[1], "some twice"
            if mended.is_set():
                return took, None
            assert not any(a[1] == "slow" for a in endpoint.succeeded()), "its key did not wait"
            wait_for("the second failure", lambda: len([a for a in endpoint.attempts if a[0] == "bad"]) >= 2)
            mended.set()
            (pin,) = bartleby.get(f"/api/v1/explain?worker={TOPIC}")["pinned_by"][:1]
            assert pin["offset"] == 0 and pin["state"] in ("parked", "running"), pin
            status, _ = bartleby.call("POST", f"/api/v1/workers/{TOPIC}/parked:run-now", '{"all":true}')
            assert status == 200
            slow = sum(m["key"] == "slow" for m in messages)
            wait_for("the slow one and its key",
                     lambda: len([a for a in endpoint.succeeded() if a[1] == "slow"]) == slow, 60)
            offsets = [a[2] for a in endpoint.succeeded() if a[1] == "slow"]
            assert offsets == sorted(offsets), "order of its key"
            return took, slow
        finally:
            bartleby.end()
            endpoint.end()


def one_slow_key_holds_nobody(program, long):
    """1 s, 5 s, 30 s between its attempts: the others do not wait for it, its key does, and keeps its order."""
    count = 100_000 if long else 20_000
    others = [{"key": "slow" if i % 1000 == 0 else f"k{i % 200}", "value": f"m{i}"} for i in range(count)]
    took, slow = handled(program, [{"key": "slow", "value": "bad"}, *others], threading.Event())
    text = f"{count} others in {took:.0f} s; {slow} of its key after it in order"
    if long:
        healthy = threading.Event()
        healthy.set()
        text += f"; without it in {handled(program, others, healthy)[0]:.0f} s"
    return text


def memory(pid, field):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE).group(1)) << 10


def sockets(pid):
    count = 0
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += link.readlink().name.startswith("socket:")
        except OSError:  # closed meanwhile
            continue
    return count


def open_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def thousands_in_flight(program, long):
    """A machine that is too busy to begin 5,000 attempts within 2 s has the same with an endpoint that takes 10 s."""
    open_files()
    for slow in ("2s", "10s"):
        most, text = in_flight(program, 50_000 if long else 10_000, slow)
        if most >= IN_FLIGHT:
            return text
    raise AssertionError(f"never {IN_FLIGHT} at once: {text}")


def receiver_of(program, folder, *options, port="0"):
    """The process, and the port it listens on."""
    said = pathlib.Path(folder, "receiver.txt")
    with said.open("wb") as out:
        receiver = subprocess.Popen([str(program), "receiver", "--port", port, *options], stdout=out,
                                    stderr=subprocess.STDOUT)
    wait_for("the receiver", lambda: re.search(r"127\.0\.0\.1:\d+", said.read_text()))
    return receiver, re.search(r"127\.0\.0\.1:(\d+)", said.read_text()).group(1)


def in_flight(program, count, slow):
    """The endpoint is `receiver --slow`: the attempts really wait at the other side, each on its connection."""
    with tempfile.TemporaryDirectory() as folder:
        bartleby = None
        receiver, port = receiver_of(program, folder, "--slow", slow)
        try:
            arguments = worker_file(folder, f"http://127.0.0.1:{port}/", f"concurrency: {IN_FLIGHT}")
            path = pathlib.Path(folder, "worker.yaml")
            path.write_text(path.read_text().replace("timeout: 5s", "timeout: 60s"))
            bartleby = Bartleby(program, folder, arguments)
            bartleby.start()
            send(bartleby, [{"key": f"k{i}", "value": "x" * 200} for i in range(count)])
            most = {"running": 0, "sockets": 0}

            def over():
                time.sleep(0.2)  # looking at thousands of descriptors is work, too
                status = bartleby.get(f"/api/v1/workers/{TOPIC}")
                most["running"] = max(most["running"], status["running"])
                most["sockets"] = max(most["sockets"], sockets(bartleby.process.pid))
                return status["partitions"] and status["partitions"][0]["committed"] == count

            wait_for("everything to be handled", over, 600)
            peak = memory(bartleby.process.pid, "VmHWM")
            assert bartleby.messages(f"{TOPIC}.dlq") == []
            assert most["running"] >= IN_FLIGHT, most
            assert peak < MOST_MEMORY, f"{peak >> 20} MB resident"
            assert bartleby.terminate() == 0
            return most["sockets"], (f"{count} messages, {slow} each, at most {most['running']} at once on "
                                     f"{most['sockets']} sockets, {peak >> 20} MB resident")
        finally:
            if bartleby:
                bartleby.end()
            receiver.kill()
            receiver.wait(10)


def long_outage(program, _long):
    """Every attempt fails, then nobody listens at all, then all is well: few letters, and everything is handled."""
    seconds, rate = 600, 1000
    with tempfile.TemporaryDirectory() as folder:
        bartleby = None
        receiver, port = receiver_of(program, folder, "--fail", "100%")
        try:
            arguments = worker_file(folder, f"http://127.0.0.1:{port}/")
            path = pathlib.Path(folder, "worker.yaml")
            path.write_text(path.read_text().replace("guard: null", GUARD))
            bartleby = Bartleby(program, folder, arguments)
            bartleby.start()
            sent, began = 0, time.monotonic()
            while (passed := time.monotonic() - began) < seconds:
                due = int(passed * rate)
                send(bartleby, [{"key": f"k{n % 5000}", "value": f"m{n}"} for n in range(sent, due)])
                sent = due
                if passed > seconds / 2 and receiver.poll() is None:
                    receiver.kill()
                    receiver.wait(10)
                time.sleep(0.2)
            receiver, _ = receiver_of(program, folder, port=port)
            mended = time.monotonic()

            def over():
                time.sleep(1)
                where = bartleby.get(f"/api/v1/workers/{TOPIC}")["partitions"]
                return where and sum(p["committed"] for p in where) == sent

            wait_for("everything to be handled", over, 1800)
            took = time.monotonic() - mended
            letters = len(bartleby.messages(f"{TOPIC}.dlq"))
            assert letters <= 100, f"{letters} letters"
            answered = pathlib.Path(folder, "receiver.txt").read_text()
            done = set(re.findall(rf" {TOPIC} (\d+:\d+) .* 200$", answered, re.MULTILINE))
            assert len(done) == sent - letters, f"{len(done)} of {sent} reached the endpoint, {letters} letters"
            return f"{sent} messages in {seconds} s, {letters} letters, all handled {took:.0f} s after it ended"
        finally:
            if bartleby:
                bartleby.end()
            receiver.kill()
            receiver.wait(10)


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    long = "--long" in sys.argv
    return run_checks([one_slow_key_holds_nobody, thousands_in_flight] + [long_outage] * long, program, long)


if __name__ == "__main__":
    sys.exit(main())
