import { randomBytes } from 'node:crypto';
import {
  offerResponse,
  openRunOrders,
  type OfferRefusal,
  type ReturnRecovery,
  type RunOrders,
  type ServerRequest,
} from '@sheaf/native';
import type { Logger } from 'pino';
import type { BackboneLink } from '../../multi_end/backbone/backbone_link.js';
import { BackboneViolation } from '../../multi_end/backbone/byte_fields.js';
import type { Channel } from '../../multi_end/backbone/channel.js';
import type { BackboneMessage } from '../../multi_end/backbone/messages.js';
import { grantKeyKind, Sealer, type Sodium } from '../../multi_end/backbone/sealed_message.js';
import type { NodeKey } from '../../values/node_key.js';
import { grantRecovery } from '../protocol/grant_source.js';
import { encodeGrantHeader } from '../protocol/return_headers.js';
import { processOf, runSession } from '../protocol/run_session.js';
import { grantKeyBytes, GrantSealer, nameOfSession } from '../protocol/sealed_grant.js';

/** A grant for one response */
export interface Granted {
  /** The sealed grant */
  header: string;
  /** What the client's connection permits to this backend */
  recovery: ReturnRecovery;
}

export interface ReturnLinkOptions {
  /** Connection for runs */
  link: BackboneLink;
  key: NodeKey;
  sodium: Sodium;
  /** Random id of this process */
  run: Buffer;
  log: Logger;
}

/** A gateway's session with one backend, which it makes anew with each connection between them */
export class ReturnLink {
  readonly #options: ReturnLinkOptions;
  #session: { orders: RunOrders; sealer: GrantSealer } | undefined;
  /**
   * What the backend takes; undefined until it has the key: requests with grants overtake it, since they come over another
   * connection.
   */
  #taken: ReturnRecovery | undefined;

  constructor(options: ReturnLinkOptions) {
    this.#options = options;
    const { link } = options;
    link.on('open', (channel, response) => this.#onOpen(channel, response));
    link.on('close', () => this.#end());
  }

  /** Whether the backend takes runs and opens grants */
  get open(): boolean {
    return this.#taken !== undefined;
  }

  /** Returns the header that lets the backend send the response to a request, or why it may not now. */
  grant(request: ServerRequest): Granted | { refusal: OfferRefusal } {
    const session = this.#session;
    if (!session || !this.#taken) return { refusal: 'ended' };
    const grant = offerResponse(request, session.orders, this.#taken);
    if (typeof grant === 'string') return { refusal: grant };
    const recovery = grantRecovery(grant);
    return { header: encodeGrantHeader(session.sealer.seal(grant)), recovery };
  }

  #onOpen(channel: Channel, response: Parameters<typeof openRunOrders>[0]): void {
    const { key, sodium, run } = this.#options;
    channel.on('message', (message) => this.#onMessage(message, channel));
    const secret = randomBytes(grantKeyBytes);
    const sealer = new Sealer(key, channel.session, sodium, grantKeyKind);
    // What is sealed is wiped.
    channel.send({ type: 'grant_key', sealed: sealer.seal(Buffer.from(secret)) });
    const session = runSession(channel.session.session, run);
    const backendProcess = processOf(Buffer.from(channel.run, 'hex'));
    this.#session = {
      orders: openRunOrders(response, { ...session, backendProcess }),
      sealer: new GrantSealer(secret, nameOfSession(channel.session)),
    };
  }

  #onMessage(message: BackboneMessage, { peer }: Channel): void {
    if (message.type !== 'grant_key_taken' || this.#taken)
      throw new BackboneViolation(`a backend does not send ${message.type} on the connection for runs`);
    this.#taken = message.ownRecovery ? 'backend' : 'gateway';
    this.#options.log.info({ backend: peer }, 'a backend can send responses from the address of this gateway');
  }

  #end(): void {
    this.#taken = undefined;
    this.#session?.orders.close();
    this.#session?.sealer.close();
    this.#session = undefined;
  }
}
