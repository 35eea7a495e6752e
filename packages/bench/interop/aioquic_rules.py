"""aioquic as clients that RFC 9000 permits and that are rare, for the interoperability tests.

  aioquic_rules.py HOST:PORT OTHER_HOST:PORT PATH:SHA256…    PATHs from the smallest to the largest file

Each case below is a client of its own. Prints a JSON object with what came of each: `served`, or what went wrong.
OTHER is a gateway of the same site that did not issue the tickets of the first.
"""

import asyncio
import contextlib
import json
import os
import sys

from aioquic.tls import Epoch

from aioquic_rare import (
    ACK_DELAY_EXPONENT, CONNECTION_ID_LIMIT, DISABLE_ACTIVE_MIGRATION, INITIAL_SOURCE_ID, LARGEST, MAX_ACK_DELAY, MAX_DATA,
    MAX_DATAGRAM_FRAME_SIZE, MAX_IDLE_TIMEOUT, MAX_STREAM_DATA_BIDI_LOCAL, MAX_STREAM_DATA_BIDI_REMOTE, MAX_STREAM_DATA_UNI,
    MAX_STREAMS_BIDI, MAX_STREAMS_UNI, MAX_UDP_PAYLOAD_SIZE, RESET_TOKEN, World, another_port, connection, get, opened,
    received, serves,
)  # fmt: skip

TIMEOUT_SECONDS = 60
TRANSPORT_PARAMETER_ERROR = 0x8


# --- transport parameters


async def parameters_at_their_least(world):
    change = {
        MAX_UDP_PAYLOAD_SIZE: 1200, MAX_DATA: 0, MAX_STREAM_DATA_BIDI_LOCAL: 0, MAX_STREAM_DATA_BIDI_REMOTE: 0,
        MAX_STREAM_DATA_UNI: 1024, MAX_STREAMS_BIDI: 0, MAX_STREAMS_UNI: 0, ACK_DELAY_EXPONENT: 0, MAX_ACK_DELAY: 0,
        CONNECTION_ID_LIMIT: 2, MAX_DATAGRAM_FRAME_SIZE: 1,
    }  # fmt: skip
    quic = connection(change)
    quic._local_ack_delay_exponent = 0
    # What is permitted after all is said in frames, once there are 1-RTT keys.
    for limit in [quic._local_max_data, quic._local_max_streams_bidi, quic._local_max_streams_uni]:
        limit.sent = 0
    told = set()
    original = quic._write_stream_limits

    def write_stream_limits(builder, space, stream):
        if stream.stream_id % 4 == 0 and stream.stream_id not in told:
            told.add(stream.stream_id)
            stream.max_stream_data_local_sent = 0
        original(builder=builder, space=space, stream=stream)

    quic._write_stream_limits = write_stream_limits
    client = await serves(world, quic, world.large)
    assert client.largest <= 1200, f"a datagram of {client.largest} bytes came"


async def parameters_at_their_most(world):
    change = {
        MAX_IDLE_TIMEOUT: LARGEST, MAX_UDP_PAYLOAD_SIZE: LARGEST, MAX_DATA: LARGEST, MAX_STREAM_DATA_BIDI_LOCAL: LARGEST,
        MAX_STREAM_DATA_BIDI_REMOTE: LARGEST, MAX_STREAM_DATA_UNI: LARGEST, MAX_STREAMS_BIDI: 2**60, MAX_STREAMS_UNI: 2**60,
        ACK_DELAY_EXPONENT: 20, MAX_ACK_DELAY: 2**14 - 1, CONNECTION_ID_LIMIT: LARGEST, MAX_DATAGRAM_FRAME_SIZE: LARGEST,
    }  # fmt: skip
    quic = connection(change)
    quic._local_ack_delay_exponent = 20
    await serves(world, quic, world.large)


async def parameters_that_nobody_knows(world):
    grease = {27 + 31 * number: os.urandom(number % 50) for number in [0, 1, 2, 77, 10**6, 10**15]}
    await serves(world, connection({**grease, LARGEST: b"", 0x7FFFFFFF: os.urandom(300)}), world.medium)


