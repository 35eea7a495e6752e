import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { faultCell, faultFaults, transferCell, transferFaults } from '../../src/multi_end/simulation/cells.js';
import {
  faultExperiments,
  transferExperiments,
  type TransferExperiment,
} from '../../src/multi_end/simulation/experiments.js';
import { describeSetting } from '../../src/multi_end/simulation/setting.js';
import { measureSimulatedBackends, type SimulatedReport } from '../../src/multi_end/simulation/simulated_backends.js';
import { simulatedTables } from '../../src/multi_end/simulation/tables.js';
import { runBench } from '../../src/run_bench.js';

const link = { mbps: 1000, delay_ms: 1 };
const experiment: TransferExperiment = {
  name: 'far/download/1000',
  kind: 'download',
  topology: {
    name: 'far',
    primary: { mbps: 1000, delay_ms: 11 },
    backends: [{ client: link, primary: link }],
    access: { mbps: 50, queue_bytes: 65536 },
  },
  transfers: [{ answer_bytes: 1000, upload_bytes: 0, backend: 0 }],
  most: 0.5,
};
const transferRun = (ms: number) => ({ seed: 1, digest: '0', first_ms: [ms], done_ms: [ms] });
const faultRun = {
  seed: 1,
  digest: '0',
  finished: true,
  requests: 24,
  failed: 0,
  bytes_lost: 0,
  repeated: 0,
  resumed: 0,
  key_updates: 1,
  handshake_datagrams: 0,
  stall_ms: 300,
  bound_ms: 4000,
};
const fault = { fault: 'backend-crash', keys: 'per-path', key_update: true } as const;

test('virtual time or processes have to be asked for', async () => {
  await expect(
    runBench('multi-end', {}, { stdout: new PassThrough(), stderr: new PassThrough() }),
  ).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('--sim') });
});

test('a setting is lines for the program', () => {
  expect(describeSetting(experiment.topology, experiment.transfers)).toBe(
    'access 50 65536\nprimary 1000 11 0.1\nbackend 1000 1 0.1 1000 1\ntransfer 1000 0 0\n',
  );
});

test('a cell compares medians', () => {
  const cell = transferCell(experiment, { direct: [1, 2, 9].map(transferRun), proxied: [8, 8, 8].map(transferRun) });
  expect(cell).toMatchObject({
    topology: 'far',
    bytes: 1000,
    runs: 3,
    direct_ms: 2,
    proxied_ms: 8,
    ratio: 0.25,
    first_byte_ms: 2,
    round_trip_ms: 2,
  });
  expect(transferFaults(experiment, cell)).toEqual([]);
});

test('a ratio above the mark and a late first byte are told', () => {
  const cell = transferCell(experiment, { direct: [transferRun(5)], proxied: [transferRun(8)] });
  expect(transferFaults(experiment, cell)).toEqual([
    expect.stringContaining('more than 0.5'),
    expect.stringContaining('later than a round trip'),
  ]);
});

test('what a fault may not cost is told, with the seed that replays it', () => {
  expect(faultFaults(faultCell(fault, [faultRun]))).toEqual([]);
  const cell = faultCell(fault, [
    faultRun,
    { ...faultRun, seed: 7, failed: 1, bytes_lost: 5, stall_ms: 4001, handshake_datagrams: 1, key_updates: 0 },
  ]);
  expect(cell).toMatchObject({ runs: 2, requests: 48, longest_stall_ms: 4001, longest_stall_seed: 7 });
  const told = faultFaults(cell).join();
  for (const words of ['1 requests failed', '5 bytes lost', 'seed 7', '1 handshake datagrams', 'keys were not updated'])
    expect(told).toContain(words);
});

describe('in virtual time', () => {
  const never = new AbortController().signal;
  let directory: string;
  let measured: SimulatedReport;
  const measure = (
    options: { resume?: boolean; stop?: AbortSignal; directory?: string } = {},
  ): Promise<SimulatedReport> =>
    measureSimulatedBackends(
      { runs: 1, faultRuns: 1, seed: 3, directory, resume: false, stop: never, ...options },
      () => undefined,
    );

  // Builds the program.
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'sheaf-multi-end-'));
    measured = await measure();
  }, 900_000);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('nothing that has to be shown is missed', async () => {
    expect(measured).toMatchObject({ missed: [], missing: 0 });
    expect(measured.cells).toHaveLength((await transferExperiments()).length);
    expect(measured.faults).toHaveLength(faultExperiments.length);
    const far = measured.cells.filter(
      ({ topology, kind, bytes }) => topology === 'far-primary' && kind === 'download' && bytes <= 1_000_000,
    );
    expect(far).toHaveLength(5);
    for (const { ratio } of far) expect(ratio).toBeLessThan(0.5);
  });

  test('tables have a row for each', () => {
    const [transfers, faults] = simulatedTables(measured);
    expect(transfers?.rows).toHaveLength(measured.cells.length);
    expect(faults?.rows).toHaveLength(measured.faults.length);
  });

  test('what was not begun is missing, and what is there is kept', async () => {
    const stopped = new AbortController();
    stopped.abort();
    expect(await measure({ resume: true, stop: stopped.signal })).toEqual(measured);
    expect(await measure({ stop: stopped.signal, directory: join(directory, 'stopped') })).toMatchObject({
      cells: [],
      faults: [],
      missing: measured.cells.length + measured.faults.length,
    });
  });
});
