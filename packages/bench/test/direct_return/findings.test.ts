import { expect, test } from 'vitest';
import { balancerCells, gatewayCells, type BalancerCell, type GatewayCell } from '../../src/direct_return/cells.js';
import type { Delivery, Sample } from '../../src/direct_return/balancers.js';
import { judgeBalancers } from '../../src/direct_return/findings.js';

const cell = (delivery: Delivery, bytes: number, gbit: number, ratio: number): BalancerCell => ({
  delivery,
  bytes,
  client_ack_every: 10,
  quota: 0.1,
  requests_per_s: 100,
  goodput_gbps: 1,
  balancer_cpu_s: 1,
  gbit_per_cpu_s: gbit,
  ratio,
  saturated: true,
});
const gateway = (bytes: number, fellBack = 0): GatewayCell => ({
  delivery: 'return',
  bytes,
  client_ack_every: 10,
  quota: 0.1,
  datagrams_received: 10,
  datagrams_sent: 2,
  bytes_sent: 300,
  javascript_calls: 2,
  fell_back: fellBack,
  reasons: fellBack > 0 ? ['silent'] : [],
});
const good = [
  cell('proxy', 1_000, 0.1, 1),
  cell('return', 1_000, 0.09, 0.9),
  cell('proxy', 500_000, 2, 1),
  cell('return', 500_000, 24, 12),
  cell('proxy', 1_000_000, 2, 1),
  cell('return', 1_000_000, 30, 15),
  cell('caddy', 1_000_000, 3, 1.5),
];

test('all requirements hold at their bounds', () => {
  const findings = judgeBalancers(good, [gateway(1_000), gateway(500_000)]);
  expect(findings.map(({ holds }) => holds)).toEqual([true, true, true, true, true]);
});

test('each requirement is missed by a little', () => {
  const missed = (cells: BalancerCell[]): number[] =>
    judgeBalancers(cells, [gateway(1_000)]).flatMap(({ holds }, index) => (holds ? [] : [index]));
  const but = (index: number, changed: Partial<BalancerCell>): BalancerCell[] =>
    good.map((value, at) => (at === index ? { ...value, ...changed } : value));
  expect(missed(but(5, { ratio: 14.9 }))).toEqual([0]);
  expect(missed(but(3, { ratio: 11.9 }))).toEqual([1]);
  expect(missed(but(6, { gbit_per_cpu_s: 3.1 }))).toEqual([2]);
  expect(missed(but(1, { ratio: 0.89 }))).toEqual([3]);
});

test('what was not measured does not hold', () => {
  const findings = judgeBalancers([], []);
  expect(findings.map(({ holds }) => holds)).toEqual([false, false, false, false, false]);
  expect(findings[0]?.why).toBe('not measured');
});

test('a response that fell back to proxying is found', () => {
  const [finding] = judgeBalancers(good, [gateway(1_000, 7), gateway(500_000)]).slice(-1);
  expect(finding).toMatchObject({ holds: false, why: expect.stringContaining('7 with 1000 bytes') });
});

test('cells are medians of their runs, next to proxying of the same responses', () => {
  const sample = (gbit: number, sent: number): Sample => ({
    requests_per_s: 1,
    goodput_gbps: 1,
    balancer_cpu_s: 1,
    gbit_per_cpu_s: gbit,
    busy: sent / 10,
    gateway: {
      fell_back: 1,
      reasons: 'silent, gone',
      per_request: { datagrams_received: 1, datagrams_sent: 1, bytes_sent: sent, javascript_calls: 1 },
    },
  });
  const plans = (['proxy', 'return'] as const).flatMap((delivery) =>
    [1_000, 2_000].map((bytes) => ({
      plan: { delivery, bytes, client_ack_every: 10, quota: 0.1 },
      samples: [1, 2, 30].map((gbit) => sample(delivery === 'proxy' ? gbit : gbit * bytes, gbit)),
    })),
  );
  expect(balancerCells(plans).map(({ ratio }) => ratio)).toEqual([1, 1, 1_000, 2_000]);
  expect(gatewayCells(plans).map(({ bytes_sent }) => bytes_sent)).toEqual([11, 11, 11, 11]);
  expect(gatewayCells(plans)[0]).toMatchObject({ fell_back: 3, reasons: ['silent', 'gone'] });
});

test('a balancer that is not saturated is judged by what is asked of every size alone', () => {
  const idle = [cell('proxy', 1_000_000, 1, 1), cell('return', 1_000_000, 5, 5), cell('return', 500_000, 5, 0.8)];
  const cells = [...good, ...idle.map((value) => ({ ...value, quota: 1 }))];
  expect(judgeBalancers(cells, [gateway(1_000)]).map(({ holds }) => holds)).toEqual([true, true, true, false, true]);
});

test('cells of different quotas are not compared, and those that use up their quota are saturated', () => {
  const sample = (gbit: number, busy: number): Sample => ({
    requests_per_s: 1,
    goodput_gbps: 1,
    balancer_cpu_s: 1,
    gbit_per_cpu_s: gbit,
    busy,
    gateway: undefined,
  });
  const plan = { bytes: 1_000, client_ack_every: 10 };
  const cells = balancerCells([
    { plan: { ...plan, delivery: 'proxy', quota: 1 }, samples: [sample(2, 0.4)] },
    { plan: { ...plan, delivery: 'proxy', quota: 0.1 }, samples: [sample(1, 1)] },
    { plan: { ...plan, delivery: 'return', quota: 0.1 }, samples: [sample(8, 0.99)] },
  ]);
  expect(cells.map(({ ratio }) => ratio)).toEqual([1, 1, 8]);
  expect(cells.map(({ saturated }) => saturated)).toEqual([false, true, true]);
});
