import { z } from 'zod';
import { connectionIdsOptions } from './connection_ids.js';
import { filePath, listenAddress, listenAddresses } from '../values/scalars.js';
import type { Limits } from './limits.js';
import { logOptions } from './log.js';
import { tlsOptions } from './tls.js';
import { reachKeys } from './reach.js';
import { tracingOptions } from './tracing.js';
import { congestionNames, pathSchedulerNames, streamSchedulerNames } from '../values/transport_names.js';

/** Keys of every node that clients connect to */
export const frontKeys = {
  listen: listenAddresses.describe(
    'Address such as `127.0.0.1:4433`, or `:4433` for all, or a list of addresses with one port, for HTTP/3 and WebTransport (UDP) and for HTTP/2 and HTTP/1.1 (TCP).',
  ),
  tls: tlsOptions.default('dev'),
  secrets: filePath
    .optional()
    .describe(
      'File of `sheaf secrets` whose secrets make the keys of tickets, tokens and stateless resets, so that they outlive the process. Servers behind one address share it. Default: random keys of tickets at each start, and others that follow from the private key of the certificate.',
    ),
  connection_ids: connectionIdsOptions
    .optional()
    .describe(
      'Puts an id of this server into connection ids, for balancers that read it. Default: the ids are random.',
    ),
  congestion: z
    .enum(congestionNames)
    .default('cubic')
    .describe(
      'Congestion controller of QUIC connections: CUBIC (RFC 9438), NewReno (RFC 9002), BBR, or OLIA, which couples the paths of a connection.',
    ),
  path_scheduler: z
    .enum(pathSchedulerNames)
    .default('ecf')
    .describe('Which path of a connection the next packet takes.'),
  stream_scheduler: z
    .enum(streamSchedulerNames)
    .default('critical-first')
    .describe('Which stream of a connection the next packet carries.'),
  http: listenAddress.optional().describe('Also serve HTTP/1.1 without TLS here; for development on `localhost`.'),
  admin: listenAddress
    .optional()
    .describe('Address of /healthz, /readyz, /acceptz, /metrics, /status and /tunnels/. Keep it private.'),
  log: logOptions.prefault({}).describe('Log of events and requests, JSON lines.'),
  tracing: tracingOptions
    .optional()
    .describe(
      'Gives each request a place in a trace (W3C Trace Context), and tells it to upstreams and other nodes. Default: `traceparent` is passed on like any other header.',
    ),
  qlog: filePath.optional().describe('Directory that receives one qlog file per QUIC connection.'),
};

/**
 * Limits of a listener. The size of a request's body is limited where the body is used, not where it passes through.
 */
export type FrontLimits = Omit<Limits, 'body_size'>;

const frontOptions = z.strictObject({ ...frontKeys, ...reachKeys });

/** Options that the listeners of a node receive */
export type FrontOptions = z.output<typeof frontOptions> & {
  alpn: readonly string[];
  multipath: boolean;
  multiEnd?: boolean;
  /** Whether backends may send from its addresses with recovery of their own, where a client permits it */
  returnPaths?: boolean;
  /** Whether nodes that send from its addresses may share its port */
  sharesPort?: boolean;
  limits: FrontLimits;
};
