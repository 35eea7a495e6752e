"""Floods of QPACK (RFC 9204)."""

import os

from attacker import attacker, h3_frame, stream_frame, varint
from http3 import HEADERS, field_section, on_request_stream, prefixed, repeated


def capacity(value):
    return prefixed(0x20, 5, value)


def insertion(name, value):
    return prefixed(0x40, 5, len(name)) + name + prefixed(0, 7, len(value)) + value


async def on_encoder_stream(world, pieces):
    async with attacker(world) as client:
        await client.settled()
        client.hears_http = False
        await client.pour(client.encoder, pieces)
        return client


async def insertions_that_nobody_uses(world):
    def pieces():
        yield capacity(4096)
        for index in range(world.count):
            yield insertion(b"name-%d" % index, b"v" * 50)

    return await on_encoder_stream(world, pieces())


async def capacities_again_and_again(world):
    return await on_encoder_stream(world, (capacity(index % 2 * 4096) for index in range(world.count)))


async def a_capacity_beyond_the_limit(world):
    return await on_encoder_stream(world, [capacity(1 << 30)])


async def duplicates(world):
    def pieces():
        yield capacity(4096) + insertion(b"a", b"b")
        for _ in range(world.count):
            yield b"\x00"

    return await on_encoder_stream(world, pieces())


async def an_insertion_without_end(world):
    def pieces():
        yield capacity(4096) + prefixed(0x40, 5, 1 << 40)
        for _ in range(world.count):
            yield b"aaaaaaaa"

    return await on_encoder_stream(world, pieces())


async def a_giant_huffman_string(world):
    def pieces():
        yield capacity(4096) + prefixed(0x60, 5, 1 << 20)
        for _ in range(world.count):
            yield bytes(8)

    return await on_encoder_stream(world, pieces())


# A field section that needs an entry that has not come: RFC 9204 §4.5.1.1, with 128 entries at most.
BLOCKED = h3_frame(HEADERS, prefixed(0, 8, 2) + b"\x00" + bytes([0x80]))


async def blocked_streams(world, count):
    async with attacker(world) as client:
        await client.pour(client.encoder, [capacity(4096)])
        client.sent = 0
        body = BLOCKED + bytes(1000)
        await client.flood(stream_frame(4 * index, 0, body) for index in range(count))
        return client


async def blocked_streams_to_the_limit(world):
    return await blocked_streams(world, 16)


async def blocked_streams_beyond_the_limit(world):
    return await blocked_streams(world, 900)


async def a_giant_huffman_string_in_a_request(world):
    first = varint(HEADERS) + varint(1 << 30) + b"\0\0" + prefixed(0x28, 3, 1 << 20)
    return await on_request_stream(world, first, repeated(world, bytes(8)))


async def fields_of_huffman_that_grow(world):
    """Five bits of the shortest codes are a byte of text."""
    async with attacker(world) as client:
        value = b"\x00" * 19000
        field = prefixed(0x20, 3, 1) + b"a" + prefixed(0x80, 7, len(value)) + value
        head = h3_frame(HEADERS, field_section(world) + field)
        for index in range(max(10, world.count // 1000)):
            stream = client.new_stream()
            client._quic.send_stream_data(stream, head, end_stream=True)
            client.transmit()
            client.sent += 1
            await client.settled()
            if client.closed:
                break
        return client


async def on_decoder_stream(world, pieces):
    async with attacker(world) as client:
        await client.pour(client.http._local_decoder_stream_id, pieces)
        return client


async def cancellations_without_end(world):
    return await on_decoder_stream(world, (prefixed(0x40, 6, 4 * index) for index in range(4 * world.count)))


async def acknowledgements_of_nothing(world):
    return await on_decoder_stream(world, (prefixed(0x80, 7, 4 * index) for index in range(world.count)))


async def increments_of_nothing(world):
    return await on_decoder_stream(world, (b"\x01" for _ in range(world.count)))


async def garbage_for_the_decoder(world):
    return await on_decoder_stream(world, (os.urandom(100) for _ in range(world.count // 100)))


async def a_number_without_end(world):
    return await on_decoder_stream(world, (b"\xff" for _ in range(world.count)))


CASES = [
    insertions_that_nobody_uses, capacities_again_and_again, a_capacity_beyond_the_limit, duplicates,
    an_insertion_without_end, a_giant_huffman_string, blocked_streams_to_the_limit, blocked_streams_beyond_the_limit,
    a_giant_huffman_string_in_a_request, fields_of_huffman_that_grow, cancellations_without_end,
    acknowledgements_of_nothing, increments_of_nothing, garbage_for_the_decoder, a_number_without_end,
]  # fmt: skip
