import { Counter, Gauge, type Registry } from 'prom-client';
import type { EdgeMediaStatus } from './status.js';

/** The routes of an edge to broadcasts */
export interface MediaSources {
  status(): EdgeMediaStatus[];
  /** Returns those whose channel this thread receives. */
  channels(): EdgeMediaStatus[];
}

type Plain = [
  Kind: typeof Gauge | typeof Counter,
  name: string,
  help: string,
  value: (status: EdgeMediaStatus) => number,
];

/** Metrics of channels with one value for each route */
const plain: Plain[] = [
  [Gauge, 'broadcasts', 'Broadcasts that the channel brings.', ({ broadcasts }) => broadcasts],
  [Counter, 'channel_joined_total', 'How often the edge joined the channel.', ({ joined }) => joined],
  [
    Counter,
    'channel_packets_lost_total',
    'Packets of the channel that were missing at some time, before repair.',
    ({ lost }) => lost,
  ],
  [
    Counter,
    'channel_packets_expired_total',
    'Packets of the channel that did not come in time, after repair.',
    ({ expired }) => expired,
  ],
  [
    Counter,
    'segments_unreadable_total',
    'Segments of the channel that were not read to their ends.',
    ({ unreadable }) => unreadable,
  ],
];

/** Metrics of broadcasts that an edge receives by channels */
export function mediaMetrics(registry: Registry, sources: MediaSources): void {
  const registers = [registry];
  new Gauge({
    name: 'sheaf_media_viewers',
    help: 'Open sessions.',
    labelNames: ['route'],
    registers,
    collect() {
      this.reset();
      for (const { route, viewers } of sources.status()) this.inc({ route }, viewers);
    },
  });
  for (const [Kind, name, help, value] of plain) {
    new Kind({
      name: `sheaf_media_${name}`,
      help,
      labelNames: ['route'],
      registers,
      collect() {
        this.reset();
        for (const status of sources.channels()) this.inc({ route: status.route }, value(status));
      },
    });
  }
  new Gauge({
    name: 'sheaf_media_channel_state',
    help: '1 for the state of the channel that brings the broadcasts of a route.',
    labelNames: ['route', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { route, state } of sources.channels()) this.set({ route, state }, 1);
    },
  });
  new Counter({
    name: 'sheaf_media_channel_packets_total',
    help: 'Packets of the channel, by what brought them first: the group, its repairs, or the connection to the gateway.',
    labelNames: ['route', 'way'],
    registers,
    collect() {
      this.reset();
      for (const { route, fromGroup, fromUnicast, recovered } of sources.channels()) {
        this.inc({ route, way: 'group' }, fromGroup);
        this.inc({ route, way: 'unicast' }, fromUnicast);
        this.inc({ route, way: 'repair' }, recovered);
      }
    },
  });
}
