"""curl (by pycurl, with ngtcp2, nghttp3 and OpenSSL) as the client of the checks that all implementations have. It
resumes and sends requests in 0-RTT, and its words about its connection say so. Prints JSON.

  pycurl_program.py download [options] ADDRESS:PORT PATH…   all paths at once over one connection
"""

import hashlib
import json

import pycurl

import curl_options

TIMEOUT_SECONDS = 100


def options():
    parser = curl_options.parser(large_hello="one with a key share of ML-KEM is in any case")
    parser.add_argument("--resume", action="store_true", help="keep tickets from one connection to the next")
    parser.add_argument("--early", action="store_true", help="ask in 0-RTT where there is a ticket")
    return parser.parse_args()


class Download:
    """One request, with what curl said of its connection."""

    def __init__(self, wanted, path, tickets):
        self.path, self.bytes, self.hash, self.said = path, 0, hashlib.sha256(), []
        self.curl = curl = pycurl.Curl()
        curl.setopt(pycurl.URL, f"https://{wanted.server}{path}")
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_3ONLY)
        curl.setopt(pycurl.CAINFO, wanted.authority)
        curl.setopt(pycurl.TIMEOUT, TIMEOUT_SECONDS)
        # Requests wait for the connection of the first one instead of opening their own.
        curl.setopt(pycurl.PIPEWAIT, 1)
        curl.setopt(pycurl.SHARE, tickets)
        curl.setopt(pycurl.SSL_SESSIONID_CACHE, wanted.resume)
        if wanted.early:
            curl.setopt(pycurl.SSL_OPTIONS, pycurl.SSLOPT_EARLYDATA)
        curl.setopt(pycurl.WRITEFUNCTION, self.take)
        curl.setopt(pycurl.VERBOSE, 1)
        curl.setopt(pycurl.DEBUGFUNCTION, lambda kind, text: kind == pycurl.INFOTYPE_TEXT and self.said.append(text.decode()))

    def take(self, part):
        self.bytes += len(part)
        self.hash.update(part)

    def described(self):
        status = self.curl.getinfo(pycurl.RESPONSE_CODE)
        if status != 200:
            raise SystemExit(f"{self.path}: {status}")
        return {"path": self.path, "bytes": self.bytes, "sha256": self.hash.hexdigest()}


def one_connection(wanted, tickets):
    multi = pycurl.CurlMulti()
    downloads = run(multi, wanted, wanted.paths, tickets)
    report = {
        "resumed": any("reusing session" in line for download in downloads for line in download.said),
        # Less than 0 when the server refused it.
        "early": sum(download.curl.getinfo(pycurl.EARLYDATA_SENT_T) for download in downloads) > 0,
        "downloads": [download.described() for download in downloads],
    }
    if wanted.resume:
        # A response to 0-RTT is here before the next ticket; a response to a request after the handshake is not.
        run(multi, wanted, wanted.paths[:1], tickets)
    multi.close()
    return report


def run(multi, wanted, paths, tickets):
    """All at once over one connection, that of the requests before if there were any."""
    downloads = [Download(wanted, path, tickets) for path in paths]
    for download in downloads:
        multi.add_handle(download.curl)
    running = len(downloads)
    while running:
        multi.select(0.1)
        _, running = multi.perform()
    failed = multi.info_read()[2]
    if failed:
        raise SystemExit(str([(code, text) for _, code, text in failed]))
    for download in downloads:
        multi.remove_handle(download.curl)
    return downloads


def main():
    wanted = options()
    tickets = pycurl.CurlShare()
    tickets.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
    print(json.dumps([one_connection(wanted, tickets) for _ in range(wanted.connections)]))


if __name__ == "__main__":
    main()
