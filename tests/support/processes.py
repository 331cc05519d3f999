"""What tests with real processes share: a Bartleby on a free port in a scratch folder, an endpoint, a sender.

Everything is bounded in time; whoever waits in vain raises. Processes are ended by their id.
"""

import collections
import http.client
import http.server
import json
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import traceback


TOPIC = "orders"
LAST_LINES = 30
started = []  # servers of the check that runs, as often as they were started


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, predicate, seconds=30.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if predicate():
            return
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain for {what}")


def audit_is_good(get):
    """Whether every line of the audit follows from the one before it; `get(path)` answers for a part of them."""
    path = "/api/v1/audit:verify"
    verdict = get(path)
    while verdict["good"] and "next" in verdict:
        verdict = get(f"{path}?from={verdict['next']}")
    return verdict["good"]


class Bartleby:
    """One data folder and its server, which can be killed and started again."""

    def __init__(self, program, folder, arguments=(), environment=None, piped=False):
        self.command = [str(program), "serve", "--data-dir", str(pathlib.Path(folder, "data")), *arguments]
        self.folder = pathlib.Path(folder)
        self.port = free_port()
        self.environment = environment
        self.piped = piped  # its words go through a pipe, which no limit of file sizes cuts off
        self.process = None
        self.starts = 0
        self.ended = True  # by whoever started it
        self.log = None
        self.last_words = ""

    def start(self, seconds=20.0):
        started.append(self)
        self.starts += 1
        self.ended = False
        self.log = self.folder / f"serve-{self.starts}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([*self.command, "--listen", f"127.0.0.1:{self.port}"], cwd=self.folder,
                                            stdout=subprocess.PIPE if self.piped else log, stderr=subprocess.STDOUT,
                                            env=self.environment)
        if self.piped:
            threading.Thread(target=self.keep_words, args=(self.process.stdout, self.log), daemon=True).start()
        self.wait_ready(seconds)
        return self

    @staticmethod
    def keep_words(pipe, path):
        with pipe, path.open("ab", buffering=0) as log:
            for line in pipe:
                log.write(line)

    def wait_ready(self, seconds=20.0):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"serve ended with {self.process.returncode}:\n{self.log.read_text()[-3000:]}")
            try:
                return self.call("GET", "/actuator/health/liveness")[0] == 200
            except OSError:
                return False
        wait_for("the server to listen", ready, seconds)

    def call(self, method, path, body=None, headers=None, seconds=10.0):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            text = answer.read()
            kind = answer.getheader("content-type") or ""
            return answer.status, json.loads(text) if "json" in kind and text else text
        finally:
            connection.close()

    def get(self, path):
        status, body = self.call("GET", path)
        assert status == 200, (path, status, body)
        return body

    def messages(self, topic):
        """All records of a topic, every partition; none while there is no such topic."""
        found = []
        there = [t for t in self.get("/api/v1/topics")["items"] if t["name"] == topic]
        for partition in there[0]["partitions"] if there else []:
            at = partition["start"]
            while at < partition["end"]:
                where = f"partition={partition['partition']}&from={at}&limit=500"
                page = self.get(f"/api/v1/topics/{topic}/messages?{where}")
                if not page["items"]:
                    break
                found += page["items"]
                at = page["next"]
        return found

    def kill(self):
        self.ended = self.process.poll() is None  # one that was dead already has died by itself
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.keep_last_words()

    def keep_last_words(self):
        """Its folder may be gone when somebody asks why a check has failed."""
        if self.log and self.log.exists():
            self.last_words = "\n".join(self.log.read_text(errors="replace").splitlines()[-LAST_LINES:])

    def terminate(self, seconds=40.0):
        self.ended = self.process.poll() is None
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        finally:
            self.keep_last_words()

    def died(self):
        """It is gone, and nobody has ended it."""
        return not self.ended and self.process.poll() is not None

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()


class Endpoint:
    """A handler behind HTTP. `decide(message) -> status` is asked for every attempt; all attempts are kept."""

    def __init__(self, decide=lambda message: 200):
        self.decide = decide
        self.lock = threading.Lock()
        self.attempts = []  # (value, key, offset, attempt, status)
        endpoint = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                value = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                message = {"value": value, "key": self.headers.get("bartleby-key"),
                           "offset": int(self.headers["bartleby-offset"]),
                           "attempt": int(self.headers["bartleby-attempt"])}
                status = endpoint.decide(message)
                with endpoint.lock:
                    endpoint.attempts.append((value, message["key"], message["offset"], message["attempt"], status))
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass  # the other side was killed; that is what these tests do

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def succeeded(self):
        with self.lock:
            return [a for a in self.attempts if a[4] < 300]

    def end(self):
        self.server.shutdown()
        self.server.server_close()


