"""The shop's customers: `python load.py PORT SECONDS` sends requests at the times of a plan, in
waves, whether the shop keeps up or not.
"""

import http.client
import json
import math
import os
import random
import sys
import threading
import time

CLIENTS = 4
# requests per second, how far they rise and fall, and in how many seconds
RATE, SWING, WAVE = 100, 40, 4.0


def plan(seconds):
    """The times and paths of all requests: the same in every run."""
    dice, at, found = random.Random(7), 0.0, []
    while at < seconds:
        at += 1 / (RATE + SWING * math.sin(2 * math.pi * at / WAVE))
        kind = dice.choices(("orders", "search", "buy"), (5, 3, 2))[0]
        found.append(
            (at, kind, f"word{dice.randrange(4000)}" if kind == "search" else dice.randrange(2000))
        )
    return found


def ask(port, start, requests, waited):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for at, kind, of in requests:
        time.sleep(max(0.0, start + at - time.perf_counter()))
        begin = time.perf_counter()
        connection.request("GET", f"/{kind}?of={of}")
        if connection.getresponse().read()[:6] != b"<html>":
            raise SystemExit("the shop gave no page")
        waited.append((kind, time.perf_counter() - begin))


def main():
    port, seconds = int(sys.argv[1]), float(sys.argv[2])
    requests, waited = plan(seconds), []
    start = time.perf_counter()
    clients = [
        threading.Thread(target=ask, args=(port, start, requests[one::CLIENTS], waited))
        for one in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    if len(waited) < len(requests):
        raise SystemExit(f"{len(requests) - len(waited)} of {len(requests)} requests failed")
    if "PERFVCS_SAMPLES" in os.environ:
        with open(os.environ["PERFVCS_SAMPLES"], "a") as samples:
            for kind in ("orders", "search", "buy"):
                times = sorted(time for name, time in waited if name == kind)
                sample = {
                    "uid": kind,
                    "latency": times[len(times) // 2],
                    "latency_p95": times[len(times) * 95 // 100],
                }
                samples.write(json.dumps(sample) + "\n")
            for metric in ("latency", "latency_p95"):
                samples.write(json.dumps({"metric": metric, "unit": "s", "better": "none"}) + "\n")


if __name__ == "__main__":
    main()
