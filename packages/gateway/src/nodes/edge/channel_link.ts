import type { ChannelCounts, Http3Client, NativeModule, WatchedChannel } from '@sheaf/native';
import type { Logger } from 'pino';
import { errorMessage } from '../../errors/user_error.js';
import type { ChannelReceiver } from '../../media/channel/channel_receiver.js';
import type { ChannelLinkStatus } from '../../observability/status.js';
import type { CarriedMediaOptions } from '../../schema/media.js';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import type { GatewayConnection } from '../uplink/gateway_connection.js';

/** Pauses between failed attempts to join */
const pauses: BackOff = { first: 200, longest: 5_000, jitter: true };

/** Milliseconds for which a channel has to last so that the next attempt follows at once */
const longLifeMs = 5_000;

export interface ChannelLinkOptions {
  gateway: Pick<GatewayConnection, 'open'>;
  module: Pick<NativeModule, 'watchChannel'>;
  options: Pick<CarriedMediaOptions, 'channel' | 'multicast' | 'interface' | 'sources'>;
  receiver: ChannelReceiver;
  log: Logger;
}

/** Counts of a channel that an edge adds up over all channels that it joined */
const added = ['fromGroup', 'fromUnicast', 'recovered', 'lost', 'expired'] as const satisfies (keyof ChannelCounts)[];
type Totals = Record<(typeof added)[number], number>;

/** Keeps an edge in a channel of its gateway: joins again whenever the channel or the connection ends. */
export class ChannelLink {
  readonly #options: ChannelLinkOptions;
  readonly #stop = new AbortController();
  #channel: WatchedChannel | undefined;
  #joined = 0;
  #reason: string | undefined;
  /** Counts of channels that are over */
  #before: Totals = { fromGroup: 0, fromUnicast: 0, recovered: 0, lost: 0, expired: 0 };

  constructor(options: ChannelLinkOptions) {
    this.#options = options;
  }

  /** Runs until it is closed. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted;) {
      const started = performance.now();
      try {
        this.#reason = await this.#receive();
      } catch (error) {
        this.#reason = errorMessage(error);
      }
      if (this.#stop.signal.aborted) return;
      failures = performance.now() - started > longLifeMs ? 0 : failures + 1;
      this.#options.log.info({ channel: this.#options.options.channel, reason: this.#reason }, 'the channel is over');
      await this.#pause(failures === 0 ? 0 : backOffMs(failures - 1, pauses));
    }
  }

  status(): ChannelLinkStatus {
    const { channel: path } = this.#options.options;
    const totals = this.#totals();
    const packets = totals.fromGroup + totals.fromUnicast + totals.recovered;
    return {
      channel: path,
      state: this.#channel?.state ?? 'waiting',
      ...(this.#reason !== undefined && { reason: this.#reason }),
      joined: this.#joined,
      ...totals,
      unicastShare: packets === 0 ? 0 : totals.fromUnicast / packets,
      unreadable: this.#options.receiver.unreadable,
    };
  }

  close(): void {
    this.#stop.abort();
    this.#channel?.leave();
    this.#options.receiver.close();
  }

  /** Joins, and resolves with the reason why the channel is over. */
  async #receive(): Promise<string> {
    const { gateway, log, options, receiver } = this.#options;
    const client = await gateway.open();
    const channel = await this.#join(client);
    this.#channel = channel;
    this.#joined += 1;
    log.info({ channel: options.channel }, 'joined the channel');
    channel.on('state', (state, joinError) => {
      log.info(
        { channel: options.channel, state, ...(joinError !== '' && { joinError }) },
        'the channel comes otherwise',
      );
    });
    const reason = await receiver.run(channel);
    this.#before = this.#totals();
    this.#channel = undefined;
    return reason ?? 'the gateway or the connection ended it';
  }

  async #join(client: Http3Client): Promise<WatchedChannel> {
    const { module, options } = this.#options;
    const channel = await module.watchChannel(client, {
      path: options.channel,
      joins: options.multicast,
      ...(options.interface !== undefined && { interface: options.interface }),
      ...(options.sources && { sources: [...options.sources] }),
    });
    if (this.#stop.signal.aborted) channel.leave();
    return channel;
  }

  #totals(): Totals {
    const totals = { ...this.#before };
    const now = this.#channel?.status();
    if (now) for (const count of added) totals[count] += now[count];
    return totals;
  }

  async #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#stop;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds).unref();
      signal.addEventListener('abort', end);
    });
  }
}
