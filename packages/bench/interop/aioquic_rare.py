"""What the rare clients of aioquic_rules.py have in common."""

import asyncio
import contextlib
import hashlib
import ssl

from aioquic.buffer import Buffer, encode_uint_var
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

from aioquic_client import Client

LARGEST = 2**62 - 1
# RFC 9000 §18.2, RFC 9221 §3.
MAX_IDLE_TIMEOUT, RESET_TOKEN, MAX_UDP_PAYLOAD_SIZE, MAX_DATA = 0x1, 0x2, 0x3, 0x4
MAX_STREAM_DATA_BIDI_LOCAL, MAX_STREAM_DATA_BIDI_REMOTE, MAX_STREAM_DATA_UNI = 0x5, 0x6, 0x7
MAX_STREAMS_BIDI, MAX_STREAMS_UNI, ACK_DELAY_EXPONENT, MAX_ACK_DELAY = 0x8, 0x9, 0xA, 0xB
DISABLE_ACTIVE_MIGRATION = 0xC
CONNECTION_ID_LIMIT, INITIAL_SOURCE_ID, MAX_DATAGRAM_FRAME_SIZE = 0xE, 0xF, 0x20


class World:
    def __init__(self, server, other, files):
        self.server, self.other = address(server), address(other)
        self.authority = server.encode()
        self.files = [tuple(file.split(":")) for file in files]
        self.small, self.medium, self.large = self.files[0], self.files[1], self.files[-1]


def address(text):
    host, port = text.split(":")
    return host, int(port)


def connection(change=None, ticket=None, keep=None, server_name="localhost", **options):
    """`change`: transport parameters by id: a number, bytes, or nothing for one that is left out."""
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN, verify_mode=ssl.CERT_NONE, server_name=server_name,
        max_datagram_frame_size=65536, **options,
    )  # fmt: skip
    configuration.session_ticket = ticket
    quic = QuicConnection(configuration=configuration, session_ticket_handler=keep)
    if change:
        original = quic._serialize_transport_parameters
        quic._serialize_transport_parameters = lambda: with_changes(original(), change)
    return quic


def with_changes(parameters, change):
    known = {}
    buffer = Buffer(data=parameters)
    while not buffer.eof():
        key = buffer.pull_uint_var()
        known[key] = buffer.pull_bytes(buffer.pull_uint_var())
    for key, value in change.items():
        known[key] = encode_uint_var(value) if isinstance(value, int) else value
    present = {key: value for key, value in known.items() if value is not None}
    return b"".join(encode_uint_var(key) + encode_uint_var(len(value)) + value for key, value in present.items())


class Watched(Client):
    """Knows the largest datagram that came, and does something after each."""

    largest = 0
    after_each = staticmethod(lambda: None)

    def datagram_received(self, data, addr):
        self.largest = max(self.largest, len(data))
        super().datagram_received(data, addr)
        self.changed.set()
        self.after_each()
        self.transmit()


@contextlib.asynccontextmanager
async def opened(quic, server):
    client = Watched(quic)
    client.transports = []
    await another_port(client)
    client.connect(server)
    try:
        yield client
    finally:
        client.close()
        for transport in client.transports:
            transport.close()


async def another_port(client):
    """From now on; what comes to the former ones is read, too."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: client, local_addr=("127.0.0.1", 0))
    client.transports.append(transport)


async def get(client, world, file):
    path, expected = file
    stream = client.request(b"GET", world.authority, path.encode())
    await client.until(lambda: client.ended.get(stream) or client._quic._close_event)
    closed = client._quic._close_event
    if closed:
        raise AssertionError(f"closed with {closed.error_code:#x} {closed.reason_phrase}")
    body = bytes(client.bodies[stream])
    assert hashlib.sha256(body).hexdigest() == expected, f"{len(body)} other bytes"


def received(client):
    return sum(len(body) for body in client.bodies.values())


async def serves(world, quic, file, prepare=lambda client: None):
    async with opened(quic, world.server) as client:
        prepare(client)
        await client.wait_connected()
        await get(client, world, file)
        return client
