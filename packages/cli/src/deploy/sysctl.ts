import type { LoadedNode } from '@sheaf/gateway';
import { reservedPort, type GeneratedFile } from './deployment.js';

/**
 * Bytes that the transport asks for as room of a socket (`enlarge` of @sheaf/native). Without them a burst of datagrams is lost
 * before the process reads it.
 */
const socketBytes = 4 * 2 ** 20;

/** Returns the settings of the kernel that belong to the machine and to no service or container. */
export function sysctlFile(node: LoadedNode, { opensReservedPorts }: { opensReservedPorts: boolean }): GeneratedFile {
  const port = opensReservedPorts ? reservedPort(node) : undefined;
  const ports =
    port === undefined
      ? ''
      : `
# Lets every user of this machine listen on port ${port} and above: a container with the network of its machine runs without root
# and without capabilities.
net.ipv4.ip_unprivileged_port_start = ${port}
`;
  return {
    path: '60-sheaf.conf',
    text: `# Kernel settings of a machine that runs Sheaf; belongs into /etc/sysctl.d.

# Room of UDP sockets for bursts. Programs get at most this much, however much they ask for; Sheaf asks for 4 MiB.
net.core.rmem_max = ${socketBytes}
net.core.wmem_max = ${socketBytes}
${ports}`,
  };
}