async def parameters_against_the_rules(world):
    for change in [
        {MAX_UDP_PAYLOAD_SIZE: 1199}, {ACK_DELAY_EXPONENT: 21}, {MAX_ACK_DELAY: 2**14}, {CONNECTION_ID_LIMIT: 1},
        {MAX_STREAMS_BIDI: 2**60 + 1}, {MAX_STREAMS_UNI: 2**60 + 1}, {RESET_TOKEN: bytes(16)}, {0: bytes(8)},
        {INITIAL_SOURCE_ID: None}, {INITIAL_SOURCE_ID: bytes(8)}, {MAX_DATA: b""}, {MAX_DATA: b"\x01\x02"},
    ]:  # fmt: skip
        quic = connection(change)
        async with opened(quic, world.server) as client:
            with contextlib.suppress(ConnectionError):
                await client.wait_connected()
            await client.wait_closed()
            code = quic._close_event.error_code
            assert code == TRANSPORT_PARAMETER_ERROR, f"{change}: {code:#x}"
    await serves(world, connection(), world.small)


async def an_idle_timeout_of_a_millisecond(world):
    # Three probe timeouts at least: RFC 9000 §10.1. How long that is, is up to the machine.
    with contextlib.suppress(AssertionError, ConnectionError, asyncio.TimeoutError):
        await asyncio.wait_for(serves(world, connection({MAX_IDLE_TIMEOUT: 1}), world.small), 3)
    await serves(world, connection(), world.small)


async def neither_a_timeout_nor_migration(world):
    await serves(world, connection({MAX_IDLE_TIMEOUT: 0, DISABLE_ACTIVE_MIGRATION: b""}), world.large)


# --- the handshake and its keys


async def no_acknowledgement_of_the_handshake(world):
    await serves(world, without_acknowledgements(connection(), [Epoch.INITIAL, Epoch.HANDSHAKE]), world.medium)


async def packets_of_the_handshake_that_come_again(world):
    quic = connection()
    kept = []
    original = quic.datagrams_to_send

    def datagrams_to_send(now):
        datagrams = original(now)
        kept.extend(data for data, _ in datagrams if data[0] & 0x80)
        return datagrams

    quic.datagrams_to_send = datagrams_to_send

    async def act(client):
        await client.until(lambda: received(client) > 0)
        stranger, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            asyncio.DatagramProtocol, local_addr=("127.0.0.1", 0)
        )
        for transport in [client.transports[0], stranger]:
            for datagram in kept:
                transport.sendto(datagram, world.server)
        stranger.close()

    await move_midway(world, quic, act)


async def a_close_inside_an_initial_packet(world):
    async with opened(connection(), world.server) as client:
        client.close()
        await client.wait_closed()
    await serves(world, connection(), world.small)


async def key_updates_as_often_as_is_permitted(world):
    """As soon as a packet of the present keys is acknowledged (RFC 9001 §6.1)."""
    quic = connection()
    updates = 0
    first_of_phase = 0

    def prepare(client):
        def update():
            nonlocal updates, first_of_phase
            acknowledged = quic._spaces[Epoch.ONE_RTT].largest_acked_packet
            if quic._handshake_confirmed and acknowledged >= first_of_phase:
                quic.request_key_update()
                updates, first_of_phase = updates + 1, quic._packet_number

        client.after_each = update

    await serves(world, quic, world.large, prepare)
    assert updates > 1, f"{updates} key updates"


# --- connection ids and addresses


def without_ids():
    """With source ids of length zero. aioquic would take its first destination as short, and issue more of its own."""
    quic = connection(connection_id_length=0)
    quic._peer_cid.cid = os.urandom(8)
    quic._original_destination_connection_id = quic._peer_cid.cid
    quic._replenish_connection_ids = lambda: None
    return quic


async def ids_of_length_zero(world):
    await serves(world, without_ids(), world.large)


async def move_midway(world, quic, act):
    async with opened(quic, world.server) as client:
        await client.wait_connected()
        moved = asyncio.ensure_future(act(client))
        await get(client, world, world.large)
        await moved


async def another_port_with_ids_of_length_zero(world):
    async def act(client):
        await client.until(lambda: received(client) > 0)
        await another_port(client)
        client.change_connection_id()

    await move_midway(world, without_ids(), act)


async def another_port_with_the_same_ids(world):
    async def act(client):
        await client.until(lambda: received(client) > 0)
        former = client.transports[0]
        await another_port(client)
        former.close()

    await move_midway(world, connection(), act)


async def another_port_many_times(world):
    async def act(client):
        for part in range(1, 10):
            await client.until(lambda: received(client) > part * 50_000)
            await another_port(client)
            if part % 2:
                client.change_connection_id()

    await move_midway(world, connection(), act)


