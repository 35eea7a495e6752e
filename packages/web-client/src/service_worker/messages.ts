import type { StyleName } from '../priority/index.js';
import type { SessionStatus } from './gateway_session.js';
import type { Load } from './load_log.js';

/** BroadcastChannel on which every {@link Load} is announced when it changes. */
export const LOADS_CHANNEL = 'sheaf-page-loads';

/** A message from a page to the worker, with a MessagePort for the {@link Reply} */
export type Message =
  /**
   * Makes the worker ask the gateway how it is reached, hands over a style other than the usual one, and opens the
   * session.
   */
  { readonly type: 'configure'; readonly style?: StyleName } | { readonly type: 'status' };

export interface Reply {
  readonly session: SessionStatus;
  readonly loads: readonly Load[];
}
