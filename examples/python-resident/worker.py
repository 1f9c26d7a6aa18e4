#!/usr/bin/env python3
"""A resident worker from sdk/protocol.md alone: it stays between fires, and says how far it has come."""
import fcntl
import json
import os
import signal
import sys
import time
import traceback

runs, running, stopping = 0, False, False


def work(context, progress):
    """One run. What is kept in memory, such as a connection, is there for the next one."""
    global runs
    runs += 1
    for step in range(5):
        if stopping:
            raise InterruptedError("the process is to end")
        time.sleep(0.05)
        progress((step + 1) / 5, f"{step + 1} of 5 steps")
    print(f"run {runs} of process {os.getpid()}: shard {context['shardingItem']} of {context['shardingTotalCount']}", flush=True)


def terminate(*_):
    global stopping
    stopping = True
    if not running:
        os._exit(0)


def say(**message):
    print(json.dumps(message), file=answers, flush=True)


if "ELASTICJOB_SHARDING_CONTEXT" not in os.environ:
    sys.exit("an executor starts this program: README.md says how")
if "ELASTICJOB_PIPE" not in os.environ:  # one run, and the exit status tells what became of it
    work(json.loads(os.environ["ELASTICJOB_SHARDING_CONTEXT"]), lambda *_: None)
    sys.exit()
orders, answers = map(int, os.environ.pop("ELASTICJOB_PIPE").split(","))
for end in (orders, answers):
    fcntl.fcntl(end, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
answers = os.fdopen(answers, "w")
signal.signal(signal.SIGTERM, terminate)
say(type="hello", version=1, sdk="python-resident example")
for line in os.fdopen(orders, encoding="utf-8"):
    order, running = json.loads(line), True
    if order["type"] == "run":  # a cancel is not heard: this worker reads between its runs only
        try:
            work(order["context"], lambda f, m: say(type="progress", run=order["run"], fraction=f, message=m))
            say(type="done", run=order["run"])
        except Exception:
            say(type="done", run=order["run"], error=traceback.format_exc()[-4096:])
    running = False
    if stopping:
        break
