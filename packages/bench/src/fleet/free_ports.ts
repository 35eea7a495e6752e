import { freePort } from '@sheaf/gateway';

/** Returns different ports of 127.0.0.1 that are free for UDP and TCP, for processes that start later. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
