import type { LoadedNode, NodeFile } from '@sheaf/gateway';
import {
  adminOf,
  configurationPath,
  containerUser,
  contentDirectory,
  contentFiles,
  contentPlace,
  healthArguments,
  lentFiles,
} from './containers.js';
import { clientPorts, reservedPort, stopSeconds } from './deployment.js';
import { program } from './dockerfile.js';
import { kubernetesArgument, yamlList, yamlScalar } from './quoting.js';

/** What a pod is made of, beside its node */
export interface PodOptions {
  image: string;
  hostNetwork: boolean;
}

/** Seconds in which balancers and machines hear that a pod ends, before it refuses new connections */
const spreadSeconds = 5;

/** The name of a node in names of objects, which have no capitals and no underscores (RFC 1123) */
export const objectName = ({ name }: LoadedNode): string => `sheaf-${name.toLowerCase().replaceAll('_', '-')}`;

/** The certificate of a node has a Secret of its own, in the form of cert-manager. */
const certificateKeys: Readonly<Record<string, string>> = { 'tls-cert': 'tls.crt', 'tls-key': 'tls.key' };

/** Returns the Secret that has a file, and its key there. */
export function secretOf(node: LoadedNode, { id }: NodeFile): { secret: string; key: string; directory: string } {
  const key = certificateKeys[id];
  return key === undefined
    ? { secret: `${objectName(node)}-files`, key: id, directory: '/run/secrets/files' }
    : { secret: `${objectName(node)}-tls`, key, directory: '/run/secrets/tls' };
}

/** Where a pod finds a file of its node */
export function placeInPod(node: LoadedNode, file: NodeFile): string {
  if (file.kind !== 'certificate' && file.kind !== 'secret') return contentPlace(file);
  const { directory, key } = secretOf(node, file);
  return `${directory}/${key}`;
}

/** Returns the Secrets of a node, each with the directory where a pod has it. */
export const secretsOf = (node: LoadedNode): { secret: string; directory: string }[] => [
  ...new Map(lentFiles(node).map((file) => [secretOf(node, file).secret, secretOf(node, file)])).values(),
];

/** Returns text with each line behind as many spaces. */
export const indented = (text: string, spaces: number): string => text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));

/** kubelet asks from the network of the machine; an address that only the pod reaches is asked by a program in it. */
function probeOf(node: LoadedNode, path: string, { hostNetwork }: PodOptions): string {
  const { address, port, isOpen } = adminOf(node);
  if (isOpen) return `httpGet: { path: ${path}, port: ${port} }`;
  if (hostNetwork) return `httpGet: { path: ${path}, port: ${port}, host: ${yamlScalar(address)} }`;
  return `exec: { command: ${yamlList([...program, ...healthArguments(node)], kubernetesArgument)} }`;
}

const probes = (
  node: LoadedNode,
  options: PodOptions,
): string => `# Until it serves for the first time, nothing else is asked.
startupProbe:
  ${probeOf(node, '/healthz', options)}
  periodSeconds: 2
  timeoutSeconds: 6
  failureThreshold: 60
# Restarts a process that does not answer at all. Load never makes it fail.
livenessProbe:
  ${probeOf(node, '/healthz', options)}
  periodSeconds: 10
  timeoutSeconds: 6
  failureThreshold: 6
# Stays true while the node drains: kube-proxy forgets the UDP flows of a pod that turns unready, and with them all connections.
readinessProbe:
  ${probeOf(node, '/readyz', options)}
  periodSeconds: 5
  timeoutSeconds: 6
`;

const ports = (node: LoadedNode): string =>
  clientPorts(node)
    .flatMap(({ port, protocols }) =>
      protocols.map(
        (protocol) => `- { name: ${protocol.toLowerCase()}-${port}, containerPort: ${port}, protocol: ${protocol} }\n`,
      ),
    )
    .join('');

