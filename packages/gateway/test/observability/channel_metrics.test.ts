import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { channelMetrics } from '../../src/observability/channel_metrics.js';

it('tells the counts of each channel as they are when metrics are read', async () => {
  const live = { name: 'live', receivers: 3, receiving: 2, packets: 1_000, repairs: 40, copies: 100, copiesLost: 1 };
  const reported = { received: 1_800, lost: 200, recovered: 100, expired: 4, joins: 2, joinSeconds: 0.5 };
  const held = {
    rate: 12,
    heldOnCopies: 8,
    waitingForCopies: 9,
    networksHeldDown: 10,
    feedsGroup: true,
    groupPauses: 11,
  };
  const channel = { ...live, ...held, ...reported, refusedReports: 0, droppedProofs: 5, unsent: 7 };
  const registry = new Registry();
  channelMetrics(registry, () => [channel]);
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  await values();
  channel.receivers = 4;
  channel.lost = 300;
  expect(await values()).toEqual([
    'sheaf_channel_receivers{channel="live"} 4',
    'sheaf_channel_receivers_of_group{channel="live"} 2',
    'sheaf_channel_receivers_held_on_copies{channel="live"} 8',
    'sheaf_channel_receivers_waiting_for_copies{channel="live"} 9',
    'sheaf_channel_networks_held_down{channel="live"} 10',
    'sheaf_channel_rate_bytes{channel="live"} 12',
    'sheaf_channel_group_fed{channel="live"} 1',
    'sheaf_channel_group_pauses_total{channel="live"} 11',
    'sheaf_channel_packets_total{channel="live"} 1000',
    'sheaf_channel_repairs_total{channel="live"} 40',
    'sheaf_channel_copies_total{channel="live"} 100',
    'sheaf_channel_unsent_total{channel="live"} 7',
    'sheaf_channel_dropped_proofs_total{channel="live"} 5',
    'sheaf_channel_received_total{channel="live"} 1800',
    'sheaf_channel_lost_total{channel="live"} 300',
    'sheaf_channel_recovered_total{channel="live"} 100',
    'sheaf_channel_expired_total{channel="live"} 4',
    'sheaf_channel_joins_total{channel="live"} 2',
    'sheaf_channel_join_seconds_total{channel="live"} 0.5',
  ]);
});
