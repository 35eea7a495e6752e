import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Http3Server, NativeModule, ServedConnection, ServerRequest, ServerResponse } from '@sheaf/native';
import type { Logger } from 'pino';
import type { ListenAddress } from '../../values/scalars.js';
import { introduction } from './authentication.js';
import { Channel, readMessages, type Outgoing } from './channel.js';
import { backboneVersion, encodeMessage, nonceBytes, replacedReason, type BackboneMessage } from './messages.js';
import { createNodeCertificate } from './node_certificate.js';
import type { SharedUdp } from '../../values/shared_udp.js';
import { NodePublicKey, type NodeKey } from '../../values/node_key.js';
import { sessionBytes } from './sealed_message.js';
import { Strangers } from './strangers.js';

/**
 * Paths by the purpose of a call. Messages have a connection of their own, so that proxied responses that clients do
 * not read cannot block them by flow control. So have runs, whose datagrams must not wait behind either.
 */
export const backbonePaths = {
  messages: '/.well-known/sheaf/backbone',
  requests: '/.well-known/sheaf/backbone/requests',
  runs: '/.well-known/sheaf/backbone/runs',
} as const;
export type BackboneUse = keyof typeof backbonePaths;

/** Maximum of connections. Each node of a site has up to three; further ones are reconnects after a fault. */
const maxConnections = 1_024;
/** Maximum of pending handshakes. Retry has validated their addresses, and one host has at most half of them. */
const maxHalfOpen = 256;
const introductionMs = 5_000;
/** Time in milliseconds for a refused caller to read the reason */
const refusalMs = 1_000;
export const backboneIdleMs = 10_000;

export interface BackboneListenerOptions {
  module: NativeModule;
  name: string;
  key: NodeKey;
  /** Random id of this process, `runBytes` long */
  run: Buffer;
  address: ListenAddress;
  /** Sockets of one of several threads there. Default: its own */
  shared?: SharedUdp | undefined;
  /** The nodes that may call */
  callers: ReadonlyMap<string, NodePublicKey>;
  /** Time in milliseconds for a caller to identify itself */
  introductionMs?: number;
  /** Whether callers may order runs */
  takesRuns?: boolean;
  /** Advice for the log when an unknown node calls */
  hint: string;
  /** Answers requests that a caller proxies here. */
  onRequest(request: ServerRequest, response: ServerResponse): void;
  log: Logger;
}

/** A caller that was identified */
interface Caller {
  name: string;
  key: NodePublicKey;
  run: string;
}

interface BackboneEvents {
  /** A node has connected for messages. */
  channel: [channel: Channel];
  /** A node has connected for runs, whose datagrams belong to this request. */
  runs: [channel: Channel, request: ServerRequest];
}

type Introduced = Caller | { refusal: string };

/** Accepts calls of other nodes, which it identifies by their keys. */
export class BackboneListener extends EventEmitter<BackboneEvents> {
  readonly #options: BackboneListenerOptions;
  readonly #server: Http3Server;
  readonly #known = new WeakSet<ServedConnection>();
  readonly #strangers: Strangers;
  readonly #channels = new Set<Channel>();
  /** Whether another process takes calls at the same address */
  #retired = false;
  #address!: ListenAddress;

