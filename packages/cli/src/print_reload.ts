import { describeChange, type ReloadOutcome } from '@sheaf/gateway';
import { printLine, type World } from './world.js';

/** Prints what a reload changed, or why the node refused it. */
export async function printReload(outcome: ReloadOutcome, world: World): Promise<void> {
  if (!outcome.accepted) {
    await printLine(world.stderr, `${outcome.refusal.text}\nthe configuration in use stays as it is`);
    return;
  }
  const { changes, warnings, version } = outcome;
  await printLine(
    world.stdout,
    `reloaded, version ${version.slice(0, 12)}${changes.length === 0 ? ': no change' : ''}`,
  );
  for (const change of changes) await printLine(world.stdout, `  ${change.node}: ${describeChange(change)}`);
  for (const warning of warnings) await printLine(world.stderr, `warning: ${warning}`);
}
