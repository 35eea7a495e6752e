import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect as connectHttp2 } from 'node:http2';
import { once } from 'node:events';
import { PRIORITY_HEADER, encodeRequestHead, formatPriorityHeader } from '@sheaf/web-client/protocol';
import { describe, expect, it, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { startPair } from '../support/nodes.js';
import { openSession } from '../support/sessions.js';
import { temporaryDirectory } from '../support/temporary_directory.js';
import { startUpstream } from '../support/upstream.js';

const priority = {
  urgency: 2,
  incremental: true,
  dependency: { node: 18, parent: 11, weight: 42, exclusive: false },
  groups: [{ node: 11, parent: 0, weight: 2, exclusive: false }],
};

/** The last line of the gateway's access log for a path; lines come after the responses. */
async function lineOf(
  log: readonly Record<string, unknown>[],
  path: string,
  lines = 1,
): Promise<Record<string, unknown>> {
  await vi.waitFor(() => expect(log.filter((line) => line['path'] === path)).toHaveLength(lines), 30_000);
  // The gateway answers before the edge does.
  return log.find((line) => line['path'] === path) ?? {};
}

// Waits for four streams, each with its urgency as first byte, and then answers all of them in one turn, the least urgent
// first. A response fits into the window of its stream, so only the order of the engine decides which one ends first.
const application = `
export default async (session) => {
  const waiting = [];
  for await (const stream of session.incomingBidirectionalStreams) {
    const { value } = await stream.readable.getReader().read();
    stream.setPriority({ urgency: value[0], incremental: false });
    waiting.push({ urgency: value[0], writer: stream.writable.getWriter() });
    if (waiting.length < 4) continue;
    waiting.sort((a, b) => b.urgency - a.urgency);
    for (const { writer } of waiting) {
      writer.write(new Uint8Array(200_000)).catch(() => {});
      writer.close().catch(() => {});
    }
  }
};`;

/** Opens a stream of each urgency, in this order; returns them in the order in which they ended. */
async function orderOfEnd(port: number, hash: string, urgencies: number[]): Promise<number[]> {
  const session = await openSession(port, '/app', hash);
  const ended: number[] = [];
  const streams = await Promise.all(urgencies.map(() => session.createBidirectionalStream()));
  await Promise.all(
    streams.map(async ({ readable, writable }, index) => {
      const writer = writable.getWriter();
      void writer.write(Uint8Array.of(urgencies[index] ?? 0));
      for await (const chunk of readable) void chunk;
      ended.push(urgencies[index] ?? 0);
    }),
  );
  return ended;
}

describe('the priority of a stream of a session', () => {
  it('puts the streams into order', async () => {
    const file = join(await temporaryDirectory(), 'application.mjs');
    await writeFile(file, application);
    const { port, gateway } = await startFullGateway(`routes: [{ path: /app, webtransport: ${JSON.stringify(file)} }]`);
    const ended = await orderOfEnd(port, gateway.certificate.hash, [7, 6, 5, 1]);
    expect(ended).toEqual([1, 5, 6, 7]);
  });
});

describe('the priority of a page request', () => {
  it('arrives at the gateway as the page said it, through an edge', async () => {
    const { port, log } = await startPair({ gateway: ['routes: [{ files: site }]'] });
    const client = await connect(port, { webtransport: true });
    const session = await client.openWebTransport('/.well-known/sheaf/page', { origin: `https://127.0.0.1:${port}` });
    const head = encodeRequestHead({
      method: 'GET',
      url: `https://127.0.0.1:${port}/a`,
      destination: 'image',
      priority,
      credentials: 'omitted',
      headers: [],
    });
    const writer = (await session.createBidirectionalStream({ waitUntilAvailable: true })).writable.getWriter();
    await writer.write(head);
    await writer.close();
    expect(await lineOf(log, '/a')).toMatchObject({ via: 'webtransport', destination: 'image', priority });
  });
});

describe('the header sheaf-priority', () => {
  it('is understood over HTTP/3, and goes no further', async () => {
    const upstream = await startUpstream((request, response) => response.end(JSON.stringify(request.headers)));
    const { port, log } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
    const client = await connect(port);
    const { body } = await ask(client, { path: '/a', headers: { [PRIORITY_HEADER]: formatPriorityHeader(priority) } });
    expect(JSON.parse(body.toString())).not.toHaveProperty(PRIORITY_HEADER);
    expect((await lineOf(log, '/a'))['priority']).toEqual(priority);
  });

  it.each(['', ':::', ':AAAAAAAA:', 'x'.repeat(5_000)])('is ignored when it is malformed: %#', async (value) => {
    const { port, log } = await startFullGateway('routes: [{ files: . }]');
    const client = await connect(port);
    await ask(client, { path: '/a', headers: { [PRIORITY_HEADER]: value } });
    expect(await lineOf(log, '/a')).not.toHaveProperty('priority');
  });

  it('is how an edge passes on what an HTTP/2 client says', async () => {
    const { port, log } = await startPair({ gateway: ['routes: [{ files: site }]'] });
    const client = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    await once(client.request({ ':path': '/a', priority: 'u=1' }, { weight: 99 }).resume(), 'close');
    client.destroy();
    const line = await lineOf(log, '/a', 2);
    expect(line['http']).toBe('3');
    expect(line['priority']).toMatchObject({
      urgency: 1,
      incremental: false,
      dependency: { parent: 0, weight: 99, exclusive: false },
    });
  });

  it('of a client of an edge does not name nodes among those of others', async () => {
    const { port, log } = await startPair({ gateway: ['routes: [{ files: site }]'] });
    const client = await connect(port);
    await ask(client, { path: '/a', headers: { [PRIORITY_HEADER]: formatPriorityHeader(priority) } });
    expect(await lineOf(log, '/a', 2)).not.toHaveProperty('priority');
  });
});
