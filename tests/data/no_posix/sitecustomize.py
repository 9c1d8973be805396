"""Takes from a Python what Windows has not, before it runs anything: put this folder on PYTHONPATH.

What Python itself needs on POSIX to start processes stays, and `os.name` too, which decides the class of paths.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module

DECIDED = ("asyncio", "concurrent.futures.process", "multiprocessing.connection", "multiprocessing.popen_spawn_posix")
"""Modules that look at `sys.platform` when they are imported, and at nothing of Windows afterwards."""
for name in DECIDED:
    import_module(name)
sysconfig.get_config_vars()

GONE_MODULES = ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
GONE_CALLS = """
chown chroot fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority
getresuid getsid getuid initgroups killpg lchown mkfifo mknod nice openpty posix_fadvise posix_fallocate pread pwrite
sched_getaffinity sched_yield sendfile setegid seteuid setgid setgroups setpgid setpriority setreuid setsid setuid
statvfs sync sysconf tcgetpgrp wait wait3 wait4 O_CLOEXEC O_DIRECTORY O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC
"""
SIGNALS = ("SIGINT", "SIGTERM", "SIGABRT", "SIGSEGV", "SIGFPE", "SIGILL", "SIG_DFL", "SIG_IGN")

kill = os.kill
subprocess.Popen.kill = lambda process: kill(process.pid, 9) if process.poll() is None else None


def refused(*_arguments, **_options):
    """Windows lets only some users make links."""
    raise OSError(1314, "a required privilege is not held by the client")


def started_plainly(self, *arguments, **options):
    """Windows knows no preexec_fn, no sessions and no handles to pass."""
    for name in ("preexec_fn", "start_new_session", "pass_fds", "process_group", "user", "group", "umask"):
        if options.get(name):
            raise ValueError(f"{name} is not supported on Windows platforms")
    plain(self, *arguments, **options)


plain = subprocess.Popen.__init__
subprocess.Popen.__init__ = started_plainly


def held_open(path):
    """Whether this process has the file open or mapped, which Windows neither renames nor replaces."""
    real = os.path.realpath(path)
    for handle in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{handle}") == real:
                return True
        except OSError:
            continue
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        return any(line.rstrip("\n").endswith(f" {real}") for line in maps)


def read_only(path):
    """Whether a file may not be written, which on Windows means not removed either."""
    return os.path.exists(path) and not os.stat(path).st_mode & 0o200


def moving(function):
    """The function, refusing files that are open."""

    def move(source, target, *arguments, **options):
        for path in (source, target):
            if held_open(path):
                raise PermissionError(13, "the process cannot access the file because it is being used", str(path))
        if read_only(target):
            raise PermissionError(13, "access is denied", str(target))
        return function(source, target, *arguments, **options)

    return move


def removing(function):
    """The function, refusing files that are open or may not be written."""

    def remove(path, *arguments, **options):
        if held_open(path) or (read_only(path) and not options):
            raise PermissionError(13, "access is denied", str(path))
        return function(path, *arguments, **options)

    return remove


os.replace, os.rename = moving(os.replace), moving(os.rename)
os.unlink = os.remove = removing(os.unlink)
os.link = os.symlink = refused
if sys.version_info < (3, 11):  # older ones keep the functions that they call
    accessor = pathlib._NormalAccessor
    accessor.replace, accessor.rename, accessor.unlink = map(staticmethod, (os.replace, os.rename, os.unlink))
tempfile._os.unlink = os.unlink
tempfile._TemporaryFileCloser.unlink = staticmethod(os.unlink)
shutil._use_fd_functions = False

for name in GONE_MODULES:
    sys.modules[name] = None
for name in GONE_CALLS.split():
    if hasattr(os, name):
        delattr(os, name)
for name in dir(signal):
    if name.startswith("SIG") and name not in SIGNALS:
        delattr(signal, name)
for name in ("alarm", "setitimer", "pthread_sigmask", "sigwait", "siginterrupt", "pause"):
    delattr(signal, name)
if "--multiprocessing-fork" not in sys.orig_argv:  # there multiprocessing itself looks at it
    sys.platform = "win32"
