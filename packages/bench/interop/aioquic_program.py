"""aioquic as the client of the checks that all implementations have. Prints JSON.

  aioquic_program.py download [options] ADDRESS:PORT PATH…   all paths at once over one connection
  aioquic_program.py webtransport [options] ADDRESS:PORT     every kind of stream, datagrams, close codes
"""

import argparse
import asyncio
import copy
import hashlib
import json
import socket

from aioquic.asyncio import connect
from aioquic.buffer import Buffer
from aioquic.h3.connection import H3_ALPN
from aioquic.quic.configuration import QuicConfiguration
from aioquic.tls import Epoch

from aioquic_client import Client, echo_of_a_datagram, echo_on_a_new_stream, echo_on_the_same_stream

TIMEOUT_SECONDS = 100
CLOSE_SESSION = 0x2843  # WT_CLOSE_SESSION, a capsule


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["download", "webtransport"])
    parser.add_argument("--authority", required=True, help="whose certificates to take")
    parser.add_argument("--connections", type=int, default=1)
    for flag in ["resume", "early", "large-hello", "key-update", "migrate"]:
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("server")
    parser.add_argument("paths", nargs="*")
    return parser.parse_args()


def configuration_of(wanted):
    padding = [f"padding-{index:02}" for index in range(100)] if wanted.large_hello else []
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=H3_ALPN + padding, max_datagram_frame_size=65536, server_name="localhost"
    )
    configuration.load_verify_locations(wanted.authority)
    return configuration


async def download(wanted):
    configuration = configuration_of(wanted)
    reports = []
    for _ in range(wanted.connections):
        reports.append(await one_connection(wanted, configuration))
    return reports


async def one_connection(wanted, configuration):
    host, port = wanted.server.split(":")
    ticket = asyncio.get_running_loop().create_future()

    def keep(new):
        if not ticket.done():
            ticket.set_result(new)

    early = wanted.early and configuration.session_ticket is not None
    async with connect(
        host,
        int(port),
        configuration=copy.copy(configuration),
        create_protocol=Client,
        session_ticket_handler=keep,
        wait_connected=not early,
    ) as client:
        if early:
            client.begin_http()
        streams = {client.request(b"GET", wanted.server.encode(), path.encode()): path for path in wanted.paths}
        during = asyncio.ensure_future(act_when_begun(client, wanted))
        await client.until(lambda: all(client.ended.get(stream) for stream in streams))
        after_move = await during
        if wanted.resume:
            configuration.session_ticket = await ticket
        tls = client._quic.tls
        return {
            "resumed": tls.session_resumed,
            "early": tls.early_data_accepted,
            "keyUpdates": key_phase_of(client),
            "migrated": after_move is not None and received(client) > after_move,
            "downloads": [described(path, client.bodies[stream]) for stream, path in streams.items()],
        }


def key_phase_of(client):
    return client._quic._cryptos[Epoch.ONE_RTT].recv.key_phase


async def act_when_begun(client, wanted):
    """Does what is wanted when the first bytes are here; returns how many there were when the old socket closed."""
    await client.until(lambda: received(client) > 0)
    if wanted.key_update:
        client.request_key_update()
    return await move(client) if wanted.migrate else None


async def move(client):
    """Goes over to another port with another connection id. Nothing comes to the former port any more."""
    former = client._transport
    beside = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    beside.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    beside.bind(("::", 0))
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: client, sock=beside)
    former.close()
    client.change_connection_id()
    return received(client)


def received(client):
    return sum(len(body) for body in client.bodies.values())


def described(path, body):
    return {"path": path, "bytes": len(body), "sha256": hashlib.sha256(bytes(body)).hexdigest()}


async def open_session(client, server, path):
    extra = [(b":protocol", b"webtransport"), (b"origin", b"https://" + server)]
    session = client.request(b"CONNECT", server, path, extra, end=False)
    await client.until(lambda: session in client.headers)
    if client.headers[session][b":status"] != b"200":
        raise SystemExit(f"{path.decode()}: {client.headers[session]}")
    return session


async def webtransport(wanted):
    host, port = wanted.server.split(":")
    server = wanted.server.encode()
    configuration = configuration_of(wanted)
    async with connect(host, int(port), configuration=configuration, create_protocol=Client) as client:
        session = await open_session(client, server, b"/exercise")
        opened = await streams_of_the_gateway(client)
        report = {
            "bidirectional": await echo_on_the_same_stream(client, session),
            "unidirectional": await echo_on_a_new_stream(client, session),
            "opened": opened,
            "datagram": await echo_of_a_datagram(client, session),
        }
        client.http.send_data(session, close_capsule(4242, "closed by the client"), end_stream=True)
        client.transmit()
        await client.until(lambda: client.ended.get(session))
        other = await open_session(client, server, b"/close")
        await client.until(lambda: client.ended.get(other))
        return {**report, "closed": close_in(bytes(client.bodies[other]))}


async def streams_of_the_gateway(client):
    """The text on the gateway's bidirectional stream, sent back, and that of its next unidirectional one."""
    ended = lambda kind: [one for one, over in client.ended.items() if over and one % 4 == kind]
    await client.until(lambda: ended(1))
    stream = ended(1)[0]
    first = bytes(client.bodies[stream])
    client._quic.send_stream_data(stream, first, end_stream=True)
    client.transmit()
    await client.until(lambda: ended(3))
    return [first.decode(), bytes(client.bodies[ended(3)[0]]).decode()]


def close_capsule(code, reason):
    value = code.to_bytes(4, "big") + reason.encode()
    capsule = Buffer(capacity=16 + len(value))
    capsule.push_uint_var(CLOSE_SESSION)
    capsule.push_uint_var(len(value))
    capsule.push_bytes(value)
    return capsule.data


def close_in(data):
    """What the gateway's WT_CLOSE_SESSION says; other capsules are passed over."""
    buffer = Buffer(data=data)
    while not buffer.eof():
        kind, length = buffer.pull_uint_var(), buffer.pull_uint_var()
        value = buffer.pull_bytes(length)
        if kind == CLOSE_SESSION:
            return {"code": int.from_bytes(value[:4], "big"), "reason": value[4:].decode()}
    return {"code": -1, "reason": "no capsule"}


async def main():
    wanted = options()
    run = download if wanted.mode == "download" else webtransport
    print(json.dumps(await asyncio.wait_for(run(wanted), TIMEOUT_SECONDS)))


if __name__ == "__main__":
    asyncio.run(main())
