import { filesOfNode, isLoopback, listeningPlaces, NodePublicKey, UserError, type LoadedNode } from '@sheaf/gateway';
import { clientPorts, sendsTransparently } from './deployment.js';
import type { Problem } from './problem.js';
import {
  longChannelNames,
  unfitCredentials,
  unfitObjectNames,
  unfitUnitName,
  unwritableValues,
} from './unfit_values.js';

const developmentParts = ({ name, node, registry }: LoadedNode): Problem[] => [
  ...('tls' in node && node.tls === 'dev'
    ? [
        {
          message: `\`${name}\` has a development certificate, which only this machine makes and trusts`,
          hint: 'name the files of a certificate: `tls: { cert: /etc/sheaf/cert.pem, key: /etc/sheaf/key.pem }`',
          at: ['tls'],
        },
      ]
    : []),
  ...('key' in node && node.key === 'dev' && (node.backbone !== undefined || registry !== undefined)
    ? [
        {
          message: `the key of \`${name}\` is made beside the configuration file, where a service may not write`,
          hint: `make it with \`sheaf keys new ${name}\`, and name it: \`key: { file: ./.sheaf/keys/${name}.key }\``,
          at: ['key'],
        },
      ]
    : []),
];

const registryOfThisMachine = ({ registry }: LoadedNode): Problem[] =>
  registry && !registry.options.nats
    ? [
        {
          message: 'the registry is a directory, where a service may not write and other machines do not look',
          hint: 'write `registry: { nats: ["nats://10.0.0.1:4222"] }` with your servers of NATS',
          at: [],
        },
      ]
    : [];

/** Nodes of one file share a machine, or say what the others need to know of them. */
function partsOfOthers(loaded: LoadedNode): Problem[] {
  if ('gateway' in loaded)
    return loaded.gateway === undefined
      ? []
      : [
          {
            message: `\`${loaded.name}\` finds its gateway \`${loaded.gateway.name}\` in this file, and its certificate among this machine's files`,
            hint: 'write `gateway: { address: "gateway.example:443" }`',
            at: ['gateway'],
          },
        ];
  const peers = loaded.role === 'gateway' ? loaded.backends : loaded.role === 'backend' ? [loaded.primary] : [];
  return peers
    .filter(({ identity }) => !(identity instanceof NodePublicKey) && identity.publicKey === undefined)
    .map(({ name }) => ({
      message: `\`${loaded.name}\` reads the key of \`${name}\` from this machine's files`,
      hint: `run \`sheaf keys show ${name}\`, and write what it prints into \`public_key\` of \`${name}\``,
      at: loaded.role === 'gateway' ? ['backends'] : ['primary'],
    }));
}

const freePorts = (loaded: LoadedNode): Problem[] =>
  clientPorts(loaded).some(({ port }) => port === 0)
    ? [
        {
          message: `\`${loaded.name}\` lets the system choose its port`,
          hint: 'write the port, such as `listen: ":443"`',
          at: ['listen'],
        },
      ]
    : [];

const filesInContainers = (loaded: LoadedNode): Problem[] =>
  filesOfNode(loaded)
    .filter(({ kind }) => kind === 'log' || kind === 'qlog')
    .map(({ kind, at }) =>
      kind === 'log'
        ? {
            message: 'a container has no place for a log file',
            hint: 'remove `log.file`: the log goes to standard error then, which the container engine keeps',
            at,
          }
        : { message: 'a container has no place for qlog files', hint: 'remove `qlog`, which is for experiments', at },
    );

const missingAdmin = ({ name, node }: LoadedNode): Problem[] =>
  node.admin
    ? []
    : [
        {
          message: `\`${name}\` has no address where its health is asked`,
          hint: 'add `admin: 127.0.0.1:9433`',
          at: [],
        },
      ];

const transparentReturns = (loaded: LoadedNode): Problem[] =>
  sendsTransparently(loaded)
    ? [
        {
          message: 'a container without root cannot send from the address of another machine',
          hint: 'write `via: own-address`, or deploy the node with `sheaf deploy systemd`',
          at: ['return'],
        },
      ]
    : [];

/** Directories that the unit hides from its process: `ProtectHome=`, `PrivateTmp=` */
const hiddenDirectory = /^\/(?:home|root|run\/user|tmp|var\/tmp)\//;

const hiddenFiles = (loaded: LoadedNode): Problem[] =>
  filesOfNode(loaded)
    .filter(({ kind, path }) => (kind === 'directory' || kind === 'module') && hiddenDirectory.test(path))
    .map(({ path, at }) => ({
      message: `a service cannot read ${path}: the unit hides home directories and /tmp from it`,
      hint: 'move it to /srv, and correct the path',
      at,
    }));

const unreachablePorts = (loaded: LoadedNode): Problem[] => {
  const { node, name } = loaded;
  if (!('listen' in node))
    return [
      {
        message: `\`${name}\` serves programs of its own machine, and no clients of a cluster`,
        hint: 'deploy it with `sheaf deploy systemd`',
        at: [],
      },
    ];
  return isLoopback(node.listen.address)
    ? [
        {
          message: `nothing outside of its pod reaches ${node.listen.address}`,
          hint: 'write `listen: ":443"`',
          at: ['listen'],
        },
      ]
    : [];
};

// Messages of the others have paths in them.
const anywhere = [
  unwritableValues,
  longChannelNames,
  developmentParts,
  registryOfThisMachine,
  partsOfOthers,
  freePorts,
];
const inContainers = [...anywhere, missingAdmin, filesInContainers, transparentReturns];

const checks = {
  systemd: [...anywhere, unfitUnitName, unfitCredentials, hiddenFiles],
  compose: inContainers,
  kubernetes: [...inContainers, unfitObjectNames, unreachablePorts],
} as const;

const socketUnits = (loaded: LoadedNode): Problem[] => [
  ...(listeningPlaces(loaded).length === 0
    ? [
        {
          message: `\`${loaded.name}\` serves programs of its own machine, and a socket unit is for clients`,
          hint: 'leave out --socket-unit',
          at: [],
        },
      ]
    : []),
  ...('workers' in loaded.node && loaded.node.workers === 'auto'
    ? [
        {
          message: 'a socket unit has a socket for each worker, and `auto` does not say how many there are',
          hint: 'write the number, such as `workers: 4`, or leave out --socket-unit',
          at: ['workers'],
        },
      ]
    : []),
];

/** Where nodes are deployed */
export type DeployTarget = keyof typeof checks;

/** Refuses a node that would not work there. @throws UserError with the first reason */
export function refuseUnfit(loaded: LoadedNode, target: DeployTarget, { socketUnit }: { socketUnit: boolean }): void {
  for (const check of [...checks[target], ...(socketUnit ? [socketUnits] : [])])
    for (const { message, hint, at, shared } of check(loaded))
      throw new UserError('DEPLOYMENT_UNFIT', message, { hint, place: loaded.place(at, shared) });
}
