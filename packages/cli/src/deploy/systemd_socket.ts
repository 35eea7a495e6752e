import { formatAddress, listeningPlaces, openedName, type LoadedNode } from '@sheaf/gateway';
import { systemdValue } from './quoting.js';

const settingOf = { TCP: 'ListenStream', UDP: 'ListenDatagram' } as const;

/** Returns the unit that opens the sockets of one node. They reach the node in the order of their lines. */
export function socketUnit(node: LoadedNode): string {
  const sockets = listeningPlaces(node).map(({ use, transport, local, sockets: count }) => {
    const workers = count === 1 ? '' : `, one for each of ${count} workers`;
    return `# \`${use}\`, ${transport}${workers}\n${`${settingOf[transport]}=${systemdValue(formatAddress(local))}\n`.repeat(count)}`;
  });
  return `# Opens the sockets of the node ${node.name} before it starts, and keeps them open when it ends. Written by
# \`sheaf deploy systemd --socket-unit\`.

[Unit]
Description=Sockets of the Sheaf node ${node.name}

[Socket]
${sockets.join('')}
# By this name the node knows that they are its own, and by their addresses what they are for.
FileDescriptorName=${openedName}
# Workers share an address. The kernel counts their sockets in the order of these lines.
ReusePort=yes
# \`[::]\` stands for IPv4, too.
BindIPv6Only=both
# Sockets are opened early in a boot, when the addresses of this machine may not be there yet.
FreeBind=yes
# A packet starts a node that is down. Tries for ever, as the service does: the sockets are not closed by that.
TriggerLimitIntervalSec=0

[Install]
WantedBy=sockets.target
`;
}
