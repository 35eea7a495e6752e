"""A client of aioquic that breaks rules on purpose: packets with any frames, streams with any bytes."""

import asyncio
import contextlib
import os
import ssl
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from aioquic.buffer import encode_uint_var as varint
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection, QuicConnectionError
from aioquic.tls import Epoch

from aioquic_client import Client
from aioquic_rare import with_changes

PAYLOAD_BYTES = 1150  # of frames in a packet
PACKETS_AT_ONCE = 40  # what a socket's receive buffer takes in any case
SETTLE_SECONDS = 30
RESET_STREAM, STOP_SENDING, STREAM, MAX_STREAM_DATA = 0x4, 0x5, 0x8, 0x11


class World:
    """The gateway, how much of each flood is sent, and on how many connections at a time."""

    def __init__(self, server, count, connections):
        host, port = server.split(":")
        self.server = (host, int(port))
        self.authority = server.encode()
        self.count = count
        self.left = connections
        self.all_done = asyncio.Event()

    def alone(self):
        """For a connection that waits for no other."""
        host, port = self.server
        return World(f"{host}:{port}", self.count, 1)

    async def done(self):
        """Connections that have sent all stay until the others have, too."""
        self.left -= 1
        if self.left == 0:
            self.all_done.set()
        await self.all_done.wait()


def connection(change=None, **options):
    """`change`: transport parameters by id: a number or bytes."""
    settings = {"alpn_protocols": H3_ALPN, "max_datagram_frame_size": 65536, "max_data": 1 << 40, **options}
    configuration = QuicConfiguration(is_client=True, verify_mode=ssl.CERT_NONE, server_name="localhost", **settings)
    quic = QuicConnection(configuration=configuration)
    if change:
        original = quic._serialize_transport_parameters
        quic._serialize_transport_parameters = lambda: with_changes(original(), change)
    ignore_unknown_streams(quic)
    return quic


def ignore_unknown_streams(quic):
    """aioquic does not know of streams that were opened by packets of our own."""
    handlers = quic._QuicConnection__frame_handlers

    def tolerant(handler):
        def handle(*arguments):
            with contextlib.suppress(QuicConnectionError):
                handler(*arguments)

        return handle

    for kind in [RESET_STREAM, STOP_SENDING, MAX_STREAM_DATA, *range(STREAM, STREAM + 8)]:
        handler, epochs = handlers[kind]
        handlers[kind] = (tolerant(handler), epochs)


class Attacker(Client):
    sent = 0  # frames, packets or requests: what the case counts
    outcome = None  # how the gateway closed the connection
    hears_http = True

    def quic_event_received(self, event):
        if self.hears_http or self.http is None:
            super().quic_event_received(event)
        self.changed.set()

    def datagram_received(self, data, address):
        super().datagram_received(data, address)
        self.changed.set()

    @property
    def closed(self):
        return self._quic._close_event

    @property
    def control(self):
        return self.http._local_control_stream_id

    @property
    def encoder(self):
        return self.http._local_encoder_stream_id

    def packet(self, frames):
        """Sends frames in a 1-RTT packet, outside of all that aioquic knows of."""
        quic = self._quic
        crypto = quic._cryptos[Epoch.ONE_RTT]
        number = quic._packet_number
        quic._packet_number += 1
        header = bytes([0x43 | crypto.key_phase << 2]) + quic._peer_cid.cid + (number & 0xFFFFFFFF).to_bytes(4, "big")
        self._transport.sendto(crypto.encrypt_packet(header, frames.ljust(4, b"\0"), number), self.server)

    async def settled(self):
        """What was sent has arrived, or the connection is closed."""
        # A packet is acknowledged before its frames are judged: the second answer shows what became of the connection.
        for _ in range(2):
            if not self.closed:
                with contextlib.suppress(ConnectionError):
                    await asyncio.wait_for(self.ping(), SETTLE_SECONDS)

    async def packets(self, payloads, at_once=PACKETS_AT_ONCE):
        """Sends many packets, as fast as they are taken."""
        for index, payload in enumerate(payloads):
            self.packet(payload)
            if index % at_once == at_once - 1:
                await self.settled()
                if self.closed:
                    return
        await self.settled()

    async def counted_packets(self, payloads, at_once=PACKETS_AT_ONCE):
        """As above, where a packet is what counts."""

        def counted():
            for payload in payloads:
                self.sent += 1
                yield payload

        await self.packets(counted(), at_once)

    async def flood_streams(self, made, count, unidirectional=False):
        """Sends frames `made(stream)` for one stream after the other, as far as the gateway permits streams."""
        first = self.new_stream(unidirectional)
        index = 0
        while index < count and not self.closed:
            room = min(count, self.permitted(unidirectional) - first // 4, index + 400)
            if room <= index:
                await self.until(lambda: self.closed or self.permitted(unidirectional) - first // 4 > index)
                continue
            await self.flood(made(first + 4 * number) for number in range(index, room))
            index = room

    async def fill_streams(self, made, unidirectional=False):
        """As above, for all streams that may be open at one time."""
        first = self.new_stream(unidirectional)
        await self.flood(made(4 * number + first % 4) for number in range(first // 4, self.permitted(unidirectional)))

    def permitted(self, unidirectional):
        return self._quic._remote_max_streams_uni if unidirectional else self._quic._remote_max_streams_bidi

    async def flood(self, frames):
        """Sends many frames in full packets."""
        await self.packets(self.filled(frames))

    def filled(self, frames):
        payload = b""
        for frame in frames:
            if len(payload) + len(frame) > PAYLOAD_BYTES:
                yield payload
                payload = b""
            payload += frame
            self.sent += 1
        if payload:
            yield payload

    async def pour(self, stream, pieces):
        """Writes many pieces to a stream, as fast as they are taken."""
        waiting = 0
        for piece in pieces:
            with contextlib.suppress(ValueError, RuntimeError):  # the gateway has ended the stream
                self._quic.send_stream_data(stream, piece)
            self.sent += 1
            waiting += len(piece)
            if waiting > 8_000:
                waiting = 0
                self.transmit()
                await self.settled()
                if self.closed:
                    return
        self.transmit()
        await self.settled()

    async def open_session(self, world, path):
        extra = [(b":protocol", b"webtransport"), (b"origin", b"https://" + world.authority)]
        session = self.request(b"CONNECT", world.authority, path, extra, end=False)
        await self.until(lambda: session in self.headers or self.closed)
        return session

    def new_stream(self, unidirectional=False):
        return self._quic.get_next_available_stream_id(is_unidirectional=unidirectional)

    async def connect_to(self, world):
        self.server = world.server
        await self.another_port()
        self.connect(world.server)
        await self.wait_connected()

    async def another_port(self):
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        self.transports.append(transport)
        self._transport = transport


@contextlib.asynccontextmanager
async def attacker(world, quic=None):
    client = Attacker(quic or connection())
    client.transports = []
    try:
        await client.connect_to(world)
        yield client
        await world.done()
    finally:
        client.outcome = client.closed
        client.close()
        for transport in client.transports:
            transport.close()


def stream_frame(stream, offset, data, fin=False):
    kind = 0x0E | (1 if fin else 0)
    return varint(kind) + varint(stream) + varint(offset) + varint(len(data)) + data


def h3_frame(kind, payload=b""):
    return varint(kind) + varint(len(payload)) + payload
