"""The SDK for job programs in Python: this one file, for Python 3.6 or later, with the standard library only.

A job is a function that gets a Shard. It succeeds by returning and fails by raising an exception:

    import elasticjob

    def job(shard):
        for row in range(shard.item, 9, shard.total):    # the shard's share
            shard.raise_if_cancelled()
            print(row)
            shard.progress(row / 9, "row %d of 9" % row)

    if __name__ == "__main__":
        elasticjob.run(job)

The same program can be used in three ways, and run() detects which one applies:

- An executor starts it, and it runs once and exits. Its exit status is the result.
- With run(job, resident=True) it stays: each fire of a daemon job is one run in the same process, one after the other.
  What it keeps in memory, such as connections, remains for the next run. A transient job can use it as well.
- Without an executor it is a command for the terminal: ./job.py --item 0 --param foo. ./job.py --help lists the flags.

A run is cancelled when its process is told to end (SIGTERM) and, if it is resident, when it exceeds the job's
timeoutSeconds. The function then has the job's killGraceSeconds to return; after that its process is killed. It must
look: at shard.cancelled, which is a threading.Event, or by shard.raise_if_cancelled(). Instead of time.sleep(60) use
shard.cancelled.wait(60), which ends early.

Exit statuses: 0 success (a resident process: whatever the results of its runs, because they have been reported), 1 a
run failed or the executor's pipe cannot be used, 2 wrong flags. A function that calls sys.exit() determines the status
itself.

Standard output and standard error belong to the program. The messages to the executor, which sdk/protocol.md
specifies, use a pipe that no child process inherits.
"""

import argparse
import datetime
import json
import os
import re
import select
import signal
import stat
import sys
import threading
import time
import traceback

__all__ = ["run", "Shard", "Cancelled"]

_VERSION = 1  # of sdk/protocol.md
_PROGRESS_INTERVAL = 0.2  # seconds; the executor forwards the last report of each second
_TERMINAL_INTERVAL = 1.0  # the same, at a terminal
_MAX_MESSAGE = 200  # bytes of a progress message
_MAX_ERROR = 4096  # bytes of a run's error that the executor keeps

_PIPE = "ELASTICJOB_PIPE"
_CONTEXT = "ELASTICJOB_SHARDING_CONTEXT"
_FILE = "_FILE"  # the suffix of a variable that names a file with the value


class Cancelled(Exception):
    """A run ended early, because it was cancelled. Its message is the reason."""


class Shard:
    """One run of one shard. A test of a job can create it: Shard(item=1, total=3). Its progress then does nothing.

    item, total             the number of the shard, from 0 to total-1
    parameter               the shard's own parameter, from the job's shardingItemParameters
    job_parameter           the parameter of all shards
    job_name, task_id       the job, and the attempt; a daemon's shard keeps its task_id across runs
    execution_id, fire_time the same for all shards and attempts of a run; fire_time is a datetime in UTC
    source                  NORMAL_TRIGGER, TRIGGER, MISFIRE or FAILOVER
    attempt                 from 1; a higher attempt repeats one that failed or was lost
    props                   the job's own properties, a dict of texts
    cancelled               a threading.Event, set when the run must end
    """

    def __init__(self, item=0, total=1, parameter="", job_parameter="", job_name="", task_id="", execution_id="",
                 fire_time=None, source="TRIGGER", attempt=1, props=None):
        self.item, self.total = item, total
        self.parameter, self.job_parameter = parameter, job_parameter
        self.job_name, self.task_id, self.execution_id = job_name, task_id, execution_id
        self.fire_time, self.source, self.attempt = fire_time, source, attempt
        self.props = {} if props is None else props
        self.cancelled = threading.Event()
        self._reason = ""
        self._reports = None

    def progress(self, fraction, message=""):
        """Reports how far the run has come: from 0 to 1, and a text that is cut after 200 bytes.

        It may be called in a loop and by several threads: of the calls within a short interval only the last is sent.
        It never blocks, and a lost executor is no error. After the end of the run it does nothing.
        """
        if self._reports is not None:
            self._reports.set(fraction, message)

    def raise_if_cancelled(self):
        """Raises Cancelled, with the reason, if the run must end."""
        if self.cancelled.is_set():
            raise Cancelled(self._reason)

    def _ended_early(self, error):
        """Reports whether the run ended with an exception because it was cancelled, as it should."""
        return isinstance(error, Cancelled) and self.cancelled.is_set()

    def _cancel(self, reason):
        if not self.cancelled.is_set():
            self._reason = reason
            self.cancelled.set()


