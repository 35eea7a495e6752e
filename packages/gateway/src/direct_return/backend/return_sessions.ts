import {
  openExecutor,
  type ExecutorStats,
  type ReturnRecovery,
  type ReturnSocket,
  type ServerRequest,
} from '@sheaf/native';
import type { Logger } from 'pino';
import { BackboneViolation } from '../../multi_end/backbone/byte_fields.js';
import type { Channel } from '../../multi_end/backbone/channel.js';
import type { BackboneMessage } from '../../multi_end/backbone/messages.js';
import { grantKeyKind, Opener, SealRefused, type Sodium } from '../../multi_end/backbone/sealed_message.js';
import type { NodeKey } from '../../values/node_key.js';
import { runSession } from '../protocol/run_session.js';
import { GrantOpener, nameOfSession } from '../protocol/sealed_grant.js';
import { ReturnCounts } from './return_counts.js';
import type { Session } from './returned_responses.js';

export interface ReturnSessionsOptions {
  key: NodeKey;
  sodium: Sodium;
  /** Random id of this process */
  run: Buffer;
  /** Sockets that send from the addresses of gateways */
  sockets: ReturnSocket[];
  /** What this backend takes */
  recovery: ReturnRecovery;
  log: Logger;
}

/** A backend's sessions with its gateway: one, or two while the gateway is replaced */
export class ReturnSessions {
  readonly #options: ReturnSessionsOptions;
  #sessions: Session[] = [];
  readonly #counts = new ReturnCounts();

  constructor(options: ReturnSessionsOptions) {
    this.#options = options;
  }

  /** The newest first */
  get all(): readonly Session[] {
    return this.#sessions;
  }

  /** What this node did with all sessions since its start */
  get stats(): ExecutorStats {
    return this.#counts.total;
  }

  /**
   * Carries out what a gateway orders by the datagrams of this request. To be called before anything else of the request is
   * read, so that no datagram comes too early.
   */
  attach(channel: Channel, request: ServerRequest): void {
    const { run, sockets, recovery } = this.#options;
    const executor = openExecutor(request, { ...runSession(channel.session.session, run), sockets, recovery });
    const session: Session = { executor, opener: undefined };
    this.#sessions = [session, ...this.#sessions];
    this.#counts.add(executor);
    channel.on('message', (message) => this.#onMessage(message, channel, session));
    channel.once('close', () => {
      this.#sessions = this.#sessions.filter((other) => other !== session);
      this.#counts.end(executor);
      executor.close();
      session.opener?.close();
      session.opener = undefined;
    });
  }

  #onMessage(message: BackboneMessage, channel: Channel, session: Session): void {
    if (message.type !== 'grant_key' || session.opener)
      throw new BackboneViolation(`a gateway does not send ${message.type} on the connection for runs`);
    const { key, sodium, recovery, log } = this.#options;
    const opener = new Opener(key, channel.session, sodium, grantKeyKind);
    try {
      session.opener = new GrantOpener(opener.open(message.sealed), nameOfSession(channel.session));
      // Key and grants come over different connections, so the gateway waits for this.
      channel.send({ type: 'grant_key_taken', ownRecovery: recovery === 'backend' });
    } catch (error) {
      if (!(error instanceof SealRefused)) throw error;
      log.warn({ reason: error.message }, 'a gateway may not grant');
      channel.close(error.message);
    } finally {
      opener.close();
    }
  }
}