  private constructor(options: BackboneListenerOptions, server: Http3Server) {
    super();
    this.#options = options;
    this.#server = server;
    this.#strangers = new Strangers(options.introductionMs ?? introductionMs);
    server.on('connection', (connection) => {
      this.#strangers.add(connection);
      connection.once('close', () => this.#strangers.delete(connection));
    });
    server.on('request', (request, response) => this.#onRequest(request, response));
    server.on('error', (error) => options.log.error({ err: error }, 'backbone error'));
  }

  /** Starts to listen. Rejects with the system's error. */
  static async listen(options: BackboneListenerOptions): Promise<BackboneListener> {
    const { module, key, name, address } = options;
    const server = module.createHttp3Server({
      ...address,
      ...(options.shared && { worker: options.shared }),
      certificate: await createNodeCertificate(key, name, new Date()),
      alpn: ['h3'],
      multipath: false,
      maxConnections,
      maxHalfOpenHandshakes: maxHalfOpen,
      retry: 'always',
      datagrams: options.takesRuns ?? false,
      idleTimeoutMs: backboneIdleMs,
    });
    const listener = new BackboneListener(options, server);
    const { port } = await server.listen();
    listener.#address = { ...address, port };
    return listener;
  }

  get address(): ListenAddress {
    return this.#address;
  }

  /** Makes the callers call again, whom another process at the same address answers. What they have asked here is answered. */
  retire(): void {
    this.#retired = true;
    for (const channel of this.#channels) channel.close(replacedReason);
  }

  async close(): Promise<void> {
    for (const channel of this.#channels) channel.close('the node is stopping');
    await this.#server.close(0);
  }

  #onRequest(request: ServerRequest, response: ServerResponse): void {
    const use = request.method === 'POST' && useOf(request.url);
    if (use && (use !== 'runs' || this.#options.takesRuns)) void this.#introduce(use, request, response);
    else if (this.#known.has(request.connection)) this.#options.onRequest(request, response);
    else {
      response.writeHead(403, { 'content-type': 'text/plain' });
      response.end('403 Forbidden: this is the backbone of a site, and the caller has not introduced itself\n');
    }
  }

  async #introduce(use: BackboneUse, request: ServerRequest, response: ServerResponse): Promise<void> {
    const outgoing = new ResponseBody(response);
    const nonce = randomBytes(nonceBytes);
    const session = randomBytes(sessionBytes);
    outgoing.write(encodeMessage({ type: 'challenge', version: backboneVersion, nonce, session }));
    let channel: Channel | undefined;
    const reason = await readMessages(request, (message) => {
      if (channel) return channel.receive(message);
      const caller = this.#check(message, nonce, session);
      if ('refusal' in caller) throw new Refused(caller.refusal);
      channel = this.#welcome(caller, session, request.connection, outgoing);
      if (use === 'messages') this.emit('channel', channel);
      else if (use === 'runs') this.emit('runs', channel, request);
    });
    if (channel) channel.lost(reason);
    else this.#refuse(reason, request, outgoing);
  }

  #check(message: BackboneMessage, nonce: Buffer, session: Buffer): Introduced {
    const { key, callers, hint } = this.#options;
    if (message.type !== 'hello') return { refusal: 'it did not introduce itself' };
    const { name, run } = message;
    const caller = NodePublicKey.fromBytes(message.publicKey);
    const expected = callers.get(name);
    if (!expected?.equals(caller)) {
      const what =
        expected === undefined
          ? `no node \`${name}\` is known here`
          : `the node \`${name}\` is known here by another key, ${expected.toString()}`;
      return { refusal: `${what}; ${hint} ${caller.toString()}` };
    }
    const signed = introduction({ nonce, session, called: key.publicKey, caller, name });
    return caller.verifies(signed, message.signature)
      ? { name, key: caller, run: run.toString('hex') }
      : { refusal: `the signature of \`${name}\` is wrong` };
  }

  #welcome({ name, key, run }: Caller, session: Buffer, connection: ServedConnection, outgoing: Outgoing): Channel {
    this.#known.add(connection);
    this.#strangers.delete(connection);
    // A gateway cancels for all of its clients, and bounds what each of them cancels.
    connection.permitCancellations();
    outgoing.write(encodeMessage({ type: 'welcome', run: this.#options.run }));
    const channel = new Channel(name, { sender: key, receiver: this.#options.key.publicKey, session }, run, outgoing);
    this.#channels.add(channel);
    channel.once('close', () => {
      this.#channels.delete(channel);
      // The caller leaves by itself, once it has its responses.
      if (this.#retired) return;
      this.#known.delete(connection);
      dismiss(connection);
    });
    this.#options.log.info({ peer: name }, 'a node has connected');
    // Its handshake was in flight when this process was replaced.
    if (this.#retired) channel.close(replacedReason);
    return channel;
  }

  #refuse(reason: string, { connection, remoteAddress }: ServerRequest, outgoing: Outgoing): void {
    this.#options.log.warn({ reason, remote: remoteAddress.address }, 'a node is refused');
    outgoing.write(encodeMessage({ type: 'farewell', reason }));
    outgoing.end();
    dismiss(connection);
  }
}

function useOf(path: string): BackboneUse | undefined {
  return (Object.keys(backbonePaths) as BackboneUse[]).find((use) => backbonePaths[use] === path);
}

/** Closes the connection once the caller had time to read the reason. */
function dismiss(connection: ServedConnection): void {
  setTimeout(() => connection.close(), refusalMs).unref();
}

/** The caller is no node of this site, and receives the reason. */
class Refused extends Error {}

class ResponseBody implements Outgoing {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('error', () => undefined);
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
  }

  get backlog(): number {
    return this.#response.writableLength;
  }

  write(bytes: Buffer): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#response.write(bytes);
  }

  end(): void {
    if (!this.#response.destroyed) this.#response.end();
  }
}
