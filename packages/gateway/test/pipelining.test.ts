import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { startFullGateway } from './support/gateway.js';
import { startUpstream } from './support/upstream.js';

const requests = 60;

it('large requests that are sent ahead over HTTP/1.1 stay unread, and are all answered in the end', { timeout: 60_000 }, async () => {
  // Nothing is answered before the client has sent what it can, or has lost its connection.
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const upstream = await startUpstream((_request, response) => void released.then(() => response.end('answered')));
  const { port } = await startFullGateway(`routes: [{ upstream: "${upstream.origin}" }]`);
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString('latin1'))).on('error', () => undefined);
  const closed = once(socket, 'close').catch(() => undefined);
  // Below what an upstream takes by default, 16 KB.
  const request = `GET / HTTP/1.1\r\nhost: localhost\r\nx-large: ${'a'.repeat(14_000)}\r\n\r\n`;
  for (let i = 0; i < requests; i++) socket.write(request);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1_000))]);
  release();
  const answered = (): number => text.split('\r\n\r\nanswered').length - 1;
  await expect.poll(() => answered() === requests || socket.destroyed, { timeout: 30_000 }).toBe(true);
  expect(answered()).toBe(requests);
});
