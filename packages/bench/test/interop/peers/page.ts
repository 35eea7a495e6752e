import type { Body } from '../site.js';
import type { SessionReport } from '../peer.js';

// What runs in the pages of browsers. Each function is sent as text, so it must stand alone.

/** Downloads at once; `protocol` is what carried each. */
export async function downloadInPage(paths: string[]): Promise<(Body & { protocol: string | undefined })[]> {
  return Promise.all(
    paths.map(async (path) => {
      const data = await (await fetch(path, { cache: 'no-store' })).arrayBuffer();
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', data));
      // The entry comes some time after the response.
      const entries = (): PerformanceResourceTiming[] =>
        performance.getEntriesByName(new URL(path, location.href).href) as PerformanceResourceTiming[];
      while (entries().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      return {
        path,
        bytes: data.byteLength,
        sha256: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''),
        protocol: entries().at(-1)?.nextHopProtocol,
      };
    }),
  );
}

export async function textOfPage(): Promise<string> {
  return Promise.resolve(document.body.textContent);
}

/**
 * The text, by a connection that may have to be made for it. A browser may take one for alive that the gateway has
 * forgotten: the gateway resets it, and what was asked there is asked again.
 */
export async function textInPage(path: string): Promise<string> {
  const ask = async (): Promise<string> => (await fetch(path, { cache: 'no-store' })).text();
  return ask().catch(ask);
}

export async function exerciseInPage(authority: string): Promise<SessionReport> {
  const text = (readable: ReadableStream<Uint8Array>): Promise<string> =>
    new Response(readable as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  const write = async (writable: WritableStream<Uint8Array>, data: string): Promise<void> => {
    const writer = writable.getWriter();
    await writer.write(new TextEncoder().encode(data));
    await writer.close();
  };
  const session = new WebTransport(`https://${authority}/exercise`);
  await session.ready;
  const bidirectional =
    session.incomingBidirectionalStreams.getReader() as ReadableStreamDefaultReader<WebTransportBidirectionalStream>;
  const unidirectional = session.incomingUnidirectionalStreams.getReader() as ReadableStreamDefaultReader<
    ReadableStream<Uint8Array>
  >;
  const nextUnidirectional = async (): Promise<string> => {
    const { value } = await unidirectional.read();
    return value ? text(value) : 'the session ended';
  };

  const { value: stream } = await bidirectional.read();
  if (!stream) throw new Error('the gateway opened no stream');
  const first = await text(stream.readable as ReadableStream<Uint8Array>);
  await write(stream.writable as WritableStream<Uint8Array>, first);
  const opened = [first, await nextUnidirectional()];

  const bothWays = 'both ways '.repeat(10_000);
  const own = await session.createBidirectionalStream();
  const [back] = await Promise.all([
    text(own.readable as ReadableStream<Uint8Array>),
    write(own.writable as WritableStream<Uint8Array>, bothWays),
  ]);
  const oneWay = 'one way '.repeat(1_000);
  await write((await session.createUnidirectionalStream()) as WritableStream<Uint8Array>, oneWay);
  const returned = await nextUnidirectional();

  // Datagrams may be lost: sent again until one comes back.
  const datagrams = session.datagrams.readable.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const writer = (session.datagrams as unknown as { writable: WritableStream<Uint8Array> }).writable.getWriter();
  const came = datagrams.read();
  let datagram = '';
  for (let attempt = 0; attempt < 50 && datagram === ''; attempt += 1) {
    await writer.write(new TextEncoder().encode(`datagram ${attempt}`));
    const within = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 200));
    const result = await Promise.race([came, within]);
    datagram = new TextDecoder().decode(result?.value);
  }
  session.close({ closeCode: 4242, reason: 'closed by the client' });

  const other = new WebTransport(`https://${authority}/close`);
  await other.ready.catch(() => undefined);
  const { closeCode, reason } = await other.closed;
  return {
    bidirectional: back === bothWays,
    unidirectional: returned === oneWay,
    opened,
    datagram: datagram.startsWith('datagram '),
    closed: { code: closeCode ?? -1, reason: reason ?? '' },
  };
}