def run(function, resident=False, argv=None):
    """Runs the job and exits the program. Call it in the main thread, before anything that starts other processes.

    argv are the arguments without an executor, by default those of the program. With an executor they are not read,
    and belong to the program: argv=parser.parse_known_args()[1] separates its own flags from those of a terminal.
    """
    sys.exit(_start(function, resident, sys.argv[1:] if argv is None else argv))


def _start(function, resident, argv):
    orders, answers, problem = _open_pipe(os.environ.get(_PIPE))
    executed = _CONTEXT in os.environ or _CONTEXT + _FILE in os.environ
    if problem and not executed:
        return _failed(problem)
    if problem:
        # A program that starts this one for the executor, such as sudo, has closed the pipe. One run works without it.
        _log("%s; this process is one run, without progress" % problem)
    os.environ.pop(_PIPE, None)  # child processes get no pipe
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a write to a closed pipe raises an error
    process = _Process(function, orders if resident else None, answers)
    if not executed and answers is None:
        return _Terminal(process).start(argv)
    if resident and answers is not None:
        return process.serve()
    try:
        shard = _read_environment()
    except (ValueError, TypeError) as error:
        return _failed(error)
    return process.run_once(shard)


def _open_pipe(text):
    """Returns the two descriptors of the executor's pipe, or None twice and what is wrong with them."""
    if text is None:
        return None, None, ""
    try:
        ends = [int(number) for number in text.split(",")]
        if len(ends) != 2:
            raise ValueError
    except ValueError:
        return None, None, "%s is \"%s\", must be two numbers of descriptors: 3,4" % (_PIPE, text)
    for end in ends:
        try:
            mode = os.fstat(end).st_mode
            if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
                return None, None, "%s is \"%s\", and descriptor %d is not a pipe" % (_PIPE, text, end)
            os.set_inheritable(end, False)
        except (OSError, OverflowError) as error:
            return None, None, "%s is \"%s\", and descriptor %d is not a pipe: %s" % (_PIPE, text, end, error)
    return ends[0], ends[1], ""


