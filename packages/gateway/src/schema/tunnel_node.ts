import { z } from 'zod';
import { filePath, hostAndPort, listenAddress } from '../values/scalars.js';
import { frontKeys } from './front.js';
import { limitsOptions } from './limits.js';
import { uplinkKeys } from './uplink.js';

const credentials = z
  .union([
    z.strictObject({
      file: filePath.describe('File with `NAME:PASSWORD` or a token in its first line, which only its owner may read.'),
    }),
    z.strictObject({
      environment: z
        .string()
        .regex(/^[A-Za-z_]\w*$/, 'not the name of an environment variable')
        .describe('Environment variable that has the same.'),
    }),
  ])
  .meta({ examples: ['{ file: ./proxy-user.txt }'] });

export const forwardOptions = z.strictObject({
  listen: listenAddress,
  to: hostAndPort.describe('Host and port that it leads to. The gateway resolves the name.'),
  protocol: z.enum(['tcp', 'udp']).default('tcp').describe('`tcp`, or `udp` such as HTTP/3 of one server.'),
});

export type ForwardOptions = z.output<typeof forwardOptions>;

/** Keys of a node that leads programs of this machine through the tunnels of a gateway, without its `role` */
export const tunnelNodeConfiguration = z.strictObject({
  ...uplinkKeys,
  user: credentials
    .optional()
    .describe(
      'Where the credentials for the gateway are: `{ file: ./proxy-user.txt }` or `{ environment: SHEAF_PROXY_USER }`. Default: none.',
    ),
  socks5: listenAddress
    .optional()
    .describe('Address such as `127.0.0.1:1080` where programs speak SOCKS5 (RFC 1928). The gateway resolves names.'),
  http_proxy: listenAddress
    .optional()
    .describe('Address such as `127.0.0.1:8118` of a proxy that takes CONNECT over HTTP/1.1.'),
  forward: z
    .array(forwardOptions)
    .default([])
    .describe('Local ports that lead to one target each: `{ listen: 127.0.0.1:5443, to: "host:443", protocol: udp }`.'),
  open_to_network: z
    .boolean()
    .default(false)
    .describe(
      'Lets the node listen at addresses other than loopback. Everybody who reaches them uses the gateway as this node then, without credentials.',
    ),
  admin: frontKeys.admin,
  limits: limitsOptions.pick({ upgrade: true }).prefault({}).describe('Bounds of the node.'),
  log: frontKeys.log,
});

export type TunnelNodeConfiguration = z.output<typeof tunnelNodeConfiguration>;
export type CredentialsOptions = z.output<typeof credentials>;
