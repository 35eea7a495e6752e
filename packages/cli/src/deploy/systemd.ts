import { basename } from 'node:path';
import { filesOfNode, moveFiles, type LoadedNode, type NodeFile } from '@sheaf/gateway';
import {
  lacksWorkers,
  reservedPort,
  sendsTransparently,
  stopSeconds,
  type Deployment,
  type DeploymentSource,
} from './deployment.js';
import { sysctlFile } from './sysctl.js';
import { templateUnit } from './systemd_unit.js';

/** Files that systemd hands to the service: root reads them, and the service gets copies that nobody else can read. */
const isCredential = ({ kind }: NodeFile): boolean => kind === 'certificate' || kind === 'secret';

/** Where the service finds the files of its node */
function placeOf({ name }: LoadedNode, file: NodeFile): string {
  if (isCredential(file)) return `/run/credentials/sheaf@${name}.service/${file.id}`;
  if (file.kind === 'state') return `/var/lib/sheaf/${name}/${file.id}`;
  if (file.kind === 'log') return `/var/log/sheaf/${name}/${basename(file.path)}`;
  return file.kind === 'qlog' ? `/var/lib/sheaf/${name}/qlog` : file.path;
}

/** What the kernel permits to this node alone, with the reason */
function capabilitiesOf(node: LoadedNode): { name: string; why: string }[] {
  return [
    ...(reservedPort(node) === undefined ? [] : [{ name: 'CAP_NET_BIND_SERVICE', why: 'ports below 1024' }]),
    ...(sendsTransparently(node) ? [{ name: 'CAP_NET_RAW', why: "packets from a gateway's address" }] : []),
  ];
}

function credentialSettings(node: LoadedNode): string {
  const credentials = filesOfNode(node).filter(isCredential);
  if (credentials.length === 0) return '';
  const lines = credentials.map(({ id, path }) => `LoadCredential=${id}:${path}\n`);
  return `
# Copies of these files, which the configuration names by their places in /run/credentials. They are made at each start: restart
# the service after a certificate, a key or a file of secrets was renewed.
${lines.join('')}`;
}

function capabilitySettings(node: LoadedNode): string {
  const capabilities = capabilitiesOf(node);
  if (capabilities.length === 0) return '';
  const names = capabilities.map(({ name }) => name).join(' ');
  return `
# Without root: ${capabilities.map(({ why }) => why).join(', ')}.
CapabilityBoundingSet=${names}
AmbientCapabilities=${names}
`;
}

/** Returns the settings of one node, which belong beside the template unit. */
const nodeSettings = (
  node: LoadedNode,
): string => `# What the node ${node.name} needs beside sheaf@.service. Written by \`sheaf deploy systemd\`.

[Service]
# Longer than limits.drain: requests in flight end, connections are closed, the log is written.
TimeoutStopSec=${stopSeconds(node)}s
${credentialSettings(node)}${capabilitySettings(node)}`;

/** Makes a hardened unit of systemd for one node. `program` is the path of `sheaf` on the machine. */
export function systemdDeployment(
  { node, text, file }: DeploymentSource,
  { program }: { program: string },
): Deployment {
  const { name } = node;
  const unit = `sheaf@${name}.service`;
  return {
    files: [
      { path: 'sheaf@.service', text: templateUnit(program) },
      { path: `${unit}.d/node.conf`, text: nodeSettings(node) },
      {
        path: `${name}.yaml`,
        text: `# For ${unit}: files have the paths where the service finds them. Written by \`sheaf deploy systemd\`.\n${moveFiles(text, file, name, (each) => placeOf(node, each))}`,
      },
      sysctlFile(node, { opensReservedPorts: false }),
    ],
    next: [
      `sudo install -D -m 0644 ${name}.yaml /etc/sheaf/${name}.yaml`,
      'sudo install -D -m 0644 -t /etc/systemd/system sheaf@.service',
      `sudo install -D -m 0644 -t /etc/systemd/system/${unit}.d ${unit}.d/node.conf`,
      'sudo install -D -m 0644 -t /etc/sysctl.d 60-sheaf.conf && sudo sysctl --system',
      `sudo systemctl daemon-reload && sudo systemctl enable --now ${unit}`,
      ...(lacksWorkers(node)
        ? ['# without `workers`, such as `workers: 1`, clients are refused while the node is started again']
        : []),
      '# after a certificate was renewed:',
      `sudo systemctl restart ${unit}`,
    ],
  };
}
