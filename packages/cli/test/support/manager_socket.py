# A manager of services for tests: binds the datagram socket that its argument names, prints `bound`, and then each message
# as a line of JSON. Node has no such sockets.
import json
import socket
import sys

name = sys.argv[1]
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind("\0" + name[1:] if name.startswith("@") else name)
print("bound", flush=True)
while True:
    print(json.dumps(manager.recv(4096).decode()), flush=True)
