"""The shop's web server: `python web.py PORT` starts the database, answers until SIGTERM, and stops
the database.
"""

import hashlib
import http.server
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

SESSIONS = 1_000


class Web(http.server.BaseHTTPRequestHandler):
    """`/orders?of=7`, `/search?of=word7` and `/buy?of=7`; keeps the newest sessions."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    sessions: ClassVar[OrderedDict] = OrderedDict()
    guard = threading.Lock()
    own = threading.local()
    database = 0
    log = None

    def do_GET(self):
        parts = urlsplit(self.path)
        name, value = parts.path[1:], parse_qs(parts.query)["of"][0]
        rows = self.ask([name, value if name == "search" else int(value)])
        page = "".join(f"<tr><td>{row[0]}</td><td>{row[1]}</td></tr>" for row in rows)
        session = {
            "page": page,
            "key": hashlib.pbkdf2_hmac("sha256", page.encode(), b"salt", 1_000).hex(),
        }
        with self.guard:
            self.sessions[
                len(self.sessions)
                if len(self.sessions) < SESSIONS
                else self.sessions.popitem(last=False)[0]
            ] = session
        body = f"<html><table>{page}</table></html>".encode()
        self.log.write(f"{self.path} {len(body)}\n".encode())
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def ask(self, question):
        """The database's answer, over this thread's own connection."""
        if not hasattr(self.own, "file"):
            self.own.file = socket.create_connection(("127.0.0.1", self.database)).makefile("rwb")
        self.own.file.write(json.dumps(question).encode() + b"\n")
        self.own.file.flush()
        return json.loads(self.own.file.readline())

    def log_message(self, *args):
        """Nothing on the terminal."""


def main():
    command = [sys.executable, str(Path(__file__).with_name("database.py"))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as database:
        Web.database = int(database.stdout.readline())
        with tempfile.TemporaryFile(buffering=0) as Web.log:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Web)
            signal.signal(
                signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start()
            )
            server.serve_forever()
        database.stdin.close()


if __name__ == "__main__":
    main()
