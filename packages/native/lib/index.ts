export type * from './types.js';
export { connectHttp3 } from './http3_client.js';
export { createHttp3Server } from './http3_server.js';
export { QuicError } from './quic_error.js';
