"""A UDP socket that sends packets with the ECN marks that a test asks for, and tells those of what it receives.

Each line of the input is a packet to send, each line of the output one that came; both in JSON, with the text in Latin 1. The first
line of the output has the port.
"""

import json
import selectors
import socket
import sys

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
receiver.bind(("127.0.0.1", 0))


def tell(message):
    print(json.dumps(message), flush=True)


def receive():
    data, ancillary, _, address = receiver.recvmsg(65536, 256)
    mark = next((value[0] & 3 for _, kind, value in ancillary if kind == socket.IP_TOS), 0)
    tell({"port": address[1], "ecn": mark, "text": data.decode("latin1")})


def send(line):
    packet = json.loads(line)
    mark = packet["ecn"].to_bytes(4, sys.byteorder)
    receiver.sendmsg(
        [packet["text"].encode("latin1")],
        [(socket.IPPROTO_IP, socket.IP_TOS, mark)],
        0,
        ("127.0.0.1", packet["port"]),
    )


selector = selectors.DefaultSelector()
selector.register(receiver, selectors.EVENT_READ)
selector.register(sys.stdin, selectors.EVENT_READ)
tell({"port": receiver.getsockname()[1]})
while True:
    for key, _ in selector.select():
        if key.fileobj is receiver:
            receive()
            continue
        # One line for each call: nothing may wait in a buffer that the selector does not see.
        line = sys.stdin.buffer.raw.readline()
        if not line:
            sys.exit(0)
        send(line)
