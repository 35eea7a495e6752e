import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { formatBytes, formatNumber, formatShare, median } from '../src/page/live/format.js';
import { BUCKETS, BUCKET_MS, ThroughputHistory } from '../src/page/live/history.js';
import { PathHistory } from '../src/page/live/path_history.js';
import { Probe } from '../src/page/live/probe.js';
import { parsePathReports, type PathReport } from '../src/protocol/index.js';

describe('the throughput history', () => {
  test('turns bytes into Mbit/s and leaves the unfinished column out', () => {
    const history = new ThroughputHistory(0);
    history.add('sent', 31_250, 10);
    history.add('returned', 62_500, 20);
    history.add('sent', 1_000_000, BUCKET_MS);
    expect(history.rates(BUCKET_MS + 1)).toEqual([{ sent: 1, returned: 2 }]);
  });

  test('shows silence as zero and forgets after a minute', () => {
    const history = new ThroughputHistory(0);
    history.add('sent', 1_000, 0);
    expect(history.rates(3 * BUCKET_MS)).toHaveLength(3);
    const later = history.rates(10 * BUCKETS * BUCKET_MS);
    expect(later).toHaveLength(BUCKETS - 1);
    expect(later.every(({ sent }) => sent === 0)).toBe(true);
  });
});

describe('the datagram probe', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('measures what returns and counts what does not', () => {
    const sent: Uint8Array[] = [];
    const probe = new Probe((bytes) => sent.push(bytes));
    probe.start(() => sent.length < 3);
    vi.advanceTimersByTime(300);
    vi.advanceTimersByTime(20);
    probe.receive(sent[2]!);
    probe.receive(sent[2]!); // Twice: networks do that.
    probe.receive(Uint8Array.of(1)); // Not one of ours.
    expect(probe.history().map(({ milliseconds }) => milliseconds)).toEqual([undefined, undefined, 20]);
    vi.advanceTimersByTime(3_000);
    expect([probe.returned, probe.lost]).toEqual([1, 2]);
    probe.receive(sent[0]!); // Too late: it has been counted.
    expect([probe.returned, probe.lost]).toEqual([1, 2]);
    vi.advanceTimersByTime(60_000);
    expect(probe.history()).toEqual([]);
  });
});

describe('the history of paths', () => {
  const report = (id: number, bytesReceived: number, more: Partial<PathReport> = {}): PathReport => ({
    id,
    local: `192.0.2.${id}:1`,
    remote: '192.0.2.99:2',
    state: 'active',
    backup: false,
    roundTripMs: 10 + id,
    packetsSent: 1,
    packetsLost: 0,
    bytesSent: 0,
    bytesReceived,
    ...more,
  });

  test('turns counters into rates', () => {
    const history = new PathHistory();
    history.add([report(0, 0), report(1, 0)], 0);
    history.add([report(0, 250_000, { packetsLost: 2 }), report(1, 125_000, { bytesSent: 125_000 })], 1_000);
    const series = history.series();
    expect(series.map(({ place, gone }) => [place, gone])).toEqual([
      [0, false],
      [1, false],
    ]);
    expect(series.map(({ samples }) => samples)).toEqual([
      [{ at: 1_000, rate: 2, roundTripMs: 10, lost: 2 }],
      [{ at: 1_000, rate: 2, roundTripMs: 11, lost: 0 }],
    ]);
  });

  test('keeps a path that is gone for a minute, then gives its place away', () => {
    const history = new PathHistory();
    history.add([report(0, 0), report(1, 0)], 0);
    history.add([report(0, 0), report(1, 0)], 1_000);
    history.add([report(1, 0), report(2, 0)], 2_000);
    expect(history.series().map(({ place, gone }) => [place, gone])).toEqual([
      [0, true],
      [1, false],
      [2, false],
    ]);
    history.add([report(1, 0), report(2, 0)], 61_500);
    history.add([report(1, 0), report(3, 0)], 62_000);
    expect(history.series().map(({ place, report: { id } }) => [place, id])).toEqual([
      [1, 1],
      [2, 2],
      [0, 3],
    ]);
  });

  test('begins anew with the same path of another connection', () => {
    const history = new PathHistory();
    history.add([report(0, 1_000_000)], 0);
    history.add([report(0, 1_000)], 1_000);
    history.add([report(0, 126_000)], 2_000);
    expect(history.series()[0]?.samples.map(({ rate }) => rate)).toEqual([1]);
  });

  test.each([
    [{}, 'paths'],
    [null, 'paths'],
    [{ paths: new Array(65).fill(report(0, 0)) }, 'paths'],
    [{ paths: [null] }, 'id'],
    [{ paths: [{ ...report(0, 0), bytesSent: -1 }] }, 'bytesSent'],
    [{ paths: [{ ...report(0, 0), roundTripMs: '1' }] }, 'roundTripMs'],
    [{ paths: [{ ...report(0, 0), local: 1 }] }, 'local'],
    [{ paths: [{ ...report(0, 0), state: 'odd' }] }, 'state'],
    [{ paths: [{ ...report(0, 0), backend: 'one' }] }, 'backend'],
    [{ paths: [{ ...report(0, 0), backup: 'no' }] }, 'backup'],
    [{ paths: [{ ...report(0, 0), lease: 1 }] }, 'lease'],
    [{ paths: [{ ...report(0, 0), lease: null }] }, 'lease'],
    [{ paths: [{ ...report(0, 0), lease: { granted: 1 } }] }, 'lease'],
    [{ paths: [{ ...report(0, 0), lease: { granted: 1, used: 2 } }] }, 'lease'],
    [{ paths: [{ ...report(0, 0), lease: { granted: 1, used: -1 } }] }, 'lease'],
  ])('refuses what is no report: %j', (value, field) => {
    expect(() => parsePathReports(value)).toThrow(new RegExp(`^${field}:`));
    const ofBackend = report(1, 0, { backend: 0, lease: { granted: 4096, used: 12 } });
    expect(parsePathReports({ paths: [report(0, 0), ofBackend] })).toEqual([report(0, 0), ofBackend]);
  });
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KB'],
  [5 * 1024 ** 2, '5.00 MB'],
])('%i bytes read %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
  [12, 1000, '12 of 1000 B'],
  [0, 32 * 1024, '0.0 of 32.0 KB'],
  [512 * 1024, 4 * 1024 ** 2, '0.50 of 4.00 MB'],
])('%i of %i bytes read %s', (part, whole, text) => expect(formatShare(part, whole)).toBe(text));

test.each([
  [NaN, '–'],
  [Infinity, '–'],
  [0.5, '0.50'],
  [12.34, '12.3'],
  [456.7, '457'],
])('the number %d reads %s', (value, text) => expect(formatNumber(value)).toBe(text));

test('the median of nothing is no number', () => {
  expect(median([])).toBeNaN();
  expect(median([5, 1, 3])).toBe(3);
});
