import { QuicError } from './quic_error.js';

/** Causes of a connection's end; the same numbers as `ConnectionClosed::Cause` in src/connection/event.h. */
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

/** A closed connection as an event of the addon reports it. */
export interface Closed {
  cause: number;
  code: number;
  reason: string;
}

/** Error codes of RFC 9114 §8.1, RFC 9204 §8.3 and the drafts of WebTransport over HTTP/3. */
const applicationErrors: Record<number, string> = {
  0x100: 'H3_NO_ERROR',
  0x101: 'H3_GENERAL_PROTOCOL_ERROR',
  0x102: 'H3_INTERNAL_ERROR',
  0x103: 'H3_STREAM_CREATION_ERROR',
  0x104: 'H3_CLOSED_CRITICAL_STREAM',
  0x105: 'H3_FRAME_UNEXPECTED',
  0x106: 'H3_FRAME_ERROR',
  0x107: 'H3_EXCESSIVE_LOAD',
  0x108: 'H3_ID_ERROR',
  0x109: 'H3_SETTINGS_ERROR',
  0x10a: 'H3_MISSING_SETTINGS',
  0x10b: 'H3_REQUEST_REJECTED',
  0x10c: 'H3_REQUEST_CANCELLED',
  0x10d: 'H3_REQUEST_INCOMPLETE',
  0x10e: 'H3_MESSAGE_ERROR',
  0x10f: 'H3_CONNECT_ERROR',
  0x110: 'H3_VERSION_FALLBACK',
  0x33: 'H3_DATAGRAM_ERROR',
  0x200: 'QPACK_DECOMPRESSION_FAILED',
  0x201: 'QPACK_ENCODER_STREAM_ERROR',
  0x202: 'QPACK_DECODER_STREAM_ERROR',
  0x0: 'APPLICATION_NO_ERROR',
};

/** TLS alerts (RFC 8446 §6). QUIC adds 0x100 to their numbers (RFC 9001 §4.8). */
const tlsAlerts: Record<number, string> = {
  10: 'unexpected_message',
  20: 'bad_record_mac',
  22: 'record_overflow',
  40: 'handshake_failure',
  42: 'bad_certificate',
  43: 'unsupported_certificate',
  44: 'certificate_revoked',
  45: 'certificate_expired',
  46: 'certificate_unknown',
  47: 'illegal_parameter',
  48: 'unknown_ca',
  49: 'access_denied',
  50: 'decode_error',
  51: 'decrypt_error',
  70: 'protocol_version',
  71: 'insufficient_security',
  80: 'internal_error',
  86: 'inappropriate_fallback',
  90: 'user_canceled',
  109: 'missing_extension',
  110: 'unsupported_extension',
  112: 'unrecognized_name',
  113: 'bad_certificate_status_response',
  115: 'unknown_psk_identity',
  116: 'certificate_required',
  120: 'no_application_protocol',
};

const isApplication = (cause: number): boolean => cause === 0 || cause === 2;
const H3_NO_ERROR = 0x100;

/**
 * Returns the label for metrics: the error's name, not its text. Only known names are used: the peer chooses the code,
 * and each label is kept as long as the process lives.
 */
export function closedLabel({ cause, code }: Closed): string {
  if (cause === 4) return 'IDLE_TIMEOUT';
  if (cause === 5) return 'STATELESS_RESET';
  if (isApplication(cause)) return applicationErrors[code] ?? 'APPLICATION_OTHER';
  if (code >= 0x100 && code < 0x200) return `CRYPTO_ERROR_${tlsAlerts[code - 0x100] ?? 'other'}`;
  return transportErrors[code] ?? 'OTHER';
}

/** Returns nothing when the connection ended as it should. */
export function closedError(closed: Closed): QuicError | undefined {
  if (isApplication(closed.cause) && (closed.code === H3_NO_ERROR || closed.code === 0)) return undefined;
  const why = closed.reason === '' ? '' : `: ${closed.reason}`;
  return new QuicError(
    closed.cause === 6 ? 'HANDSHAKE_FAILED' : 'CONNECTION_CLOSED',
    `${causes[closed.cause] ?? 'closed'} (${closedLabel(closed)} 0x${closed.code.toString(16)})${why}`,
    closed.code,
  );
}
