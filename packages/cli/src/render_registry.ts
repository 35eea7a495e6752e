import type { RegistryStatus } from '@sheaf/gateway';
import { renderTable } from './table.js';

/** Says in a few words whether the registry answers, and what is wrong. */
export function registryFacts(registry: RegistryStatus): [string, string][] {
  const { place, connected, ageSeconds, reason, refused, conflicts, deadWatches, failedWrites } = registry;
  const age = ageSeconds === undefined ? 'it has told nothing yet' : `it told something ${ageSeconds.toFixed(1)} s ago`;
  const counts = Object.entries(refused).filter(([, count]) => count > 0);
  return [
    ['registry', `${connected ? 'connected' : 'away'}: ${place}; ${age}${reason === undefined ? '' : ` (${reason})`}`],
    ...(deadWatches + failedWrites > 0
      ? [['', `${failedWrites} writes failed, ${deadWatches} watches were dead`] as [string, string]]
      : []),
    ...(counts.length > 0
      ? [['refused entries', counts.map(([why, count]) => `${count} ${why}`).join(', ')] as [string, string]]
      : []),
    ...conflicts.map((conflict): [string, string] => ['conflict', conflict]),
  ];
}

/** Returns a table of the nodes of the fleet. */
export function renderFleet({ nodes }: RegistryStatus): string {
  const rows = nodes.map(
    ({ name, role, state, draining, own, serverId = '', backbone = '', version, configuration }) => [
      own ? `${name} (here)` : name,
      role,
      draining ? `${state}, draining` : state,
      serverId,
      backbone,
      version,
      configuration.slice(0, 12),
    ],
  );
  return renderTable(['fleet', 'role', 'state', 'server id', 'backbone', 'version', 'configuration'], rows);
}