const mounts = (node: LoadedNode): string =>
  [
    // Files of a subPath would never change.
    `- { name: configuration, mountPath: ${configurationPath.replace(/\/[^/]+$/, '')}, readOnly: true }`,
    ...secretsOf(node).map(({ secret, directory }) => `- { name: ${secret}, mountPath: ${directory}, readOnly: true }`),
    ...contentFiles(node).map(({ id }) => `- { name: ${id}, mountPath: ${contentDirectory(id)}, readOnly: true }`),
    '- { name: temporary, mountPath: /tmp }',
  ]
    .map((line) => `${line}\n`)
    .join('');

function volumes(node: LoadedNode): string {
  const lent = secretsOf(node).map(
    ({ secret }) => `- name: ${secret}
  # The group of the pod may read, and nobody else.
  secret: { secretName: ${secret}, defaultMode: 0440 }
`,
  );
  const content = contentFiles(node).map(
    ({ id }) => `- name: ${id}
  # Make this claim and fill it; or build an image that has the files in ${contentDirectory(id)}, and remove volume and mount.
  persistentVolumeClaim: { claimName: ${objectName(node)}-${id}, readOnly: true }
`,
  );
  return `- name: configuration
  configMap: { name: ${objectName(node)} }
- name: temporary
  emptyDir: { medium: Memory, sizeLimit: 64Mi }
${lent.join('')}${content.join('')}`;
}

function securityContext(node: LoadedNode, { hostNetwork }: PodOptions): string {
  const port = reservedPort(node);
  const sysctls = `# Ports below 1024 without root. Kubernetes counts this setting among the safe ones.
sysctls: [{ name: net.ipv4.ip_unprivileged_port_start, value: "${port}" }]
`;
  return `runAsNonRoot: true
runAsUser: ${containerUser}
runAsGroup: ${containerUser}
# Volumes of secrets belong to this group.
fsGroup: ${containerUser}
seccompProfile: { type: RuntimeDefault }
${port === undefined || hostNetwork ? '' : sysctls}`;
}

const mebibyte = 2 ** 20;

/** What the process takes beside what its clients make it hold */
const processMebibytes = 192;

function resources({ node }: LoadedNode): string {
  const clients = 'memory' in node.limits ? Math.ceil(node.limits.memory / mebibyte) : 0;
  return `# Follows limits.memory. Twice that leaves room for TCP and uploads; a limit for the processor would only delay packets.
resources:
  requests: { cpu: 100m, memory: ${clients + processMebibytes}Mi }
  limits: { memory: ${2 * (clients + processMebibytes)}Mi }
`;
}

const container = (node: LoadedNode, options: PodOptions): string => `- name: sheaf
  image: ${yamlScalar(options.image)}
  args: ${yamlList(['up', configurationPath, '--watch', '--node', node.name], kubernetesArgument)}
  ports:
${indented(ports(node), 4)}  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: { drop: [ALL] }
  lifecycle:
    preStop:
      # Balancers hear meanwhile that the pod ends. Then SIGTERM drains it.
      sleep: { seconds: ${spreadSeconds} }
${indented(probes(node, options), 2)}${indented(resources(node), 2)}  volumeMounts:
${indented(mounts(node), 4)}`;

/** Returns the pod's specification, from which a Deployment or a DaemonSet makes pods. */
export function podSpecification(node: LoadedNode, options: PodOptions): string {
  return `# preStop, limits.drain, and time to close: SIGKILL comes after that.
terminationGracePeriodSeconds: ${spreadSeconds + stopSeconds(node)}
# Sheaf asks the cluster for nothing.
automountServiceAccountToken: false
enableServiceLinks: false
${
  options.hostNetwork
    ? `# The machine's own addresses: no proxy rewrites datagrams or forgets flows.
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
`
    : ''
}securityContext:
${indented(securityContext(node, options), 2)}containers:
${indented(container(node, options), 2)}volumes:
${indented(volumes(node), 2)}`;
}
