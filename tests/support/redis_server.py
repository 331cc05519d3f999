"""A real redis-server on a free port, for tests: started, asked, frozen, killed by its id. And a proxy that is slow."""

import shutil
import socket
import subprocess
import tempfile
import threading
import time

from processes import free_port, wait_for


def available():
    return shutil.which("redis-server") is not None


class RedisServer:
    def __init__(self, port=None):
        self.port = port or free_port()
        self.process = None
        self.folder = tempfile.TemporaryDirectory()

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no",
             "--dir", self.folder.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("Redis to listen", self.answers)
        return self

    def answers(self):
        try:
            return self.ask("PING") == "PONG"
        except OSError:
            return False

    def ask(self, *words):
        """One command; texts, numbers, None and lists come back, and errors as texts that begin with '-'."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            parts = [str(word).encode() for word in words]
            connection.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
            return self.reply(connection.makefile("rb"))

    def reply(self, stream):
        line = stream.readline().decode().rstrip("\r\n")
        if not line:
            raise OSError("no answer")
        kind, rest = line[0], line[1:]
        if kind == "+":
            return rest
        if kind == ":":
            return int(rest)
        if kind == "$":
            return None if rest == "-1" else stream.read(int(rest) + 2)[:-2].decode()
        if kind == "*":
            return [self.reply(stream) for _ in range(int(rest))]
        return line

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)

    def end(self):
        self.kill()
        self.folder.cleanup()


class SlowProxy:
    """Between a client and a server; every piece of an answer comes so many seconds late."""

    def __init__(self, to):
        self.to, self.delay = to, 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.to), timeout=5)
            except OSError:  # it is away, and so is this
                client.close()
                continue
            server.settimeout(None)
            threading.Thread(target=self.copy, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, True), daemon=True).start()

    def copy(self, source, target, late):
        try:
            while piece := source.recv(65536):
                if late and self.delay:
                    time.sleep(self.delay)
                target.sendall(piece)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def end(self):
        self.listener.close()
