import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** A certificate authority of the test's own, and a certificate of it for loopback. PEM files. */
export interface TestCertificates {
  authority: string;
  certificate: string;
  key: string;
}

/** Makes them with openssl in `directory`. */
export function makeCertificates(directory: string): TestCertificates {
  const files = {
    authority: join(directory, 'authority.pem'),
    certificate: join(directory, 'certificate.pem'),
    key: join(directory, 'key.pem'),
  };
  const authorityKey = join(directory, 'authority-key.pem');
  request([
    '-subj',
    '/CN=Sheaf test authority',
    '-addext',
    'keyUsage=critical,keyCertSign,cRLSign',
    '-keyout',
    authorityKey,
    '-out',
    files.authority,
  ]);
  request([
    '-subj',
    '/CN=localhost',
    '-addext',
    'basicConstraints=critical,CA:FALSE',
    '-addext',
    'extendedKeyUsage=serverAuth',
    '-addext',
    'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-CA',
    files.authority,
    '-CAkey',
    authorityKey,
    '-keyout',
    files.key,
    '-out',
    files.certificate,
  ]);
  return files;
}

function request(options: readonly string[]): void {
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '10', ...options],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
}
