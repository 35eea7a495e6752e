/** RFC 9110 §9.2.1: asks for nothing but a response. */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'TRACE';
}

/** RFC 9110 §9.2.2: repeating an idempotent request has the same effect as sending it once. */
export function isIdempotent(method: string): boolean {
  return isSafe(method) || method === 'PUT' || method === 'DELETE';
}
