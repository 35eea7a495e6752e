import { EventEmitter, once } from 'node:events';
import type { ReceivedResponse, Http3Client, NativeModule } from '@sheaf/native';
import type { Logger } from 'pino';
import { backOffMs, type BackOff } from '../../values/back_off.js';
import type { NextServer } from '../../http/request_trace.js';
import { errorMessage } from '../../errors/user_error.js';
import { formatAddress } from '../../values/listen_error.js';
import type { LinkStatus } from '../../observability/backend_report.js';
import { introduction } from './authentication.js';
import { backboneIdleMs, backbonePaths, type BackboneUse } from './backbone_listener.js';
import { BackboneViolation } from './byte_fields.js';
import { Channel, readMessages } from './channel.js';
import { backboneVersion, encodeMessage, type BackboneMessage } from './messages.js';
import { areSiblings } from './run.js';
import type { NodeKey, NodePublicKey } from '../../values/node_key.js';
import { MessageBody } from './request_body.js';

export interface BackboneLinkOptions {
  module: NativeModule;
  use: BackboneUse;
  /** Name of this node */
  name: string;
  key: NodeKey;
  /** Random id of this process, `runBytes` long */
  run: Buffer;
  peer: { name: string; publicKey: NodePublicKey };
  /** A connection that opens before this one, which leads to the same worker where the peer has several */
  after?: BackboneLink;
  /** Returns the address that the peer listens on at the moment; undefined while nobody knows it. */
  address(): { host: string; port: number } | undefined;
  log: Logger;
}

/** Pauses between failed attempts */
const pauses: BackOff = { first: 100, longest: 3_000, jitter: true };
const connectTimeoutMs = 3_000;
/**
 * Attempts to reach one worker of the peer. Each attempt reaches one at random. After these, any of them is good: the one that was
 * wanted does not serve.
 */
const mostAttempts = 256;

/** Time in milliseconds between looks for responses that are missing, on a connection that the peer has said farewell on */
const leavePollMs = 100;

/** Maximum of clients' requests that are proxied to one node at a time */
export const maxProxied = 256;
/**
 * Window of one response. All responses together are half of the connection's window, so they can all wait for their
 * clients without blocking others. This bounds their memory, and also the throughput of one response by the round trip
 * between the nodes.
 */
const answerWindow = 512 * 1024;
const connectionWindow = 2 * maxProxied * answerWindow;
const windows = {
  maxStreamWindow: answerWindow,
  initialConnectionWindow: connectionWindow,
  maxConnectionWindow: connectionWindow,
};

interface LinkEvents {
  /** The peer has accepted this node, on the request that this is the response to. */
  open: [channel: Channel, response: ReceivedResponse];
  close: [reason: string];
}

/** This node's connection to another node for one use, which is kept open */
export class BackboneLink extends EventEmitter<LinkEvents> {
  readonly #options: BackboneLinkOptions;
  #client: Http3Client | undefined;
  #channel: Channel | undefined;
  #state: LinkStatus['state'] = 'closed';
  #reason: string | undefined;
  #failures = 0;
  /** Number of successive attempts that reached another worker than the one that was wanted */
  #missed = 0;
  #latestRun: string | undefined;
  /** Whether no other connection follows this one */
  #retired = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Clients of connections that the peer has said farewell on, with requests in flight */
  readonly #leaving = new Set<Http3Client>();

  constructor(options: BackboneLinkOptions) {
    super();
    this.#options = options;
  }

  /** Connects, and connects again after every loss, until `close`. */
  start(): void {
    if (this.#state !== 'closed' || this.#retired) return;
    this.#attempt();
    this.#options.after?.on('open', this.#onFirst);
  }

  get channel(): Channel | undefined {
    return this.#channel;
  }

  /** Client for the requests of clients; undefined until the peer has accepted this node */
  get client(): Http3Client | undefined {
    return this.#channel ? this.#client : undefined;
  }

  /**
   * Resolves with the client as soon as there is one. Rejects after `patienceMs`, and at once if the latest attempt
   * failed.
   */
  async whenOpen(patienceMs: number): Promise<Http3Client> {
    if (this.client) return this.client;
    this.start();
    if (this.#failures > 0 || this.#retired) throw this.#unreachable();
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        this.off('open', settle).off('close', settle);
        if (this.client) resolve(this.client);
        else reject(this.#unreachable());
      };
      const timer = setTimeout(settle, patienceMs);
      this.on('open', settle).on('close', settle);
    });
  }

