import { containerUser } from './containers.js';
import type { Deployment } from './deployment.js';
import {
  authorizationCommand,
  credentialsAdvice,
  isLoopback,
  listenBeside,
  natsConfiguration,
  natsImage,
  natsPorts,
  natsSecrets,
  type WantedNats,
} from './nats.js';
import { composeScalar, shellWord, yamlList } from './quoting.js';

const monitor = `127.0.0.1:${natsPorts.monitor}`;

/** Returns the service that runs NATS beside the node. */
const natsService = (wanted: WantedNats): string => `
  # The registry of the fleet. Sheaf serves on by what it knows while NATS is away.
  nats:
    # Pin it by digest once you have pulled it.
    image: ${natsImage}
    command: ["--config", "/etc/nats/nats.conf"]
    network_mode: host
    user: "${containerUser}:${containerUser}"
    restart: unless-stopped
    read_only: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    configs:
      - source: nats
        target: /etc/nats/nats.conf
${natsSecrets(wanted).length === 0 ? '' : `    secrets: ${yamlList(natsSecrets(wanted), composeScalar)}\n`}    # What JetStream keeps.
    volumes:
      - type: bind
        source: ./nats
        target: /data
    healthcheck:
      test: ["CMD", "wget", "--quiet", "--output-document=-", "http://${monitor}/healthz"]
      interval: 10s
      timeout: 6s
      retries: 3
      start_period: 30s
    logging:
      driver: local
`;

/** What the file and the directory of a node need for NATS beside it */
export interface ComposeNats extends Deployment {
  service: string;
  configs: string;
  secrets: readonly string[];
}

/** Puts one server of NATS beside a node. */
export function composeNats(wanted: WantedNats): ComposeNats {
  const { credentials } = wanted;
  const own = (from: string, to: string): string =>
    `sudo install -D -m 0400 -o ${containerUser} -g ${containerUser} ${from} secrets/${to}`;
  const files = natsSecrets(wanted).filter((name) => name !== 'nats-authorization');
  return {
    service: natsService(wanted),
    configs: `  nats:\n    file: ./nats.conf\n`,
    secrets: natsSecrets(wanted),
    files: [
      {
        path: 'nats.conf',
        text: natsConfiguration(wanted, {
          name: '$HOSTNAME',
          listen: listenBeside(wanted),
          monitor,
          secrets: '../../run/secrets',
        }),
      },
    ],
    next: [
      ...placeAdvice(wanted),
      `sudo install -d -m 0700 -o ${containerUser} -g ${containerUser} nats`,
      ...(credentials === undefined
        ? []
        : [`sudo ${authorizationCommand(credentials)} | ${own('/dev/stdin', 'nats-authorization')}`]),
      ...credentialsAdvice(wanted),
      ...files.map((name) => own(`${name.replace('-', '_').toUpperCase()}.pem`, name)),
    ],
  };
}

/** Says where the service belongs, unless nodes ask the machine that they run on. */
function placeAdvice({ servers, port }: WantedNats): string[] {
  if (servers.length > 1)
    return [
      `# nodes ask ${servers.length} servers, and here is one alone: name only "nats://HOST:${port}" with this machine in`,
      '# registry.nats of all nodes, or remove the service nats and make a cluster of your own',
    ];
  const { host } = servers[0]!;
  if (isLoopback(host)) return [];
  return [
    `# nodes ask ${shellWord(host)}: keep the service nats of compose.yaml on the machine with that address, and remove it on all`,
    '# others, where it would not start or nobody would ask it',
  ];
}
