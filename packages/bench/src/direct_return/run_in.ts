import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendSite } from '../multi_end/real/backend_site.js';
import { withBackendSite } from '../multi_end/real/real_backends.js';
import { withLoad, type Delivery, type Plan } from './balancers.js';

/**
 * Responses of each delivery before anything is measured: small ones for the code of a request, larger ones for that of a body.
 * A gateway that has just begun compiles its own JavaScript for an eighth of its time, and one with a quota goes on for minutes.
 */
const RUN_IN = [
  { bytes: 1_000, responses: 20_000 },
  { bytes: 100_000, responses: 2_000 },
];
/** Times of a measurement that each row takes at most */
const LIMIT = 10;
/** Seconds between two looks */
const LOOK_S = 0.1;
const LOAD = { connections: 16, streams: 8, client_ack_every: 10 };

type SiteOptions = Parameters<typeof withBackendSite>[0] & {
  /** Length of a measurement */
  seconds: number;
};

/** Starts a site, lets every balancer answer what makes its code as fast as it gets, and then works. @throws UserError */
export async function withRunInSite<Measured>(
  { seconds, ...options }: SiteOptions,
  progress: (line: string) => void,
  work: (site: BackendSite) => Promise<Measured>,
  cancel?: AbortSignal,
): Promise<Measured> {
  const sizes = [...new Set([...options.sizes, ...RUN_IN.map(({ bytes }) => bytes)])];
  return withBackendSite({ ...options, sizes }, async (site) => {
    for (const delivery of deliveriesOf(site)) {
      for (const row of RUN_IN) {
        progress(`running in: ${delivery}, ${row.responses} responses of ${row.bytes} bytes`);
        await runIn(site, delivery, row, LIMIT * seconds, cancel);
      }
    }
    return work(site);
  });
}

/** Returns the deliveries that the site can be measured with. */
export const deliveriesOf = (site: BackendSite): Delivery[] => [
  'proxy',
  'return',
  ...(site.caddy ? ['caddy' as const] : []),
];

function runIn(
  site: BackendSite,
  delivery: Delivery,
  { bytes, responses }: (typeof RUN_IN)[0],
  limit_s: number,
  cancel?: AbortSignal,
): Promise<void> {
  const { connections, streams, client_ack_every } = LOAD;
  const plan: Plan = { delivery, bytes, client_ack_every, quota: 1 };
  return withLoad(
    site,
    plan,
    { seconds: LOOK_S, connections, streams },
    async (load) => {
      const begun = await load.read();
      for (let now = begun; now.bytes < responses * bytes; now = await load.read()) {
        if (cancel?.aborted === true || now.seconds - begun.seconds > limit_s) return;
        await sleep(LOOK_S * 1000);
      }
    },
    cancel,
  );
}
