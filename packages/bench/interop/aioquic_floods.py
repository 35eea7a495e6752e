"""aioquic as clients that flood a gateway.

  aioquic_floods.py HOST:PORT

Reads lines `CASE COUNT CONNECTIONS` from standard input, and floods so one after the other. Prints a line of JSON for each: how
many frames were sent, and the error with which the gateway closed the connection, if it did.
"""

import asyncio
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "floods"))

import handshakes
import http3
import qpack
import quic
import webtransport
from attacker import World

CASE_SECONDS = 120
CASES = {case.__name__: case for case in [*http3.CASES, *qpack.CASES, *quic.CASES, *handshakes.CASES, *webtransport.CASES]}


async def flood(server, name, count, connections):
    world = World(server, count, connections)
    work = asyncio.gather(*(CASES[name](world) for _ in range(connections)))
    clients = await asyncio.wait_for(work, CASE_SECONDS)
    closed = [client.outcome for client in clients if client.outcome]
    return {
        "sent": sum(client.sent for client in clients),
        "open": connections - len(closed),
        "codes": sorted({event.error_code for event in closed}),
        "reasons": sorted({event.reason_phrase for event in closed}),
    }


async def outcome_of(server, line):
    name, count, connections = line.split()
    try:
        return await flood(server, name, int(count), int(connections))
    except Exception as error:
        return {"error": f"{type(error).__name__} {error}"}


async def main(server):
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(await outcome_of(server, line)), flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    asyncio.run(main(sys.argv[1]))