class _Process:
    """The runs of this process. They run in the main thread, one at a time.

    A second thread reads the executor's messages and learns of signals. Python runs its signal handlers in the main
    thread, when that executes Python code, which a signal just before a blocking call does not interrupt. Therefore
    the handlers only wake the second thread, by a pipe that Python also writes to in the signal itself.
    """

    def __init__(self, function, orders=None, answers=None):
        self._function, self._orders, self._answers = function, orders, answers
        self._writing = threading.Lock()
        self._state = threading.Condition()  # guards what follows
        self._run, self._shard = "", None  # the current run, from its message to its answer
        self._ending = ""  # why no more runs begin
        self._wake, self._waker, self._signals = -1, -1, ()
        self._forking = threading.local()  # the signals that a thread blocked before it forked
        self.stopped = False  # a signal told this process to end

    # The main thread.

    def serve(self):
        """Does the executor's runs until the stream ends or a signal comes, and returns the exit status."""
        self.listen()
        try:
            self._say(type="hello", version=_VERSION, sdk="elasticjob-python, Python " + sys.version.split()[0])
        except OSError as error:
            return _failed("say hello to the executor: %s" % error)
        while True:
            with self._state:
                while self._shard is None and not self._ending:
                    self._state.wait()
                if self._shard is None:
                    return 0
                run, shard = self._run, self._shard
            error = self._answer(run, shard)
            with self._state:
                self._run, self._shard = "", None
            try:
                self._say(type="done", run=run, **({"error": _cut(error, _MAX_ERROR)} if error else {}))
            except OSError as error:
                return _failed("tell the executor how the run ended: %s" % error)

    def _answer(self, run, shard):
        """Does one run and returns its error, "" for none."""
        self._watch_signals()  # the last run may have set others, as asyncio does
        try:
            self.call(shard, _PROGRESS_INTERVAL,
                      lambda fraction, message: self._say(type="progress", run=run, fraction=fraction, message=message))
            return ""
        except SystemExit as error:
            return "" if error.code in (None, 0) else "the job called sys.exit(%r)" % (error.code,)
        except BaseException as error:
            if shard._ended_early(error):
                _log("the run ended early: %s" % error)
                return str(error)
            traceback.print_exc()
            return _explain(error)
        finally:
            _flush()

    def run_once(self, shard):
        """Does one run without the executor's messages, and returns the exit status."""
        with self._state:
            self._shard = shard
        self.listen()

        def report(fraction, message):
            if self._answers is not None:
                self._say(type="progress", fraction=fraction, message=message)
        try:
            self.call(shard, _PROGRESS_INTERVAL, report)
            return 0
        except Exception as error:
            if shard._ended_early(error):
                return _failed("the run ended early: %s" % error)
            traceback.print_exc()
            return 1

    def call(self, shard, interval, report):
        """Calls the job's function, and sends its progress while it runs."""
        shard._reports = _Reports(interval, report)
        try:
            shard.raise_if_cancelled()
            self._function(shard)
        finally:
            shard._reports.close()

    def begin(self, shard):
        """Makes a shard the current one."""
        with self._state:
            self._shard = shard
            if self._ending:
                shard._cancel(self._ending)

    def listen(self, *more):
        """Starts the second thread, and cancels the current run at SIGTERM and at more signals."""
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        self._signals = (signal.SIGTERM,) + more
        self._watch_signals()
        if hasattr(os, "register_at_fork"):  # from Python 3.7
            os.register_at_fork(before=self._hold_signals, after_in_parent=self._release_signals,
                                after_in_child=self._forget_signals)
        threading.Thread(target=self._listen, name="elasticjob", daemon=True).start()

    def _watch_signals(self):
        for number in self._signals:
            signal.signal(number, self._signalled)
        signal.set_wakeup_fd(self._waker)

    def _signalled(self, number, _frame):
        if len(self._signals) > 1:  # at a terminal the next one ends the program
            for each in self._signals:
                signal.signal(each, signal.SIG_DFL)
        try:
            os.write(self._waker, bytes([number]))
        except BlockingIOError:
            pass  # it is full, so the thread wakes up

    # A forked child gets the default signals, so that its SIGTERM ends it and does not cancel the run here.

    def _hold_signals(self):
        self._forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, self._signals)

    def _release_signals(self):
        signal.pthread_sigmask(signal.SIG_SETMASK, self._forking.mask)

    def _forget_signals(self):
        if threading.current_thread() is threading.main_thread():
            signal.set_wakeup_fd(-1)
            for number in self._signals:
                signal.signal(number, signal.SIG_DFL)
        self._release_signals()

    # The second thread.

    def _listen(self):
        orders, buffered = self._orders, b""
        while True:
            ready = select.select([self._wake] + ([] if orders is None else [orders]), [], [])[0]
            if self._wake in ready:
                numbers = set(os.read(self._wake, 4096))
                for number in numbers.intersection(self._signals):
                    self.stopped = True
                    self._end("terminated by " + signal.Signals(number).name, cancel=True)
                with self._state:
                    self._state.notify_all()  # the main thread runs the handlers of other signals
            if orders in ready:
                received = os.read(orders, 1 << 20)
                if not received:
                    orders = None
                    self._end("the executor closed the pipe", cancel=False)
                    continue
                lines = received.split(b"\n")
                if len(lines) > 1:
                    self._handle(buffered + lines[0])
                    for line in lines[1:-1]:
                        self._handle(line)
                    buffered = bytearray()
                buffered += lines[-1]

    def _end(self, reason, cancel):
        with self._state:
            self._ending = self._ending or reason
            if cancel and self._shard is not None:
                self._shard._cancel(reason)
            self._state.notify_all()

    def _handle(self, line):
        """Handles a message. Others are of a later version of the protocol, and are ignored."""
        try:
            message = json.loads(bytes(line).decode("utf-8"))
        except ValueError:
            return
        if not isinstance(message, dict) or not isinstance(message.get("run"), str) or not message["run"]:
            return
        run, kind = message["run"], message.get("type")
        with self._state:
            if kind == "cancel" and run == self._run:
                self._shard._cancel("cancelled by the executor: %s" % message.get("reason", ""))
            if kind != "run":
                return
            if self._shard is not None:
                refusal = "it came while run %s was under way: a process has one run at a time" % self._run
            else:
                try:
                    shard = _read_run(message)
                except (ValueError, TypeError) as error:
                    refusal = _cut("read the run: %s" % error, _MAX_ERROR)
                else:
                    self._run, self._shard = run, shard
                    if self.stopped:
                        shard._cancel(self._ending)
                    self._state.notify_all()
                    return
        try:
            self._say(type="done", run=run, error=refusal)
        except OSError:
            pass  # the main thread notices when it answers the current run

    # Both.

    def _say(self, **message):
        line = json.dumps(message).encode("ascii") + b"\n"
        with self._writing:
            while line:
                line = line[os.write(self._answers, line):]


