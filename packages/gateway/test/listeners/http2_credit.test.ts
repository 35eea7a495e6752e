import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startFullGateway } from '../support/gateway.js';
import { startUpstream } from '../support/upstream.js';

const sessions = 9;
const streamsEach = 128;
const few = 8;

async function open(port: number): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  session.on('error', () => undefined);
  await once(session, 'remoteSettings');
  return session;
}

it('clients of a network with many requests in flight are told to open few streams, until there are less', async () => {
  const upstream = await startUpstream(() => undefined);
  const { port } = await startFullGateway(
    `limits: { connections: 100 }\nlog: { level: warn, access: false }\nroutes: [{ upstream: { to: "${upstream.origin}", queue_timeout: 5m, response_timeout: 5m } }]`,
  );
  const greedy = await Promise.all(Array.from({ length: sessions }, () => open(port)));
  const allowed = (): (number | undefined)[] => greedy.map(({ remoteSettings }) => remoteSettings.maxConcurrentStreams);
  expect(new Set(allowed())).toEqual(new Set([streamsEach]));
  const streams = greedy.flatMap((session) =>
    Array.from({ length: streamsEach }, () => session.request({ ':path': '/' }).on('error', () => undefined)),
  );
  await vi.waitFor(() => expect(new Set(allowed())).toEqual(new Set([few])), 60_000);
  // One that comes later knows at once.
  const late = await open(port);
  await vi.waitFor(() => expect(late.remoteSettings.maxConcurrentStreams).toBe(few), 30_000);
  for (const stream of streams) stream.close();
  await vi.waitFor(
    () => expect(new Set([...allowed(), late.remoteSettings.maxConcurrentStreams])).toEqual(new Set([streamsEach])),
    60_000,
  );
});
