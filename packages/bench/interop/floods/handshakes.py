"""Floods before there is a connection: first packets, tokens, and handshakes that get no further."""

import asyncio
import contextlib
import os
import socket
import time

from aioquic.quic.packet import QuicPacketType, pull_quic_header
from aioquic.buffer import Buffer

from attacker import connection, varint

# Handshakes that were begun and are left alone, for as long as the case lasts.
AT_ONCE = 50
TRIES = 50


class Result:
    """Like an attacker without a connection."""

    outcome = None

    def __init__(self):
        self.sent = 0


def address_of(index):
    """Some in each network of IPv4."""
    return f"127.{1 + index // 250}.1.{1 + index % 250}"


class Stranger:
    """A socket of its own, and a handshake."""

    def __init__(self, world, index):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address_of(index), 0))
        self.socket.setblocking(False)
        self.server = world.server
        self.quic = connection()
        self.token = b""

    def begin(self):
        self.quic.connect(self.server, now=time.time())
        self.send()

    def send(self):
        self.flight = [data for data, _ in self.quic.datagrams_to_send(now=time.time())]
        self.send_again()

    def send_again(self):
        for data in self.flight:
            self.socket.sendto(data, self.server)

    async def heard(self):
        """What comes first; what was sent may be lost in full buffers."""
        for _ in range(TRIES):
            with contextlib.suppress(asyncio.TimeoutError):
                return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.socket, 2048), 1)
            self.send_again()
        raise ConnectionError("nothing came")

    async def retry(self):
        """Asks, and asks again with the token of the Retry."""
        self.begin()
        data = await self.heard()
        header = pull_quic_header(Buffer(data=data), host_cid_length=8)
        if header.packet_type != QuicPacketType.RETRY:
            return False
        self.quic.receive_datagram(data, self.server, now=time.time())
        self.token = header.token
        self.send()
        return True


async def half_open_after_a_retry(world):
    """Each has proven its address, gets its handshake, and says no more than packets that come too early."""
    result = Result()
    strangers = []
    for begun in range(0, world.count, AT_ONCE):
        new = [Stranger(world, index) for index in range(begun, begun + AT_ONCE)]
        strangers += new
        proven = await asyncio.gather(*(stranger.retry() for stranger in new))
        result.sent += sum(proven)
        for stranger in new:
            first = pull_quic_header(Buffer(data=await stranger.heard()), host_cid_length=8)
            for _ in range(16):
                stranger.socket.sendto(b"\x40" + first.source_cid + os.urandom(1200), world.server)
    await world.done()
    for stranger in strangers:
        stranger.socket.close()
    return result


async def tokens_again(world):
    """One token of a Retry in first packets of one port after the other, and of another address."""
    result = Result()
    first = Stranger(world, 0)
    await first.retry()
    for index in range(world.count // 100):
        other = Stranger(world, index % 2)
        other.quic._peer_token = first.token
        other.begin()
        other.socket.close()
        result.sent += 1
        if index % 20 == 19:
            await asyncio.sleep(0.01)
    first.socket.close()
    return result


async def from_many_ports(world, made, pause=100):
    """As if from addresses that are not the sender's: nobody listens there."""
    result = Result()
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(200)]
    for index, one in enumerate(sockets):
        one.bind((address_of(index), 0))
        one.setblocking(False)
    for index in range(world.count):
        try:
            sockets[index % len(sockets)].sendto(made(index), world.server)
            result.sent += 1
        except BlockingIOError:
            await asyncio.sleep(0.001)
        if index % pause == pause - 1:
            await asyncio.sleep(0.005)
    for one in sockets:
        one.close()
    return result


def long_header(kind, version, rest, size=1200):
    head = bytes([0xC0 | kind << 4]) + version.to_bytes(4, "big") + b"\x08" + os.urandom(8) + b"\x08" + os.urandom(8)
    return (head + rest).ljust(size, b"\0")


async def unknown_versions(world):
    return await from_many_ports(world, lambda index: long_header(0, 0x1A2A3A4A, b""))


async def first_packets_of_noise(world):
    return await from_many_ports(world, lambda index: long_header(0, 1, b"\0" + varint(1100) + os.urandom(1100)))


async def first_packets_with_tokens_of_a_byte(world):
    return await from_many_ports(world, lambda index: long_header(0, 1, b"\1" + os.urandom(1) + varint(1100) + os.urandom(1100)))


async def real_first_packets(world):
    """A ClientHello from ever other ports, made once and sent again and again."""
    flights = []
    for _ in range(100):
        quic = connection()
        quic.connect(world.server, now=time.time())
        flights += [data for data, _ in quic.datagrams_to_send(now=time.time())]
    return await from_many_ports(world, lambda index: flights[index % len(flights)])


async def first_packets_with_noise_behind(world):
    """Coalesced with packets of other types that are nothing."""
    quic = connection()
    quic.connect(world.server, now=time.time())
    flights = [data for data, _ in quic.datagrams_to_send(now=time.time())]
    behind = b"".join(long_header(kind, 1, varint(20) + os.urandom(20), 0) for kind in [2, 1, 2, 1])
    return await from_many_ports(world, lambda index: flights[0][:1200] + behind)


async def packets_of_no_connection(world):
    """Each asks for a stateless reset."""
    return await from_many_ports(world, lambda index: b"\x40" + os.urandom(60 + index % 1000))


CASES = [
    half_open_after_a_retry, tokens_again, unknown_versions, first_packets_of_noise, first_packets_with_tokens_of_a_byte,
    real_first_packets, first_packets_with_noise_behind, packets_of_no_connection,
]  # fmt: skip
