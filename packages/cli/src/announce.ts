import { browserUrl, version, type RunningNode } from '@sheaf/gateway';
import { printNotice, type World } from './world.js';

/**
 * Announces that nodes run. The first line contains `ready`, which scripts wait for. It also names the nodes if their
 * file does.
 */
export async function announceReady(
  milliseconds: number,
  world: World,
  named: readonly RunningNode[] = [],
): Promise<void> {
  const names = namesOf(named);
  await printNotice(
    world.stdout,
    `sheaf ${version} ready in ${Math.round(milliseconds)} ms${names === '' ? '' : `: ${names}`}`,
  );
}

/** Returns the names of nodes with their roles, for people. */
export function namesOf(nodes: readonly RunningNode[]): string {
  return nodes.map(({ name, role }) => `${name} (${role})`).join(', ');
}

/** Prints the addresses of a node, and what the user can do next. */
export async function announceNode(node: RunningNode, world: World, next?: string): Promise<void> {
  const { entrances, adminAddress, trial, warnings } = node;
  for (const { at, serves } of entrances) await printNotice(world.stdout, `  ${at}  ${serves}`);
  if (adminAddress)
    await printNotice(
      world.stdout,
      `  ${browserUrl('http', adminAddress)}  /healthz /readyz /acceptz /metrics /status`,
    );
  await printNotice(world.stdout, `  next: ${next ?? trial}`);
  for (const warning of warnings) await printNotice(world.stderr, `warning: ${warning}`);
}
