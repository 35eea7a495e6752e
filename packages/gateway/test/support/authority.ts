import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

/** PEM texts of a certificate and its key. */
export interface IssuedCertificate {
  cert: string;
  key: string;
}

/** A certificate authority of a test. */
export interface TestAuthority {
  /** PEM text of its own certificate. */
  readonly ca: string;
  /** A certificate for these host names and IP addresses; `daysLeft` below zero is one that has expired. */
  issue(names: readonly string[], daysLeft?: number): Promise<IssuedCertificate>;
}

const dayMs = 86_400_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function createAuthority(): Promise<TestAuthority> {
  x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const name = `CN=Test authority ${randomBytes(4).toString('hex')}`;
  const common = (daysLeft: number) => ({
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    notBefore: new Date(Date.now() - 10 * dayMs),
    notAfter: new Date(Date.now() + daysLeft * dayMs),
    signingAlgorithm: algorithm,
  });
  const own = await x509.X509CertificateGenerator.createSelfSigned({
    ...common(10),
    name,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  const issue = async (names: readonly string[], daysLeft = 5): Promise<IssuedCertificate> => {
    const leafKeys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const certificate = await x509.X509CertificateGenerator.create({
      ...common(daysLeft),
      subject: `CN=${names[0] ?? 'nobody'}`,
      issuer: name,
      publicKey: leafKeys.publicKey,
      signingKey: keys.privateKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        new x509.SubjectAlternativeNameExtension(
          names.map((each) => ({ type: isIP(each) === 0 ? ('dns' as const) : ('ip' as const), value: each })),
        ),
      ],
    });
    return {
      cert: `${certificate.toString('pem')}\n`,
      key: `${x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', leafKeys.privateKey), 'PRIVATE KEY')}\n`,
    };
  };
  return { ca: `${own.toString('pem')}\n`, issue };
}
