import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLinkRelay, type LinkRelay, type LinkRelayOptions } from '../lib/link_relay.js';

const local = { address: '127.0.0.1', port: 0 };

async function udpSocket(): Promise<{ socket: Socket; received: string[] }> {
  const socket = createSocket('udp4');
  const received: string[] = [];
  socket.on('message', (message) => received.push(message.toString()));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  return { socket, received };
}

/** A relay, what arrives at its target, and a function that sends to it. */
async function start(options: Partial<LinkRelayOptions> = {}) {
  const [client, target] = [await udpSocket(), await udpSocket()];
  const relay = createLinkRelay({ listen: local, target: target.socket.address(), ...options });
  onTestFinished(() => relay.close());
  const { port } = relay.listen();
  const pass = async (text: string): Promise<void> => {
    const { sent } = relay.stats().there;
    client.socket.send(text, port, '127.0.0.1');
    await vi.waitFor(() => expect(relay.stats().there.sent).toBe(sent + 1), 30_000);
  };
  return { relay, received: target.received, pass };
}

describe('createLinkRelay', () => {
  it('takes another configuration at run time', async () => {
    const { relay, received, pass } = await start({ there: { loss: 1 } });
    await pass('lost');
    relay.setConfig({}, {});
    await pass('arrives');
    await vi.waitFor(() => expect(received).toEqual(['arrives']), 30_000);
    expect(relay.stats().there).toMatchObject({ sent: 2, lost: 1, delivered: 1 });
  });

  it('stays down whatever its configuration', async () => {
    const { relay, received, pass } = await start();
    relay.setDown(true);
    relay.setConfig({ delayMs: 1 }, {});
    await pass('lost');
    relay.setDown(false);
    await pass('arrives');
    await vi.waitFor(() => expect(received).toEqual(['arrives']), 30_000);
    expect(relay.stats().there.down).toBe(1);
  });

  it('draws the same random numbers from the same seed', async () => {
    const fates = await Promise.all(
      [7, 7, 8].map(async (seed) => {
        const { relay, pass } = await start({ there: { loss: 0.5, burstLoss: { share: 0.1, length: 4 } }, seed });
        const lost: number[] = [];
        for (let i = 0; i < 64; i += 1) {
          await pass('x');
          lost.push(relay.stats().there.lost);
        }
        return lost;
      }),
    );
    expect(fates[0]).toEqual(fates[1]);
    expect(fates[0]).not.toEqual(fates[2]);
  });

  const refused =
    (options: Partial<LinkRelayOptions>): (() => LinkRelay) =>
    () =>
      createLinkRelay({ listen: local, target: { address: '127.0.0.1', port: 9 }, ...options });

  it('refuses what makes no sense', async () => {
    expect(refused({ there: { loss: -1 } })).toThrow('loss of a link is -1');
    expect(refused({ back: { delayMs: Number.NaN } })).toThrow('delayMs of a link is NaN');
    expect(refused({ there: { trace: '5\n4\n' } })).toThrow('line 2: the timestamp is earlier than the one before');
    expect(refused({ listen: { address: 'localhost', port: 0 } })).toThrow('not an IP address');
    const { relay } = await start();
    expect(() => relay.setConfig({ trace: 'x' }, {})).toThrow('line 1');
    expect(() => relay.listen()).toThrow('bound already');
  });

  it('gives its port back', async () => {
    const { socket } = await udpSocket();
    const first = createLinkRelay({ listen: local, target: socket.address() });
    const { port } = first.listen();
    const second = createLinkRelay({ listen: { ...local, port }, target: socket.address() });
    expect(() => second.listen()).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }) as Error);
    first.close();
    first.close();
    expect(second.listen().port).toBe(port);
    second.close();
  });
});
