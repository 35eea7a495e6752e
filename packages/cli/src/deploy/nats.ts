import type { LoadedNode } from '@sheaf/gateway';
import { natsString, shellWord } from './quoting.js';

/** Version that has `sync_interval` (2.10 and newer) */
export const natsImage = 'nats:2.12-alpine';

/** Port where the servers speak with each other, and where their health is asked */
export const natsPorts = { cluster: 6222, monitor: 8222 } as const;

/** The servers of NATS that a node asks for its registry */
export interface WantedNats {
  site: string;
  servers: readonly { host: string; port: number }[];
  /** Port that the written servers have */
  port: number;
  credentials: string | undefined;
  tls: { verifiesNodes: boolean } | undefined;
}

/** Returns what the registry of a node needs; undefined for one without NATS. */
export function wantedNats({ registry }: LoadedNode): WantedNats | undefined {
  const { nats, site, credentials, tls } = registry?.options ?? {};
  if (!nats || site === undefined) return undefined;
  const servers = nats.map((url) => {
    const [, host = '', port = ''] = /^\w+:\/\/(.+):(\d+)$/.exec(url) ?? [];
    return { host, port: Number(port) };
  });
  const isEncrypted = tls !== undefined || nats.some((url) => url.startsWith('tls:'));
  return {
    site,
    servers,
    port: servers[0]!.port,
    credentials,
    tls: isEncrypted ? { verifiesNodes: tls?.cert !== undefined } : undefined,
  };
}

/** Names of the files by which NATS knows nodes, and they know it */
export function natsSecrets({ credentials, tls }: WantedNats): string[] {
  return [
    ...(credentials === undefined ? [] : ['nats-authorization']),
    ...(tls ? ['nats-cert', 'nats-key', ...(tls.verifiesNodes ? ['nats-ca'] : [])] : []),
  ];
}

export interface NatsPlaces {
  /** Name of the server, as its configuration says it */
  name: string;
  /** Address for nodes */
  listen: string;
  /** Address where the health is asked */
  monitor: string;
  /** Directory of the secrets, from that of the configuration */
  secrets: string;
  /** Names of all servers of a cluster */
  cluster?: readonly string[];
}

/** Returns the configuration of a server. Its secrets are files beside it, so that they are in no configuration. */
export function natsConfiguration(wanted: WantedNats, { name, listen, monitor, secrets, cluster }: NatsPlaces): string {
  const { credentials, tls } = wanted;
  const verification = tls?.verifiesNodes ? `  ca_file: "${absolute(secrets)}/nats-ca"\n  verify: true\n` : '';
  return `# A server of NATS for the registry of the fleet. Written by \`sheaf deploy\`.
server_name: ${name}
listen: ${natsString(listen)}
http: ${natsString(monitor)}
jetstream {
  store_dir: "/data"
  # Usually NATS writes to the disk every two minutes, and loses what was acknowledged when the power fails.
  sync_interval: always
  max_memory_store: 64MB
  max_file_store: 512MB
}
${
  credentials === undefined
    ? ''
    : `# Who may connect. Nodes show the same by \`credentials\` of \`registry\`.
authorization {
  include ${natsString(`${secrets}/nats-authorization`)}
}
`
}${
    tls
      ? `tls {
  cert_file: "${absolute(secrets)}/nats-cert"
  key_file: "${absolute(secrets)}/nats-key"
${verification}}
`
      : ''
  }${
    cluster
      ? `cluster {
  name: ${natsString(wanted.site)}
  listen: "0.0.0.0:${natsPorts.cluster}"
  # With itself, which a server notices.
  routes: [
${cluster.map((host) => `    "nats-route://${host}:${natsPorts.cluster}"\n`).join('')}  ]
}
`
      : ''
  }`;
}

/** Only includes begin at the directory of the configuration. */
const absolute = (secrets: string): string => secrets.replace(/^(?:\.\.\/)+/, '/');

/**
 * Returns the command that writes what NATS reads of the credentials of nodes. It goes to standard output. Nodes take white space off the
 * end of the file, and NATS reads backslashes in quoted text.
 */
export const authorizationCommand = (credentials: string): string =>
  `awk -F: 'NR == 1 { sub(/[ \\t\\r]+$/, ""); gsub(/["\\\\]/, "\\\\\\\\&"); printf "users: [{ user: \\"%s\\", password: \\"%s\\" }]\\n", $1, substr($0, length($1) + 2) }' ${shellWord(credentials)}`;

/** Returns what the user has to know about credentials. */
export function credentialsAdvice({ credentials }: WantedNats): string[] {
  return credentials === undefined
    ? ['# NATS lets everybody in who reaches it: add `credentials` to `registry` where others do']
    : [
        '# the credentials are USER:PASSWORD here; for the seed of an NKey, write `users: [{ nkey: U… }]` instead; for a file',
        '# with a JWT (`.creds`), put `operator` and `resolver` into nats.conf in place of `authorization`',
      ];
}

/** Returns whether only programs of the same machine reach this host. */
export const isLoopback = (host: string): boolean => /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(host);

/** Returns the address where a server beside one node listens: the one that nodes ask, or all where they ask by name. */
export function listenBeside({ servers, port }: WantedNats): string {
  const { host } = servers[0]!;
  if (host === 'localhost') return `127.0.0.1:${port}`;
  return `${/^[\d.]+$|^\[/.test(host) ? host : '0.0.0.0'}:${port}`;
}
