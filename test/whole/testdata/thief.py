#!/usr/bin/env python3
"""A job that takes what it can get, and says what it got. THIEF_DIR is the server's data folder, THIEF_FILES are files of the server's,
THIEF_PORTS the ports of master and agent."""
import ctypes
import json
import os
import socket
import urllib.error
import urllib.request

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_SEIZE, PIDFD_OPEN, PIDFD_GETFD = 0x4206, 434, 438
folder = os.environ["THIEF_DIR"]


def got(what):
    print("GOT", what, flush=True)


def attempt(what, deed):
    try:
        deed()
    except OSError:
        return
    got(what)


def read(path):
    with open(path, "rb") as file:
        file.read(1)


def connect(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)


def call(number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def attach(pid):
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "refused")


def take_descriptor(pid):
    pidfd = call(PIDFD_OPEN, pid, 0)
    try:
        for fd in range(30):
            try:
                os.close(call(PIDFD_GETFD, pidfd, fd, 0))
                return
            except OSError:
                pass
        raise OSError("none")
    finally:
        os.close(pidfd)


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[1]
    except OSError:
        return ""


def processes():
    """Those of this server: others may just begin, and a process that is not closed yet shows the numbers of its descriptors."""
    found = {pid: words_of(pid) for pid in filter(str.isdigit, os.listdir("/proc"))}
    servers = {pid for pid, words in found.items() if os.path.basename(words[0]) == "scheduler" and folder in words}
    for pid, words in found.items():
        if pid in servers:
            yield int(pid), "server"
        elif os.path.basename(words[0]) == "executor" and "supervisor" in words:
            if any(word.startswith(folder) for word in words):
                yield int(pid), "supervisor"
        elif os.path.basename(words[0]) == "executor" and parent(pid) in servers:
            yield int(pid), "executor"


for pid, name in processes():
    print("SAW", name, flush=True)
    for entry in ("environ", "maps", "mem", "auxv", f"task/{pid}/environ", "io", "syscall"):
        attempt(f"{name} {entry}", lambda: read(f"/proc/{pid}/{entry}"))
    for entry in ("fd", "map_files", "root", "cwd", f"root{folder}"):
        attempt(f"{name} {entry}", lambda: os.listdir(f"/proc/{pid}/{entry}"))
    for entry in ("root", "cwd", "exe"):
        attempt(f"{name} {entry}", lambda: os.readlink(f"/proc/{pid}/{entry}"))
    attempt(f"{name} ptrace", lambda: attach(pid))
    attempt(f"{name} descriptor", lambda: take_descriptor(pid))

for fd in os.listdir("/proc/self/fd"):
    try:
        to = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        continue  # that of the list
    if int(fd) > 4:
        got(f"inherited {fd} {to}")

for path in json.loads(os.environ["THIEF_FILES"]):
    attempt(f"file {path}", lambda: read(path))
    attempt(f"change of {path}", lambda: open(path, "r+b").close())
attempt("a file in the data folder", lambda: open(folder + "/planted", "w").close())
attempt("the socket", lambda: connect(folder + "/admin.sock"))

for port in json.loads(os.environ["THIEF_PORTS"]):
    for path, kind in (("/api/v1", "GET_STATE"), ("/api/v1/scheduler", "SUBSCRIBE"), ("/api/v1/executor", "SUBSCRIBE"), ("/files/browse?path=/", "")):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=json.dumps({"type": kind}).encode() if kind else None,
                                         headers={"Content-Type": "application/json"})
        try:
            urllib.request.urlopen(request, timeout=10)
            got(f"port {path}")
        except urllib.error.HTTPError as answer:
            print("ANSWER", path, answer.code, flush=True)
        except OSError as error:
            print("NO ANSWER", path, error, flush=True)
print("DONE", flush=True)
