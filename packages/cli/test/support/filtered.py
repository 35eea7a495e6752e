# Runs a command under the SystemCallFilter= lines of a systemd unit: filtered.py UNIT COMMAND...
# systemd installs the same filter when it starts a service. Here it is made of the groups that `systemd-analyze` lists, since
# no systemd is the first process of a test machine.
import os
import re
import subprocess
import sys

import seccomp


def calls(group, seen):
    """The calls of a group and of the groups in it."""
    if not group.startswith("@"):
        return {group}
    if group in seen:
        return set()
    seen.add(group)
    listing = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    names = [line.strip() for line in listing.stdout.splitlines()[1:]]
    return set().union(*(calls(name, seen) for name in names if name and not name.startswith("#")))


def permitted(lines):
    """What the lines permit together: each adds to the ones before, and takes away where it begins with ~."""
    # systemd begins a list of permitted calls with this group.
    result = calls("@default", set())
    for line in lines:
        takes = line.startswith("~")
        named = set().union(*(calls(word, set()) for word in line.removeprefix("~").split()))
        result = result - named if takes else result | named
    return result


unit = open(sys.argv[1]).read()
assert "SystemCallErrorNumber=EPERM" in unit
filter = seccomp.SyscallFilter(seccomp.ERRNO(1))
count = 0
for name in sorted(permitted(re.findall(r"^SystemCallFilter=(.*)$", unit, re.M))):
    try:
        filter.add_rule(seccomp.ALLOW, name)
        count += 1
    except RuntimeError:
        # Calls of other architectures have no number here.
        pass
filter.load()
print(f"{count} calls permitted", file=sys.stderr, flush=True)
os.execvp(sys.argv[2], sys.argv[2:])