class _Reports:
    """Sends the latest progress of a run: the first report at once, then at most one per interval, and at the end one
    that is still unsent. A report replaces an unsent one."""

    def __init__(self, interval, send):
        self._interval, self._send = interval, send
        self._sending = threading.Lock()  # held while send runs, which may block; set() never acquires it
        self._lock = threading.Lock()  # guards what follows
        self._newest, self._thread = None, None
        self._some, self._closed = threading.Event(), threading.Event()

    def set(self, fraction, message):
        newest = (_bounded(fraction), str(message))
        with self._lock:
            if self._closed.is_set():
                return
            self._newest = newest
            self._some.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._forward, name="elasticjob progress", daemon=True)
                self._thread.start()

    def close(self):
        with self._lock:
            self._closed.set()
            self._some.set()
        self._flush()

    def _forward(self):
        while not self._closed.is_set():
            self._some.wait()
            self._flush()
            self._closed.wait(self._interval)

    def _flush(self):
        with self._sending:
            with self._lock:
                newest, self._newest = self._newest, None
                if not self._closed.is_set():
                    self._some.clear()
            if newest is not None:
                try:
                    self._send(newest[0], _cut(newest[1], _MAX_MESSAGE))
                except OSError:
                    pass  # a closed pipe shows when the run is answered


class _Terminal:
    """Runs shards for a user at a terminal."""

    def __init__(self, process):
        self._process = process
        self._name = os.path.basename(sys.argv[0]) or "job"

    def start(self, argv):
        flags = self._parse(argv)
        now = time.time()
        at = datetime.datetime.fromtimestamp(int(now * 1000) / 1000, datetime.timezone.utc)
        self._process.listen(signal.SIGINT)
        status = 0
        for item in flags.items:
            shard = Shard(item, flags.total, flags.parameter_of(item), flags.job_param, self._name,
                          "%s@-@%d@-@READY@-@local@-@%d" % (self._name, item, now * 1000),
                          "%s@%s" % (self._name, at.strftime("%Y%m%dT%H%M%SZ")), at, props=dict(flags.props))
            self._process.begin(shard)
            if not self._run(shard):
                status = 1
            if self._process.stopped:
                break
        return status

    def _run(self, shard):
        who, began = "shard %d of %d" % (shard.item, shard.total), time.monotonic()
        try:
            self._process.call(shard, _TERMINAL_INTERVAL, lambda fraction, message: _write(
                "%s: %.1f %% %s" % (who, 100 * fraction, message)))
        except Exception as error:
            if shard._ended_early(error):
                _write("%s: ended early after %.1f s: %s" % (who, time.monotonic() - began, error))
                return False
            traceback.print_exc()
            _write("%s: failed after %.1f s: %s" % (who, time.monotonic() - began, _explain(error)))
            return False
        _write("%s: finished after %.1f s" % (who, time.monotonic() - began))
        return True

    def _parse(self, argv):
        parser = argparse.ArgumentParser(prog=self._name, allow_abbrev=False, description="Runs this job here, without "
                                         "a scheduler. Ctrl-C cancels the run, a second one ends the program.")
        parser.add_argument("--item", type=int, metavar="N", help="the shard to run, from 0")
        parser.add_argument("--all", action="store_true", help="run all shards, one after the other")
        parser.add_argument("--total", type=int, default=1, metavar="N", help="how many shards there are (default 1)")
        parser.add_argument("--param", default="", metavar="TEXT",
                            help="the shard's own parameter; with --all that of each, or 0=A,1=B")
        parser.add_argument("--item-params", metavar="LIST", help="the shards' own parameters, as in a job's "
                            "shardingItemParameters: 0=A,1=B")
        parser.add_argument("--job-param", default="", metavar="TEXT", help="the parameter of all shards")
        parser.add_argument("--prop", action="append", default=[], dest="props", metavar="NAME=VALUE",
                            help="a property of the job; may be given several times")
        flags, others = parser.parse_known_args(argv)
        wrong = ['"%s" is not a flag' % other for other in others]
        if flags.total < 1:
            wrong.append("--total %d: must be 1 or more" % flags.total)
        if flags.all and flags.item is not None:
            wrong.append("--item and --all: give one of them")
        elif not flags.all and flags.item is None:
            wrong.append("give --item N, the shard to run, or --all")
        elif flags.item is not None and not 0 <= flags.item < flags.total:
            wrong.append("--item %d: with --total %d there are the shards 0 to %d" % (flags.item, flags.total,
                                                                                   flags.total - 1))
        wrong.extend("--prop %s: must be NAME=VALUE" % prop for prop in flags.props if prop.find("=") < 1)
        each, given = None, flags.item_params is not None
        if given and flags.param:
            wrong.append("--param and --item-params: give one of them")
        elif given or flags.all:
            name, text = ("--item-params", flags.item_params) if given else ("--param", flags.param)
            each = _item_parameters(text)
            if each is None and given:
                wrong.append("--item-params %s: must be a list of ITEM=TEXT: 0=A,1=B" % text)
            elif each and max(each) >= flags.total > 0:
                wrong.append("%s %s: with --total %d there are the shards 0 to %d" % (name, text, flags.total,
                                                                                      flags.total - 1))
        if wrong:
            parser.error("; ".join(wrong))
        flags.items = range(flags.total) if flags.all else [flags.item]
        flags.props = [prop.split("=", 1) for prop in flags.props]
        flags.parameter_of = lambda item: flags.param if each is None else each.get(item, "")
        return flags


