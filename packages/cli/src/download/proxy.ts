import { once } from 'node:events';
import {
  errorMessage,
  loadNativeModule,
  outerDatagram,
  parseProxyTemplate,
  proxyCredentials,
  UserError,
} from '@sheaf/gateway/client';
import type { ClientOptions, Http3Client, TunnelOver, TunnelRefusal } from '@sheaf/native';
import type { Argv } from 'yargs';
import type { World } from '../world.js';
import { certificateAuthority } from './client_options.js';
import { handshakePath, openPaths } from './open_paths.js';
import type { PathOption } from './path_option.js';

export interface ProxyFlags {
  proxy: string | undefined;
  proxyUser: string | undefined;
  proxyInsecure: boolean;
  proxyCa: string | undefined;
}

/** Adds the options of a proxy to a command. */
export const withProxyOptions = <Options>(yargs: Argv<Options>) =>
  yargs
    .option('proxy', {
      type: 'string',
      requiresArg: true,
      describe: 'Go through this proxy for UDP: `https://HOST`, or its template; --path leads to it then',
    })
    .option('proxy-user', {
      type: 'string',
      requiresArg: true,
      describe: 'Credentials for the proxy, `NAME:PASSWORD` or a token; or set SHEAF_PROXY_USER',
    })
    .option('proxy-insecure', { type: 'boolean', default: false, describe: 'Accept any certificate of the proxy' })
    .option('proxy-ca', {
      type: 'string',
      requiresArg: true,
      describe: 'Accept the certificate authorities of this PEM file for the proxy, too',
    })
    .example(
      '$0 fetch --proxy https://proxy.example --proxy-user me:secret https://www.example.org/',
      'Through a MASQUE proxy',
    );

/** A connection to a proxy for UDP, with a local port that leads to one target */
export interface ProxiedTarget {
  /** Options of the connection to the target, through the tunnel */
  connection: ClientOptions;
  /** Rejects once the tunnel cannot be had. */
  refused: Promise<never>;
  /** Tells the server of this connection, which the tunnel carries, what the proxy reports. */
  begin(client: Http3Client): void;
  /** How many reports the server was told, so far */
  reports(): number;
  close(): Promise<void>;
}

/** RFC 9114 §8.1 */
const H3_CONNECT_ERROR = 0x10f;
const loopback = { address: '127.0.0.1', port: 0, family: 'IPv4' } as const;

/** Environment variable with credentials, which the list of processes does not show */
const userVariable = 'SHEAF_PROXY_USER';

/** Connects to a proxy, over the given paths, and opens a way to the target of `connection`. @throws UserError */
export async function throughProxy(
  connection: ClientOptions,
  paths: readonly PathOption[],
  { proxy, proxyUser, proxyInsecure, proxyCa }: ProxyFlags & { proxy: string },
  world: World,
): Promise<ProxiedTarget> {
  const template = parseProxyTemplate(proxy);
  const user = proxyUser ?? world.env[userVariable];
  const client = await connectToProxy(
    {
      host: template.host,
      port: template.port,
      alpn: ['h3'],
      datagrams: true,
      firstDatagram: outerDatagram,
      ...(proxyInsecure && { insecure: true }),
      ...(proxyCa !== undefined && {
        certificateAuthority: await certificateAuthority('--proxy-ca', proxyCa, world.cwd),
      }),
      ...handshakePath(paths[0], template.port),
    },
    proxy,
  );
  await openPaths(client, paths, world);
  let refuse!: (reason: Error) => void;
  const refused = new Promise<never>((_resolve, reject) => (refuse = reject));
  // Nobody may be waiting when it comes.
  refused.catch(() => undefined);
  let inside: Http3Client | undefined;
  let reports = 0;
  const port = client.openTunnelPort({
    local: loopback,
    path: template.pathTo(connection.host, connection.port),
    authority: template.authority,
    headers: user === undefined || user === '' ? {} : proxyCredentials(user),
    onReport: (report) => {
      if (inside?.reportTunnel(report)) reports += 1;
    },
    onRefused: (refusal) => refuse(refusalError(proxy, refusal)),
    onOver: ({ reason, code }) => refuse(proxyError(proxy, endOf(reason, code))),
  });
  void once(client, 'close').then(([error]) =>
    refuse(proxyError(proxy, `its connection ended${error instanceof Error ? `: ${error.message}` : ''}`)),
  );
  return {
    connection: throughPort(connection, port.address),
    refused,
    begin: (carried) => (inside = carried),
    reports: () => reports,
    close: () => client.close(),
  };
}

/** Options of a connection to the target through a local port */
const throughPort = (
  connection: ClientOptions,
  { address, port }: { address: string; port: number },
): ClientOptions => ({
  ...connection,
  serverName: connection.serverName ?? connection.host,
  remote: { address, port },
  // Backends of the server are reached without the proxy.
  multiEnd: false,
  // What every tunnel carries. A larger packet, such as a probe of the server, ends the tunnels of some proxies.
  longestDatagram: 1_200,
});

async function connectToProxy(options: ClientOptions, proxy: string): Promise<Http3Client> {
  const { connectHttp3 } = await loadNativeModule();
  return connectHttp3(options).catch((error: unknown) => {
    const message = errorMessage(error);
    const hint = /certificate|trust|verif/i.test(message)
      ? 'accept its certificate with --proxy-insecure or --proxy-ca FILE'
      : 'is the proxy up, and does UDP get through?';
    throw new UserError('CONNECT_FAILED', `no connection to the proxy ${proxy}: ${message}`, { hint, cause: error });
  });
}

const hints: Readonly<Record<number, string>> = {
  401: `give credentials with --proxy-user NAME:PASSWORD or ${userVariable}`,
  403: 'the proxy permits this target not, or not from here',
  404: 'the proxy has no tunnels at this path: name its template',
  407: `give credentials with --proxy-user NAME:PASSWORD or ${userVariable}`,
  429: 'the proxy has too many tunnels of this user: try later',
  502: 'the proxy finds no way to the target: is its name right?',
  503: 'the proxy is busy: try later',
};

function refusalError(proxy: string, { status, proxyStatus, error }: TunnelRefusal): UserError {
  if (status === undefined) return proxyError(proxy, errorMessage(error));
  const detail = proxyStatus === undefined ? '' : ` (${proxyStatus})`;
  return proxyError(proxy, `it answered ${status}${detail}`, hints[status]);
}

/** What a user may make of the end of a tunnel */
const endOf = (reason: TunnelOver['reason'], code: number): string =>
  reason === 'connection'
    ? 'its connection ended'
    : code === H3_CONNECT_ERROR
      ? 'the target cannot be reached'
      : `it ended the tunnel (0x${code.toString(16)})`;

const proxyError = (proxy: string, reason: string, hint = 'try it without the proxy'): UserError =>
  new UserError('CONNECT_FAILED', `no tunnel through ${proxy}: ${reason}`, { hint });
