#!/usr/bin/env python3
"""Real processes under load: killed, stopped, and beside a dead endpoint.

Usage: processes.py PROGRAM TOOLS [--long]. TOOLS is the folder of a test build, with `replay` and a `bartleby` whose
clock can be hurried. Prints a line per check. Without --long each kill and stop is done 20 times, with it 200 times;
the endpoint is dead for 8 s at 250 messages a second, with it for 60 s at 200.
"""

import collections
import http.client
import http.server
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from processes import (GUARD, TOPIC, Bartleby, Endpoint, Sender, disorder, flaky, run_checks,  # noqa: E402
                       wait_all_over, wait_for, worker_file)

TOOLS = pathlib.Path(sys.argv[2]).resolve()


def replayed(folder, lives):
    """What the engines of all lives were told, told again: they must answer the same. Returns how many steps."""
    files = sorted(pathlib.Path(folder).glob("*.events"))
    assert len(files) == lives, f"{len(files)} recordings of {lives} lives"
    done = subprocess.run([TOOLS / "replay", *files], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == lives and all(": identical" in line for line in lines), done.stdout[-3000:]
    return sum(int(line.split(": ")[1].split(" steps")[0]) for line in lines)


def kill_9(program, rounds):
    chooser = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(flaky(0.2, 3))
        recordings = pathlib.Path(folder, "recordings")
        bartleby = Bartleby(program, folder, worker_file(folder, endpoint.url),
                            {**os.environ, "BARTLEBY_RECORD": str(recordings)})
        bartleby.start()
        sender = Sender(bartleby, TOPIC)
        try:
            for _ in range(rounds):
                time.sleep(chooser.uniform(0.05, 0.6))
                bartleby.kill()
                bartleby.start()
            acknowledged = dict(sender.stop())
            wait_all_over(bartleby, endpoint, acknowledged)
            bad = disorder(endpoint.succeeded())
            assert not bad, f"order not kept: {bad[:3]}"
            highest = collections.Counter()
            for value, _key, _offset, attempt, _status in endpoint.attempts:
                highest[value] = max(highest[value], attempt)
            assert max(highest.values()) <= 4, "more attempts than the policy allows"
            letters = bartleby.messages(f"{TOPIC}.dlq")
            assert all(int(letter["value"][1:]) % 97 == 13 for letter in letters), "a letter that need not have been"
            values = [letter["value"] for letter in letters]
            assert len(values) == len(set(values)), "a message became a letter twice"
            assert bartleby.terminate() == 0
            steps = replayed(recordings, bartleby.starts)
            return (f"{rounds} kills, {len(acknowledged)} messages, {len(letters)} letters, 0 lost; "
                    f"{steps} recorded steps replayed identically")
        finally:
            sender.stop()
            bartleby.end()
            endpoint.end()


def sigterm(program, rounds):
    chooser = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(flaky(0.2, 5))
        bartleby = Bartleby(program, folder, worker_file(folder, endpoint.url))
        bartleby.start()
        sender = Sender(bartleby, TOPIC)
        try:
            for _ in range(rounds):
                time.sleep(chooser.uniform(0.05, 0.5))
                status = bartleby.terminate()
                assert status == 0, f"exit status {status}: {bartleby.log.read_text()[-2000:]}"
                bartleby.start()
            acknowledged = dict(sender.stop())
            wait_all_over(bartleby, endpoint, acknowledged)
            times = collections.Counter(a[0] for a in endpoint.succeeded())
            twice = [value for value, n in times.items() if n > 1]
            assert not twice, f"handled twice after a clean stop: {twice[:5]}"
            bad = disorder(endpoint.succeeded())
            assert not bad, f"order not kept: {bad[:3]}"
            return f"{rounds} stops, {len(acknowledged)} messages, 0 duplicates"
        finally:
            sender.stop()
            bartleby.end()
            endpoint.end()


def attempts_and_due_times_survive(program, _rounds):
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(lambda message: 500)
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(path.read_text().replace("[20ms, 50ms, 100ms]", "[10ms, 1h]"))
        bartleby = Bartleby(program, folder, arguments)
        bartleby.start()
        try:
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m1", {"Bartleby-Key": "k"})

            def parked():
                items = bartleby.get(f"/api/v1/workers/{TOPIC}/parked")["items"]
                return items[0] if items and items[0]["attempts"] == 2 else None

            wait_for("the second failure", parked)
            before = parked()
            bartleby.kill()
            bartleby.start()
            wait_for("the parked message to be there again", parked)
            after = parked()
            for field in ("attempts", "first_failure_at", "last_failure_at", "error", "key"):
                if field == "key":  # read again only when it is due
                    continue
                assert before[field] == after[field], f"{field}: {before[field]} became {after[field]}"
            drift = abs(stamp(before["due"]) - stamp(after["due"]))
            assert drift < 1.0, f"due {before['due']} became {after['due']}"
            status, answer = bartleby.call("POST", f"/api/v1/workers/{TOPIC}/parked:run-now",
                                           json.dumps({"partition": 0, "offset": 0}))
            assert status == 200 and answer == {"messages": 1}, (status, answer)
            wait_for("the attempt that was asked for", lambda: len(endpoint.attempts) == 3)
            wait_for("the third failure", lambda: bartleby.get(f"/api/v1/workers/{TOPIC}/parked")["items"])
            status, _ = bartleby.call("POST", f"/api/v1/workers/{TOPIC}/parked:give-up", '{"all":true}')
            assert status == 200
            wait_for("the letter", lambda: bartleby.messages(f"{TOPIC}.dlq"))
            headers = dict(bartleby.messages(f"{TOPIC}.dlq")[0]["headers"])
            assert headers["bartleby-reason"] == "GIVEN_UP" and headers["bartleby-attempts"] == "3", headers
            return ""
        finally:
            bartleby.end()
            endpoint.end()


def hurried(_program, _rounds):
    """A process whose clocks run 60 times as fast: 30 s of a schedule pass in half a second, the calendar with them."""
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint(lambda message: 500 if message["attempt"] < 3 else 200)
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(path.read_text().replace("[20ms, 50ms, 100ms], timeout: 5s", "[30s, 1h], timeout: 10m"))
        bartleby = Bartleby(TOOLS / "bartleby", folder, arguments, {**os.environ, "BARTLEBY_TIME_SCALE": "60"})
        bartleby.start()
        try:
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m1", {"Bartleby-Key": "k"})

            def parked(attempts):
                items = bartleby.get(f"/api/v1/workers/{TOPIC}/parked")["items"]
                return items[0] if items and items[0]["attempts"] == attempts else None

            wait_for("the second failure", lambda: parked(2), 20)
            item = parked(2)
            between = stamp(item["last_failure_at"]) - stamp(item["first_failure_at"])
            assert between >= 30, f"only {between} s of the calendar between two attempts that are 30 s apart"
            until = stamp(item["due"]) - stamp(item["last_failure_at"])
            assert 3600 <= until < 3601, f"due {until} s after the failure, not an hour"
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m2", {"Bartleby-Key": "k"})
            sent = stamp(bartleby.messages(TOPIC)[1]["timestamp"])
            assert sent >= stamp(item["last_failure_at"]), "the log has another calendar"
            return f"{between:.0f} s of its calendar"
        finally:
            bartleby.end()
            endpoint.end()


def recording_in_vain(program, _rounds):
    """A folder that cannot be written to: it is said, and the work is done all the same."""
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint()
        pathlib.Path(folder, "file").write_text("")
        bartleby = Bartleby(program, folder, worker_file(folder, endpoint.url),
                            {**os.environ, "BARTLEBY_RECORD": str(pathlib.Path(folder, "file", "below"))})
        bartleby.start()
        try:
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m1", {"Bartleby-Key": "k"})
            wait_for("the message", endpoint.succeeded)
            assert "recording_stopped" in bartleby.log.read_text(), bartleby.log.read_text()
            return ""
        finally:
            bartleby.end()
            endpoint.end()


def stamp(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")) + float(text[19:-1])


def dead_downstream(program, _rounds):
    """An endpoint that is dead for a while: the guard opens, few letters, and afterwards everything is handled."""
    with tempfile.TemporaryDirectory() as folder:
        dead = threading.Event()
        dead.set()
        endpoint = Endpoint(lambda message: 503 if dead.is_set() else 200)
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(path.read_text().replace("guard: null", GUARD))
        bartleby = Bartleby(program, folder, arguments)
        bartleby.start()
        seconds, rate = 60, 200
        acknowledged = set()
        try:
            began = time.monotonic()
            while time.monotonic() < began + seconds:
                numbers = range(len(acknowledged), int((time.monotonic() - began) * rate))
                lines = [json.dumps({"key": f"k{n % 500}", "value": f"m{n}"}) for n in numbers]
                status, answer = bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "\n".join(lines),
                                               {"Content-Type": "application/x-ndjson"}) if lines else (200, None)
                assert status == 200, (status, answer)
                acknowledged.update(f"m{n}" for n in numbers)
                time.sleep(0.1)
            dead.clear()
            wait_all_over(bartleby, endpoint, acknowledged)
            letters = len(bartleby.messages(f"{TOPIC}.dlq"))
            assert letters <= 100, f"{letters} letters"
            assert "guard_opened" in bartleby.log.read_text()
            return f"{len(acknowledged)} messages in {seconds} s, {letters} letters"
        finally:
            bartleby.end()
            endpoint.end()


def wrong_deploy(program, _rounds):
    """404 to everything: the guard opens, and no letter is written."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = threading.Event()
        wrong.set()
        endpoint = Endpoint(lambda message: 404 if wrong.is_set() else 200)
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(path.read_text().replace("guard: null", GUARD).replace("[20ms, 50ms, 100ms]", "[1s, 2s]"))
        bartleby = Bartleby(program, folder, arguments)
        bartleby.start()
        sender = Sender(bartleby, TOPIC, keys=500, pause=0.004)
        try:
            wait_for("the guard", lambda: bartleby.get("/api/v1/workers")["items"][0]["guard_open"])
            time.sleep(2)
            assert bartleby.messages(f"{TOPIC}.dlq") == []
            wrong.clear()
            acknowledged = dict(sender.stop())
            wait_all_over(bartleby, endpoint, acknowledged)
            assert bartleby.messages(f"{TOPIC}.dlq") == []
            return f"{len(acknowledged)} messages, 0 letters"
        finally:
            sender.stop()
            bartleby.end()
            endpoint.end()


def reload(program, _rounds):
    """SIGHUP: a changed file is taken, live where it can be; a bad one is refused with the old worker still at work."""
    with tempfile.TemporaryDirectory() as folder:
        endpoint = Endpoint()
        arguments = worker_file(folder, endpoint.url)
        path = pathlib.Path(folder, "worker.yaml")
        good = path.read_text()
        bartleby = Bartleby(program, folder, arguments)
        bartleby.start()

        def handled(value):
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", value, {"Bartleby-Key": "k"})
            wait_for(f"{value} to be handled", lambda: value in {a[0] for a in endpoint.succeeded()})

        def told(text, times):
            wait_for(f"{text} in the log", lambda: bartleby.log.read_text().count(text) == times)

        try:
            handled("m1")
            for number, bad in enumerate(("handler: {builtin: nobody}", "handler: {http: {url: 7}}", "handlr: {}")):
                path.write_text(f"workers:\n  {TOPIC}:\n    {bad}\n")
                bartleby.process.send_signal(signal.SIGHUP)
                wait_for("the refusal", lambda n=number: bartleby.log.read_text().count(" error ") == n + 1)
                handled(f"m{number + 2}")
            path.write_text(good)
            bartleby.process.send_signal(signal.SIGHUP)
            told("configuration_reloaded", 1)
            handled("m5")
            path.write_text(good.replace("max_attempts: 4", "max_attempts: 2") +
                            f'  more: {{topics: [more], handler: {{http: {{url: "{endpoint.url}"}}}}}}\n')
            bartleby.process.send_signal(signal.SIGHUP)
            told("configuration_reloaded", 2)
            handled("m6")
            endpoint.decide = lambda message: 500 if message["value"] == "bad" else 200
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "bad", {"Bartleby-Key": "bad"})
            wait_for("the letter", lambda: [m["value"] for m in bartleby.messages(f"{TOPIC}.dlq")] == ["bad"])
            assert len([a for a in endpoint.attempts if a[0] == "bad"]) == 2, "the new number of attempts counts"
            text = bartleby.log.read_text()
            assert text.count(f"worker_started worker={TOPIC} ") == 1, "applied without a restart"
            assert "live=true" in text, text[-2000:]
            assert {w["name"] for w in bartleby.get("/api/v1/workers")["items"]} == {TOPIC, "more"}
            path.write_text(good)
            bartleby.process.send_signal(signal.SIGHUP)
            told("configuration_reloaded", 3)
            assert {w["name"] for w in bartleby.get("/api/v1/workers")["items"]} == {TOPIC}
            handled("m7")
            path.write_text(good + "office:\n  undo: 71h\nalerts: {resend: 7m}\n")
            bartleby.process.send_signal(signal.SIGHUP)
            told("configuration_reloaded", 4)
            lines = bartleby.get("/api/v1/audit?subject=configuration")["items"][::-1]
            assert {(line["actor"], line["action"], line["reason"]) for line in lines} == {
                ("local", "reload", "SIGHUP")}, lines
            assert [line["detail"] for line in lines] == [
                {"live": [], "next_start": []},
                {f"workers.{TOPIC}": ["retry.max_attempts"], "workers.more": "added", "live": [], "next_start": []},
                {f"workers.{TOPIC}": ["retry.max_attempts"], "workers.more": "removed", "live": [], "next_start": []},
                {"live": ["alerts.resend"], "next_start": ["office.undo"]}], lines
            times = collections.Counter(a[0] for a in endpoint.succeeded())
            assert max(times.values()) == 1, f"handled twice: {times}"
            return ""
        finally:
            bartleby.end()
            endpoint.end()


def hangup_while_stopping(program, _rounds):
    """A SIGHUP in the middle of a clean stop is not the end of it."""
    with tempfile.TemporaryDirectory() as folder:
        begun = threading.Event()

        def slowly(_message):
            begun.set()
            time.sleep(1)
            return 200

        endpoint = Endpoint(slowly)
        bartleby = Bartleby(program, folder, worker_file(folder, endpoint.url))
        bartleby.start()
        try:
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m1", {"Bartleby-Key": "k"})
            assert begun.wait(10)
            bartleby.process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
            bartleby.process.send_signal(signal.SIGHUP)
            assert bartleby.process.wait(20) == 0
            bartleby.start()
            wait_for("the commit", lambda: bartleby.get("/api/v1/workers")["items"][0]["partitions"] and
                     bartleby.get("/api/v1/workers")["items"][0]["partitions"][0]["committed"] == 1)
            assert len(endpoint.attempts) == 1, endpoint.attempts
            return ""
        finally:
            bartleby.end()
            endpoint.end()


def pulled(program, _rounds):
    """A worker that is pulled: claim, finish, retry; a client that went away while it waited gets nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(f"workers:\n  {TOPIC}:\n    handler: {{pull: {{}}}}\n"
                        "    retry: {max_attempts: 3, schedule: [50ms]}\n")
        bartleby = Bartleby(program, folder, ["-c", str(path)])
        bartleby.start()

        def claim(wait="10s"):
            status, answer = bartleby.call("POST", f"/api/v1/workers/{TOPIC}/attempts:claim",
                                           json.dumps({"max": 5, "wait": wait}), seconds=30)
            assert status == 200, (status, answer)
            return answer["attempts"]

        def finish(token, outcome):
            return bartleby.call("POST", f"/api/v1/attempts/{token}:finish", json.dumps({"outcome": outcome}))[0]

        try:
            gone = http.client.HTTPConnection("127.0.0.1", bartleby.port, timeout=5)
            gone.request("POST", f"/api/v1/workers/{TOPIC}/attempts:claim", '{"wait":"50s"}')
            time.sleep(0.2)
            gone.close()
            time.sleep(1.5)
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m1", {"Bartleby-Key": "k"})
            (first,) = claim()
            assert first["attempt"] == 1 and first["message"]["value"] == "m1", first
            assert finish(first["token"], "retry") == 204
            assert finish(first["token"], "done") == 410
            (second,) = claim()
            assert second["attempt"] == 2, second
            status, answer = bartleby.call("POST", f"/api/v1/attempts/{second['token']}:extend", '{"by":"60s"}')
            assert status == 200 and stamp(answer["deadline"]) > stamp(second["deadline"]), answer
            assert finish(second["token"], "done") == 204
            wait_for("the commit", lambda: bartleby.get(f"/api/v1/workers/{TOPIC}")["partitions"][0]["committed"] == 1)
            assert claim("100ms") == []
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m2", {"Bartleby-Key": "k"})
            time.sleep(0.3)
            began = time.monotonic()
            assert bartleby.terminate() == 0
            assert time.monotonic() - began < 10, "an offer that nobody claimed held up the stop"
            bartleby.start()
            (third,) = claim()
            assert third["attempt"] == 1 and third["message"]["value"] == "m2", third
            return ""
        finally:
            bartleby.end()


def what_is_taken(program, _rounds):
    """A folder and a port that another server has, a handler that nobody has: said with what to do; files are ours."""
    with tempfile.TemporaryDirectory() as folder:
        bartleby = Bartleby(program, folder)
        bartleby.start()

        def told(*arguments):
            ran = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=30,
                                 check=False)
            return ran.returncode, ran.stdout + ran.stderr

        try:
            data = pathlib.Path(folder, "data")
            for path in (data, data / "log.db", data / "log.db-wal", data / "office.db"):
                assert path.stat().st_mode & 0o077 == 0, f"{path.name}: {path.stat().st_mode:o}"
            status, text = told("serve", "--data-dir", "data", "--listen", "127.0.0.1:0")
            assert status == 1 and f"pid {bartleby.process.pid};" in text and "--data-dir" in text, (status, text)
            status, text = told("serve", "--data-dir", "other", "--listen", f"127.0.0.1:{bartleby.port}",
                                "--topic", TOPIC, "--to", "http://127.0.0.1:1/")
            assert status == 1 and "Address already in use" in text and "--listen" in text, (status, text)
            assert "worker_started" not in text, text
            pathlib.Path(folder, "bartleby.yaml").write_text("workers:\n  orders: {}\n")
            mistake = "bartleby.yaml:2:3: workers.orders.handler: this program has no handler \"orders\""
            for command in (("config", "check"), ("serve", "--data-dir", "other", "--listen", "127.0.0.1:0")):
                status, text = told(*command)
                assert status == 2 and mistake in text, (status, text)
            return ""
        finally:
            bartleby.end()