def _item_parameters(text):
    """Parses a text such as 0=a,1=b in the form of a job's shardingItemParameters; None for any other text."""
    parameters = {}
    for part in text.split(","):
        key, _, value = (word.strip() for word in part.partition("="))
        if not re.match("[0-9]{1,9}$", key) or not value or "=" in value or int(key) in parameters:
            return None
        parameters[int(key)] = value
    return parameters


def _read_run(message):
    """Returns the shard of a message of type run."""
    return _shard(message.get("context", {}), message.get("executionId", ""), message.get("fireTime", ""),
                  message.get("source", ""), message.get("attempt", 0), message.get("props", {}))


def _read_environment():
    """Returns the shard of a process that an executor started for one run."""
    context, props = _variable(_CONTEXT), _variable("ELASTICJOB_PROPS") or "{}"
    attempt = _variable("ELASTICJOB_ATTEMPT") or "0"
    for name, text, read in ((_CONTEXT, context, json.loads), ("ELASTICJOB_PROPS", props, json.loads),
                             ("ELASTICJOB_ATTEMPT", attempt, int)):
        try:
            read(text)
        except ValueError as error:
            raise ValueError("read %s \"%s\": %s" % (name, text, error))
    return _shard(json.loads(context), _variable("ELASTICJOB_EXECUTION_ID"), _variable("ELASTICJOB_FIRE_TIME"),
                  _variable("ELASTICJOB_EXECUTION_SOURCE"), int(attempt), json.loads(props))


def _shard(context, execution_id, fire_time, source, attempt, props):
    if not isinstance(context, dict) or not isinstance(props, dict):
        raise ValueError("the sharding context and the properties must be objects")
    return Shard(context.get("shardingItem", 0), context.get("shardingTotalCount", 0),
                 context.get("shardingParameter", ""), context.get("jobParameter", ""), context.get("jobName", ""),
                 context.get("taskId", ""), execution_id, _time(fire_time), source, attempt, props)


def _time(text):
    """Returns the time of a text such as 2026-05-01T12:00:02.000Z, None for an empty one."""
    if not text:
        return None
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in text else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.datetime.strptime(text, form).replace(tzinfo=datetime.timezone.utc)


def _variable(name):
    """Returns the value of a variable, from its file if it has one; "" if it is not set."""
    path = os.environ.get(name + _FILE)
    if path is None:
        return os.fsencode(os.environ.get(name, "")).decode("utf-8")  # in any locale
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise ValueError("read the file that %s%s names: %s" % (name, _FILE, error))


def _explain(error):
    """Returns an exception and its causes, each with the place in the program's own code that raised it.

    Standard error has the frames."""
    chain, seen = [], set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not _of_library(frame.filename)]
        if own or frames and not str(error):  # without a message its place says most
            place = (own or frames)[-1]
            text += " (%s:%d)" % (os.path.basename(place.filename), place.lineno)
        chain.append(text)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\ncaused by: ".join(chain)


def _of_library(path):
    """Reports whether a file is this one, or belongs to Python or to an installed package."""
    return path == __file__ or path.startswith(("<frozen ", os.path.dirname(os.__file__) + os.sep)) or any(
        "%s%s%s" % (os.sep, name, os.sep) in path for name in ("site-packages", "dist-packages"))


def _bounded(fraction):
    fraction = float(fraction)
    return 0.0 if fraction != fraction else min(max(fraction, 0.0), 1.0)


def _cut(text, most):
    """Returns the beginning of a text: as many whole characters as fit into most bytes."""
    return text.encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # the job has closed it


def _write(line):
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _log(text):
    _write("elasticjob: %s" % text)


def _failed(error):
    _log(error)
    return 1
