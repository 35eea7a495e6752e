import { webcrypto } from 'node:crypto';
import type { cryptoProvider } from '@peculiar/x509';

/** Loads the library that makes certificates. Most starts need none, and loading it takes a fifth of their processor time. */
export async function loadX509() {
  await import('reflect-metadata');
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof cryptoProvider.set>[0]);
  return x509;
}
