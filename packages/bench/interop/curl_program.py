"""curl (by curl_cffi, with ngtcp2, nghttp3 and BoringSSL) as the client of the checks that all implementations have.
It speaks as Chrome does: a large ClientHello, QPACK with a dynamic table, requests of the first urgency. Prints JSON.

  curl_program.py download --authority FILE [--connections N] ADDRESS:PORT PATH…   all paths at once over one connection
"""

import argparse
import asyncio
import hashlib
import json

from curl_cffi import AsyncSession, CurlHttpVersion, CurlOpt

TIMEOUT_SECONDS = 100


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=["download"])
    parser.add_argument("--authority", required=True, help="whose certificates to take")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--large-hello", action="store_true", help="Chrome's is one in any case")
    parser.add_argument("server")
    parser.add_argument("paths", nargs="+")
    return parser.parse_args()


async def one_connection(wanted):
    # Requests wait for the connection of the first one instead of opening their own.
    settings = {CurlOpt.PIPEWAIT: 1, CurlOpt.MAXCONNECTS: 1}
    async with AsyncSession(
        impersonate="chrome", http_version=CurlHttpVersion.V3ONLY, verify=wanted.authority, curl_options=settings, timeout=TIMEOUT_SECONDS
    ) as session:
        return {"downloads": await asyncio.gather(*(get(session, wanted.server, path) for path in wanted.paths))}


async def get(session, server, path):
    response = await session.get(f"https://{server}{path}")
    if response.status_code != 200:
        raise SystemExit(f"{path}: {response.status_code}")
    return {"path": path, "bytes": len(response.content), "sha256": hashlib.sha256(response.content).hexdigest()}


async def main():
    wanted = options()
    print(json.dumps([await one_connection(wanted) for _ in range(wanted.connections)]))


if __name__ == "__main__":
    asyncio.run(main())
