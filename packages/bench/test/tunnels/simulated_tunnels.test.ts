import { expect, test } from 'vitest';
import { tunnelArmSchema } from '../../src/tunnels/arms.js';
import {
  describeShared,
  describeTunnel,
  type TunnelPlace,
  type TunnelSetting,
} from '../../src/tunnels/simulated_tunnels.js';

const place: TunnelPlace = {
  loss: { down: 0.05, up: 0 },
  mbps: 10,
  link_queue_bytes: 262_144,
  inner: 'bbr_v1',
  limit_s: 300,
};

const arm = (settings: object): Omit<TunnelSetting, keyof TunnelPlace> => ({
  ...tunnelArmSchema.parse({ mode: 'retransmit', outer: 'bbr_v1', ...settings }),
  bytes: 1000,
  spread: 0,
  server_rtt_ms: 140,
  tunnel_rtt_ms: 40,
  warm_bytes: 0,
});

const linesOf = (settings: object, rest: Partial<TunnelSetting> = {}): string[] =>
  describeTunnel({ ...place, ...arm(settings), ...rest }).split('\n');

test('a tunnel without reports has no line about them', () => {
  const lines = linesOf({});
  expect(lines).toContain('mode retransmit');
  expect(lines).toContain('congestion bbr_v1 bbr_v1');
  expect(lines).toContain('round_trips 140 40');
  expect(lines.join('\n')).not.toMatch(/tecc|credit|tolerates|offset|trace/);
});

test('TECC has its weight and its additive part, and credit has its own line', () => {
  expect(linesOf({ tecc: 'literal', tecc_additive: 0 })).toEqual(
    expect.arrayContaining(['tecc literal 0.5', `drain ${2 / 3} 0`, 'tolerates 1']),
  );
  const credit = linesOf({ tecc: 'credit', skips_outages: false, tolerates: false });
  expect(credit).toEqual(expect.arrayContaining(['credit 0.25 0.5 1.25', 'skips_outages 0', 'tolerates 0']));
  expect(credit.join('\n')).not.toContain('tecc');
});

test('a trace and its place are named where there are some', () => {
  expect(linesOf({}, { trace: '/tmp/some.down', offset_s: 2 })).toEqual(
    expect.arrayContaining(['trace /tmp/some.down', 'offset 2']),
  );
});

test('flows that share the link have a line each', () => {
  const flow = { tunnel: 1, server_rtt_ms: 120, tunnel_rtt_ms: 20, start_s: 0, stop_s: 60 };
  const lines = describeShared({ ...place, ...arm({}) }, [{ ...flow, tunnel: 0 }, flow]).split('\n');
  expect(lines.filter((line) => line.startsWith('flow'))).toEqual(['flow 0 120 20 0 60', 'flow 1 120 20 0 60']);
});
