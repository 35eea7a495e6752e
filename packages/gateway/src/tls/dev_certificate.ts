import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { CertificatePair } from '@sheaf/native';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import { loadX509 } from '../values/x509.js';
import { certificateExpiry } from './certificate_files.js';

const dayMs = 86_400_000;

/**
 * Validity of a development certificate. A certificate that browsers accept by its hash is valid for less than two
 * weeks (W3C WebTransport, custom certificate requirements). One day is left for clocks that differ.
 */
export const devValidityMs = 13 * dayMs;

/** Remaining validity at which a new certificate is created, so that a page with the old hash can still connect */
export const devRenewalMs = 3 * dayMs;

/** Age at which a lock counts as left behind: creating a certificate takes only milliseconds. */
const staleLockMs = 3_000;

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/**
 * Creates a self-signed ECDSA P-256 certificate for `names` (host names and IP addresses), valid from one hour before
 * `now`.
 */
export async function createDevCertificate(names: readonly string[], now: Date): Promise<CertificatePair> {
  const x509 = await loadX509();
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const hourMs = 3_600_000;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    name: 'CN=Sheaf development certificate',
    notBefore: new Date(now.getTime() - hourMs),
    notAfter: new Date(now.getTime() - hourMs + devValidityMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((name) => ({ type: isIP(name) === 0 ? ('dns' as const) : ('ip' as const), value: name })),
      ),
    ],
  });
  const privateKey = x509.PemConverter.encode(
    await webcrypto.subtle.exportKey('pkcs8', keys.privateKey),
    'PRIVATE KEY',
  );
  return { certificate: `${certificate.toString('pem')}\n`, privateKey: `${privateKey}\n` };
}

/** Returns the files of a development certificate: in `.sheaf/` beside the configuration file. */
export function devCertificateFiles(directory: string): { cert: string; key: string } {
  return { cert: join(directory, '.sheaf', 'dev-cert.pem'), key: join(directory, '.sheaf', 'dev-key.pem') };
}

/**
 * Loads the development certificate of `directory`. Creates a new one when there is none, when it soon expires, or when
 * it lacks one of the names.
 * @throws UserError when `.sheaf/` cannot be written
 */
export async function loadDevCertificate(
  directory: string,
  names: readonly string[],
  now: Date,
): Promise<CertificatePair> {
  const files = devCertificateFiles(directory);
  const usable = (pair: CertificatePair): boolean =>
    certificateExpiry(pair).getTime() - now.getTime() > devRenewalMs && covers(pair, names);
  const kept = await readPair(files);
  if (kept && usable(kept)) return kept;
  try {
    await mkdir(join(directory, '.sheaf'), { recursive: true, mode: 0o700 });
    return await withLock(join(directory, '.sheaf', 'dev-cert.lock'), async () => {
      // Another process may have created one meanwhile, since the nodes of one file start together.
      const theirs = await readPair(files);
      if (theirs && usable(theirs)) return theirs;
      const made = await createDevCertificate(names, now);
      await writeWhole(files.key, made.privateKey, 0o600);
      await writeWhole(files.cert, made.certificate, 0o644);
      return made;
    });
  } catch (error) {
    if (systemErrorCode(error) === undefined) throw error;
    throw new UserError(
      'DIRECTORY_UNWRITABLE',
      `cannot keep the development certificate in ${join(directory, '.sheaf')} (${systemErrorCode(error) ?? 'unknown error'})`,
      {
        hint: 'make the directory writable, or name a certificate with `tls: { cert, key }`',
        cause: error,
      },
    );
  }
}

/** Runs `work` in one process at a time. A lock older than `staleLockMs` was left by a process that was killed. */
async function withLock<Value>(file: string, work: () => Promise<Value>): Promise<Value> {
  const deadline = performance.now() + staleLockMs;
  for (;;) {
    try {
      await (await open(file, 'wx')).close();
      break;
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error;
      if (performance.now() > deadline) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  try {
    return await work();
  } finally {
    await rm(file, { force: true });
  }
}

async function readPair(files: { cert: string; key: string }): Promise<CertificatePair | undefined> {
  try {
    const [certificate, privateKey] = await Promise.all([readFile(files.cert, 'utf8'), readFile(files.key, 'utf8')]);
    // Files read while they were being replaced may not belong together.
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey))
      ? { certificate, privateKey }
      : undefined;
  } catch {
    return undefined;
  }
}

function covers(pair: CertificatePair, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pair.certificate);
  const covered = new Set(certificate.subjectAltName?.split(', '));
  return names.every((name) =>
    isIP(name) === 0 ? covered.has(`DNS:${name}`) : certificate.checkIP(name) !== undefined,
  );
}

/** Writes beside the target and renames, so that readers never see an incomplete file. */
async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  const part = `${file}.${process.pid}.part`;
  await writeFile(part, text, { mode });
  await chmod(part, mode);
  await rename(part, file);
}
