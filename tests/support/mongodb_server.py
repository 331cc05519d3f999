"""A real server that speaks MongoDB's protocol, for tests: FerretDB by scripts/ferretdb, and a client of the standard
library alone, which shares no code with ours.
"""

import datetime
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import script_server  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/ferretdb"


class MongodbServer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder, "mongodb")
        self.url = script_server.start(SCRIPT, self.folder)
        self.port = int(self.url.rsplit(":", 1)[1].strip("/"))

    def kill(self):
        subprocess.run([SCRIPT, "kill", self.folder], capture_output=True, timeout=60, check=True)

    def restart(self):
        subprocess.run([SCRIPT, "restart", self.folder], capture_output=True, timeout=120, check=True)

    def freeze(self):
        os.kill(int((self.folder / "ferretdb.pid").read_text()), signal.SIGSTOP)

    def thaw(self):
        os.kill(int((self.folder / "ferretdb.pid").read_text()), signal.SIGCONT)

    def stop(self):
        script_server.stop(SCRIPT, self.folder)

    def documents(self, database, collection, **options):
        """All of them, or those that `filter` finds."""
        with Client(self.port) as client:
            answer = client.command(database, {"find": collection, "filter": {}, "batchSize": 1000, **options})
            found = answer["cursor"]["firstBatch"]
            while answer["cursor"]["id"]:
                answer = client.command(database, {"getMore": answer["cursor"]["id"], "collection": collection,
                                                   "batchSize": 1000})
                found += answer["cursor"]["nextBatch"]
            return found

    def command(self, database, command):
        with Client(self.port) as client:
            return client.command(database, command)


class Client:
    """OP_MSG over one connection."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def command(self, database, command):
        body = b"\0\0\0\0" + b"\0" + encoded({**command, "$db": database})
        self.socket.sendall(struct.pack("<iiii", len(body) + 16, 1, 0, 2013) + body)
        size = struct.unpack("<i", self.exactly(4))[0]
        answer = decoded(self.exactly(size - 4)[12 + 4 + 1:])
        assert answer.get("ok") == 1.0, answer
        return answer

    def exactly(self, size):
        parts = []
        while size > 0:
            part = self.socket.recv(min(size, 1 << 20))
            if not part:
                raise ConnectionError("the server has closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


class Long(int):
    """An integer that is sent with 64 bits."""


def encoded(document):
    out = b""
    for name, value in document.items():
        field = name.encode() + b"\0"
        if isinstance(value, bool):
            out += b"\x08" + field + bytes([value])
        elif isinstance(value, Long):
            out += b"\x12" + field + struct.pack("<q", value)
        elif isinstance(value, int):
            fits = -2**31 <= value < 2**31
            out += (b"\x10" if fits else b"\x12") + field + struct.pack("<i" if fits else "<q", value)
        elif isinstance(value, float):
            out += b"\x01" + field + struct.pack("<d", value)
        elif isinstance(value, str):
            text = value.encode() + b"\0"
            out += b"\x02" + field + struct.pack("<i", len(text)) + text
        elif isinstance(value, datetime.datetime):
            out += b"\x09" + field + struct.pack("<q", round(value.timestamp() * 1000))
        elif isinstance(value, dict):
            out += b"\x03" + field + encoded(value)
        elif isinstance(value, list):
            out += b"\x04" + field + encoded({str(i): one for i, one in enumerate(value)})
        else:
            raise TypeError(f"{name}: {type(value)}")
    return struct.pack("<i", len(out) + 5) + out + b"\0"


def decoded(data):
    document, end = document_at(data, 0)
    assert end == len(data), (end, len(data))
    return document


def document_at(data, at):
    end = at + struct.unpack_from("<i", data, at)[0]
    at += 4
    found = {}
    while data[at]:
        kind = data[at]
        stop = data.index(0, at + 1)
        name, at = data[at + 1:stop].decode(), stop + 1
        if kind in (1, 9, 18):
            value = struct.unpack_from("<d" if kind == 1 else "<q", data, at)[0]
            at += 8
            if kind == 9:
                value = datetime.datetime.fromtimestamp(value / 1000, datetime.timezone.utc)
        elif kind == 2:
            size = struct.unpack_from("<i", data, at)[0]
            value, at = data[at + 4:at + 3 + size].decode(), at + 4 + size
        elif kind in (3, 4):
            value, at = document_at(data, at)
            value = list(value.values()) if kind == 4 else value
        elif kind == 5:
            size = struct.unpack_from("<i", data, at)[0]
            value, at = data[at + 5:at + 5 + size], at + 5 + size
        elif kind == 7:
            value, at = data[at:at + 12].hex(), at + 12
        elif kind == 8:
            value, at = bool(data[at]), at + 1
        elif kind == 10:
            value = None
        elif kind == 16:
            value, at = struct.unpack_from("<i", data, at)[0], at + 4
        elif kind == 17:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            raise ValueError(f"{name}: kind {kind} of BSON")
        found[name] = value
    return found, end
