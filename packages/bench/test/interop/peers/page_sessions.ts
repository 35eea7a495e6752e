// What runs in pages that end their WebTransport sessions. Each function is sent as text, so it must stand alone.

/**
 * Opens a session with the module `name` for each way in which streams can end (they are ended, reset, stopped, or stay
 * open) and each in which the session can: closed, closed while its streams are still in use, or left to the page.
 * Returns how many became ready.
 */
export async function endSessionsInPage(name: string): Promise<number> {
  const { hashes, authority } = (await (await fetch('/.well-known/sheaf/certificate-hashes')).json()) as {
    hashes: string[];
    authority: string;
  };
  const serverCertificateHashes = hashes.map((hash) => ({
    algorithm: 'sha-256',
    value: Uint8Array.from(hash.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
  }));
  let ready = 0;
  for (const behaviour of ['end', 'reset', 'stop', 'open']) {
    for (const ending of ['close', 'close at once', 'leave']) {
      const session = new WebTransport(`https://${authority}/${name}`, { serverCertificateHashes });
      // It is rejected, too, where the gateway closes the session before the page got to it.
      const over = session.closed.catch(() => undefined);
      await session.ready.then(
        () => (ready += 1),
        () => undefined,
      );
      // What fails because the session is over is as good as what succeeds; in Firefox some of it never settles.
      const attempt = (work: () => Promise<unknown>): Promise<unknown> =>
        Promise.race([over, work().catch(() => undefined)]);
      const behave = async (
        writable: WritableStream<Uint8Array>,
        readable?: ReadableStream<Uint8Array>,
      ): Promise<void> => {
        const writer = writable.getWriter();
        writer.closed.catch(() => undefined);
        await writer.write(new Uint8Array(10_000));
        if (behaviour === 'end') await writer.close();
        else if (behaviour === 'reset') await writer.abort();
        else if (behaviour === 'stop') await readable?.cancel();
      };
      const both = async (): Promise<void> => {
        const { readable, writable } = await session.createBidirectionalStream();
        await behave(writable, readable);
      };
      const one = async (): Promise<void> =>
        behave((await session.createUnidirectionalStream()) as WritableStream<Uint8Array>);
      const datagram = async (): Promise<void> =>
        (session.datagrams as unknown as { writable: WritableStream<Uint8Array> }).writable
          .getWriter()
          .write(new Uint8Array(100));
      const done = Promise.all([both, one, both, one, datagram].map(attempt));
      if (ending !== 'close at once') await done;
      // It throws where the session has failed before.
      if (ending !== 'leave') await attempt(async () => session.close({ closeCode: 3, reason: 'enough' }));
      await done;
    }
  }
  return ready;
}

/** Says something to the module that echoes; resolves with what comes back. */
export async function echoInPage(said: string): Promise<string> {
  const { hashes, authority } = (await (await fetch('/.well-known/sheaf/certificate-hashes')).json()) as {
    hashes: string[];
    authority: string;
  };
  const serverCertificateHashes = hashes.map((hash) => ({
    algorithm: 'sha-256',
    value: Uint8Array.from(hash.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16)),
  }));
  const session = new WebTransport(`https://${authority}/echo`, { serverCertificateHashes });
  await session.ready;
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  void writer.write(new TextEncoder().encode(said)).then(() => writer.close());
  return new Response(readable as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}
