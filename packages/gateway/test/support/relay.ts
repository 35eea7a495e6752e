import { createLinkRelay, type LinkRelay } from '@sheaf/native';
import { onTestFinished } from 'vitest';

/** A link of 40 Mbit/s to the port, on 127.0.0.1. */
export function relayTo(port: number): { relay: LinkRelay; remote: string } {
  const direction = { rate: 40e6, delayMs: 5, queueBytes: 256 * 1024 };
  const relay = createLinkRelay({
    listen: { address: '127.0.0.1', port: 0 },
    target: { address: '127.0.0.1', port },
    there: direction,
    back: direction,
    seed: 1,
  });
  onTestFinished(() => relay.close());
  return { relay, remote: `127.0.0.1:${relay.listen().port}` };
}
