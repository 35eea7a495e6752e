import { basename } from 'node:path';
import { moveFiles, type LoadedNode, type NodeFile } from '@sheaf/gateway';
import { isCredential, lentFiles } from './containers.js';
import { reservedPort, sendsTransparently, stopSeconds, type Deployment, type DeploymentSource } from './deployment.js';
import { systemdValue } from './quoting.js';
import { socketUnit } from './systemd_socket.js';
import { sysctlFile } from './sysctl.js';
import { templateUnit } from './systemd_unit.js';

/** Where the service finds the files of its node */
function placeOf({ name }: LoadedNode, file: NodeFile): string {
  if (isCredential(file)) return `/run/credentials/sheaf@${name}.service/${file.id}`;
  if (file.kind === 'state') return `/var/lib/sheaf/${name}/${file.id}`;
  if (file.kind === 'log') return `/var/log/sheaf/${name}/${basename(file.path)}`;
  return file.kind === 'qlog' ? `/var/lib/sheaf/${name}/qlog` : file.path;
}

export interface SystemdOptions {
  /** Path of `sheaf` on the machine */
  program: string;
  /** Whether systemd opens the sockets of the node */
  socketUnit: boolean;
}

/** What the kernel permits to this node alone, with the reason */
function capabilitiesOf(node: LoadedNode, { socketUnit: opened }: SystemdOptions): { name: string; why: string }[] {
  return [
    ...(opened || reservedPort(node) === undefined ? [] : [{ name: 'CAP_NET_BIND_SERVICE', why: 'ports below 1024' }]),
    ...(sendsTransparently(node) ? [{ name: 'CAP_NET_RAW', why: "packets from a gateway's address" }] : []),
  ];
}

function credentialSettings(node: LoadedNode): string {
  const credentials = lentFiles(node);
  if (credentials.length === 0) return '';
  const lines = credentials.map(({ id, path }) => `LoadCredential=${systemdValue(`${id}:${path}`)}\n`);
  return `
# Copies of these files, which the configuration names by their places in /run/credentials. They are made at each start: restart
# the service after a certificate, a key or a file of secrets was renewed.
${lines.join('')}`;
}

function capabilitySettings(node: LoadedNode, options: SystemdOptions): string {
  const capabilities = capabilitiesOf(node, options);
  if (capabilities.length === 0) return '';
  const names = capabilities.map(({ name }) => name).join(' ');
  return `
# Without root: ${capabilities.map(({ why }) => why).join(', ')}.
CapabilityBoundingSet=${names}
AmbientCapabilities=${names}
`;
}

const socketSettings = (name: string): string => `
[Unit]
# It opens the ports. Without it, the node would have no right to those below 1024.
Requires=sheaf@${name}.socket
After=sheaf@${name}.socket
`;

/** Returns the settings of one node, which belong beside the template unit. */
const nodeSettings = (
  node: LoadedNode,
  options: SystemdOptions,
): string => `# What the node ${node.name} needs beside sheaf@.service. Written by \`sheaf deploy systemd\`.
${options.socketUnit ? socketSettings(node.name) : ''}
[Service]
# Longer than limits.drain: requests in flight end, connections are closed, the log is written.
TimeoutStopSec=${stopSeconds(node)}s
${credentialSettings(node)}${capabilitySettings(node, options)}`;

/** Makes a hardened unit of systemd for one node, and one that opens its sockets where that is wanted. */
export function systemdDeployment({ node, text, file }: DeploymentSource, options: SystemdOptions): Deployment {
  const { name } = node;
  const unit = `sheaf@${name}.service`;
  const socket = options.socketUnit ? `sheaf@${name}.socket` : undefined;
  // While one of them runs, systemd keeps sockets that the node has opened, and the unit could not open its own.
  const openAnew = `sudo systemctl stop ${unit} ${socket} && sudo systemctl start ${socket} ${unit}`;
  return {
    files: [
      { path: 'sheaf@.service', text: templateUnit(options.program) },
      { path: `${unit}.d/node.conf`, text: nodeSettings(node, options) },
      ...(socket === undefined ? [] : [{ path: socket, text: socketUnit(node) }]),
      {
        path: `${name}.yaml`,
        text: `# For ${unit}: files have the paths where the service finds them. Written by \`sheaf deploy systemd\`.\n${moveFiles(text, file, name, (each) => placeOf(node, each))}`,
      },
      sysctlFile(node, { opensReservedPorts: false }),
    ],
    next: [
      `sudo install -D -m 0644 ${name}.yaml /etc/sheaf/${name}.yaml`,
      `sudo install -D -m 0644 -t /etc/systemd/system ${['sheaf@.service', ...(socket ? [socket] : [])].join(' ')}`,
      `sudo install -D -m 0644 -t /etc/systemd/system/${unit}.d ${unit}.d/node.conf`,
      'sudo install -D -m 0644 -t /etc/sysctl.d 60-sheaf.conf && sudo sysctl --system',
      ...(socket
        ? [`sudo systemctl daemon-reload && sudo systemctl enable ${socket} ${unit}`, openAnew]
        : [`sudo systemctl daemon-reload && sudo systemctl enable --now ${unit}`]),
      '# after a certificate was renewed:',
      `sudo systemctl restart ${unit}`,
      ...(socket ? ['# after another listen, http, backbone or workers, which opens other sockets:'] : []),
      ...(socket ? [openAnew] : []),
    ],
  };
}
