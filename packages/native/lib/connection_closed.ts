import { QuicError } from './quic_error.js';

/** Why a connection ended; the same numbers as `ConnectionClosed::Cause` in src/connection/event.h. */
const causes = [
  'closed here',
  'transport error here',
  'closed by the peer',
  'transport error of the peer',
  'idle timeout',
  'stateless reset by the peer',
  'handshake failed',
] as const;

const transportErrors: Record<number, string> = {
  0x0: 'NO_ERROR',
  0x1: 'INTERNAL_ERROR',
  0x2: 'CONNECTION_REFUSED',
  0x3: 'FLOW_CONTROL_ERROR',
  0x4: 'STREAM_LIMIT_ERROR',
  0x5: 'STREAM_STATE_ERROR',
  0x6: 'FINAL_SIZE_ERROR',
  0x7: 'FRAME_ENCODING_ERROR',
  0x8: 'TRANSPORT_PARAMETER_ERROR',
  0x9: 'CONNECTION_ID_LIMIT_ERROR',
  0xa: 'PROTOCOL_VIOLATION',
  0xb: 'INVALID_TOKEN',
  0xc: 'APPLICATION_ERROR',
  0xd: 'CRYPTO_BUFFER_EXCEEDED',
  0xe: 'KEY_UPDATE_ERROR',
  0xf: 'AEAD_LIMIT_REACHED',
  0x10: 'NO_VIABLE_PATH',
};

/** A closed connection as an event of the addon tells it. */
export interface Closed {
  cause: number;
  code: number;
  reason: string;
}

const isApplication = (cause: number): boolean => cause === 0 || cause === 2;
const H3_NO_ERROR = 0x100;

/** Label for metrics: the error's name, not its text. */
export function closedLabel({ cause, code }: Closed): string {
  if (cause === 4) return 'IDLE_TIMEOUT';
  if (cause === 5) return 'STATELESS_RESET';
  if (isApplication(cause)) return `APPLICATION_0x${code.toString(16)}`;
  if (code >= 0x100 && code < 0x200) return `CRYPTO_ERROR_0x${code.toString(16)}`;
  return transportErrors[code] ?? `0x${code.toString(16)}`;
}

/** Nothing when the connection ended as it should. */
export function closedError(closed: Closed): QuicError | undefined {
  if (isApplication(closed.cause) && (closed.code === H3_NO_ERROR || closed.code === 0)) return undefined;
  const why = closed.reason === '' ? '' : `: ${closed.reason}`;
  return new QuicError(
    closed.cause === 6 ? 'HANDSHAKE_FAILED' : 'CONNECTION_CLOSED',
    `${causes[closed.cause] ?? 'closed'} (${closedLabel(closed)})${why}`,
    closed.code,
  );
}
