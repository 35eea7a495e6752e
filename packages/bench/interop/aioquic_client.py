"""aioquic as the client, for the interoperability tests. Prints one line of JSON.

  aioquic_client.py http3 HOST PORT PATH
  aioquic_client.py hq HOST PORT PATH
  aioquic_client.py webtransport HOST PORT PATH
"""

import asyncio
import hashlib
import json
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, DatagramReceived, HeadersReceived, WebTransportStreamDataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, StreamDataReceived

TIMEOUT_SECONDS = 30


class Client(QuicConnectionProtocol):
    """HTTP/3 on top of the connection; answers are collected by stream."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = None
        self.headers = {}
        self.bodies = {}
        self.ended = {}
        self.datagrams = asyncio.Queue()
        self.raw_streams = set()
        self.changed = asyncio.Event()

    def quic_event_received(self, event):
        # Before the server's SETTINGS, which may come with its first packets.
        if isinstance(event, ProtocolNegotiated) and event.alpn_protocol in H3_ALPN:
            self.begin_http()
        raw = self.http is None or getattr(event, "stream_id", None) in self.raw_streams
        if raw:
            if isinstance(event, StreamDataReceived):
                self._add(event.stream_id, event.data, event.end_stream)
            return
        for http_event in self.http.handle_event(event):
            if isinstance(http_event, HeadersReceived):
                self.headers[http_event.stream_id] = dict(http_event.headers)
                self._add(http_event.stream_id, b"", http_event.stream_ended)
            elif isinstance(http_event, DataReceived):
                self._add(http_event.stream_id, http_event.data, http_event.stream_ended)
            elif isinstance(http_event, WebTransportStreamDataReceived):
                self._add(http_event.stream_id, http_event.data, http_event.stream_ended)
            elif isinstance(http_event, DatagramReceived):
                self.datagrams.put_nowait(http_event.data)
        self.changed.set()

    def begin_http(self):
        """Earlier than ALPN is known where requests go in 0-RTT."""
        if self.http is None:
            self.http = H3Connection(self._quic, enable_webtransport=True)

    def _add(self, stream, data, ended):
        self.bodies.setdefault(stream, bytearray()).extend(data)
        self.ended[stream] = self.ended.get(stream, False) or ended
        self.changed.set()

    async def until(self, condition):
        while not condition():
            self.changed.clear()
            await self.changed.wait()

    def request(self, method, authority, path, extra=(), end=True):
        stream = self._quic.get_next_available_stream_id()
        headers = [
            (b":method", method),
            (b":scheme", b"https"),
            (b":authority", authority),
            (b":path", path),
            *extra,
        ]
        self.http.send_headers(stream, headers, end_stream=end)
        self.transmit()
        return stream


def described(body, **rest):
    return {**rest, "bytes": len(body), "sha256": hashlib.sha256(bytes(body)).hexdigest()}


async def http3(client, authority, path):
    stream = client.request(b"GET", authority, path)
    await client.until(lambda: client.ended.get(stream))
    return described(client.bodies[stream], status=int(client.headers[stream][b":status"]))


async def hq(client, _authority, path):
    stream = client._quic.get_next_available_stream_id()
    client._quic.send_stream_data(stream, b"GET " + path + b"\r\n", end_stream=True)
    client.transmit()
    await client.until(lambda: client.ended.get(stream))
    return described(client.bodies[stream])


async def webtransport(client, authority, path):
    extra = [(b":protocol", b"webtransport"), (b"origin", b"https://" + authority)]
    session = client.request(b"CONNECT", authority, path, extra, end=False)
    await client.until(lambda: session in client.headers)
    status = int(client.headers[session][b":status"])
    if status != 200:
        return {"status": status}
    return {
        "status": status,
        "bidirectional": await echo_on_the_same_stream(client, session),
        "unidirectional": await echo_on_a_new_stream(client, session),
        "datagram": await echo_of_a_datagram(client, session),
    }


async def echo_on_the_same_stream(client, session):
    sent = bytes(range(256)) * 400
    stream = client.http.create_webtransport_stream(session, is_unidirectional=False)
    # aioquic would read the response as HTTP/3 frames: it is plain data.
    client.raw_streams.add(stream)
    client._quic.send_stream_data(stream, sent, end_stream=True)
    client.transmit()
    await client.until(lambda: client.ended.get(stream))
    return bytes(client.bodies[stream]) == sent


async def echo_on_a_new_stream(client, session):
    sent = b"one way " * 1000
    known = set(client.bodies)
    stream = client.http.create_webtransport_stream(session, is_unidirectional=True)
    client._quic.send_stream_data(stream, sent, end_stream=True)
    client.transmit()
    # Unidirectional streams of the server have 3 in their low bits.
    answers = lambda: [one for one, ended in client.ended.items() if ended and one not in known and one % 4 == 3]
    await client.until(answers)
    return bytes(client.bodies[answers()[0]]) == sent


async def echo_of_a_datagram(client, session):
    # Datagrams may be lost: sent again until one comes back.
    for attempt in range(50):
        sent = b"datagram %d" % attempt
        client.http.send_datagram(session, sent)
        client.transmit()
        try:
            return (await asyncio.wait_for(client.datagrams.get(), 0.2)).startswith(b"datagram ")
        except asyncio.TimeoutError:
            continue
    return False


MODES = {"http3": (http3, H3_ALPN), "hq": (hq, ["hq-interop"]), "webtransport": (webtransport, H3_ALPN)}


async def main(mode, host, port, path):
    run, protocols = MODES[mode]
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=protocols,
        verify_mode=ssl.CERT_NONE,
        max_datagram_frame_size=65536,
        server_name="localhost",
    )
    authority = f"{host}:{port}".encode()
    async with connect(host, int(port), configuration=configuration, create_protocol=Client) as client:
        result = await asyncio.wait_for(run(client, authority, path.encode()), TIMEOUT_SECONDS)
    print(json.dumps(result))


if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in MODES:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
