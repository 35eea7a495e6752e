import { containerUser } from './containers.js';
import type { Deployment } from './deployment.js';
import { shellWord } from './quoting.js';
import { disruptionBudget, metadata, type KubernetesProgram } from './kubernetes_object.js';
import {
  authorizationCommand,
  credentialsAdvice,
  natsConfiguration,
  natsImage,
  natsPorts,
  natsSecrets,
  type WantedNats,
} from './nats.js';

/** Servers of which one may be lost */
const servers = 3;

/** Name of the objects of NATS, which have no capitals and no underscores (RFC 1123) */
export const objectNameOfNats = ({ site }: WantedNats): string => `nats-${site.toLowerCase().replaceAll('_', '-')}`;

const labels = (wanted: WantedNats): string =>
  `app.kubernetes.io/name: nats, app.kubernetes.io/instance: ${objectNameOfNats(wanted)}`;

const programOf = (wanted: WantedNats): KubernetesProgram => ({
  name: objectNameOfNats(wanted),
  labels: labels(wanted),
});

/** Names by which nodes and other servers find each server */
const natsHosts = (wanted: WantedNats): string[] =>
  Array.from({ length: servers }, (_, at) => `${objectNameOfNats(wanted)}-${at}.${objectNameOfNats(wanted)}`);

const service = (
  wanted: WantedNats,
): string => `# A name for each server of NATS. Written by \`sheaf deploy kubernetes\`.
apiVersion: v1
kind: Service
${metadata(programOf(wanted))}spec:
  clusterIP: None
  # Servers find each other before they are ready.
  publishNotReadyAddresses: true
  selector: { ${labels(wanted)} }
  ports:
    - { name: nats, port: ${wanted.port}, targetPort: nats }
    - { name: cluster, port: ${natsPorts.cluster}, targetPort: cluster }
`;

const budget = (wanted: WantedNats): string =>
  disruptionBudget('Two of three servers are needed to write.', programOf(wanted));

const policy = (
  wanted: WantedNats,
): string => `# Servers of NATS take each other at their word, so nobody else reaches their port. Written by \`sheaf deploy kubernetes\`.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
${metadata(programOf(wanted))}spec:
  podSelector:
    matchLabels: { ${labels(wanted)} }
  policyTypes: [Ingress]
  ingress:
    - ports: [{ port: nats }, { port: monitor }]
    - ports: [{ port: cluster }]
      from:
        - podSelector:
            matchLabels: { ${labels(wanted)} }
`;

const probe = (path: string, more: string): string => `httpGet: { path: ${path}, port: monitor }
            timeoutSeconds: 6
            ${more}`;

function container(wanted: WantedNats): string {
  const hasSecrets = natsSecrets(wanted).length > 0;
  return `        - name: nats
          # Pin it by digest once you have pulled it.
          image: ${natsImage}
          args: ["--config", "/etc/nats/nats.conf"]
          env:
            - { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
          ports:
            - { name: nats, containerPort: ${wanted.port} }
            - { name: cluster, containerPort: ${natsPorts.cluster} }
            - { name: monitor, containerPort: ${natsPorts.monitor} }
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          startupProbe:
            ${probe('/healthz', 'periodSeconds: 5\n            failureThreshold: 60')}
          # Does not ask what the other servers do: a server is not started again because two of them are away.
          livenessProbe:
            ${probe('"/healthz?js-enabled-only=true"', 'periodSeconds: 10\n            failureThreshold: 6')}
          readinessProbe:
            ${probe('"/healthz?js-server-only=true"', 'periodSeconds: 10')}
          resources:
            requests: { cpu: 50m, memory: 64Mi }
            limits: { memory: 512Mi }
          volumeMounts:
            - { name: configuration, mountPath: /etc/nats, readOnly: true }
${hasSecrets ? '            - { name: secrets, mountPath: /etc/nats-secrets, readOnly: true }\n' : ''}            - { name: data, mountPath: /data }
`;
}

