"""aioquic as a client that ends its WebTransport streams and sessions in every way. Prints one line of JSON.

  aioquic_sessions.py HOST PORT PATH [ROUNDS]

In each round every behaviour of streams meets every end of a session. The JSON has one entry for each pair: the
status of the session, and what the server said on its CONNECT stream (hexadecimal).
"""

import asyncio
import itertools
import json
import ssl
import sys

from aioquic.asyncio import connect
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration

from aioquic_client import Client

TIMEOUT_SECONDS = 30
# draft-ietf-webtrans-http3-02 §5: CLOSE_WEBTRANSPORT_SESSION with code 3 and without a reason.
CLOSE_SESSION = bytes([0x68, 0x43, 4, 0, 0, 0, 3])
# Application error 5 of a WebTransport stream.
STREAM_ERROR = 0x52E4A40FA8DB + 5

STREAMS = ["end", "reset", "stop", "open"]
ENDINGS = ["session", "connection", "silence"]


class Sessions(Client):
    silent = False

    def transmit(self):
        if not self.silent:
            super().transmit()

    async def wait_closed(self):
        if not self.silent:
            await super().wait_closed()

    async def settled(self):
        """The server has what was sent so far."""
        await asyncio.wait_for(self.ping(), TIMEOUT_SECONDS)

    async def open(self, authority, path):
        extra = [(b":protocol", b"webtransport"), (b"origin", b"https://" + authority)]
        session = self.request(b"CONNECT", authority, path, extra, end=False)
        await self.until(lambda: session in self.headers)
        return session

    def open_streams(self, session):
        for unidirectional in (False, True, False, True):
            stream = self.http.create_webtransport_stream(session, is_unidirectional=unidirectional)
            self.raw_streams.add(stream)
            self._quic.send_stream_data(stream, b"data " * 2000)
            yield stream, unidirectional

    def behave(self, behaviour, stream, unidirectional):
        try:
            self._behave(behaviour, stream, unidirectional)
        except (ValueError, RuntimeError):
            # aioquic's way to say that the server has ended the stream meanwhile.
            pass

    def _behave(self, behaviour, stream, unidirectional):
        if behaviour == "end":
            self._quic.send_stream_data(stream, b"the end", end_stream=True)
        elif behaviour == "reset":
            self._quic.reset_stream(stream, STREAM_ERROR)
        elif behaviour == "stop" and not unidirectional:
            self._quic.stop_stream(stream, STREAM_ERROR)


async def one_session(configuration, host, port, path, behaviour, ending):
    authority = f"{host}:{port}".encode()
    async with connect(host, int(port), configuration=configuration, create_protocol=Sessions) as client:
        session = await asyncio.wait_for(client.open(authority, path.encode()), TIMEOUT_SECONDS)
        status = int(client.headers[session][b":status"])
        if status == 200:
            streams = list(client.open_streams(session))
            for _ in range(5):
                client.http.send_datagram(session, b"datagram")
            client.transmit()
            await client.settled()
            for stream, unidirectional in streams:
                client.behave(behaviour, stream, unidirectional)
            client.transmit()
            await client.settled()
            if ending == "session" and not client.ended.get(session):
                client.http.send_data(session, CLOSE_SESSION, end_stream=True)
                client.transmit()
                await asyncio.wait_for(client.until(lambda: client.ended.get(session)), TIMEOUT_SECONDS)
        said = bytes(client.bodies.get(session, b"")).hex()
        if ending == "connection":
            client.close(error_code=0x10C, reason_phrase="gone")
        # Nothing more is sent, not even that the connection closes.
        client.silent = ending == "silence"
    return {"streams": behaviour, "ending": ending, "status": status, "said": said}


async def main(host, port, path, rounds="1"):
    results = []
    for _ in range(int(rounds)):
        for behaviour, ending in itertools.product(STREAMS, ENDINGS):
            configuration = QuicConfiguration(
                is_client=True,
                alpn_protocols=H3_ALPN,
                verify_mode=ssl.CERT_NONE,
                max_datagram_frame_size=65536,
                server_name="localhost",
            )
            results.append(await one_session(configuration, host, port, path, behaviour, ending))
    print(json.dumps(results))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
