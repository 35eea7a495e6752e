/** Returns whether the method only asks for a response (RFC 9110 §9.2.1). */
export function isSafe(method: string): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS' || method === 'TRACE';
}

/** Returns whether repeating a request has the same effect as sending it once (RFC 9110 §9.2.2). */
export function isIdempotent(method: string): boolean {
  return isSafe(method) || method === 'PUT' || method === 'DELETE';
}
