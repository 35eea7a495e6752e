import { Counter, Gauge, type Registry } from 'prom-client';
import type { ChannelStatus } from './status.js';

type Read = (channel: ChannelStatus) => number;

/** Registers the metrics of a gateway's channels. */
export function channelMetrics(registry: Registry, status: () => readonly ChannelStatus[]): void {
  const gauge = (name: string, help: string, read: Read): void => {
    new Gauge({
      name: `sheaf_channel_${name}`,
      help,
      labelNames: ['channel'],
      registers: [registry],
      collect() {
        for (const channel of status()) this.set({ channel: channel.name }, read(channel));
      },
    });
  };
  const total = (name: string, help: string, read: Read): void => {
    new Counter({
      name: `sheaf_channel_${name}_total`,
      help,
      labelNames: ['channel'],
      registers: [registry],
      collect() {
        this.reset();
        for (const channel of status()) this.inc({ channel: channel.name }, read(channel));
      },
    });
  };
  gauge('receivers', 'Requests that join a channel now.', ({ receivers }) => receivers);
  gauge('receivers_of_group', 'Receivers that hear the group now.', ({ receiving }) => receiving);
  gauge(
    'receivers_held_on_copies',
    'Receivers that hear the group, and get copies since they lose much of it or lost it too often.',
    ({ heldOnCopies }) => heldOnCopies,
  );
  gauge(
    'receivers_waiting_for_copies',
    'Receivers that lost the group, and wait for room in the rate of copies.',
    ({ waitingForCopies }) => waitingForCopies,
  );
  gauge(
    'networks_held_down',
    'Networks that may not join, since clients of theirs came and went too often.',
    ({ networksHeldDown }) => networksHeldDown,
  );
  gauge('rate_bytes', 'Most bytes in a second to the group, now.', ({ rate }) => rate);
  gauge('group_fed', 'Whether packets go to the group now, 0 or 1.', ({ feedsGroup }) => Number(feedsGroup));
  total('group_pauses', 'Pauses of a group that none of its members heard.', ({ groupPauses }) => groupPauses);
  total('packets', 'Packets of a channel.', ({ packets }) => packets);
  total('repairs', 'Packets with repairs.', ({ repairs }) => repairs);
  total('copies', 'Copies of packets by unicast.', ({ copies }) => copies);
  total('unsent', 'Packets to a group that the system did not take.', ({ unsent }) => unsent);
  total('dropped_proofs', 'Proofs that were not sent.', ({ droppedProofs }) => droppedProofs);
  total('received', 'Packets from the group, as receivers reported.', ({ received }) => received);
  total('lost', 'Packets that the group did not bring in time, as receivers reported.', ({ lost }) => lost);
  total('recovered', 'Lost packets that repairs brought, as receivers reported.', ({ recovered }) => recovered);
  total('expired', 'Lost packets that nothing brought in time, as receivers reported.', ({ expired }) => expired);
  total('joins', 'Receivers that have heard the group.', ({ joins }) => joins);
  total(
    'join_seconds',
    'Seconds from the begin of each receiver until it heard the group, added up.',
    ({ joinSeconds }) => joinSeconds,
  );
}
