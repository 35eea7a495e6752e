// Runs the links in a process of their own, each the relay that `sheaf link` runs.
import { loadNativeModule } from '@sheaf/gateway';
import type { LinkRelay, LinkRelayOptions, LinkRelayStats } from '@sheaf/native';
import { serveCalls } from '../../process/called_process.js';

export type LinkCall =
  /** Opens links in place of the current ones. Answers with their ports. */
  { type: 'open'; links: LinkRelayOptions[] } | { type: 'stats' };

export type LinkStatsAnswer = LinkRelayStats[];

let relays: LinkRelay[] = [];

serveCalls<LinkCall>(async (call) => {
  switch (call.type) {
    case 'open': {
      for (const relay of relays) relay.close();
      const { createLinkRelay } = await loadNativeModule();
      relays = call.links.map((options) => createLinkRelay(options));
      return relays.map((relay) => relay.listen().port);
    }
    case 'stats':
      return relays.map((relay) => relay.stats());
  }
});
