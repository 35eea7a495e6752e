import { expect, it, vi } from 'vitest';
import type { NativeChannelSourceOptions } from '../lib/addon.js';
import { openChannelSource } from '../lib/channel_source.js';
import type { ChannelSourceOptions } from '../lib/channel_types.js';

const opened = vi.hoisted(() => [] as NativeChannelSourceOptions[]);

vi.mock('../lib/addon.js', () => ({
  addon: () => ({
    ChannelSource: class {
      readonly close = (): void => undefined;

      constructor(options: NativeChannelSourceOptions) {
        opened.push(options);
      }
    },
  }),
}));

/** Opens a source, and returns what its native part was told. */
function defaults(options: ChannelSourceOptions): NativeChannelSourceOptions {
  openChannelSource(options);
  return opened.pop()!;
}

it.each([
  // An eighth of the deadline, at most 200 ms
  [{}, 200],
  [{ deadlineMs: 800 }, 100],
  [{ deadlineMs: 60_000 }, 200],
  // The time of 512 packets
  [{ rate: 3_328_000 }, 200],
  [{ rate: 6_656_000 }, 100],
  [{ rate: 6_656_000, packetSize: 1_200 }, 92],
  [{ rate: 6_656_000, deadlineMs: 400 }, 50],
  // At least 10 ms, since a receiver leaves for less
  [{ rate: 125_000_000 }, 10],
  [{ deadlineMs: 40 }, 10],
  [{ rate: 125_000_000, reportIntervalMs: 70 }, 70],
])('receivers of a source with %j report each %i ms', (options, interval) => {
  expect(defaults(options).reportIntervalMs).toBe(interval);
});

it.each([
  // At least 8192 packets, which are more than a second here
  [{}, 8_192],
  [{ rate: 8_192 * 1_300 }, 8_192],
  // A second of packets
  [{ rate: 8_192 * 1_300 + 1 }, 8_193],
  [{ rate: 13_000_000 }, 10_000],
  [{ rate: 13_000_000, packetSize: 1_200 }, 10_834],
  // As many as receivers permit
  [{ rate: 125_000_000 }, 16_384],
  [{ rate: 125_000_000, reach: 64 }, 64],
])('the log of a source with %j has %i packets', (options, packets) => {
  expect(defaults(options).reach).toBe(packets);
});

it('copies have ten times the rate of the group, unless told', () => {
  expect(defaults({ rate: 1_000 }).copyRate).toBe(10_000);
  expect(defaults({ rate: 1_000, copyRate: 5 }).copyRate).toBe(5);
});

it('a channel with a group is signed, unless told', () => {
  const group = { address: '232.1.2.3', port: 5004 };
  expect(defaults({ group }).authentication).toBe('signed');
  expect(defaults({}).authentication).toBe('none');
  expect(defaults({ group, authentication: 'timed' }).authentication).toBe('timed');
});
