# A manager of services for tests, which keeps descriptors as a unit of systemd with FileDescriptorStoreMax= does. Its first argument
# names the socket to bind, the second one is a socket unit or empty, and the others are the command of the service. Opens the sockets
# of the unit as systemd does. Starts the service with them, and with what it keeps, at each line of standard input. Prints lines of JSON: `pid` of a service that was started, `ended` for one that is not there any more, and after each
# message that is not about descriptors its `text` with what is kept then: inodes by name. What the service prints goes to standard error.
import array
import fcntl
import json
import os
import select
import signal
import socket
import sys

name, unit, command = sys.argv[1], sys.argv[2], sys.argv[3:]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind("\0" + name[1:])
store = []
child = None


def opened(setting, address, settings):
    """A socket for a line of the unit, with the options of socket_address_listen() of systemd."""
    host, port = address.rsplit(":", 1)
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    kind = socket.SOCK_STREAM if setting == "ListenStream" else socket.SOCK_DGRAM
    made = socket.socket(family, kind)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(settings["BindIPv6Only"] != "both"))
    if settings["ReusePort"] == "yes":
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if settings["FreeBind"] == "yes":
        made.setsockopt(socket.IPPROTO_IP, 15, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((host.strip("[]"), int(port)))
    if kind == socket.SOCK_STREAM:
        made.listen(4096)
    return settings["FileDescriptorName"], made.detach()


def open_unit():
    lines = [line.split("=", 1) for line in open(unit).read().split("[Socket]")[1].split("\n") if "=" in line]
    lines = [line for line in lines if not line[0].startswith("#")]
    return [opened(key, value, dict(lines)) for key, value in lines if key in ("ListenStream", "ListenDatagram")]


sockets = open_unit() if unit else []


def tell(**event):
    print(json.dumps(event), flush=True)


def become_service():
    # Out of the way of the numbers that they get.
    passed = sockets + store
    high = [fcntl.fcntl(each, fcntl.F_DUPFD, 500) for _, each in passed]
    for at, kept in enumerate(high):
        os.dup2(kept, 3 + at)
    os.closerange(3 + len(high), 1000)
    os.dup2(2, 1)
    os.environ.update(NOTIFY_SOCKET=name, LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(passed)))
    os.environ["LISTEN_FDNAMES"] = ":".join(each for each, _ in passed)
    os.execv(command[0], command)


def start():
    global child
    child = os.fork()
    if child == 0:
        become_service()
    tell(pid=child)


def receive():
    text, ancillary, _, _ = manager.recvmsg(4096, 1024)
    descriptors = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(data)
    fields = dict(line.split("=", 1) for line in text.decode().split("\n"))
    if "FDSTORE" in fields:
        # As systemd does, what is pushed last is passed first.
        store[:0] = [(fields["FDNAME"], descriptor) for descriptor in descriptors]
        return
    for descriptor in descriptors:
        os.close(descriptor)
    if "FDSTOREREMOVE" in fields:
        for entry in [entry for entry in store if entry[0] == fields["FDNAME"]]:
            os.close(entry[1])
            store.remove(entry)
    elif "BARRIER" not in fields:
        tell(text=text.decode(), kept={each: os.fstat(kept).st_ino for each, kept in store})


def end(*_):
    if child:
        os.kill(child, signal.SIGKILL)
    os._exit(0)


signal.signal(signal.SIGTERM, end)
tell(opened=[os.fstat(each).st_ino for _, each in sockets])
while True:
    ready, _, _ = select.select([manager, sys.stdin], [], [], 0.05)
    if child and os.waitpid(child, os.WNOHANG)[0]:
        child = None
        tell(ended=True)
    if manager in ready:
        receive()
    if sys.stdin in ready:
        if not sys.stdin.readline():
            end()
        start()
