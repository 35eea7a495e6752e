import { isIP } from 'node:net';
import { z } from 'zod';
import type { Network } from '../values/networks.js';
import { byteSize, duration, filePath, oneOrMore } from '../values/scalars.js';
import { networks } from './reach.js';

/** Targets that a tunnel may lead to: those of a name, or of a network */
export interface TargetPattern {
  /** Name in small letters; `*.example.org` matches every name below, `*` every name and every public address */
  name?: string;
  network?: Network;
  /** Undefined: every port */
  port: number | undefined;
}

const patternForms = '`www.example.org:443`, `*.example.org:443`, `*:443`, `10.0.0.0/8:*` or `[2001:db8::/32]:443`';

function networkOf(text: string): Network | undefined {
  const [address = '', bits] = text.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  if (isIP(address) === 0 || address.includes('%') || !/^\d*$/.test(bits ?? '') || prefix > most) return undefined;
  return { address, prefix };
}

const targetPattern = z
  .string()
  .meta({ description: `Host or network, and port: ${patternForms}.`, examples: ['*.example.org:443'] })
  .transform((text, context): TargetPattern => {
    const match = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:[\]]+))(?::(?<port>\*|\d{1,5}))?$/.exec(text);
    const { six, host = '', port = '*' } = match?.groups ?? {};
    const number = port === '*' ? undefined : Number(port);
    const network = networkOf(six ?? host);
    const named = six === undefined && /^(?:\*|(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)$/i.test(host);
    const validPort = number === undefined || (number > 0 && number <= 65_535);
    if (match && validPort && network) return { network, port: number };
    if (match && validPort && named && !/^[\d.]+$/.test(host)) return { name: host.toLowerCase(), port: number };
    context.addIssue({
      code: 'custom',
      message: `\`${text}\` is no target of tunnels`,
      params: { hint: `write ${patternForms}` },
    });
    return z.NEVER;
  });

const minIdleMs = 120_000;
const minQueue = 16 * 1024;

const count = (value: number, description: string) => z.number().int().min(1).default(value).describe(description);

/** Options of all routes with tunnels: who may reach what, and how much of it at a time */
const accessOptions = {
  allow: oneOrMore(targetPattern).describe(
    'Targets that tunnels may lead to, as the client names them or by the address that their name has. Without a port: every port. Everything else is answered 403. Private, local and own addresses are permitted only where a network names them; `*` does not.',
  ),
  users: filePath
    .optional()
    .describe(
      'File with a line `NAME:PASSWORD` for each user, which only its owner may read. Clients send the two by `Basic`, or the password alone by `Bearer`, in `Proxy-Authorization` or `Authorization`. Default: no credentials, which needs `clients`.',
    ),
  clients: networks
    .optional()
    .describe(
      'Addresses and networks whose clients may use the proxy; others are answered 403. Default: all, which needs `users`.',
    ),
  tunnels: count(10_000, 'Most tunnels at one time; more are answered 503.'),
  tunnels_per_user: count(1_000, 'Most tunnels of one user at one time; more are answered 429.'),
  tunnels_per_address: count(1_000, 'Most tunnels of one address of clients at one time; more are answered 429.'),
  new_tunnels: count(
    3_000,
    'Most new tunnels of one user within a minute, or of one address where users have no names; more are answered 429.',
  ),
};

/** @see accessOptions */
export interface AccessOptions {
  allow: TargetPattern[];
  users?: string | undefined;
  clients?: Network[] | undefined;
  tunnels: number;
  tunnels_per_user: number;
  tunnels_per_address: number;
  new_tunnels: number;
}

/** Refuses a proxy for everybody, unless `clients` says so. */
function refuseOpenProxy(options: AccessOptions, context: z.RefinementCtx): void {
  if (options.users !== undefined || options.clients !== undefined) return;
  context.addIssue({
    code: 'custom',
    message: 'everybody could use this proxy',
    params: {
      code: 'CONFIG_MISSING_KEY',
      missing: ['users', 'clients'],
      hint: 'add `users`, a file of credentials, or `clients`, the networks that may use it',
    },
  });
}

export const connectUdpOptions = z
  .strictObject({
    ...accessOptions,
    rate: byteSize
      .optional()
      .describe(
        'Most bytes a second that all tunnels of one user carry in each direction, or those of one address where users have no names. More is dropped and counted. Default: no limit.',
      ),
    idle: duration
      .refine((milliseconds) => milliseconds >= minIdleMs, {
        error: 'a tunnel may be idle for two minutes or longer (RFC 9298)',
        params: { hint: 'write `2m` or more' },
      })
      .prefault('2m')
      .describe('Time without a packet after which a tunnel ends. At least 2m.'),
    mode: z
      .enum(['retransmit', 'datagram', 'stream'])
      .default('retransmit')
      .describe(
        'How packets of targets travel to clients with HTTP/3. `retransmit`: in QUIC datagrams, which are sent again when they are lost. `datagram`: each is sent once. `stream`: in capsules on one stream, in order, which few clients read. Clients without datagrams always get capsules.',
      ),
    queue: byteSize
      .refine((bytes) => bytes >= minQueue, {
        error: 'less than 16KiB holds only a few packets',
        params: { hint: 'write `16KiB` or more; the default is `256KiB`' },
      })
      .prefault('256KiB')
      .describe('Most bytes of a tunnel that wait for its client. Packets that find no room are dropped and counted.'),
  })
  .superRefine(refuseOpenProxy)
  .describe('A proxy for UDP (CONNECT-UDP, RFC 9298), such as HTTP/3 of other servers.');

export type ConnectUdpOptions = z.output<typeof connectUdpOptions>;

const tcpOptions = z
  .strictObject({
    ...accessOptions,
    idle: duration.prefault('10m').describe('Time without a byte after which a tunnel breaks off.'),
  })
  .superRefine(refuseOpenProxy);

export const connectOptions = tcpOptions.describe('A proxy for TCP (CONNECT), such as HTTPS of other servers.');

export const connectTcpOptions = tcpOptions.describe(
  'A proxy for TCP by a template of URIs (draft-ietf-httpbis-connect-tcp), beside other routes of a host.',
);

export type ConnectOptions = z.output<typeof connectOptions>;
