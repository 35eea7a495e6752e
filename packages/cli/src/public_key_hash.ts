import { createHash, X509Certificate } from 'node:crypto';

/** Returns the SHA-256 of the leaf's public key (SPKI, DER) in base64, which Chromium's certificate switches expect. */
export function publicKeyHash(pem: string): string {
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(key).digest('base64');
}
