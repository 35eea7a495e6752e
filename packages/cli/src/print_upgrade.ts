import type { UpgradeOutcome } from '@sheaf/gateway';
import { printLine, type World } from './world.js';

/** Prints which process took over, or why none did. */
export async function printUpgrade(outcome: UpgradeOutcome, world: World): Promise<void> {
  if (!outcome.accepted) {
    await printLine(world.stderr, `${outcome.refusal.text}\nthe process that runs goes on`);
    return;
  }
  const { before, after } = outcome;
  const versions = before.version === after.version ? after.version : `${before.version} to ${after.version}`;
  await printLine(world.stdout, `upgraded, version ${versions}: process ${after.pid} serves`);
  await printLine(world.stdout, `  process ${before.pid} keeps its connections until they end`);
}
