"""aioquic as the server, for the interoperability tests.

  aioquic_server.py CERTIFICATE KEY [--retry]

Listens on a free UDP port of 127.0.0.1, prints `ready PORT`, and serves until it is ended:
  GET /bytes/N       N bytes that depend on their position only (h3 and hq-interop)
  POST /echo         the request's body
  CONNECT /echo      WebTransport: streams and datagrams come back
"""

import asyncio
import sys

from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, DatagramReceived, HeadersReceived, WebTransportStreamDataReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, StreamDataReceived

HQ = "hq-interop"


def body_of(path):
    """Bytes for /bytes/N, or nothing."""
    prefix = b"/bytes/"
    if not path.startswith(prefix) or not path[len(prefix) :].isdigit():
        return None
    count = int(path[len(prefix) :])
    pattern = bytes(index * 31 % 251 for index in range(251))
    return (pattern * (count // len(pattern) + 1))[:count]


class Server(QuicConnectionProtocol):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.http = None
        self.requests = {}
        self.bodies = {}
        self.answers = {}

    def quic_event_received(self, event):
        if isinstance(event, ProtocolNegotiated) and event.alpn_protocol != HQ:
            self.http = H3Connection(self._quic, enable_webtransport=True)
        if self.http is None:
            if isinstance(event, StreamDataReceived):
                self.hq_data(event)
            return
        for http_event in self.http.handle_event(event):
            self.http_event(http_event)
        self.transmit()

    def hq_data(self, event):
        request = self.bodies.setdefault(event.stream_id, bytearray())
        request.extend(event.data)
        if b"\r\n" in request or event.end_stream:
            path = bytes(request).split()[1] if len(request.split()) > 1 else b""
            self._quic.send_stream_data(event.stream_id, body_of(path) or b"", end_stream=True)
            self.transmit()

    def http_event(self, event):
        if isinstance(event, HeadersReceived):
            self.requests[event.stream_id] = dict(event.headers)
            if self.requests[event.stream_id].get(b":protocol") == b"webtransport":
                self.http.send_headers(event.stream_id, [(b":status", b"200")])
            elif event.stream_ended:
                self.answer(event.stream_id)
        elif isinstance(event, DataReceived) and b":protocol" not in self.requests[event.stream_id]:
            self.bodies.setdefault(event.stream_id, bytearray()).extend(event.data)
            if event.stream_ended:
                self.answer(event.stream_id)
        elif isinstance(event, DatagramReceived):
            self.http.send_datagram(event.stream_id, event.data)
        elif isinstance(event, WebTransportStreamDataReceived):
            self.echo(event)

    def answer(self, stream):
        request = self.requests[stream]
        body = body_of(request[b":path"])
        if request[b":method"] == b"POST":
            body = bytes(self.bodies.get(stream, b""))
        status = b"404" if body is None else b"200"
        body = body or b""
        headers = [(b":status", status), (b"content-length", str(len(body)).encode())]
        self.http.send_headers(stream, headers)
        self.http.send_data(stream, body, end_stream=True)

    def echo(self, event):
        target = event.stream_id
        if target % 4 == 2:  # a client's unidirectional stream
            if target not in self.answers:
                self.answers[target] = self.http.create_webtransport_stream(event.session_id, is_unidirectional=True)
            target = self.answers[target]
        self._quic.send_stream_data(target, event.data, end_stream=event.stream_ended)


async def main(certificate, key, retry):
    configuration = QuicConfiguration(is_client=False, alpn_protocols=[*H3_ALPN, HQ], max_datagram_frame_size=65536)
    configuration.load_cert_chain(certificate, key)
    tickets = {}
    server = await serve(
        "127.0.0.1",
        0,
        configuration=configuration,
        create_protocol=Server,
        retry=retry,
        session_ticket_handler=lambda ticket: tickets.update({ticket.ticket: ticket}),
        session_ticket_fetcher=lambda label: tickets.pop(label, None),
    )
    port = server._transport.get_extra_info("sockname")[1]
    print(f"ready {port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--retry"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    asyncio.run(main(*arguments, retry="--retry" in sys.argv))
