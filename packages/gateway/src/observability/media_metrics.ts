import { Counter, Gauge, type Registry } from 'prom-client';
import type { EdgeMediaStatus } from './status.js';

/** Metrics of broadcasts that an edge receives by channels */
export function mediaMetrics(registry: Registry, read: () => EdgeMediaStatus[]): void {
  const registers = [registry];
  new Gauge({
    name: 'sheaf_media_channel_state',
    help: '1 for the state of the channel that brings the broadcasts of a route.',
    labelNames: ['route', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { route, state } of read()) this.set({ route, state }, 1);
    },
  });
  new Counter({
    name: 'sheaf_media_channel_packets_total',
    help: 'Packets of the channel, by what brought them first: the group, or the connection to the gateway.',
    labelNames: ['route', 'way'],
    registers,
    collect() {
      this.reset();
      for (const { route, fromGroup, fromUnicast } of read()) {
        this.inc({ route, way: 'group' }, fromGroup);
        this.inc({ route, way: 'unicast' }, fromUnicast);
      }
    },
  });
  const metric = (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    value: (status: EdgeMediaStatus) => number,
  ): void => {
    new Kind({
      name: `sheaf_media_${name}`,
      help,
      labelNames: ['route'],
      registers,
      collect() {
        this.reset();
        for (const status of read()) this.inc({ route: status.route }, value(status));
      },
    });
  };
  metric(Gauge, 'broadcasts', 'Broadcasts that the channel brings.', ({ broadcasts }) => broadcasts);
  metric(Gauge, 'viewers', 'Open sessions.', ({ viewers }) => viewers);
  metric(Counter, 'channel_joined_total', 'How often the edge joined the channel.', ({ joined }) => joined);
  metric(
    Counter,
    'channel_packets_lost_total',
    'Packets of the channel that were missing at some time, before repair.',
    ({ lost }) => lost,
  );
  metric(
    Counter,
    'channel_packets_expired_total',
    'Packets of the channel that did not come in time, after repair.',
    ({ expired }) => expired,
  );
  metric(
    Counter,
    'segments_unreadable_total',
    'Segments of the channel that were not read to their ends.',
    ({ unreadable }) => unreadable,
  );
}
