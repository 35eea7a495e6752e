import { moveFiles, type LoadedNode } from '@sheaf/gateway';
import { contentFiles, ignoredFiles, lentFiles } from './containers.js';
import { clientPorts, lacksSecrets, reservedPort, type Deployment, type DeploymentSource } from './deployment.js';
import { dockerfile } from './dockerfile.js';
import {
  indented,
  objectName,
  placeInPod,
  podSpecification,
  secretOf,
  secretsOf,
  type PodOptions,
} from './kubernetes_pod.js';
import { disruptionBudget, metadata, type KubernetesProgram } from './kubernetes_object.js';
import { kubernetesNats, type KubernetesNats } from './kubernetes_nats.js';
import { wantedNats } from './nats.js';
import { shellWord, yamlScalar } from './quoting.js';
import { sysctlFile } from './sysctl.js';

const labels = (node: LoadedNode): string =>
  `app.kubernetes.io/name: sheaf, app.kubernetes.io/instance: ${yamlScalar(node.name)}`;

const programOf = (node: LoadedNode): KubernetesProgram => ({ name: objectName(node), labels: labels(node) });

const budgetReason = 'Machines are emptied one after the other, so that each pod can drain.';

const deploymentRule = `  # At least two, so that one can be replaced while the other serves.
  replicas: 2
  strategy:
    type: RollingUpdate
    # A new pod serves before an old one drains.
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
`;

const daemonSetRule = `  updateStrategy:
    type: RollingUpdate
    # One machine after the other: both pods would need the same ports.
    rollingUpdate: { maxUnavailable: 1 }
`;

function workload(node: LoadedNode, options: PodOptions): string {
  const { hostNetwork } = options;
  const spread = `# Pods on different machines, where there are enough.
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: { ${labels(node)} }
`;
  return `# ${hostNetwork ? 'One pod on each machine' : 'The pods'} of the node ${node.name}. Written by \`sheaf deploy kubernetes\`, for Kubernetes 1.30 and newer.
apiVersion: apps/v1
kind: ${hostNetwork ? 'DaemonSet' : 'Deployment'}
${metadata(programOf(node))}spec:
${hostNetwork ? daemonSetRule : deploymentRule}  selector:
    matchLabels: { ${labels(node)} }
  template:
    metadata:
      labels: { ${labels(node)} }
    spec:
${indented(hostNetwork ? '' : spread, 6)}${indented(podSpecification(node, options), 6)}`;
}

function service(node: LoadedNode, { hostNetwork }: PodOptions): string {
  // The backbone is for the other nodes of the site, and `http` for development.
  const { port } = clientPorts(node)[0]!;
  const ports = (['TCP', 'UDP'] as const).map(
    (protocol) =>
      `    - { name: ${protocol.toLowerCase()}-${port}, port: ${port}, targetPort: ${port}, protocol: ${protocol} }\n`,
  );
  const kind = hostNetwork
    ? `  # A name for the addresses of the machines, and no proxy in front of them.
  type: ClusterIP
  clusterIP: None
`
    : `  # One address for UDP and TCP: Alt-Svc sends browsers from TCP to the same port of UDP.
  type: LoadBalancer
  # Keeps the addresses of clients, and saves a hop between machines.
  externalTrafficPolicy: Local
`;
  return `# Where clients reach the node ${node.name}. Written by \`sheaf deploy kubernetes\`.
apiVersion: v1
kind: Service
${metadata(programOf(node))}spec:
${kind}  selector: { ${labels(node)} }
  ports:
${ports.join('')}`;
}

function secretGenerators(node: LoadedNode, ofNats = ''): string {
  const secrets = secretsOf(node);
  if (secrets.length === 0 && ofNats === '') return '';
  const entries = secrets.map(({ secret }) => {
    const files = lentFiles(node).filter((file) => secretOf(node, file).secret === secret);
    const lines = files.map((file) => `      - ${yamlScalar(`${secretOf(node, file).key}=secrets/${file.id}`)}\n`);
    return `  - name: ${secret}
    type: ${secret.endsWith('-tls') ? 'kubernetes.io/tls' : 'Opaque'}
    files:
${lines.join('')}    # The same name for every content: Sheaf reads renewed files by itself, and no pod has to be replaced.
    options: { disableNameSuffixHash: true }
`;
  });
  return `# Files of this directory, which you copy there and never commit. Remove an entry where something else writes the Secret, such
# as cert-manager.
secretGenerator:
${entries.join('')}${ofNats}`;
}

const kustomization = (
  node: LoadedNode,
  resources: readonly string[],
  nats: KubernetesNats | undefined,
): string => `# Written by \`sheaf deploy kubernetes\`; apply it with \`kubectl apply -k .\`.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [${resources.join(', ')}]
configMapGenerator:
  - name: ${objectName(node)}
    files: [sheaf.yaml]
    # The same name for every content: nodes reload a changed configuration by themselves, and connections live on. What a reload
    # cannot change, and \`sheaf status\` then shows, takes \`kubectl rollout restart\`.
    options: { disableNameSuffixHash: true }
${nats?.configMap ?? ''}${secretGenerators(node, nats?.secret)}`;

/** Makes the objects of one node for Kubernetes, and an image. Keys are named, and never copied. */
export function kubernetesDeployment({ node, text, file }: DeploymentSource, options: PodOptions): Deployment {
  const { image, hostNetwork } = options;
  const workloadFile = hostNetwork ? 'daemonset.yaml' : 'deployment.yaml';
  const wanted = wantedNats(node);
  const nats = wanted && kubernetesNats(wanted);
  const resources = [workloadFile, 'service.yaml', 'disruption-budget.yaml', ...(nats?.resources ?? [])];
  const moved = moveFiles(text, file, node.name, (each) => placeInPod(node, each));
  return {
    files: [
      dockerfile(node),
      ...ignoredFiles(),
      { path: workloadFile, text: workload(node, options) },
      { path: 'service.yaml', text: service(node, options) },
      { path: 'disruption-budget.yaml', text: disruptionBudget(budgetReason, programOf(node)) },
      { path: 'kustomization.yaml', text: kustomization(node, resources, nats) },
      {
        path: 'sheaf.yaml',
        text: `# For the pods: files have the paths where they find them. Written by \`sheaf deploy kubernetes\`.\n${moved}`,
      },
      ...(nats?.files ?? []),
      sysctlFile(node, { opensReservedPorts: hostNetwork }),
    ],
    next: [
      'mkdir packages   # and copy the archives of native, web-client, gateway and cli from .sheaf/packed into it (npm run pack)',
      `docker build --tag ${shellWord(image)} . && docker push ${shellWord(image)}`,
      ...lentFiles(node).map(({ id, path }) => `install -D -m 0600 ${shellWord(path)} ${shellWord(`secrets/${id}`)}`),
      ...(nats?.next ?? []),
      ...contentFiles(node).map(({ id }) => `# make the claim ${objectName(node)}-${id}, with the files of the node`),
      `# put 60-sheaf.conf into /etc/sysctl.d of the machines${hostNetwork && reservedPort(node) !== undefined ? ': without it no pod may listen' : ''}`,
      ...(lacksSecrets(node)
        ? ['# without secrets (sheaf secrets FILE), clients of a replaced pod wait for their idle timeout']
        : []),
      'kubectl apply -k .',
    ],
  };
}
