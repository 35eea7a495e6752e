import { closeSync } from 'node:fs';
import { boundAddress } from '@sheaf/native';
import type { PassedVariables } from './passed_variables.js';
import { transportOf } from './socket_names.js';

/** Number of the first descriptor that a service manager passes (sd_listen_fds(3)) */
const firstDescriptor = 3;

/**
 * Returns the sockets of an earlier process that the service manager passed to this one, by name. Descriptors that are none are not
 * touched: they may belong to somebody else.
 */
export function passedSockets(variables: PassedVariables, pid: number): Map<string, number> {
  const { LISTEN_PID: receiver, LISTEN_FDS: count = '', LISTEN_FDNAMES: names = '' } = variables;
  const passed = new Map<string, number>();
  if (receiver !== String(pid) || !/^\d{1,5}$/.test(count)) return passed;
  for (const [at, name] of names.split(':').slice(0, Number(count)).entries()) {
    const descriptor = firstDescriptor + at;
    const transport = transportOf(name);
    if (!transport || !boundAddress(descriptor, transport)) continue;
    if (passed.has(name)) closeSync(descriptor);
    else passed.set(name, descriptor);
  }
  return passed;
}
