import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OwnCounts } from '../../src/values/counts.js';
import { HandshakePacer } from '../../src/listeners/handshake_pacer.js';
import { get } from '../support/client.js';
import { startGateway } from '../support/gateway.js';

describe('handshakes that come too fast', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function admit(pacer: HandshakePacer, count: number) {
    const begun: number[] = [];
    const sockets = Array.from({ length: count }, (_, index) => {
      const socket = new Socket();
      pacer.admit(socket, () => begun.push(index));
      return socket;
    });
    return { begun, sockets };
  }

  it('wait for their turn, in order of arrival', () => {
    const { begun } = admit(new HandshakePacer({ perSecond: 10, maxWaiting: 100, maxWaitMs: 10_000 }), 25);
    expect(begun).toHaveLength(10);
    vi.advanceTimersByTime(1_010);
    expect(begun.length).toBeGreaterThanOrEqual(19);
    expect(begun.length).toBeLessThanOrEqual(20);
    vi.advanceTimersByTime(1_000);
    expect(begun).toEqual(Array.from({ length: 25 }, (_, index) => index));
  });

  it('are closed when too many wait, or one waits too long', async () => {
    const pacer = new HandshakePacer({ perSecond: 1, maxWaiting: 5, maxWaitMs: 2_500 });
    const { begun, sockets } = admit(pacer, 20);
    expect(pacer.waiting).toBe(5);
    expect(sockets.filter((socket) => socket.destroyed)).toHaveLength(14);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(begun.length).toBeLessThan(6);
    expect(pacer.waiting).toBe(0);
    expect(sockets.filter((socket) => socket.destroyed)).toHaveLength(20 - begun.length);
  });

  it('have their turns and their room together with those of other threads', async () => {
    const options = { perSecond: 10, maxWaiting: 5, maxWaitMs: 10_000, counts: new OwnCounts() };
    const [one, other] = [new HandshakePacer(options), new HandshakePacer(options)];
    expect(admit(one, 8).begun).toHaveLength(8);
    const { begun, sockets } = admit(other, 10);
    expect([begun.length, other.waiting]).toEqual([2, 5]);
    expect(admit(one, 1).sockets[0]?.destroyed).toBe(true);
    sockets[4]?.destroy();
    // The close of a socket is told later.
    await vi.advanceTimersByTimeAsync(1);
    const late = admit(one, 2);
    expect(late.sockets.map(({ destroyed }) => destroyed)).toEqual([false, true]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([late.begun.length, begun.length]).toEqual([1, 6]);
  });

  it('are forgotten when their connection closes', async () => {
    const pacer = new HandshakePacer({ perSecond: 1, maxWaiting: 5, maxWaitMs: 10_000 });
    const { begun, sockets } = admit(pacer, 3);
    sockets[1]?.destroy();
    await vi.advanceTimersByTimeAsync(1_500);
    expect(begun).toEqual([0, 2]);
  });
});

describe('limits.handshakes_per_second', () => {
  it('holds for TCP: the handshakes above it are spread over time', async () => {
    const { port } = await startGateway('limits: { handshakes_per_second: 4 }\nroutes: [{ files: . }]');
    const started = performance.now();
    const answers = await Promise.all(Array.from({ length: 8 }, () => get(port, '/none')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 404));
    // Four at once, four more at 250 ms each: a slow machine only takes longer.
    expect(performance.now() - started).toBeGreaterThan(900);
  });

  it('closes what finds no room to wait', async () => {
    const { port } = await startGateway(
      'limits: { handshakes_per_second: 1, half_open_handshakes: 1 }\nroutes: [{ files: . }]',
    );
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => get(port, '/none')));
    expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
    expect((await get(port, '/none')).status).toBe(404);
  });
});
