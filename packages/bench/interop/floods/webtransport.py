"""Sessions of WebTransport that are opened, filled and left."""

import os

from attacker import attacker, connection, h3_frame, stream_frame, varint

WEBTRANSPORT_STREAM, UNIDIRECTIONAL_STREAM = 0x41, 0x54
CLOSE_SESSION = h3_frame(0x2843, (3).to_bytes(4, "big"))
SESSIONS_PER_CONNECTION = 10


def open_stream(client, session, data, unidirectional):
    stream = client.http.create_webtransport_stream(session, is_unidirectional=unidirectional)
    client.raw_streams.add(stream)
    client._quic.send_stream_data(stream, data)
    return stream


async def sessions_in_turns(world, end, path=b"/echo"):
    left = world.count // 50
    client = None
    while left > 0:
        async with attacker(world.alone(), connection(max_data=1 << 20)) as client:
            for _ in range(min(left, SESSIONS_PER_CONNECTION)):
                session = await client.open_session(world, path)
                for unidirectional in [False, True]:
                    open_stream(client, session, os.urandom(20_000), unidirectional)
                client.http.send_datagram(session, bytes(500))
                client.transmit()
                await client.settled()
                end(client, session)
                client.transmit()
                await client.settled()
                left -= 1
    client.sent = world.count // 50
    await world.done()
    return client


async def sessions_that_are_closed(world):
    close = lambda client, session: client.http.send_data(session, CLOSE_SESSION, end_stream=True)
    return await sessions_in_turns(world, close)


async def sessions_that_are_cut_off(world):
    """In the middle of a capsule."""

    def end(client, session):
        client.http.send_data(session, CLOSE_SESSION[:4], end_stream=False)
        client._quic.reset_stream(session, 0x10C)

    return await sessions_in_turns(world, end)


async def sessions_that_are_left_open(world):
    return await sessions_in_turns(world, lambda client, session: None, b"/ignores")


async def streams_that_nobody_reads(world, path):
    """As much as the gateway takes; what comes back is not read either."""
    async with attacker(world, connection(max_data=1 << 16, max_stream_data=1 << 12)) as client:
        session = await client.open_session(world, path)
        client._quic._write_connection_limits = lambda *arguments, **options: None
        client._quic._write_stream_limits = lambda *arguments, **options: None
        for index in range(world.count // 50):
            open_stream(client, session, bytes(300_000), index % 2 == 1)
            client.sent += 1
        client.transmit()
        for _ in range(20):
            await client.settled()
        return client


async def echoes_that_nobody_reads(world):
    return await streams_that_nobody_reads(world, b"/echo")


async def streams_that_no_module_reads(world):
    return await streams_that_nobody_reads(world, b"/ignores")


async def what_a_module_floods_is_not_read(world):
    return await streams_that_nobody_reads(world, b"/floods")


async def streams_of_sessions_to_come(world):
    """The request that would open the session never comes."""
    async with attacker(world) as client:
        far = varint(4 * 900)
        for unidirectional, kind in [(False, WEBTRANSPORT_STREAM), (True, UNIDIRECTIONAL_STREAM)]:
            head = varint(kind) + far + bytes(500)
            await client.flood_streams(lambda stream: stream_frame(stream, 0, head), 800, unidirectional)
        return client


async def more_sessions_than_permitted(world):
    async with attacker(world) as client:
        extra = [(b":protocol", b"webtransport"), (b"origin", b"https://" + world.authority)]
        for _ in range(600):
            client.request(b"CONNECT", world.authority, b"/echo", extra, end=False)
            client.sent += 1
        await client.settled()
        return client


CASES = [
    sessions_that_are_closed, sessions_that_are_cut_off, sessions_that_are_left_open, echoes_that_nobody_reads,
    streams_that_no_module_reads, what_a_module_floods_is_not_read, streams_of_sessions_to_come,
    more_sessions_than_permitted,
]  # fmt: skip
