"""curl (by curl_cffi, with ngtcp2, nghttp3 and BoringSSL) as the client of the checks that all implementations have.
It speaks as Chrome does: a large ClientHello, QPACK with a dynamic table, requests of the first urgency. Prints JSON.

  curl_program.py download --authority FILE [--connections N] ADDRESS:PORT PATH…   all paths at once over one connection
"""

import asyncio
import hashlib
import json

from curl_cffi import AsyncSession, CurlHttpVersion, CurlOpt

import curl_options

TIMEOUT_SECONDS = 100


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
    wanted = curl_options.parser(large_hello="Chrome's is one in any case").parse_args()
    print(json.dumps([await one_connection(wanted) for _ in range(wanted.connections)]))


if __name__ == "__main__":
    asyncio.run(main())
