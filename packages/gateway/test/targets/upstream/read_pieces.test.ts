import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readPieces } from '../../../src/targets/upstream/read_pieces.js';
import { createAuthority } from '../../support/authority.js';

const bodyBytes = 4_000_000;
const body = Buffer.from(Array.from({ length: bodyBytes }, (_, i) => (i * 31 + (i >> 8)) & 0xff));

async function portOf(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function overTcp(): Promise<Socket> {
  const port = await portOf(createServer((socket) => void socket.on('error', () => undefined).end(body)));
  return connect({ host: '127.0.0.1', port, ...readPieces() });
}

async function overTls(): Promise<Socket> {
  const issued = await (await createAuthority()).issue(['localhost']);
  const port = await portOf(
    createTlsServer({ ...issued }, (socket) => void socket.on('error', () => undefined).end(body)),
  );
  return connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ...readPieces() });
}

describe.each([
  ['TCP', overTcp, 16 * 1024],
  // What one read of the socket brings is decrypted at once.
  ['TLS', overTls, 64 * 1024],
])('a connection to an upstream over %s', (_name, open, mostBytes) => {
  it('holds no more than it reads at once until somebody takes it, and brings every byte', async () => {
    const socket = await open();
    onTestFinished(() => void socket.destroy());
    socket.once('readable', () => undefined);
    await expect.poll(() => socket.readableLength, { timeout: 30_000 }).toBeGreaterThan(0);
    expect(socket.readableLength).toBeLessThanOrEqual(mostBytes);
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
    expect(pieces[0]!.length).toBeLessThanOrEqual(mostBytes);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
  });
});

it('many connections at one time read into the same memory, and each has its own bytes', async () => {
  const port = await portOf(
    createServer((socket) => {
      socket
        .on('error', () => undefined)
        .once('data', (asked: Buffer) => socket.end(Buffer.alloc(500_000, asked.subarray(0, 1))));
    }),
  );
  const letters = [...'abcdefghijklmnop'];
  const answers = await Promise.all(
    letters.map(async (letter) => {
      const socket = connect({ host: '127.0.0.1', port, ...readPieces() });
      socket.write(letter);
      const pieces: Buffer[] = [];
      for await (const piece of socket) pieces.push(piece as Buffer);
      return Buffer.concat(pieces);
    }),
  );
  answers.forEach((answer, i) => expect(answer.equals(Buffer.alloc(500_000, letters[i]))).toBe(true));
});