function statefulSet(wanted: WantedNats): string {
  const secrets = `        - name: secrets
          secret: { secretName: ${objectNameOfNats(wanted)}, defaultMode: 0440 }
`;
  return `# Three servers of NATS with JetStream for the registry of the fleet. Written by \`sheaf deploy kubernetes\`.
apiVersion: apps/v1
kind: StatefulSet
${metadata(programOf(wanted))}spec:
  replicas: ${servers}
  serviceName: ${objectNameOfNats(wanted)}
  # Servers need each other to begin.
  podManagementPolicy: Parallel
  selector:
    matchLabels: { ${labels(wanted)} }
  template:
    metadata:
      labels: { ${labels(wanted)} }
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      # The loss of a machine may cost one server. Make it a preference to try it out on fewer than three machines.
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector:
                matchLabels: { ${labels(wanted)} }
      securityContext:
        runAsNonRoot: true
        runAsUser: ${containerUser}
        runAsGroup: ${containerUser}
        fsGroup: ${containerUser}
        seccompProfile: { type: RuntimeDefault }
      containers:
${container(wanted)}      volumes:
        - name: configuration
          configMap: { name: ${objectNameOfNats(wanted)} }
${natsSecrets(wanted).length > 0 ? secrets : ''}  volumeClaimTemplates:
    - metadata: { name: data }
      spec:
        accessModes: [ReadWriteOnce]
        resources: { requests: { storage: 1Gi } }
`;
}

/** What the objects of a node need for NATS in the same namespace */
export interface KubernetesNats extends Deployment {
  /** Files of objects */
  resources: readonly string[];
  configMap: string;
  secret: string;
}

/** Makes three servers of NATS. */
export function kubernetesNats(wanted: WantedNats): KubernetesNats {
  const secrets = natsSecrets(wanted);
  const own = (from: string, to: string): string => `install -D -m 0600 ${from} secrets/${to}`;
  return {
    resources: ['nats.yaml'],
    configMap: `  - name: ${objectNameOfNats(wanted)}
    files: [nats.conf]
    options: { disableNameSuffixHash: true }
`,
    secret:
      secrets.length === 0
        ? ''
        : `  - name: ${objectNameOfNats(wanted)}
    type: Opaque
    files:
${secrets.map((name) => `      - ${name}=secrets/${name}\n`).join('')}    options: { disableNameSuffixHash: true }
`,
    files: [
      { path: 'nats.yaml', text: [service, budget, policy, statefulSet].map((make) => make(wanted)).join('---\n') },
      {
        path: 'nats.conf',
        text: natsConfiguration(wanted, {
          name: '$POD_NAME',
          listen: `0.0.0.0:${wanted.port}`,
          monitor: `0.0.0.0:${natsPorts.monitor}`,
          secrets: '../nats-secrets',
          cluster: natsHosts(wanted),
        }),
      },
    ],
    next: [
      ...addressAdvice(wanted),
      ...(wanted.credentials === undefined
        ? []
        : [`${authorizationCommand(wanted.credentials)} | ${own('/dev/stdin', 'nats-authorization')}`]),
      ...credentialsAdvice(wanted),
      `# only the NetworkPolicy keeps others from port ${natsPorts.cluster}, where servers of NATS ask nobody for a password: have a network`,
      '# plugin that enforces policies',
      ...secrets
        .filter((name) => name !== 'nats-authorization')
        .map((name) => own(`${name.replace('-', '_').toUpperCase()}.pem`, name)),
    ],
  };
}

/** Says what to change where nodes ask other servers than these. */
function addressAdvice(wanted: WantedNats): string[] {
  const hosts = natsHosts(wanted);
  const asked = wanted.servers.map(({ host }) => host);
  if (asked.every((host) => hosts.some((own) => host === own || host.startsWith(`${own}.`)))) return [];
  const scheme = wanted.tls ? 'tls' : 'nats';
  const list = hosts.map((host) => `"${scheme}://${host}:${wanted.port}"`).join(', ');
  return [
    `# nodes ask ${asked.map(shellWord).join(', ')}: remove nats.yaml from kustomization.yaml if those are your servers. For the ones`,
    '# that are written here, write this into registry of sheaf.yaml, on all nodes:',
    `#   nats: [${list}]`,
  ];
}