async def two_ports_in_turns(world):
    async def act(client):
        await another_port(client)

        def take_turns():
            client.transports.reverse()
            client._transport = client.transports[0]

        client.after_each = take_turns

    await move_midway(world, connection(), act)


async def ids_that_change_with_every_packet(world):
    def prepare(client):
        client.after_each = client._quic.change_connection_id

    await serves(world, connection(), world.large, prepare)


async def ids_that_are_retired_in_any_order(world):
    async with opened(connection(), world.server) as client:
        await client.wait_connected()
        quic = client._quic
        await client.until(lambda: len(quic._peer_cid_available) > 2)
        for unused in [quic._peer_cid_available.pop(), quic._peer_cid_available.pop(0)]:
            quic._retire_peer_cid(unused)
            quic._retire_peer_cid(unused)
        await get(client, world, world.large)


async def answers_to_challenges_that_nobody_sent(world):
    def prepare(client):
        client.after_each = lambda: client._quic._network_paths[0].remote_challenges.append(os.urandom(8))

    await serves(world, connection(), world.medium, prepare)


# --- acknowledgements


async def acknowledgements_that_are_rare(world):
    quic = connection({MAX_ACK_DELAY: 2**14 - 1})
    quic._ack_delay = 0.3
    await serves(world, quic, world.medium)


async def no_acknowledgement_at_all(world):
    await serves(world, without_acknowledgements(connection(), [Epoch.ONE_RTT]), world.small)


def without_acknowledgements(quic, epochs):
    original = quic._write_ack_frame

    def write_ack_frame(builder, space, now):
        if any(space is quic._spaces[epoch] for epoch in epochs):
            space.ack_at = None
        else:
            original(builder=builder, space=space, now=now)

    quic._write_ack_frame = write_ack_frame
    return quic


# --- tickets


async def ticket_of(world, server):
    kept = asyncio.get_running_loop().create_future()
    async with opened(connection(keep=lambda new: kept.done() or kept.set_result(new)), server) as client:
        await client.wait_connected()
        return await kept


async def resume(world, ticket, **options):
    """Asks in 0-RTT; returns whether the connection was resumed."""
    async with opened(connection(ticket=ticket, **options), world.server) as client:
        client.begin_http()
        await get(client, world, world.medium)
        return client._quic.tls.session_resumed


async def a_ticket_that_is_used_twice(world):
    ticket = await ticket_of(world, world.server)
    assert [await resume(world, ticket), await resume(world, ticket)] == [True, True]


async def a_ticket_that_is_used_twice_at_once(world):
    ticket = await ticket_of(world, world.server)
    assert await asyncio.gather(resume(world, ticket), resume(world, ticket)) == [True, True]


async def a_ticket_of_other_keys(world):
    # As after a gateway began again, or changed its keys.
    assert not await resume(world, await ticket_of(world, world.other))


async def a_ticket_for_another_name(world):
    await resume(world, await ticket_of(world, world.server), server_name="another.example")


CASES = [
    parameters_at_their_least, parameters_at_their_most, parameters_that_nobody_knows, parameters_against_the_rules,
    an_idle_timeout_of_a_millisecond, neither_a_timeout_nor_migration,
    no_acknowledgement_of_the_handshake, packets_of_the_handshake_that_come_again, a_close_inside_an_initial_packet,
    key_updates_as_often_as_is_permitted, ids_of_length_zero, another_port_with_ids_of_length_zero,
    another_port_with_the_same_ids, another_port_many_times, two_ports_in_turns, ids_that_change_with_every_packet,
    ids_that_are_retired_in_any_order, answers_to_challenges_that_nobody_sent, acknowledgements_that_are_rare,
    no_acknowledgement_at_all, a_ticket_that_is_used_twice, a_ticket_that_is_used_twice_at_once, a_ticket_of_other_keys,
    a_ticket_for_another_name,
]  # fmt: skip


async def outcome_of(case, world):
    try:
        await asyncio.wait_for(case(world), TIMEOUT_SECONDS)
        return "served"
    except Exception as error:
        return f"{type(error).__name__} {error}"


async def main(server, other, *files):
    world = World(server, other, files)
    print(json.dumps({case.__name__: await outcome_of(case, world) for case in CASES}))


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
