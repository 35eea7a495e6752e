import type { ForwardOptions } from '../schema/tunnel_node.js';
import type { ValuePath } from '../values/document.js';
import type { ListenAddress } from '../values/scalars.js';

/** A port of this machine where programs use a tunnel node */
export interface LocalPort {
  path: ValuePath;
  address: ListenAddress;
  protocol: 'TCP' | 'UDP';
}

interface LocalPortKeys {
  socks5?: ListenAddress | undefined;
  http_proxy?: ListenAddress | undefined;
  forward?: readonly Pick<ForwardOptions, 'listen' | 'protocol'>[] | undefined;
}

/** Returns the ports of a tunnel node, with the places of their addresses in it. */
export function localPorts({ socks5, http_proxy: httpProxy, forward = [] }: LocalPortKeys): LocalPort[] {
  return [
    ...(socks5 ? [{ path: ['socks5'], address: socks5, protocol: 'TCP' as const }] : []),
    ...(httpProxy ? [{ path: ['http_proxy'], address: httpProxy, protocol: 'TCP' as const }] : []),
    ...forward.map(({ listen, protocol }, index) => ({
      path: ['forward', index, 'listen'],
      address: listen,
      protocol: protocol === 'udp' ? ('UDP' as const) : ('TCP' as const),
    })),
  ];
}
