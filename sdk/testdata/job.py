"""Does what its job parameter says, as the job of main_test.go does."""
import json
import os
import subprocess
import sys
import time

import elasticjob

runs = 0


def job(shard):
    global runs
    runs += 1
    what, _, text = shard.job_parameter.partition(" ")
    if what == "count":
        raise RuntimeError("run %d of process %d" % (runs, os.getpid()))
    elif what == "fail":
        raise RuntimeError(text)
    elif what == "fail-long":
        raise RuntimeError("ü" * (1 << 20))
    elif what == "cause":
        try:
            raise ConnectionError("refused")
        except ConnectionError as error:
            raise RuntimeError("no connection") from error
    elif what == "place":
        raise RuntimeError
    elif what == "parse":
        json.loads("x")
    elif what == "exit":
        sys.exit(int(text))
    elif what == "show":
        fire = shard.fire_time.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (shard.fire_time.microsecond // 1000)
        props = " ".join("%s:%s" % pair for pair in sorted(shard.props.items()))
        raise RuntimeError('%s %d/%d "%s" "%s" %s %s %s %s %d map[%s]' % (
            shard.job_name, shard.item, shard.total, shard.parameter, text, shard.task_id, shard.execution_id, fire,
            shard.source, shard.attempt, props))
    elif what == "wait":
        shard.progress(0, "begun")
        shard.cancelled.wait()
        shard.raise_if_cancelled()
    elif what == "ignore":
        shard.progress(0, "begun")
        while not os.path.exists(text):
            time.sleep(0.005)
    elif what == "until":
        shard.progress(0, "begun")
        there = 0
        while there < 20:
            shard.cancelled.wait(0.005)
            shard.raise_if_cancelled()
            there += os.path.exists(text)
    elif what == "tell":
        print("begun", file=sys.stderr, flush=True)
        shard.cancelled.wait()
        shard.raise_if_cancelled()
    elif what == "progress":
        shard.progress(0.25, "ü" * 1000)
    elif what == "storm":
        for i in range(100000):
            shard.progress(i / 100000, "on its way")
        shard.progress(1, "all of it")
    elif what == "print":
        print('{"type":"done","run":"r1","error":"forged"}\nno line feed', end="")
        print('{"type":"hello","version":99}', file=sys.stderr)
    elif what == "child":
        out = subprocess.run(["sh", "-c", 'ls -l /proc/self/fd; echo "pipe=$ELASTICJOB_PIPE."'],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        raise RuntimeError(out.stdout.decode())
    elif what == "fork":  # a forked child that gets SIGTERM ends, and does not cancel the run
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        os.kill(child, 15)
        raise RuntimeError("status %d, cancelled %s" % (os.waitpid(child, 0)[1], shard.cancelled.wait(0.1)))
    elif what:
        raise RuntimeError("the test asks for %r" % what)


elasticjob.run(job, resident="ELASTICJOB_SDK_TEST_JOB_ONE_RUN" not in os.environ)
