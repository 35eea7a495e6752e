import { formatAddress, version, type ListenAddress, type RunningNode } from '@sheaf/gateway';
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
  const names = named.map(({ name, role }) => `${name} (${role})`).join(', ');
  await printNotice(
    world.stdout,
    `sheaf ${version} ready in ${Math.round(milliseconds)} ms${names === '' ? '' : `: ${names}`}`,
  );
}

/** Prints the addresses of a node, and what the user can do next. */
export async function announceNode(node: RunningNode, world: World, next?: string): Promise<void> {
  const { address, httpAddress, adminAddress, warnings } = node;
  const url = browserUrl('https', address);
  await printNotice(world.stdout, `  ${url}  HTTP/3 and WebTransport (UDP), HTTP/2 and HTTP/1.1 (TCP)`);
  if (node.publicUrl) await printNotice(world.stdout, `  ${node.publicUrl}  where clients find it`);
  if (httpAddress) await printNotice(world.stdout, `  ${browserUrl('http', httpAddress)}  HTTP/1.1 without TLS`);
  if (adminAddress)
    await printNotice(world.stdout, `  ${browserUrl('http', adminAddress)}  /healthz /readyz /metrics /status`);
  const insecure = node.certificate.isDevelopment ? ' --insecure' : '';
  await printNotice(world.stdout, `  next: ${next ?? `sheaf fetch ${url}${insecure}`}`);
  for (const warning of warnings) await printNotice(world.stderr, `warning: ${warning}`);
}

/** Returns a URL that a browser on this machine can open. */
export function browserUrl(scheme: 'http' | 'https', { address, port }: ListenAddress): string {
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `${scheme}://${formatAddress({ address: host, port })}/`;
}
