import { closeSync } from 'node:fs';
import { boundSocket } from '@sheaf/native';
import { OpenedSockets, type OpenedSocket } from './opened_sockets.js';
import type { PassedVariables } from './passed_variables.js';
import { openedName, transportOf } from './socket_names.js';

/** Number of the first descriptor that a service manager passes (sd_listen_fds(3)) */
const firstDescriptor = 3;

/** Sockets that a service manager passed to this process */
export interface PassedSockets {
  /** Those of an earlier process, which the manager kept, by name */
  kept: Map<string, number>;
  /** Those that the manager opened for the service */
  opened: OpenedSockets;
}

/**
 * Returns the sockets that the service manager passed to this process. Descriptors that are none are not touched: they may belong to
 * somebody else.
 */
export function passedSockets(variables: PassedVariables, pid: number): PassedSockets {
  const { LISTEN_PID: receiver, LISTEN_FDS: count = '', LISTEN_FDNAMES: names = '' } = variables;
  const kept = new Map<string, number>();
  const opened: OpenedSocket[] = [];
  const isMeant = receiver === String(pid) && /^\d{1,5}$/.test(count);
  for (const [at, name] of names
    .split(':')
    .slice(0, isMeant ? Number(count) : 0)
    .entries()) {
    const descriptor = firstDescriptor + at;
    const transport = transportOf(name);
    if (name === openedName) opened.push(...openedSocket(descriptor));
    else if (!transport || !boundSocket(descriptor, transport)) continue;
    else if (kept.has(name)) closeSync(descriptor);
    else kept.set(name, descriptor);
  }
  return { kept, opened: new OpenedSockets(opened) };
}

/** Returns what a descriptor is, or nothing. */
function openedSocket(descriptor: number): OpenedSocket[] {
  return (['TCP', 'UDP'] as const).flatMap((transport) => {
    const bound = boundSocket(descriptor, transport);
    return bound ? [{ transport, bound, descriptor }] : [];
  });
}
