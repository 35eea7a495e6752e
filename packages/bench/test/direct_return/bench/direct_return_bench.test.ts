import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
// Its compiled form: it starts programs of its own, which lie beside it.
import { runBench } from '@sheaf/bench';
import { expect, test } from 'vitest';

test('a short run measures each way of delivery with each size and acknowledgement', { timeout: 300_000 }, async () => {
  const stdout = new PassThrough();
  const options = {
    real: true,
    runs: '1',
    seconds: '0.5',
    bytes: '100000',
    acks: '2,32',
    backends: '2',
    connections: '2',
    quota: '0.5',
  };
  const printed = text(stdout);
  await runBench('direct-return', { json: true, ...options }, { stdout, stderr: new PassThrough() });
  stdout.end();
  const { balancer, gateway, skipped } = JSON.parse(await printed) as {
    balancer: Record<string, unknown>[];
    gateway: { delivery: string; client_ack_every: number; datagrams_received: number; bytes_sent: number }[];
    skipped: { what: string }[];
  };
  // Where nobody may limit the balancer, the report says so.
  const quota = skipped.some(({ what }) => what === 'a quota of 0.5') ? 1 : 0.5;
  const cellOf = (delivery: string, client_ack_every: number): Record<string, unknown> | undefined =>
    balancer.find((cell) => cell['delivery'] === delivery && cell['client_ack_every'] === client_ack_every);
  for (const delivery of ['proxy', 'return'])
    for (const client_ack_every of [2, 32])
      expect(cellOf(delivery, client_ack_every)).toEqual({
        delivery,
        client_ack_every,
        bytes: 100_000,
        quota,
        saturated: expect.any(Boolean),
        requests_per_s: expect.any(Number),
        goodput_gbps: expect.any(Number),
        balancer_cpu_s: expect.any(Number),
        gbit_per_cpu_s: expect.any(Number),
        // On a busy machine no response may end in so short a time, and nothing can be compared with none.
        ratio: cellOf('proxy', client_ack_every)?.['requests_per_s'] === 0 ? null : expect.any(Number),
      });
  expect(balancer.some((cell) => cell['ratio'] !== null)).toBe(true);
  const received = (client_ack_every: number): number =>
    gateway.find((cell) => cell.delivery === 'proxy' && cell.client_ack_every === client_ack_every)
      ?.datagrams_received ?? 0;
  // 70 packets or more
  expect(received(2)).toBeGreaterThan(2 * received(32));
  // Responses of which a part leaves outside of the time that is measured count as whole ones.
  expect(gateway.find(({ delivery }) => delivery === 'proxy')?.bytes_sent).toBeGreaterThan(50_000);
});

test('acknowledgements of fewer than two packets are refused', async () => {
  const run = runBench(
    'direct-return',
    { real: true, acks: '1' },
    { stdout: new PassThrough(), stderr: new PassThrough() },
  );
  await expect(run).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('--acks') });
});
