import { schedulerNamed } from '../simulation/schedulers.js';

/** Loopback, on which everything listens */
export const LOOPBACK = '127.0.0.1';

/**
 * The default of gateways. All gateways have it, whatever their stream scheduler, so that they differ in that alone.
 */
const PATH_SCHEDULER = 'ecf';

/** Returns the configuration of the gateway that orders streams by a scheduler. `files` are directories. */
export function gatewayConfiguration(
  scheduler: string,
  files: { pages: string; warm: string },
): Readonly<Record<string, unknown>> {
  const { streams = scheduler, controller = 'olia' } = schedulerNamed(scheduler);
  return {
    listen: `${LOOPBACK}:0`,
    congestion: controller,
    path_scheduler: PATH_SCHEDULER,
    stream_scheduler: streams,
    log: { level: 'warn', access: false },
    routes: [
      { path: '/warm/', files: files.warm },
      { path: '/', files: files.pages },
    ],
  };
}

/** Returns the configuration of the edge, given the ports of the gateway and of the links, which are a path each. */
export function edgeConfiguration(gateway: number, links: readonly number[]): Readonly<Record<string, unknown>> {
  return {
    nodes: {
      edge: {
        role: 'edge',
        listen: `${LOOPBACK}:0`,
        http: `${LOOPBACK}:0`,
        gateway: { address: `localhost:${gateway}`, certificate: 'insecure' },
        paths: links.map((port, index) => ({ local: `127.0.0.${index + 1}`, remote: `${LOOPBACK}:${port}` })),
        congestion: 'olia',
        log: { level: 'error', access: false },
      },
    },
  };
}
