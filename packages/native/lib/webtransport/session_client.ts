import type { Http3Client, RequestHeaders } from '../types.js';
import type { NativeSession } from './native_session.js';

/** A client whose WebTransport support can be asked for before a session is opened. */
export interface SessionClient extends Http3Client {
  supportsWebTransport(): Promise<boolean>;
  /** Opens a session for code that uses it below the W3C interface. */
  openNativeSession(path: string, headers?: RequestHeaders, authority?: string): Promise<NativeSession>;
}
