// Its compiled form: it starts programs of its own, which lie beside it.
import { fleetFaults, runFleet } from '@sheaf/bench';
import { expect, test } from 'vitest';
import { judgeFleet } from '../../src/fleet/judge_fleet.js';
import { natsProgram } from '../../src/fleet/nats_cluster.js';
import type { FaultReport } from '../../src/fleet/run_fault.js';

const short = { seconds: 1, seed: 1, idle: 30, bytes: 500_000 };
const happening = ['gateway killed and started at once', 'all of NATS killed'];

test('a fleet behind a balancer that sprays serves on through the loss of a gateway, and of its registry', async () => {
  const chosen = fleetFaults.filter(({ name }) => happening.includes(name));
  const report = await runFleet(short, { progress: () => undefined }, chosen);
  expect(report.problems).toEqual([]);
  expect(report.faults.map(({ fault }) => fault)).toEqual(happening);
  for (const { downloads, connections, agree_ms: agree, requests } of report.faults) {
    expect(downloads.lost).toBe(0);
    expect(downloads.bytes).toBeGreaterThan(0);
    expect(connections.died).toEqual({});
    expect(agree.end).not.toBeNull();
    for (const { done } of Object.values(requests)) expect(done).toBeGreaterThan(0);
  }
  // Each gateway got datagrams of connections of the others, and passed them on.
  for (const count of Object.values(report.balancer.datagrams)) expect(count).toBeGreaterThan(0);
  expect(report.balancer.forwarded_before.received).toBeGreaterThan(0);
  expect(report.balancer.forwarded_before.refused).toBe(0);
});

test('a machine without NATS is told what installs it', () => {
  expect(() => natsProgram(['/nonexistent/nats-server'])).toThrow('nats-server is not installed');
});

const works = { done: 1, failed: 0, failedAtLiving: 0, longestMs: 1, reasons: {}, recovered_ms: 0 };

const calm: FaultReport = {
  fault: 'backend killed',
  of: ['backend1'],
  lasted_ms: 1,
  requests: { files: works, backends: works, connects: works, downloads: works },
  downloads: { bytes: 1, lost: 0, repeated: 0, resumed: 0 },
  connections: { opened: 1, given_up: 0, with_gateway: { after_ms: [5], by: { gone: 1 } }, died: {} },
  agree_ms: { begin: null, end: 1 },
  recovered_ms: 0,
  forwarded: { sent: 0, received: 0, dropped: 0, refused: 0 },
};

test('lost bytes, connections that die, and a fleet that does not agree or serve are problems', () => {
  expect(judgeFleet(1, [calm])).toEqual([]);
  const bad: FaultReport = {
    ...calm,
    requests: { ...calm.requests, connects: { ...works, done: 0 } },
    downloads: { ...calm.downloads, lost: 7 },
    connections: { ...calm.connections, died: { 'idle timeout': 1 } },
    agree_ms: { begin: null, end: null },
  };
  expect(judgeFleet(null, [calm, bad])).toEqual([
    'the nodes did not find each other',
    'backend killed: 7 bytes were lost',
    'backend killed: connections of living gateways ended (idle timeout)',
    'backend killed: the nodes did not agree again',
    'backend killed: no connects succeeded',
  ]);
});
