import { EndRefusal } from './addon.js';
import { QuicError } from './quic_error.js';

const NOT_NEGOTIATED = -1;

/** The error for a call about ends that was refused with this code. */
export function endRefused(code: number): QuicError {
  const text = (EndRefusal as Record<number, string>)[code] ?? `refused (${code})`;
  return new QuicError(code === NOT_NEGOTIATED ? 'NO_MULTI_END' : 'END_REFUSED', `end: ${text}`);
}

export function endMessageRefused(): QuicError {
  return new QuicError('END_MESSAGE', 'a message between end and primary is malformed, or from nobody who takes part');
}
