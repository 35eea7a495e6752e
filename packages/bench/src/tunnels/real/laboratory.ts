import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '@sheaf/gateway';
import type { Failed, Laboratory, Skipped, Watch } from '../../measure/measured_rounds.js';
import { round } from '../../measure/statistics.js';
import { permittedQuotas } from '../../process/processor_quota.js';
import { interopDirectory } from '../../process/workspace.js';
import { PIECE_BYTES } from './flood.js';
import { FIRST_BYTES, measureDownloads, type ServedSite } from './measured_downloads.js';
import { ARMS, type ArmName, type Plan, type Sample } from './plans.js';
import { masqueProgram, serverRoutes, startGateway } from './programs.js';
import { makeSite, partOf } from './site.js';

export interface LaboratoryOptions {
  /** All downloads of a run together */
  bytes: number;
  arms: readonly ArmName[];
  /** Numbers of downloads at one time */
  clients: readonly number[];
  /** Shares of one processor that the proxy may use; 1: it is not limited */
  quotas: readonly number[];
}

/** Starts a server with the files of these downloads, and those of floods. @throws UserError */
export async function withServedSite<Result>(
  { bytes, clients }: Pick<LaboratoryOptions, 'bytes' | 'clients'>,
  work: (served: ServedSite) => Promise<Result>,
): Promise<Result> {
  const site = await makeSite([FIRST_BYTES, PIECE_BYTES, ...clients.map((count) => partOf(bytes, count))]);
  let stopServer = (): Promise<void> => Promise.resolve();
  try {
    const server = await startGateway(site, 'server', serverRoutes(site.files), (program) => {
      stopServer = () => program.stop();
      return program;
    });
    return await work({ site, server });
  } finally {
    await stopServer();
    await site.remove();
  }
}

/** Finds the programs for downloads from a server. */
export async function withLaboratory<Result>(
  served: ServedSite,
  { bytes, clients, ...options }: LaboratoryOptions,
  { progress, stop }: Watch,
  work: (laboratory: Laboratory<Plan, Sample>) => Promise<Result>,
): Promise<Result> {
  const { arms, skipped } = presentArms(options.arms, progress);
  const measure = (plan: Plan): Promise<Sample | Failed> =>
    measureDownloads(served, plan, partOf(bytes, plan.clients), stop).catch((error: unknown) => ({
      // An error of a process has its stack behind the first line.
      failed: errorMessage(error).split('\n', 1)[0] ?? '',
    }));
  const { permitted, refused } = permittedQuotas(options.quotas);
  const all = permitted.flatMap((quota) =>
    clients.flatMap((count) => arms.map((arm): Plan => ({ arm, clients: count, quota }))),
  );
  // Without a proxy there is nothing to limit.
  const plans = all.filter(({ arm, quota }) => quota === 1 || ARMS[arm].proxy !== 'none');
  return work({
    plans,
    skipped: [...skipped, ...refused],
    versions: arms.some(isForeign) ? await foreignVersions() : {},
    measure,
  });
}

const isForeign = (arm: ArmName): boolean => Object.values(ARMS[arm]).some((program) => program === 'masque-go');

/** Why the program on masque-go is not there; undefined where it is */
export const whyNoMasque = (): string | undefined =>
  existsSync(masqueProgram()) ? undefined : 'the program on masque-go is not built (npm run setup)';

function presentArms(
  wanted: readonly ArmName[],
  progress: (line: string) => void,
): { arms: ArmName[]; skipped: Skipped[] } {
  const reason = whyNoMasque();
  if (reason === undefined) return { arms: [...wanted], skipped: [] };
  const skipped = wanted.filter(isForeign).map((what) => ({ what, reason }));
  for (const { what } of skipped) progress(`skipping ${what}: ${reason}`);
  return { arms: wanted.filter((arm) => !isForeign(arm)), skipped };
}

async function foreignVersions(): Promise<Record<string, string>> {
  const text = await readFile(join(interopDirectory, 'go', 'masque', 'go.mod'), 'utf8');
  const versionOf = (module: string): string =>
    new RegExp(`github.com/quic-go/${module} v(\\S+)`).exec(text)?.[1] ?? 'unknown';
  return { 'masque-go': versionOf('masque-go'), 'quic-go': versionOf('quic-go') };
}

export const describeSample = (sample: Sample | Failed, bytes: number): string =>
  'failed' in sample
    ? `failed: ${sample.failed}`
    : `${round((bytes * 8) / sample.seconds / 1e6, 3)} Mbit/s, ${round(sample.proxy_cpu_s, 3)} s of the proxy`;