  /** Resolves once the peer has accepted this node. */
  async opened(): Promise<void> {
    if (!this.#channel) await once(this, 'open');
  }

  /** The peer, as a server that requests are passed on to */
  get server(): NextServer {
    const { host: address = '', port = 0 } = this.#options.address() ?? {};
    return { name: this.#options.peer.name, scheme: 'https', address, port, httpVersion: '3' };
  }

  status(): LinkStatus {
    const rttMs = this.client?.status().paths[0]?.smoothedRttMs;
    return {
      peer: this.#options.peer.name,
      address: formatHost(this.#options.address()),
      state: this.#state,
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      ...(rttMs === undefined ? {} : { rttMs }),
    };
  }

  /** Connects anew, since the peer of this connection is gone. */
  renew(): void {
    void this.#client?.close().catch(() => undefined);
  }

  /** Connects no more. The connection that is open goes on until its end. */
  retire(): void {
    this.#retired = true;
    clearTimeout(this.#timer);
    if (this.#state === 'waiting') this.#state = 'closed';
  }

  async close(): Promise<void> {
    this.#state = 'closed';
    this.#options.after?.off('open', this.#onFirst);
    clearTimeout(this.#timer);
    this.#channel?.close('the node is stopping');
    for (const client of [this.#client, ...this.#leaving]) await client?.close().catch(() => undefined);
    await this.#running;
  }

  #unreachable(): Error {
    return new Error(
      `the node ${this.#options.peer.name} is not reachable over the backbone${this.#reason === undefined ? '' : `: ${this.#reason}`}`,
    );
  }

  /** Opens the connection once the one has opened that it waits for. */
  readonly #onFirst = (): void => {
    if (this.#state === 'waiting') this.#attempt();
  };

  #attempt(): void {
    clearTimeout(this.#timer);
    const { after } = this.#options;
    if (after && !after.channel) {
      this.#state = 'waiting';
      return;
    }
    this.#state = 'connecting';
    this.#running = this.#run()
      .catch(errorMessage)
      .then((reason) => this.#ended(explain(reason, this.#options.peer)));
  }

  /** Runs one connection from its start to its end. Resolves with the reason why it ended. */
  async #run(): Promise<string> {
    const { module, use, peer, address } = this.#options;
    const { host, port } = address() ?? {};
    if (host === undefined || port === undefined) return 'the registry does not have its address yet';
    const client = await module.connectHttp3({
      host,
      port,
      serverName: 'backbone',
      publicKeyHashes: [peer.publicKey.hash],
      alpn: ['h3'],
      multipath: false,
      connectTimeoutMs,
      idleTimeoutMs: backboneIdleMs,
      keepAliveMs: backboneIdleMs / 4,
      datagrams: use === 'runs',
      // Clients cancel any number of requests in succession, which must not end the connection of all.
      qpackTableCapacity: 0,
      ...(use === 'requests' ? windows : {}),
    });
    try {
      if (this.#state === 'closed') return 'the node is stopping';
      this.#client = client;
      const lost = new Promise<string>((resolve) =>
        client.once('close', (error) => resolve(error?.message ?? 'the connection was closed')),
      );
      return await Promise.race([lost, this.#talk(client)]);
    } finally {
      this.#client = undefined;
      if (this.#state !== 'closed' && this.#channel && this.#farewell !== undefined) this.#leave(client);
      else await client.close().catch(() => undefined);
    }
  }

  /** Closes a connection when it has brought all responses. Those of a connection that is cut have ended already. */
  #leave(client: Http3Client): void {
    this.#leaving.add(client);
    const timer = setInterval(() => {
      if (client.openRequests > 0) return;
      clearInterval(timer);
      this.#leaving.delete(client);
      void client.close().catch(() => undefined);
    }, leavePollMs).unref();
  }

  async #talk(client: Http3Client): Promise<string> {
    const body = new MessageBody();
    const response = await client.request({ method: 'POST', path: backbonePaths[this.#options.use], body });
    if (response.status !== 200) {
      response.destroy();
      return `it answered with the status ${response.status}`;
    }
    const reason = await readMessages(response, (message) => {
      if (this.#channel) this.#channel.receive(message);
      else this.#introduce(message, body, response);
    });
    body.end();
    return this.#farewell ?? reason;
  }

  /** Reason in the peer's farewell */
  #farewell: string | undefined;
  #session: Buffer | undefined;

  #introduce(message: BackboneMessage, body: MessageBody, response: ReceivedResponse): void {
    const { key, name, run, peer } = this.#options;
    switch (message.type) {
      case 'challenge': {
        const { nonce, session } = message;
        const signature = key.sign(
          introduction({ nonce, session, called: peer.publicKey, caller: key.publicKey, name }),
        );
        this.#session = Buffer.from(session);
        body.write(
          encodeMessage({
            type: 'hello',
            version: backboneVersion,
            name,
            run,
            publicKey: key.publicKey.bytes,
            signature,
          }),
        );
        return;
      }
      case 'welcome':
        if (!this.#session) break;
        if (this.#misses(message.run)) throw new Error(anotherWorker);
        return this.#open(this.#session, message.run, body, response);
      case 'farewell':
        this.#farewell = message.reason;
        return;
      default:
    }
    throw new BackboneViolation(`${message.type} before this node was taken in`);
  }

  /** The run of the peer's worker that this connection is to lead to; undefined when any will do */
  get #wantedRun(): string | undefined {
    const { after, use } = this.#options;
    if (after) return after.channel?.run;
    // What a worker was told belongs to its run.
    return use === 'messages' ? this.#latestRun : undefined;
  }

  #misses(run: Buffer): boolean {
    const wanted = this.#wantedRun;
    const misses = wanted !== undefined && areSiblings(wanted, run.toString('hex')) && this.#missed < mostAttempts;
    this.#missed = misses ? this.#missed + 1 : 0;
    return misses;
  }

  #open(session: Buffer, run: Buffer, body: MessageBody, response: ReceivedResponse): void {
    const { key, use, peer, log } = this.#options;
    const channel = new Channel(
      peer.name,
      { sender: key.publicKey, receiver: peer.publicKey, session },
      run.toString('hex'),
      body,
    );
    channel.once('close', (reason) => (this.#farewell ??= reason));
    this.#channel = channel;
    this.#latestRun = channel.run;
    this.#failures = 0;
    this.#reason = undefined;
    this.#state = 'open';
    log.info({ peer: peer.name, use }, 'connected to a node');
    this.emit('open', channel, response);
  }

  #ended(reason: string): void {
    const channel = this.#channel;
    this.#channel = undefined;
    this.#session = undefined;
    this.#farewell = undefined;
    channel?.lost(reason);
    if (this.#retired) this.#state = 'closed';
    if (this.#state !== 'closed') {
      if (reason === anotherWorker) return this.#attempt();
      // Another process may serve there already.
      if (channel) this.#attempt();
      else this.#pause(reason);
    }
    this.emit('close', reason);
  }

  #pause(reason: string): void {
    const { peer, use, log } = this.#options;
    if (this.#reason !== reason)
      log.warn({ peer: peer.name, use, reason }, 'a node cannot be reached over the backbone');
    this.#reason = reason;
    this.#state = 'waiting';
    const pause = backOffMs(this.#failures, pauses);
    this.#failures += 1;
    this.#timer = setTimeout(() => this.#attempt(), pause).unref();
  }
}

/** Reason of an end: the peer has several workers, and this is not the one that was wanted. */
const anotherWorker = 'the connection leads to another worker';

/** Adds advice to reasons that users meet. */
function explain(reason: string, { name, publicKey }: BackboneLinkOptions['peer']): string {
  return reason.includes('expected hashes')
    ? `the node there is not \`${name}\`: its key is not ${publicKey.toString()}; correct its address or \`public_key\``
    : reason;
}

function formatHost(address: { host: string; port: number } | undefined): string {
  return address ? formatAddress({ address: address.host, port: address.port }) : 'unknown';
}
