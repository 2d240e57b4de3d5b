"""Two tiers of a small shop, each a process of its own: ``python tiers.py database FAULT`` and ``python tiers.py web PORT FAULT``.

Each prints its port and serves until its standard input ends. FAULT is one of ``FAULTS``, or ``none``.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import random
import socket
import socketserver
import sqlite3
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import BinaryIO, ClassVar
from urllib.parse import parse_qs, urlsplit

FAULTS = {
    "memory": "a field of 8 KB in every session",
    "cpu": "additional computation in every request",
    "index": "the orders' index dropped",
    "text": "the text index dropped",
    "io": "40 log lines written one by one in every request",
}
CUSTOMERS, ORDERS, ITEMS, WORDS, SESSIONS = 2_000, 40_000, 8_000, 4_000, 3_000


def fill(file: Path, fault: str) -> sqlite3.Connection:
    """Orders and items with their indexes, in a file: a database reads and writes."""
    dice = random.Random(1)
    base = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    base.executescript("pragma journal_mode=wal; pragma synchronous=off; begin;")
    base.execute("create table orders (id integer primary key, customer integer, item integer)")
    base.executemany(
        "insert into orders (customer, item) values (?, ?)",
        ((dice.randrange(CUSTOMERS), dice.randrange(ITEMS)) for _ in range(ORDERS)),
    )
    base.execute("create table items (id integer primary key, words text)")
    base.execute("create virtual table found using fts5(words, content='items', content_rowid='id')")
    for item in range(ITEMS):
        text = " ".join(f"word{dice.randrange(WORDS)}" for _ in range(12))
        base.execute("insert into items values (?, ?)", (item, text))
        base.execute("insert into found (rowid, words) values (?, ?)", (item, text))
    if fault != "index":
        base.execute("create index by_customer on orders (customer)")
    base.execute("commit")
    return base


class Database(socketserver.StreamRequestHandler):
    """One line of JSON in, one out: the answer of the query that the line names."""

    base: sqlite3.Connection
    guard = threading.Lock()
    fault = "none"

    def handle(self) -> None:
        for line in self.rfile:
            name, value = json.loads(line)
            with self.guard:
                rows = getattr(self, name)(value)
            self.wfile.write(json.dumps(rows).encode() + b"\n")

    def orders(self, customer: int) -> list[tuple[int, ...]]:
        return self.base.execute(
            "select id, item from orders where customer = ? order by id desc limit 20", (customer,)
        ).fetchall()

    def search(self, word: str) -> list[tuple[int, ...]]:
        if self.fault == "text":
            query, wanted = "select id, words from items where ' ' || words || ' ' like ? order by id", f"% {word} %"
        else:
            query, wanted = "select rowid, words from found where words match ? order by rowid", word
        return self.base.execute(query, (wanted,)).fetchall()

    def buy(self, customer: int) -> list[tuple[int, ...]]:
        self.base.execute("insert into orders (customer, item) values (?, ?)", (customer, customer % ITEMS))
        return []


class Web(http.server.BaseHTTPRequestHandler):
    """``/orders?of=7``, ``/search?of=word7`` and ``/buy?of=7``; keeps the newest sessions."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sessions: ClassVar[OrderedDict[int, dict[str, object]]] = OrderedDict()
    guard = threading.Lock()
    own = threading.local()
    port = 0
    fault = "none"
    log: BinaryIO

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        name, value = parts.path[1:], parse_qs(parts.query)["of"][0]
        rows = self.ask([name, value if name == "search" else int(value)])
        page = "".join(f"<tr><td>{row[0]}</td><td>{row[1]}</td></tr>" for row in rows)
        session: dict[str, object] = {"page": page, "key": hashlib.pbkdf2_hmac("sha256", page.encode(), b"salt", 1_000).hex()}
        if self.fault == "memory":
            session["history"] = bytearray(b"x" * 8192)
        if self.fault == "cpu":
            session["key"] = hashlib.pbkdf2_hmac("sha256", page.encode(), b"pepper", 5_000).hex()
        if self.fault == "io":
            for line in range(40):
                self.log.write(f"{line} {self.path} {session['key']}\n".encode())
        with self.guard:
            self.sessions[len(self.sessions) if len(self.sessions) < SESSIONS else self.sessions.popitem(last=False)[0]] = session
        body = f"<html><table>{page}</table></html>".encode()
        self.log.write(f"{self.path} {len(body)}\n".encode())
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def ask(self, question: list[object]) -> list[list[object]]:
        """The database's answer, over this thread's own connection."""
        if not hasattr(self.own, "file"):
            self.own.file = socket.create_connection(("127.0.0.1", self.port)).makefile("rwb")
        self.own.file.write(json.dumps(question).encode() + b"\n")
        self.own.file.flush()
        return json.loads(self.own.file.readline())

    def log_message(self, *args: object) -> None:
        """Nothing on the terminal."""


def serve(server: socketserver.BaseServer) -> None:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


class Sockets(socketserver.ThreadingTCPServer):
    daemon_threads = True


if __name__ == "__main__":
    tier, *rest, fault = sys.argv[1:]
    if tier == "database":
        with tempfile.TemporaryDirectory() as folder:
            Database.base, Database.fault = fill(Path(folder) / "shop.db", fault), fault
            serve(Sockets(("127.0.0.1", 0), Database))
    else:
        Web.port, Web.fault = int(rest[0]), fault
        with tempfile.TemporaryFile(buffering=0) as Web.log:
            serve(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web))
