/** Exports what a browser and a gateway exchange on a page session. Format: docs/reference/wire.md. */
export { ERROR_CODES, ProtocolError, type ErrorName } from './errors.js';
export {
  FIELD,
  LIMITS,
  PROTOCOL_VERSION,
  type Credentials,
  type HeaderField,
  type RequestHead,
  type ResponseHead,
} from './head.js';
export {
  decodeRequestHead,
  decodeResponseHead,
  encodeRequestHead,
  encodeResponseHead,
  findHead,
  type HeadFrame,
} from './head_codec.js';
export { PRIORITY_HEADER, formatPriorityHeader, parsePriorityHeader, parseUrgency } from './priority_header.js';
export {
  DEFAULT_PRIORITY,
  MAX_PRIORITY_BYTES,
  PRIORITY_LIMITS,
  decodePriority,
  encodePriority,
  type Dependency,
  type StreamPriority,
} from './priority.js';
export { answerPing, decodePong, encodePing } from './ping.js';
export { parsePathReports, type LeaseReport, type PathReport } from './path_report.js';
export type { TunnelReport } from './tunnel_report.js';
export {
  MAXIMUM_RESPONSES,
  RESPONSE_HEADER,
  parseResponseReports,
  type ResponsePart,
  type ResponseReport,
} from './response_report.js';
export {
  bodyStream,
  readHead,
  streamError,
  type BidirectionalStream,
  type ByteReader,
  type HeadAndRest,
} from './stream.js';
export { MAX_VARINT, readVarint, varintLength, writeVarint, type Varint } from './varint.js';
export {
  CREDENTIALS_HEADER,
  WELL_KNOWN,
  WELL_KNOWN_PREFIX,
  isLoopback,
  parseGatewayDescription,
  type GatewayDescription,
} from './well_known.js';