def unanswered_push(program, _rounds):
    """A push that is not answered yet cannot be extended; once it is pending it can."""
    with tempfile.TemporaryDirectory() as folder:
        tokens, answer = [], threading.Event()

        class Pending(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                tokens.append(self.headers["Bartleby-Attempt-Token"])
                answer.wait(30)
                self.send_response(202)
                self.send_header("Bartleby-Outcome", "pending")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pending)
        threading.Thread(target=endpoint.serve_forever, daemon=True).start()
        arguments = worker_file(folder, f"http://127.0.0.1:{endpoint.server_port}/")
        path = pathlib.Path(folder, "worker.yaml")
        path.write_text(path.read_text().replace("timeout: 5s", "timeout: 60s"))
        bartleby = Bartleby(program, folder, arguments)
        bartleby.start()

        def extended():
            return bartleby.call("POST", f"/api/v1/attempts/{tokens[0]}:extend", '{"by":"60s"}')

        try:
            bartleby.call("POST", f"/api/v1/topics/{TOPIC}/messages", "m1", {"Bartleby-Key": "k"})
            wait_for("the push", lambda: tokens)
            status, problem = extended()
            assert status == 409 and "202" in problem["detail"], (status, problem)
            answer.set()
            wait_for("the deadline to be moved", lambda: extended()[0] == 200)
            failed = json.dumps({"outcome": "retry", "retry_after": "1h"})
            assert bartleby.call("POST", f"/api/v1/attempts/{tokens[0]}:finish", failed)[0] == 204
            wait_for("the parked message", lambda: bartleby.get(f"/api/v1/workers/{TOPIC}/parked")["items"])
            error = bartleby.get(f"/api/v1/workers/{TOPIC}/parked")["items"][0]["error"]
            assert error["type"] == "Unexplained" and error["message"], error
            return ""
        finally:
            answer.set()
            bartleby.end()
            endpoint.shutdown()
            endpoint.server_close()


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    rounds = 200 if "--long" in sys.argv else 20
    return run_checks((kill_9, sigterm, attempts_and_due_times_survive, hurried, recording_in_vain, dead_downstream,
                       wrong_deploy, reload, hangup_while_stopping, pulled, what_is_taken, unanswered_push),
                      program, rounds)


if __name__ == "__main__":
    sys.exit(main())
