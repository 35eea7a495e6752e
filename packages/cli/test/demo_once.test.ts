import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { start } from './support/process.js';
import { temporaryDirectory } from './support/world.js';

it(
  'sheaf demo --once --json loads the page in Chromium over every transport and says so on one line',
  { timeout: 300_000 },
  async () => {
    const directory = await temporaryDirectory();
    const { exit, out, err } = start(['demo', '--once', '--json'], directory);
    const code = await exit;
    expect([code, err()]).toEqual([0, expect.not.stringContaining('error[')]);
    expect(out().trim().split('\n')).toHaveLength(1);
    const report = JSON.parse(out()) as {
      ok: boolean;
      transports: { transport: string; ok: boolean }[];
      screenshot: string;
    };
    expect(report.ok).toBe(true);
    expect(report.transports.map(({ transport, ok }) => [transport, ok])).toEqual([
      ['webtransport', true],
      ['http3', true],
      ['tcp', true],
    ]);
    expect(await readdir(join(directory, '.sheaf', 'demo'))).toContain('webtransport.png');
  },
);

it(
  'sheaf demo --site live --once --json shows every frame while the tree is cut and mended',
  { timeout: 300_000 },
  async () => {
    const directory = await temporaryDirectory();
    const { exit, out, err } = start(['demo', '--site', 'live', '--once', '--json'], directory);
    const code = await exit;
    expect([code, err()]).toEqual([0, expect.not.stringContaining('error[')]);
    expect(out().trim().split('\n')).toHaveLength(1);
    const { phases, ...report } = JSON.parse(out()) as {
      framesLost: number;
      groups: { compared: number; equal: number };
      phases: { tree: string; byGroup: number; byCopies: number; multicastShare: number }[];
    };
    expect(report).toMatchObject({ ok: true, framesLost: 0, packetsExpired: 0 });
    expect(report.groups.equal).toBe(report.groups.compared);
    expect(phases.map(({ tree }) => tree)).toEqual(['whole', 'cut', 'mended']);
    const [whole, cut, mended] = phases;
    expect(cut).toMatchObject({ byGroup: 0, multicastShare: 0 });
    for (const phase of [whole!, mended!]) expect(phase.byGroup).toBeGreaterThan(0);
    expect(await readdir(join(directory, '.sheaf', 'demo'))).toContain('live-cut.png');
  },
);
