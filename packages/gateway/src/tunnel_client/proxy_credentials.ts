/** Returns the field with credentials for a proxy: `NAME:PASSWORD` by Basic (RFC 7617), anything else by Bearer (RFC 6750). */
export function proxyCredentials(text: string): Record<string, string> {
  const value = text.includes(':') ? `Basic ${Buffer.from(text).toString('base64')}` : `Bearer ${text}`;
  return { 'proxy-authorization': value };
}