class Sender:
    """Sends numbered messages until it is stopped; knows which of them were acknowledged."""

    def __init__(self, bartleby, topic, keys=8, pause=0.0, seed=1):
        self.bartleby, self.topic, self.keys, self.pause = bartleby, topic, keys, pause
        self.random = random.Random(seed)
        self.acknowledged = {}  # value -> (key, partition, offset)
        self.refused = set()  # values that were answered, but not with 200
        self.number = 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = None
        while not self.stopping.is_set():
            key, value = f"k{self.random.randrange(self.keys)}", f"m{self.number}"
            self.number += 1
            try:
                connection = connection or http.client.HTTPConnection("127.0.0.1", self.bartleby.port, timeout=5)
                connection.request("POST", f"/api/v1/topics/{self.topic}/messages", body=value,
                                   headers={"Bartleby-Key": key})
                answer = connection.getresponse()
                body = answer.read()
                if answer.status == 200:
                    where = json.loads(body)
                    self.acknowledged[value] = (key, where["partition"], where["offset"])
                else:
                    self.refused.add(value)
            except (OSError, http.client.HTTPException):
                if connection:
                    connection.close()
                connection = None
                time.sleep(0.02)
            if self.pause:
                time.sleep(self.pause)

    def stop(self):
        self.stopping.set()
        self.thread.join(15)
        return self.acknowledged


def disorder(successes):
    """Keys whose first successes are not in the order of their offsets."""
    first, bad = collections.defaultdict(list), []
    seen = set()
    for value, key, offset, _attempt, _status in successes:
        if value not in seen:
            seen.add(value)
            first[key].append(offset)
    for key, offsets in first.items():
        if offsets != sorted(offsets):
            bad.append((key, offsets))
    return bad


GUARD = "guard: {open_at: 50%, of: 20, within: 60s, probe: 200ms}"


def worker_file(folder, url, more=""):
    path = pathlib.Path(folder, "worker.yaml")
    path.write_text(f"""workers:
  {TOPIC}:
    handler: {{http: {{url: "{url}"}}}}
    retry: {{max_attempts: 4, schedule: [20ms, 50ms, 100ms], timeout: 5s}}
    guard: null
    {more}
""")
    return ["-c", str(path)]


def flaky(share, seed):
    """Fails that share of first attempts; a few messages fail for good."""
    chooser = random.Random(seed)
    lock = threading.Lock()

    def decide(message):
        if int(message["value"][1:]) % 97 == 13:
            return 500
        with lock:
            return 500 if message["attempt"] == 1 and chooser.random() < share else 200

    return decide


def all_over(bartleby, endpoint, acknowledged):
    """Every acknowledged message was handled, or is a letter."""
    missing = set(acknowledged) - {a[0] for a in endpoint.succeeded()}
    dlq = [t for t in bartleby.get("/api/v1/topics")["items"] if t["name"] == f"{TOPIC}.dlq"]
    written = sum(p["end"] - p["start"] for t in dlq for p in t["partitions"])
    if written < len(missing):  # not yet, and there is no need to read them
        return False
    return not missing or missing <= {letter["value"] for letter in bartleby.messages(f"{TOPIC}.dlq")}


def wait_all_over(bartleby, endpoint, acknowledged, quiet=60.0):
    """Until every acknowledged message is handled or a letter; in vain when nothing has been attempted for so long."""
    seen, since = -1, time.monotonic()
    while not all_over(bartleby, endpoint, acknowledged):
        if len(endpoint.attempts) != seen:
            seen, since = len(endpoint.attempts), time.monotonic()
        if time.monotonic() > since + quiet:
            done = {a[0] for a in endpoint.succeeded()} | {m["value"] for m in bartleby.messages(f"{TOPIC}.dlq")}
            missing = [value for value in acknowledged if value not in done]
            why = bartleby.get(f"/api/v1/explain?worker={TOPIC}")
            raise AssertionError(f"{len(missing)} of {len(acknowledged)} neither handled nor dead, "
                                 f"like {missing[:5]}: {why}")
        time.sleep(0.05)


def tell_last_lines(servers):
    """Why a check has failed is mostly there."""
    for server in servers:
        server.keep_last_words()
        print(f"last lines of {server.log}:\n{server.last_words}", flush=True)


def run_checks(checks, *arguments):
    """A line per check, which says what it returned; one that failed does not keep the next from running."""
    good = True
    for check in checks:
        started.clear()
        try:
            print(f"ok {check.__name__} {check(*arguments) or ''}".rstrip(), flush=True)
        except Exception:
            good = False
            print(f"FAIL {check.__name__}", flush=True)
            tell_last_lines(dict.fromkeys(started[-2:]))
            print(traceback.format_exc(), flush=True)
    return 0 if good else 1
