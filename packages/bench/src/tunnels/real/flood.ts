import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage } from '@sheaf/gateway';
import { z } from 'zod';
import type { Failed, Laboratory, MeasuredPlan } from '../../measure/measured_rounds.js';
import type { Mark } from '../../measure/marks.js';
import { distribution, round } from '../../measure/statistics.js';
import { CalledProcess } from '../../process/called_process.js';
import { withPrograms } from '../../process/owned_programs.js';
import { Program } from '../../process/program.js';
import type { ClientCall } from './client_process.js';
import type { ServedSite } from './measured_downloads.js';
import { masqueProgram, startCarrier, startProxy, type StartedProxy } from './programs.js';
import { fileOf } from './site.js';

/** Proxies that a hostile client may flood meanwhile: none, another proxy of this machine, or the one that the download goes through */
export const FLOODED = ['none', 'other', 'same'] as const;
/** `steady`: a client that wants no more than its rate; `full`: one that takes what it can get */
const LOADS = ['steady', 'full'] as const;

export interface FloodPlan {
  load: (typeof LOADS)[number];
  flooded: (typeof FLOODED)[number];
}

export interface FloodSample {
  goodput_mbps: number;
}

/** A row of the report. The goodput is the median of the runs. */
export const floodRowSchema = z.object({
  load: z.enum(LOADS),
  flooded: z.enum(FLOODED),
  goodput_mbps: z.number().positive(),
  quartiles: z.tuple([z.number(), z.number()]),
  runs: z.number().int().min(1),
});
export type FloodRow = z.output<typeof floodRowSchema>;

/** Files that a client downloads one after the other: their size, and how often one of a steady client begins */
export const PIECE_BYTES = 1_000_000;
const STEADY_MS = 80;
/** Datagrams of a flood for each piece of a download without one, so that it is not too short beside those that last as long as the flood */
const DATAGRAMS_OF_PIECE = { steady: 20_000, full: 5_000 };
/** Least share of its goodput that a client keeps */
const LEAST = 0.9;
/** Longest time of a round: for downloads without a flood, and at a slow rate of the floods */
const PATIENCE = { seconds: 60, datagramsPerSecond: 2_000 };

/** Starts two proxies with a client of one of them. @throws UserError */
export const withFloodLaboratory = <Result>(
  { site, server }: ServedSite,
  { datagrams, runs }: { datagrams: number; runs: number },
  cancel: AbortSignal,
  work: (laboratory: Laboratory<FloodPlan, FloodSample>) => Promise<Result>,
): Promise<Result> => {
  const seconds = runs * (PATIENCE.seconds + (4 * datagrams) / PATIENCE.datagramsPerSecond);
  return withPrograms({ seconds, late: 'the downloads beside floods are not complete', cancel }, async (own) => {
    const [same, other] = await Promise.all([
      startProxy.sheaf(site, server.port, own),
      startProxy.sheaf(site, server.port, own),
    ]);
    const { ports } = await startCarrier.sheaf(same, { site, target: server.port, count: 1 }, own);
    const module = join(import.meta.dirname, 'client_process.js');
    const client = own(new CalledProcess<ClientCall>('the downloads', module));
    await client.call({ type: 'connect', ports });
    const download = (): Promise<unknown> =>
      client.call({ type: 'download', path: `/${fileOf(PIECE_BYTES)}`, bytes: PIECE_BYTES });
    await download();
    const words = ['-authority', site.cert, '-flood', String(datagrams)];
    const flood = (proxy: StartedProxy): Program =>
      own(
        new Program([
          masqueProgram(),
          ...['-template', `https://127.0.0.1:${proxy.port}${proxy.template}`, ...words],
          `127.0.0.1:${server.port}`,
        ]),
      );
    const measure = ({ load, flooded }: FloodPlan): Promise<FloodSample | Failed> =>
      (flooded === 'none'
        ? downloadPieces(download, load, (done) => done < datagrams / DATAGRAMS_OF_PIECE[load])
        : downloadBeside(download, load, flood(flooded === 'same' ? same : other))
      ).catch((error: unknown) => ({ failed: errorMessage(error) }));
    const plans = LOADS.flatMap((load) => FLOODED.map((flooded) => ({ load, flooded })));
    return work({ plans, skipped: [], versions: {}, measure });
  });
};

async function downloadBeside(
  download: () => Promise<unknown>,
  load: FloodPlan['load'],
  flood: Program,
): Promise<FloodSample> {
  let over = false;
  const sent = flood.prints(/"sent":/).finally(() => (over = true));
  const sample = await downloadPieces(download, load, () => !over);
  await sent;
  return sample;
}

/** Downloads piece after piece, one at least. */
async function downloadPieces(
  download: () => Promise<unknown>,
  load: FloodPlan['load'],
  goesOn: (done: number) => boolean,
): Promise<FloodSample> {
  const begun = performance.now();
  let done = 0;
  do {
    await download();
    done += 1;
    const early = done * STEADY_MS - (performance.now() - begun);
    if (load === 'steady' && early > 0) await sleep(early);
  } while (goesOn(done));
  return { goodput_mbps: (done * PIECE_BYTES * 8) / ((performance.now() - begun) * 1000) };
}

export const describeFloodPlan = ({ load, flooded }: FloodPlan): string =>
  `${load} download, ${flooded === 'none' ? 'no flood' : `flood of the ${flooded} proxy`}`;

export const describeFloodSample = (sample: FloodSample | Failed): string =>
  'failed' in sample ? `failed: ${sample.failed}` : `${round(sample.goodput_mbps, 3)} Mbit/s`;

export const floodRows = (measured: readonly MeasuredPlan<FloodPlan, FloodSample>[]): FloodRow[] =>
  measured
    .filter(({ samples }) => samples.length > 0)
    .map(({ plan, samples }) => {
      const { median, quartiles } = distribution(samples.map(({ goodput_mbps }) => goodput_mbps));
      const [low, high] = quartiles;
      return { ...plan, goodput_mbps: round(median), quartiles: [round(low), round(high)], runs: samples.length };
    });

/**
 * Judges what a flood takes from another client. A steady one is compared with itself alone. One that takes all that there is loses to
 * everything on this machine, the hostile client included, so it is compared with itself beside the flood of another proxy.
 */
export function judgeFlood(rows: readonly FloodRow[]): Mark[] {
  const of = (load: FloodPlan['load'], flooded: FloodPlan['flooded']): FloodRow | undefined =>
    rows.find((row) => row.load === load && row.flooded === flooded);
  return LOADS.flatMap((load) => {
    const [before, beside] = [of(load, load === 'steady' ? 'none' : 'other'), of(load, 'same')];
    if (!before || !beside) return [];
    const measured = round(beside.goodput_mbps / before.goodput_mbps);
    return [
      {
        claim: `${load} download beside a flood: share of its goodput ${load === 'steady' ? 'alone' : 'beside a flood of another proxy'}`,
        required: LEAST,
        measured,
        holds: measured >= LEAST,
        why: `${beside.goodput_mbps} beside ${before.goodput_mbps}`,
      },
    ];
  });
}
