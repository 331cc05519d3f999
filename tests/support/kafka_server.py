"""A real Apache Kafka for tests, and a witness: a client that shares no code with ours.

Both are started in a scratch folder and ended with the block they are used in.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import script_server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/kafka"


class Kafka:
    """One broker or more, by scripts/kafka. KAFKA_VERSION chooses which."""

    def __init__(self, folder, brokers=1, secure=False):
        self.folder = pathlib.Path(folder, "kafka")
        self.brokers = brokers
        how = ["--secure"] if secure else ["--brokers", str(brokers)]
        self.bootstrap = script_server.start(SCRIPT, self.folder, *how)

    def crash(self, node, seconds):
        """kill -9 of one of several brokers, which comes back after that time."""
        self.kill(node)
        time.sleep(seconds)
        self.restart(node)

    def kill(self, node):
        subprocess.run([SCRIPT, "kill", self.folder, str(node)], capture_output=True, timeout=60, check=True)

    def restart(self, node):
        subprocess.run([SCRIPT, "restart", self.folder, str(node)], capture_output=True, timeout=600, check=True)

    def revive(self):
        """Starts those again that are dead: a check that has failed must not make the next one fail."""
        for file in self.folder.glob("node*.pid"):
            if not pathlib.Path("/proc", file.read_text().strip()).exists():
                self.restart(file.stem.removeprefix("node"))

    def freeze(self):
        """The first broker keeps its connections and answers nothing, until `thaw`."""
        os.kill(int((self.folder / "node1.pid").read_text()), signal.SIGSTOP)

    def thaw(self):
        os.kill(int((self.folder / "node1.pid").read_text()), signal.SIGCONT)

    def rebalances(self, group):
        """How often the brokers have said that they rebalance a classic group."""
        lines = (line for log in self.folder.glob("node*.log") for line in log.read_text().splitlines())
        return sum(1 for line in lines if f"reparing to rebalance group {group} " in line)

    def stop(self):
        script_server.stop(SCRIPT, self.folder)


class Witness:
    """tests/support/kafka_witness.java, which says what the commands are. Any thread may ask; one at a time."""

    def __init__(self, bootstrap):
        version = os.environ.get("KAFKA_VERSION", "4.3.1")
        cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        libs = pathlib.Path(cache, "bartleby-tools", f"kafka-{version}", "libs", "*")
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(libs),
             str(ROOT / "tests/support/kafka_witness.java"), bootstrap],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, *words):
        """The lines of the answer; raises what the witness says went wrong."""
        with self.lock:
            self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
            self.process.stdin.flush()
            lines = []
            for line in self.process.stdout:
                line = line.rstrip("\n")
                if line == ".":
                    break
                lines.append(line)
            else:
                raise AssertionError("the witness has ended")
        wrong = [line for line in lines if line.startswith("! ")]
        assert not wrong, f"{words}: {wrong[0]}"
        return lines

    def produce(self, topic, start, end, keys):
        """Returns {n: (partition, offset)}."""
        return {int(n): (int(partition), int(offset))
                for n, partition, offset in (line.split() for line in self.ask("produce", topic, start, end, keys))}

    def offsets(self, group, topic):
        """Returns {partition: committed}."""
        told = (line.split() for line in self.ask("offsets", group))
        return {int(partition): int(offset) for name, partition, offset in told if name == topic}

    def metadata(self, group, topic):
        """Returns {partition: what the group has written beside its offset}."""
        return {int(partition): text for name, partition, _, text in
                (line.split(" ", 3) for line in self.ask("commits", group)) if name == topic}

    def members(self, group):
        return self.ask("members", group)

    def ends(self, topic):
        """Returns {partition: end}, of what is committed."""
        return {int(partition): int(end) for partition, end in (line.split() for line in self.ask("ends", topic))}

    def written(self, topic):
        """The same, with what no transaction has committed yet."""
        return {int(partition): int(end) for partition, end in (line.split() for line in self.ask("written", topic))}

    def read(self, topic):
        """Committed records: (partition, offset, key, value, headers)."""
        found = []
        for line in self.ask("read", topic):
            partition, offset, key, value, *headers = line.split("\t")
            found.append((int(partition), int(offset), key, value, dict(h.split("=", 1) for h in headers)))
        return found

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
