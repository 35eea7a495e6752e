import { z } from 'zod';
import { frontKeys } from './front.js';
import { limitsOptions } from './limits.js';
import { carriedMediaOptions } from './media.js';
import { uplinkKeys } from './uplink.js';
import { pageLoaderOption } from './webtransport.js';
import { workersOption } from './workers.js';

/** Keys of an edge beside a browser, without its `role` */
export const edgeConfiguration = z.strictObject({
  listen: frontKeys.listen.prefault('127.0.0.1:4443'),
  workers: workersOption,
  tls: frontKeys.tls,
  secrets: frontKeys.secrets,
  gateway: uplinkKeys.gateway,
  paths: uplinkKeys.paths,
  show_paths: z
    .boolean()
    .default(false)
    .describe(
      'Tells pages that come through the edge which paths it has, for the live page (addresses, round-trip times, losses, bytes), and which server sent each of the latest responses.',
    ),
  media: z
    .array(carriedMediaOptions)
    .default([])
    .describe('Broadcasts that the edge receives once by a channel of the gateway, and serves itself.'),
  congestion: frontKeys.congestion,
  path_scheduler: frontKeys.path_scheduler,
  stream_scheduler: frontKeys.stream_scheduler,
  page_loader: pageLoaderOption,
  http: frontKeys.http,
  admin: frontKeys.admin,
  limits: limitsOptions.omit({ body_size: true }).prefault({}).describe('Bounds for clients.'),
  log: frontKeys.log,
  tracing: frontKeys.tracing,
  qlog: frontKeys.qlog,
});

export type EdgeConfiguration = z.output<typeof edgeConfiguration>;
