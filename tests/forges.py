"""A server that plays GitHub's and GitLab's interface for comments, with its failures."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, str], bytes]


@dataclass
class Service:
    """What the service has, what it was asked, and the answers that it gives before it does as it
    is told.
    """

    address: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    faults: list[Answer | Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    issues: list[dict[str, Any]] = field(default_factory=list)
    chat: list[Any] = field(default_factory=list)
    checks: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def bodies(self) -> list[str]:
        return [one["body"] for one in self.comments]

    @property
    def methods(self) -> list[str]:
        return [method for method, *_ in self.asked]


class Handler(BaseHTTPRequestHandler):
    service: Service

    def _do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.service.asked.append((self.command, self.path, dict(self.headers)))
        if self.service.faults:
            fault = self.service.faults.pop(0)
            if callable(fault):
                fault(self)
            else:
                self._answer(*fault)
            return
        status, document = self._play(body)
        self._answer(status, {}, json.dumps(document).encode())

    do_GET = do_POST = do_PATCH = do_PUT = _do

    def _play(self, body: Any) -> tuple[int, Any]:
        where, comments = urlsplit(self.path), self.service.comments
        path = where.path
        listing = r"/repos/ada/project/issues/7/comments|/projects/12/merge_requests/7/notes"
        if re.fullmatch(r"/repos/ada/project/commits/[0-9a-f]{40}/pulls", path):
            return 200, self.service.pulls
        if self.command == "GET" and re.fullmatch(listing, path):
            page, size = (int(parse_qs(where.query)[name][0]) for name in ("page", "per_page"))
            return 200, comments[size * (page - 1) : size * page]
        if self.command == "POST" and re.fullmatch(listing, path):
            comments.append(
                {"id": 1000 + len(comments), "body": body["body"], "user": {"type": "Bot"}}
            )
            return 201, comments[-1]
        if path == "/chat":
            self.service.chat.append(body)
            return 200, "ok"
        checks = r"/repos/ada/project/(?:check-runs|statuses/\w+)|/projects/12/statuses/\w+"
        if self.command == "POST" and re.fullmatch(checks, path):
            self.service.checks.append((path, body))
            return 201, body
        if found := re.fullmatch(r"/(repos/ada/project|projects/12)/issues(?:/(\d+))?", path):
            return self._play_issue(body, gitlab=found[1].startswith("projects"), number=found[2])
        one = re.fullmatch(
            r"/repos/ada/project/issues/comments/(\d+)|/projects/12/merge_requests/7/notes/(\d+)",
            path,
        )
        known = [found for found in comments if one and found["id"] == int(one[1] or one[2])]
        if self.command == ("PATCH" if "/repos/" in path else "PUT") and known:
            known[0]["body"] = body["body"]
            return 200, known[0]
        return 404, {"message": "Not Found"}

    def _play_issue(self, body: Any, *, gitlab: bool, number: str | None) -> tuple[int, Any]:
        """Lists, opens or changes issues."""
        issues, query = self.service.issues, parse_qs(urlsplit(self.path).query)
        key, is_open = ("iid", "opened") if gitlab else ("number", "open")
        if self.command == "GET":
            assert query["labels"] == ["performance"] and query["state"] == ["all"]
            page, size = (int(query[name][0]) for name in ("page", "per_page"))
            return 200, issues[size * (page - 1) : size * page]
        if self.command == "POST" and number is None:
            made = {"id": 5000 + len(issues), key: len(issues) + 1, "state": is_open, **body}
            issues.append(made)
            return 201, made
        known = [issue for issue in issues if number and issue[key] == int(number)]
        if self.command != ("PUT" if gitlab else "PATCH") or not known:
            return 404, {"message": "Not Found"}
        event = {"close": "closed", "reopen": "opened"}.get(body.pop("state_event", ""))
        known[0].update(body, **({"state": event} if event else {}))
        return 200, known[0]

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Service]:
    """A service that listens on this machine."""
    found = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Ours", (Handler,), {"service": found}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    found.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
