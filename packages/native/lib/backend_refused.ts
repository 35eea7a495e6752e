import { BackendRefusal } from './addon.js';
import { QuicError } from './quic_error.js';

const NOT_NEGOTIATED = -1;

/** Makes the error for a call about backends that was refused with this code. */
export function backendRefused(code: number): QuicError {
  const text = (BackendRefusal as Record<number, string>)[code] ?? `refused (${code})`;
  return new QuicError(code === NOT_NEGOTIATED ? 'NO_MULTI_END' : 'BACKEND_REFUSED', `backend: ${text}`);
}

export function backendMessageRefused(): QuicError {
  return new QuicError(
    'BACKEND_MESSAGE',
    'a message between backend and primary is malformed, or from nobody who takes part',
  );
}
