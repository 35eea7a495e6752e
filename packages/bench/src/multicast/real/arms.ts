import { errorMessage } from '@sheaf/gateway';
import type { Skipped } from '../../measure/measured_rounds.js';
import { capture } from '../../process/run_program.js';
import { cmake, ninja, norm, uftp, whatIsMissing, type Tool } from '../../process/toolchain.js';
import { prepareNorm } from './norm_transfer.js';
import { ARMS, type ArmName } from './plans.js';
import { openSheafTransfer } from './sheaf_transfer.js';
import type { Open } from './transfer.js';
import { prepareUftp } from './uftp_transfer.js';

type Sender = (typeof ARMS)[ArmName]['sender'];

interface SenderProgram {
  tools: readonly Tool[];
  /** Package of Debian whose version a report has */
  library?: string;
  prepare(): Promise<Open>;
}

const senders: Readonly<Record<Sender, SenderProgram>> = {
  channel: { tools: [], prepare: () => Promise.resolve(openSheafTransfer) },
  unicast: { tools: [], prepare: () => Promise.resolve(openSheafTransfer) },
  uftp: { tools: [cmake, ninja, uftp], library: 'uftp', prepare: prepareUftp },
  norm: { tools: [cmake, ninja, norm], library: 'libnorm1', prepare: prepareNorm },
};

/** Prepares the arms that this machine has the programs for, and returns the others with a reason. */
export async function prepareArms(
  wanted: readonly ArmName[],
  progress: (line: string) => void,
): Promise<{ arms: Map<ArmName, Open>; skipped: Skipped[]; versions: Record<string, string> }> {
  const arms = new Map<ArmName, Open>();
  const skipped: Skipped[] = [];
  const versions: Record<string, string> = {};
  for (const arm of wanted) {
    const { sender } = ARMS[arm];
    const { tools, library, prepare } = senders[sender];
    const reason = (await whatIsMissing(tools)) ?? (await tryTo(async () => void arms.set(arm, await prepare())));
    if (reason === undefined) {
      if (library !== undefined) versions[sender] = await packageVersion(library);
      continue;
    }
    progress(`skipping ${arm}: ${reason}`);
    skipped.push({ what: arm, reason });
  }
  return { arms, skipped, versions };
}

/** Returns why the work failed; undefined when it did not. */
const tryTo = (work: () => Promise<void>): Promise<string | undefined> =>
  work().then(
    () => undefined,
    (error: unknown) => `it does not build: ${errorMessage(error)}`,
  );

const packageVersion = async (name: string): Promise<string> =>
  (await capture('dpkg-query', ['--show', '--showformat', '${Version}', name])) ?? 'unknown';
