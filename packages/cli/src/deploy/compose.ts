import { dirname } from 'node:path';
import { moveFiles, type LoadedNode, type NodeFile } from '@sheaf/gateway';
import {
  configurationPath,
  containerUser,
  contentDirectory,
  contentFiles,
  contentPlace,
  healthArguments,
  ignoredFiles,
  lentFiles,
} from './containers.js';
import { composeNats, type ComposeNats } from './compose_nats.js';
import { stopSeconds, type Deployment, type DeploymentSource } from './deployment.js';
import { dockerfile, program } from './dockerfile.js';
import { wantedNats } from './nats.js';
import { composeScalar, shellWord, yamlList } from './quoting.js';
import { sysctlFile } from './sysctl.js';

const placeOf = (file: NodeFile): string =>
  file.kind === 'certificate' || file.kind === 'secret' ? `/run/secrets/${file.id}` : contentPlace(file);

/** The mounts of directories and modules of the machine */
function volumes(node: LoadedNode): string {
  const mounted = contentFiles(node);
  if (mounted.length === 0) return '';
  const lines = mounted.map(
    ({ id, kind, path }) => `      - type: bind
        source: ${composeScalar(kind === 'module' ? dirname(path) : path)}
        target: ${composeScalar(contentDirectory(id))}
        read_only: true
`,
  );
  return `    # What the node serves, from this machine.
    volumes:
${lines.join('')}`;
}

const secretsOfService = (node: LoadedNode): string => {
  const names = lentFiles(node).map(({ id }) => id);
  return names.length === 0 ? '' : `    secrets: ${yamlList(names, composeScalar)}\n`;
};

function secrets(node: LoadedNode, nats: ComposeNats | undefined): string {
  const ids = [...lentFiles(node).map(({ id }) => id), ...(nats?.secrets ?? [])];
  if (ids.length === 0) return '';
  return `
# Files that the user ${containerUser} alone may read. Compose mounts them with the rights that they have here. Replace a file by
# writing into it: a mount shows the file that was there when the container started.
secrets:
${ids.map((id) => `  ${composeScalar(id)}:\n    file: ${composeScalar(`./secrets/${id}`)}\n`).join('')}`;
}

const composeFile = (
  node: LoadedNode,
  image: string,
  nats: ComposeNats | undefined,
): string => `# Runs the node ${node.name}. Written by \`sheaf deploy compose\`.
name: ${composeScalar(`sheaf-${node.name.toLowerCase()}`)}

services:
  sheaf:
    image: ${composeScalar(image)}
    build: .
    command: ${yamlList(['up', configurationPath, '--watch', '--node', node.name], composeScalar)}
    # The network of the machine: Docker's proxy for UDP hides the addresses of clients, and copies each datagram.
    network_mode: host
    restart: unless-stopped
    # Longer than limits.drain: requests in flight end before the container is killed.
    stop_grace_period: ${stopSeconds(node)}s
    stop_signal: SIGTERM
    # Nothing of the image can be changed, and the process gets no rights beyond those of its user.
    read_only: true
    tmpfs: [/tmp]
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    ulimits:
      # Each connection over TCP and each file that is sent takes a descriptor.
      nofile: 1048576
      core: 0
    configs:
      - source: configuration
        target: ${configurationPath}
${secretsOfService(node)}${volumes(node)}    # Ready while it drains, too. Docker shows the health, and does not restart a container for it.
    healthcheck:
      test: ${yamlList(['CMD', ...program, ...healthArguments(node)], composeScalar)}
      interval: 10s
      timeout: 6s
      retries: 3
      start_period: 30s
    # Keeps a bounded log; Docker's default grows without end.
    logging:
      driver: local
${nats?.service ?? ''}
configs:
  configuration:
    file: ./sheaf.yaml
${nats?.configs ?? ''}${secrets(node, nats)}`;

/** Makes an image and a Compose file for one node on one machine. */
export function composeDeployment({ node, text, file }: DeploymentSource, { image }: { image: string }): Deployment {
  const wanted = wantedNats(node);
  const nats = wanted && composeNats(wanted);
  const copies = lentFiles(node).map(
    ({ id, path }) =>
      `sudo install -D -m 0400 -o ${containerUser} -g ${containerUser} ${shellWord(path)} ${shellWord(`secrets/${id}`)}`,
  );
  return {
    files: [
      dockerfile(node),
      ...ignoredFiles(),
      { path: 'compose.yaml', text: composeFile(node, image, nats) },
      {
        path: 'sheaf.yaml',
        text: `# For the container: files have the paths where it finds them. Written by \`sheaf deploy compose\`.\n${moveFiles(text, file, node.name, placeOf)}`,
      },
      ...(nats?.files ?? []),
      sysctlFile(node, { opensReservedPorts: true }),
    ],
    next: [
      'mkdir packages   # and copy the archives of native, web-client, gateway and cli from .sheaf/packed into it (npm run pack)',
      ...copies,
      ...(nats?.next ?? []),
      'sudo install -D -m 0644 -t /etc/sysctl.d 60-sheaf.conf && sudo sysctl --system',
      'docker compose up --detach --build --wait',
    ],
  };
}
