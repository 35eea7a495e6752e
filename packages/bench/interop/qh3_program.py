"""qh3 as the client of the checks that all implementations have. It began as a fork of aioquic and has its interface,
with a TLS and a packet core of its own: the program of aioquic runs with it.

  qh3_program.py …    as aioquic_program.py
"""

import asyncio
import sys
import types
from importlib import import_module

import qh3._hazmat

for module in ["asyncio", "h3.connection", "h3.events", "quic.configuration", "quic.events", "tls"]:
    sys.modules[f"aioquic.{module}"] = import_module(f"qh3.{module}")
sys.modules["aioquic.buffer"] = types.SimpleNamespace(Buffer=qh3._hazmat.Buffer)

import aioquic_program  # noqa: E402

configuration_with_name = aioquic_program.configuration_of


def configuration_of(wanted):
    """Without a server name: qh3 has room for 2,048 bytes of a ClientHello with a ticket. Its key share of ML-KEM, a name
    and a ticket of GnuTLS are six more."""
    configuration = configuration_with_name(wanted)
    configuration.server_name = None
    return configuration


aioquic_program.configuration_of = configuration_of
aioquic_program.key_phase_of = lambda client: client._quic._core.receive_key_phase

if __name__ == "__main__":
    asyncio.run(aioquic_program.main())
