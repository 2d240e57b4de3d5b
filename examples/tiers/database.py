"""The shop's database: one line of JSON in, one out, over a socket of its own.

Prints its port and serves until its input ends.
"""

import json
import random
import socketserver
import sqlite3
import sys
import tempfile
import threading
from pathlib import Path

CUSTOMERS, ORDERS, ITEMS, WORDS = 2_000, 60_000, 8_000, 4_000


def fill(file):
    """Orders and items, with what finds them quickly."""
    dice = random.Random(1)
    base = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    base.executescript("pragma journal_mode=memory; pragma synchronous=off; begin;")
    base.execute("create table orders (id integer primary key, customer integer, item integer)")
    base.executemany(
        "insert into orders (customer, item) values (?, ?)",
        ((dice.randrange(CUSTOMERS), dice.randrange(ITEMS)) for _ in range(ORDERS)),
    )
    base.execute("create index by_customer on orders (customer)")
    base.execute("create table items (id integer primary key, words text)")
    base.execute(
        "create virtual table found using fts5(words, content='items', content_rowid='id')"
    )
    for item in range(ITEMS):
        text = " ".join(f"word{dice.randrange(WORDS)}" for _ in range(12))
        base.execute("insert into items values (?, ?)", (item, text))
        base.execute("insert into found (rowid, words) values (?, ?)", (item, text))
    base.execute("commit")
    return base


class Database(socketserver.StreamRequestHandler):
    base = None
    guard = threading.Lock()

    def handle(self):
        for line in self.rfile:
            name, value = json.loads(line)
            with self.guard:
                rows = getattr(self, name)(value)
            self.wfile.write(json.dumps(rows).encode() + b"\n")

    def orders(self, customer):
        query = "select id, item from orders where customer = ? order by id desc limit 20"
        return self.base.execute(query, (customer,)).fetchall()

    def search(self, word):
        query = "select rowid, words from found where words match ? order by rowid"
        return self.base.execute(query, (word,)).fetchall()

    def buy(self, customer):
        self.base.execute(
            "insert into orders (customer, item) values (?, ?)", (customer, customer % ITEMS)
        )
        return []


class Sockets(socketserver.ThreadingTCPServer):
    daemon_threads = True


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Database.base = fill(Path(folder) / "shop.db")
        with Sockets(("127.0.0.1", 0), Database) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            print(server.server_address[1], flush=True)
            sys.stdin.read()
            server.shutdown()
