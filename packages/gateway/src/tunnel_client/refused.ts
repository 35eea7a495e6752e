/** Why a program gets no tunnel */
export type RefusalCause =
  'gateway' | 'draining' | 'credentials' | 'forbidden' | 'name' | 'refused' | 'unreachable' | 'busy' | 'other';

/** What the gateway answered to a request for a tunnel, or why it did not answer */
export class TunnelRefused extends Error {
  constructor(
    /** Status for the program: that of the gateway, or one that means the same */
    readonly status: number,
    /** Field `Proxy-Status` of the gateway's response (RFC 9209) */
    readonly proxyStatus: string | undefined,
    readonly why: RefusalCause,
    message: string,
  ) {
    super(message);
  }
}

/** Errors of RFC 9209 §2.3 that say more than the status */
const errors: readonly [error: string, why: RefusalCause][] = [
  ['dns_error', 'name'],
  ['dns_timeout', 'name'],
  ['connection_refused', 'refused'],
  ['connection_timeout', 'unreachable'],
  ['destination_ip_unroutable', 'unreachable'],
  ['destination_ip_prohibited', 'forbidden'],
];

const statuses: Readonly<Record<number, RefusalCause>> = {
  401: 'credentials',
  403: 'forbidden',
  407: 'credentials',
  429: 'busy',
  503: 'busy',
};

const messages: Readonly<Record<RefusalCause, string>> = {
  gateway: 'the gateway cannot be reached',
  draining: 'the gateway stops',
  credentials: 'the gateway wants other credentials: correct `user` of this tunnel',
  forbidden: 'the gateway permits this target not, or not from here',
  name: 'the gateway finds no address of this name',
  refused: 'the target refuses the connection',
  unreachable: 'the gateway finds no way to the target',
  busy: 'the gateway has too many tunnels: try later',
  other: 'the gateway opens no tunnel',
};

const answerOf = (status: number, error: string | undefined): RefusalCause =>
  errors.find(([name]) => name === error)?.[1] ?? statuses[status] ?? 'other';

/** Reads a response of the gateway that is not a tunnel. */
export function refusalOf(status: number, proxyStatus: string | undefined): TunnelRefused {
  const error = /(?:^|;)\s*error=([a-z_]+)/.exec(proxyStatus ?? '')?.[1];
  // What our gateways say while they stop
  const isDraining = error === 'proxy_internal_response' && /;\s*details="draining"/.test(proxyStatus ?? '');
  const why = isDraining ? 'draining' : answerOf(status, error);
  // Programs would ask their users for the credentials that are this node's own.
  const shown = why === 'credentials' || status < 400 || status > 599 ? 502 : status;
  return new TunnelRefused(shown, proxyStatus, why, `${messages[why]} (${status})`);
}

/** Explains why there is no response. */
export function gatewayLost(message: string, timeout: boolean): TunnelRefused {
  return new TunnelRefused(timeout ? 504 : 502, undefined, 'gateway', `${messages.gateway}: ${message}`);
}
