import { randomBytes, webcrypto } from 'node:crypto';
import type { CertificatePair } from '@sheaf/native';
import type { NodeKey } from '../../values/node_key.js';
import { loadX509 } from '../../values/x509.js';

const dayMs = 86_400_000;
/** Validity of the certificate, longer than any process runs. Peers know the key; the certificate only carries it. */
const validityMs = 3_650 * dayMs;

/** Creates a self-signed certificate with the node's key, for TLS between nodes. */
export async function createNodeCertificate(key: NodeKey, name: string, now: Date): Promise<CertificatePair> {
  const x509 = await loadX509();
  const algorithm = { name: 'Ed25519' };
  const pem = key.toPem();
  const privateKey = await webcrypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), algorithm, false, [
    'sign',
  ]);
  const { bytes } = key.publicKey;
  const publicKey = await webcrypto.subtle.importKey('raw', bytes, algorithm, true, ['verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    name: `CN=Sheaf node ${name}`,
    notBefore: new Date(now.getTime() - dayMs),
    notAfter: new Date(now.getTime() + validityMs),
    signingAlgorithm: algorithm,
    keys: { privateKey, publicKey },
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    ],
  });
  return { certificate: `${certificate.toString('pem')}\n`, privateKey: pem };
}
