"""The seccomp filter: system calls that a sandboxed command may not make."""

from __future__ import annotations

import errno
import functools
import tempfile
from typing import Any

from boundary.errors import SandboxUnavailable

# Access to other processes, to rarely used kernel features, to new namespaces and mounts, and to memory that our limits
# do not count. Namespaces and dropped capabilities already refuse most of these; this is a second barrier.
DENIED = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise"),
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("keyctl", "add_key", "request_key"),
    *("unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree"),
    *("fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr"),
    *("open_by_handle_at", "name_to_handle_at", "fanotify_init", "quotactl", "acct", "swapon", "swapoff"),
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "syslog"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex"),
    *("sethostname", "setdomainname", "vhangup"),
    *("memfd_create", "memfd_secret", "lookup_dcookie", "personality"),
    *("semget", "semop", "semtimedop", "semctl", "shmget", "shmat", "shmdt", "shmctl"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_timedsend", "mq_timedreceive"),
    *("mq_notify", "mq_getsetattr"),
)
# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
NEW_NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
SOCKET_FAMILIES = (
    1,
    2,
    10,
    16,
)  # unix, IPv4, IPv6, netlink; not vsock, which network namespaces do not isolate
LAST_FAMILY = 64
TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX inject input into a terminal

SOCKET_LEVEL = 1
# SO_SNDBUF, SO_RCVBUF and their FORCE variants: data waiting in a socket is kernel memory.
BUFFER_SIZES = (7, 8, 32, 33)


@functools.cache
def seccomp_filter() -> bytes:
    """Return the filter as bubblewrap reads it; raise SandboxUnavailable if libseccomp is missing."""
    try:
        import pyseccomp  # type: ignore[import-untyped] # needs a C library that may be missing
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxUnavailable(
            "The library libseccomp is missing. Install it (Debian: libseccomp2)."
        ) from error
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    refuse = pyseccomp.ERRNO(errno.EPERM)
    for name in DENIED:
        if (
            pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) >= 0
        ):  # some calls are missing on some machines
            rules.add_rule(refuse, name)
    # The filter cannot see the flags of clone3; libc falls back to clone.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    # fallocate takes gigabytes of disk at once; libc falls back to writing, which is slow enough to be measured.
    rules.add_rule(pyseccomp.ERRNO(errno.EOPNOTSUPP), "fallocate")
    for flag in NEW_NAMESPACES:
        rules.add_rule(refuse, "clone", masked(pyseccomp, 0, flag, flag))
    for request in TERMINAL_INPUT:
        rules.add_rule(refuse, "ioctl", masked(pyseccomp, 1, 0xFFFFFFFF, request))
    no_family = pyseccomp.ERRNO(errno.EAFNOSUPPORT)
    for family in set(range(LAST_FAMILY)) - set(SOCKET_FAMILIES):
        rules.add_rule(no_family, "socket", pyseccomp.Arg(0, pyseccomp.EQ, family))
    rules.add_rule(no_family, "socket", pyseccomp.Arg(0, pyseccomp.GE, LAST_FAMILY))
    for option in BUFFER_SIZES:  # reported as successful: programs work without larger buffers
        level, name = (masked(pyseccomp, at, 0xFFFFFFFF, to) for at, to in ((1, SOCKET_LEVEL), (2, option)))
        rules.add_rule(pyseccomp.ERRNO(0), "setsockopt", level, name)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def masked(pyseccomp: Any, index: int, mask: int, value: int) -> Any:
    return pyseccomp.Arg(index, pyseccomp.MASKED_EQ, mask, value)
