"""Hostile clients on aioquic, for `sheaf bench soak --hostile`.

  aioquic_hostile.py HOST PORT

Reads lines `SEED` from standard input. Each is one client, with an address of its own in 127.0.0.0/8, whose behaviour
follows from the seed; a line of JSON tells when it is done. What the server does to it is of no interest here.
"""

import asyncio
import json
import random
import ssl
import sys

from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.tls import Epoch

from aioquic_client import Client

LIMIT_SECONDS = 20
H3_REQUEST_CANCELLED = 0x10C


class Hostile:
    """One client: its random numbers, its address, and its connections."""

    def __init__(self, host, port, seed):
        self.server = (host, port)
        self.authority = f"{host}:{port}".encode()
        self.random = random.Random(seed)
        self.address = f"127.{self.random.randrange(1, 255)}.{self.random.randrange(256)}.{self.random.randrange(1, 255)}"
        self.transports = []

    def bytes(self, at_most):
        return self.random.randbytes(self.random.randrange(1, at_most + 1))

    async def protocol(self, factory):
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_datagram_endpoint(factory, local_addr=(self.address, 0))
        self.transports.append(transport)
        return transport, protocol

    def configuration(self, **options):
        return QuicConfiguration(
            is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, server_name="localhost", **options
        )

    async def connect(self, **options):
        quic = QuicConnection(configuration=self.configuration(**options))
        _, client = await self.protocol(lambda: Client(quic))
        client.connect(self.server)
        await client.wait_connected()
        return client

    def request(self, client, path, extra=(), end=True):
        return client.request(b"GET", self.authority, path, extra, end)

    def end(self):
        for transport in self.transports:
            transport.abort()


async def resets(hostile):
    """Asks, and does not want the response: many times, as fast as streams allow."""
    client = await hostile.connect()
    for _ in range(20):
        for _ in range(25):
            stream = hostile.request(client, b"/large", end=hostile.random.random() < 0.5)
            client._quic.stop_stream(stream, H3_REQUEST_CANCELLED)
            if client._quic._streams[stream].sender._reset_error_code is None and not client._quic._streams[stream].sender._buffer_fin:
                client._quic.reset_stream(stream, H3_REQUEST_CANCELLED)
        client.transmit()
        await asyncio.wait_for(client.ping(), LIMIT_SECONDS)


async def stalls(hostile):
    """Asks for much, gives next to no credit, and sends bodies that never end."""
    client = await hostile.connect(max_data=4096, max_stream_data=512)
    # No credit is given back.
    client._quic._write_connection_limits = lambda *arguments, **options: None
    client._quic._write_stream_limits = lambda *arguments, **options: None
    for _ in range(50):
        hostile.request(client, b"/large", end=hostile.random.random() < 0.5)
    await asyncio.sleep(hostile.random.uniform(1, 10))


async def floods(hostile):
    """Datagrams of random bytes, some of which look like first packets; connections that never get on."""
    transport, _ = await hostile.protocol(asyncio.DatagramProtocol)
    for _ in range(40):
        for _ in range(50):
            payload = hostile.bytes(1400)
            if hostile.random.random() < 0.5:
                payload = bytes([0xC0 | payload[0] & 0x3F, 0, 0, 0, 1, 8]) + payload + bytes(1200)
            transport.sendto(payload[:1450], hostile.server)
        await asyncio.sleep(0.01)
    for _ in range(20):
        quic = QuicConnection(configuration=hostile.configuration())
        quic.connect(hostile.server, now=asyncio.get_running_loop().time())
        for data, _ in quic.datagrams_to_send(now=asyncio.get_running_loop().time()):
            transport.sendto(data, hostile.server)


async def garbage(hostile):
    """Random bytes where frames, capsules, fields or TLS messages belong."""
    for _ in range(10):
        client = await hostile.connect()
        where = hostile.random.choice(["request", "unidirectional", "control", "crypto", "packet"])
        quic = client._quic
        if where == "crypto":
            quic._crypto_streams[Epoch.ONE_RTT].sender.write(hostile.bytes(5000))
        elif where == "packet":
            for _ in range(20):
                client._transport.sendto(bytes([0x40]) + quic._peer_cid.cid + hostile.bytes(1000), hostile.server)
        else:
            stream = quic.get_next_available_stream_id(is_unidirectional=where != "request")
            prefix = b"\x00" if where == "control" else b""
            quic.send_stream_data(stream, prefix + hostile.bytes(20000), end_stream=hostile.random.random() < 0.5)
        client.transmit()
        await asyncio.sleep(0.05)


async def churn(hostile):
    """Another connection id for each packet, and another port now and then."""
    client = await hostile.connect()
    for index in range(200):
        client.change_connection_id()
        if index % 40 == 39:
            transport, _ = await hostile.protocol(lambda: Forward(client))
            client._transport = transport
        client._quic.send_ping(index)
        client.transmit()
        await asyncio.sleep(0.005)


class Forward(asyncio.DatagramProtocol):
    def __init__(self, client):
        self.client = client

    def datagram_received(self, data, address):
        self.client.datagram_received(data, address)


async def oversized(hostile):
    """Field sections without measure."""
    client = await hostile.connect()
    for _ in range(20):
        size = hostile.random.choice([1_000, 20_000, 100_000, 500_000])
        extra = [(b"x-%d" % index, b"a" * (size // 10)) for index in range(10)]
        hostile.request(client, b"/" + b"p" * hostile.random.choice([1, 20_000]), extra)
        await asyncio.sleep(0.01)


BEHAVIOURS = [resets, stalls, floods, garbage, churn, oversized]


async def run(host, port, seed):
    hostile = Hostile(host, port, seed)
    behaviour = hostile.random.choice(BEHAVIOURS)
    outcome = "done"
    try:
        await asyncio.wait_for(behaviour(hostile), LIMIT_SECONDS)
    except Exception as error:  # The server may close its connection at any time, and aioquic then throws many things.
        outcome = f"{type(error).__name__}: {error}"
    hostile.end()
    print(json.dumps({"seed": seed, "behaviour": behaviour.__name__, "outcome": outcome}), flush=True)


async def main(host, port):
    loop = asyncio.get_running_loop()
    # What connections that were cut off still have to say.
    loop.set_exception_handler(lambda *arguments: None)
    clients = set()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        clients.add(asyncio.ensure_future(run(host, int(port), int(line))))
        clients = {client for client in clients if not client.done()}
    await asyncio.gather(*clients)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
