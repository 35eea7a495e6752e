import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { randomBytes, seededRandom } from '../../pages/content/random.js';
import { withPrograms } from '../../process/owned_programs.js';
import type { Lan } from './lan.js';
import { describePlan, type Plan, type Sample } from './plans.js';
import type { Open, TransferSetup } from './transfer.js';

/** Longest wait for a transfer: beyond what it takes at its rate, or at a slow one for all receivers together */
const PATIENCE = { seconds: 20, times: 3, mbps: 50 };
/** In memory, so that no disk decides */
const MEMORY = '/dev/shm';

/** A file that is sent, with what its copies have to be */
export interface SentFile {
  path: string;
  bytes: number;
  sha256: string;
  /** Directory of the file and of all copies */
  directory: string;
  remove(): Promise<void>;
}

/** Writes a file of random bytes. */
export async function makeSentFile(bytes: number): Promise<SentFile> {
  const directory = await mkdtemp(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'sheaf-multicast-'));
  const path = join(directory, 'sent');
  const content = randomBytes(bytes, seededRandom('multicast'));
  await writeFile(path, content);
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  return { path, bytes, sha256: sha256(content), directory, remove };
}

/**
 * Sends the file once. `cancel` ends it early. @throws UserError when a receiver does not have it in time, or has other bytes
 */
export async function measureTransfer(
  lan: Lan,
  plan: Plan,
  file: SentFile,
  open: Open,
  cancel: AbortSignal,
): Promise<Sample> {
  const directory = await mkdtemp(join(file.directory, 'run-'));
  try {
    const copies = await Promise.all(
      Array.from({ length: plan.receivers }, async (_, index) => {
        await mkdir(join(directory, String(index)));
        return join(directory, String(index), 'received');
      }),
    );
    await lan.setLoss(plan.loss_percent);
    const limit = patienceFor(plan, file.bytes);
    const sample = await withPrograms({ seconds: limit, late: 'not every receiver has the file', cancel }, (own) =>
      runTransfer(open, { lan, plan, file: file.path, copies, own }),
    );
    for (const copy of copies)
      if (sha256(await readFile(copy)) !== file.sha256)
        throw new UserError('BENCH_FAILED', `${describePlan(plan)}: a receiver has other bytes than were sent`);
    return sample;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function patienceFor({ receivers, rate_mbps }: Plan, bytes: number): number {
  const megabits = (bytes * 8) / 1e6;
  const atRate = rate_mbps === null ? 0 : megabits / rate_mbps;
  return PATIENCE.seconds + PATIENCE.times * atRate + (megabits * receivers) / PATIENCE.mbps;
}

async function runTransfer(open: Open, setup: TransferSetup): Promise<Sample> {
  const transfer = await open(setup);
  const before = { source: transfer.source(), receivers: transfer.receivers(), packets: setup.lan.packets() };
  const seconds = await transfer.send();
  const [source, receivers] = [transfer.source(), transfer.receivers()];
  const packets = setup.lan.packets().map((count, index) => count - (before.packets[index] ?? 0));
  return {
    seconds,
    source_cpu_s: source - before.source,
    receivers_cpu_s: receivers - before.receivers,
    strayed: packets.slice(setup.copies.length).reduce((sum, count) => sum + count, 0),
  };
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
