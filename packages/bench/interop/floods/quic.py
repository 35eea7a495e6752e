"""Floods below HTTP: frames and packets of QUIC."""

import os
import socket

from aioquic.quic.connection import QuicConnectionId
from aioquic.tls import Epoch

from attacker import attacker, connection, stream_frame, varint

MULTIPATH = {0x3E: 4}


async def frames(world, made, quic=None):
    async with attacker(world, quic) as client:
        await client.flood(made(index) for index in range(world.count))
        return client


async def pings(world):
    return await frames(world, lambda index: varint(1))


async def pings_in_packets_of_their_own(world):
    async with attacker(world) as client:
        await client.counted_packets(varint(1) for _ in range(world.count))
        return client


async def path_challenges(world):
    return await frames(world, lambda index: varint(0x1A) + os.urandom(8))


async def path_responses(world):
    return await frames(world, lambda index: varint(0x1B) + os.urandom(8))


async def connection_ids(world):
    """Each new id retires all before."""
    async with attacker(world) as client:
        quic = client._quic
        await client.settled()
        quic._replenish_connection_ids = lambda: None

        def made(index):
            sequence = index + 20
            known = QuicConnectionId(
                cid=os.urandom(8), sequence_number=sequence, stateless_reset_token=os.urandom(16), was_sent=True
            )
            quic._host_cids = [*quic._host_cids[-50:], known]
            quic._host_cid_seq = sequence + 1
            return varint(0x18) + varint(sequence) + varint(sequence) + b"\x08" + known.cid + known.stateless_reset_token

        await client.counted_packets((made(index) for index in range(world.count // 10)), at_once=4)
        return client


async def retirements(world):
    """Of each id as it comes from the gateway, unused."""
    async with attacker(world) as client:
        for _ in range(world.count // 100):
            await client.settled()
            while client._quic._peer_cid_available:
                client.packet(varint(0x19) + varint(client._quic._peer_cid_available.pop().sequence_number))
                client.sent += 1
        return client


async def retired_ids_again(world):
    async with attacker(world) as client:
        await client.until(lambda: client._quic._peer_cid_available)
        client._quic.change_connection_id()
        client.transmit()
        await client.settled()
        await client.flood(varint(0x19) + varint(0) for _ in range(world.count))
        return client


async def crypto_in_pieces(world):
    """Of a message that never has its first byte, from the end to the beginning, then again."""
    return await frames(world, lambda index: varint(6) + varint(4000 - index * 2 % 4000) + b"\x01a")


async def crypto_far_away(world):
    return await frames(world, lambda index: varint(6) + varint(2**40) + b"\x01a")


async def stream_in_pieces_with_gaps(world):
    """One byte in two, from the end of the window to its beginning, then again."""
    window = 200_000
    return await frames(world, lambda index: stream_frame(0, window - index * 2 % window + 1, b"x"))


async def bytes_that_differ(world):
    return await frames(world, lambda index: stream_frame(0, 10 + index % 1000, bytes([index % 251])))


async def the_same_byte_again(world):
    return await frames(world, lambda index: stream_frame(0, 100_000, b"x"))


async def a_gap_on_every_stream(world):
    """A block is held for each although a byte has come."""
    async with attacker(world) as client:
        for unidirectional in [False, True]:
            await client.fill_streams(lambda stream: stream_frame(stream, 1, b"x"), unidirectional)
        return client


async def all_streams_by_two_frames(world):
    """The last stream of a kind opens all before it: RFC 9000 §3.2."""
    async with attacker(world) as client:
        last = [4 * client.permitted(False) - 4, 4 * client.permitted(True) - 2]
        await client.flood(stream_frame(stream, 0, b"\xc0") for stream in last)
        return client


async def limits_that_grow(world):
    def made(index):
        kind = [0x10, 0x12, 0x13][index % 3]
        return varint(kind) + varint(2**20 + index)

    return await frames(world, made)


async def blocked_frames(world):
    kinds = [[0x14, 1], [0x15, 0, 1], [0x16, 1], [0x17, 1]]
    return await frames(world, lambda index: b"".join(varint(number) for number in kinds[index % 4]))


async def packet_numbers_with_gaps(world):
    async with attacker(world) as client:

        def payloads():
            for _ in range(world.count):
                client._quic._packet_number += 1
                yield varint(1)

        await client.counted_packets(payloads())
        return client


def ack(largest, ranges):
    """`ranges`: the length of the first, then gap and length of each further one."""
    first, *rest = ranges
    further = b"".join(varint(gap) + varint(length) for gap, length in rest)
    return varint(2) + varint(largest) + varint(0) + varint(len(rest)) + varint(first) + further


def numbers_received(client):
    """The numbers of all packets that arrive from now on. The gateway skips some, and nobody may acknowledge those."""
    queue = client._quic._spaces[Epoch.ONE_RTT].ack_queue
    received = set()
    add = queue.add

    def note(start, stop=None):
        received.update(range(start, start + 1 if stop is None else stop))
        add(start, stop)

    queue.add = note
    return received


async def acks_of_many_ranges(world):
    """As if every other packet of a download were lost."""
    async with attacker(world) as client:
        received = numbers_received(client)
        stream = client.request(b"GET", world.authority, b"/large")
        await client.until(lambda: client.ended.get(stream) or client.closed)
        largest, *others = sorted(received, reverse=True)
        ranges = [0]
        lowest = largest
        for number in others:
            if lowest - number >= 2 and len(ranges) <= 500:
                ranges.append((lowest - number - 2, 0))
                lowest = number
        one = ack(largest, ranges)
        await client.counted_packets(one for _ in range(world.count // 10))
        return client


async def an_ack_of_what_was_not_sent(world):
    async with attacker(world) as client:
        client.packet(ack(100_000, [10]))
        client.sent += 1
        await client.settled()
        return client


async def optimistic_acks(world):
    """Of what the gateway may have sent and has not arrived: numbers that it skipped tell."""
    async with attacker(world) as client:
        for _ in range(2):
            client.request(b"GET", world.authority, b"/large")

        def payloads():
            for _ in range(3_000):
                next_number = client._quic._spaces[Epoch.ONE_RTT].expected_packet_number
                yield ack(next_number + 2, [next_number + 2])

        await client.counted_packets(payloads(), at_once=5)
        return client


async def key_updates_one_after_the_other(world):
    async with attacker(world) as client:
        await client.settled()
        await client.until(lambda: client._quic._handshake_confirmed)
        for _ in range(world.count // 100):
            client.request_key_update()
            client.sent += 1
            await client.settled()
            if client.closed:
                break
        return client


async def tokens_from_a_client(world):
    return await frames(world, lambda index: varint(7) + b"\x04abcd")


async def datagrams_never_read(world):
    """Of a session whose module takes none of them."""
    async with attacker(world) as client:
        session = await client.open_session(world, b"/ignores")
        payload = varint(session // 4) + bytes(100)
        await client.flood(varint(0x31) + varint(len(payload)) + payload for _ in range(world.count))
        return client


class Ports:
    """Sends each datagram from another port; nobody hears what comes back to these."""

    def __init__(self, count):
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
        self.turn = 0

    def sendto(self, data, address):
        self.turn += 1
        self.sockets[self.turn % len(self.sockets)].sendto(data, address)

    def close(self):
        for one in self.sockets:
            one.close()


async def addresses_that_change(world):
    async with attacker(world) as client:
        own, ports = client._transport, Ports(100)
        for _ in range(world.count // 100):
            client._transport = ports
            for _ in range(10):
                client.packet(varint(1))
                client.sent += 1
            client._transport = own
            await client.settled()
        ports.close()
        return client


# --- several paths (RFC 10069)


def multipath():
    """aioquic knows nothing of paths: it reads the acknowledgements of path 0, and skips the rest."""
    quic = connection(MULTIPATH)
    handlers = quic._QuicConnection__frame_handlers
    epochs = handlers[0x01][1]

    def numbers(count):
        def skip(_context, _kind, buffer):
            for _ in range(count):
                buffer.pull_uint_var()

        return skip

    def new_id(_context, _kind, buffer):
        numbers(3)(None, None, buffer)
        buffer.pull_bytes(buffer.pull_uint8() + 16)

    def path_ack(context, kind, buffer):
        buffer.pull_uint_var()
        quic._handle_ack_frame(context, kind - 0x3E + 2, buffer)

    handlers |= {
        0x3E: (path_ack, epochs), 0x3F: (path_ack, epochs), 0x3E75: (numbers(2), epochs), 0x3E76: (numbers(2), epochs),
        0x3E77: (numbers(2), epochs), 0x3E78: (new_id, epochs), 0x3E79: (numbers(2), epochs), 0x3E7A: (numbers(1), epochs),
        0x3E7B: (numbers(1), epochs), 0x3E7C: (numbers(2), epochs),
    }  # fmt: skip
    return quic


async def path_statuses(world):
    return await frames(world, lambda index: varint(0x3E76 + index % 2) + varint(0) + varint(index), multipath())


async def paths_blocked(world):
    return await frames(world, lambda index: varint(0x3E7B) + varint(1), multipath())


async def path_ids_blocked(world):
    return await frames(world, lambda index: varint(0x3E7C) + varint(1 + index % 3) + varint(0), multipath())


async def path_maxima(world):
    return await frames(world, lambda index: varint(0x3E7A) + varint(100 + index), multipath())


async def abandoned_paths(world):
    """Of paths that were never opened, as they become permitted."""
    return await frames(world, lambda index: varint(0x3E75) + varint(1 + index % 3) + varint(0), multipath())


async def path_connection_ids(world):
    def made(index):
        return varint(0x3E78) + varint(1 + index % 3) + varint(index // 3) + varint(index // 3) + b"\x08" + os.urandom(24)

    return await frames(world, made, multipath())


CASES = [
    pings, pings_in_packets_of_their_own, path_challenges, path_responses, connection_ids, retirements, retired_ids_again,
    crypto_in_pieces, crypto_far_away, stream_in_pieces_with_gaps, bytes_that_differ, the_same_byte_again,
    a_gap_on_every_stream, all_streams_by_two_frames, limits_that_grow, blocked_frames, packet_numbers_with_gaps,
    acks_of_many_ranges, an_ack_of_what_was_not_sent, optimistic_acks,
    key_updates_one_after_the_other, tokens_from_a_client, datagrams_never_read, addresses_that_change, path_statuses,
    paths_blocked, path_ids_blocked, path_maxima, abandoned_paths, path_connection_ids,
]  # fmt: skip
