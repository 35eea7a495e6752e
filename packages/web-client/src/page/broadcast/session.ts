import * as Moq from '@moq/net';
import { parseGatewayDescription, WELL_KNOWN } from '../../protocol/index.js';

/** Name of the demo's broadcast */
export const BROADCAST = Moq.Path.from('studio');
/** Name of its track */
export const TRACK = 'video';
export const CATALOG = 'catalog.json';

const ROUTE = '/live';
const RETRY_MS = 1_000;

/** Opens a session of moq-lite to the node that serves this page. */
async function connect(): Promise<Moq.Connection.Established> {
  const response = await fetch(WELL_KNOWN.certificate_hashes, { cache: 'no-store' });
  const { hashes, authority = location.host } = parseGatewayDescription(await response.json());
  return Moq.Connection.connect(new URL(`https://${authority}${ROUTE}`), {
    websocket: { enabled: false },
    webtransport: { serverCertificateHashes: hashes.map((value) => ({ algorithm: 'sha-256', value })) },
  });
}

/**
 * Keeps a session open: calls `use` with each new one, and `lost` when one ended or could not be opened. Never
 * resolves.
 */
export async function keepSession(
  use: (session: Moq.Connection.Established) => void,
  lost: () => void,
): Promise<never> {
  for (;;) {
    try {
      const session = await connect();
      use(session);
      await session.closed;
    } catch (error) {
      console.warn('the session failed', error);
    }
    lost();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Returns the time of this machine in milliseconds, finer than `Date.now()`. */
export const timeOfDay = (): number => performance.timeOrigin + performance.now();
