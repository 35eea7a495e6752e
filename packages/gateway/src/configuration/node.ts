import { z } from 'zod';
import { limitsOptions } from '../limits/options.js';
import { logOptions } from '../observability/options.js';
import { routeOptions } from '../routing/options.js';
import { tlsOptions } from '../tls/options.js';
import { filePath, listenAddress } from './scalars.js';

/**
 * One node of a configuration file. Today a file describes a single gateway at its top level;
 * a map of named nodes would hold values of this same schema.
 */
export const nodeConfiguration = z
  .strictObject({
    listen: listenAddress.describe('Address such as `127.0.0.1:4433`, or `:4433` for all, for HTTP/3 and WebTransport (UDP) and for HTTP/2 and HTTP/1.1 (TCP).'),
    tls: tlsOptions.default('dev'),
    alpn: z
      .array(z.enum(['h3', 'hq-interop']))
      .min(1)
      .default(['h3'])
      .describe('QUIC protocols, most wanted first. `hq-interop` is HTTP/0.9 for interoperability runs.'),
    congestion: z
      .enum(['cubic', 'newreno', 'bbr', 'olia'])
      .default('cubic')
      .describe('Congestion controller of QUIC connections: CUBIC (RFC 9438), NewReno (RFC 9002), BBR, or OLIA, which couples the paths of a connection.'),
    multipath: z.boolean().default(true).describe('Let clients use several paths in one QUIC connection (RFC 10069).'),
    path_scheduler: z
      .enum(['ecf', 'min-rtt', 'round-robin', 'weighted', 'blest', 'redundant', 'backup-only'])
      .default('ecf')
      .describe('Which path of a connection the next packet takes.'),
    http: listenAddress
      .optional()
      .describe('Also serve the routes over HTTP/1.1 without TLS here; for development on `localhost`.'),
    admin: listenAddress.optional().describe('Address of /healthz, /readyz, /metrics and /status. Keep it private.'),
    routes: z.array(routeOptions).min(1).describe('The first route that matches a request answers it.'),
    limits: limitsOptions.prefault({}).describe('What clients are granted.'),
    log: logOptions.prefault({}).describe('Log of events and requests, JSON lines.'),
    qlog: filePath.optional().describe('Directory that receives one qlog file per QUIC connection.'),
  })
  .meta({ title: 'Sheaf configuration' });

export type NodeConfiguration = z.output<typeof nodeConfiguration>;

/** The JSON Schema of a configuration file, for editors and for `sheaf schema`. */
export function configurationSchema(): Record<string, unknown> {
  return z.toJSONSchema(nodeConfiguration, { io: 'input', target: 'draft-2020-12' }) as Record<string, unknown>;
}
