import { createHash, createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import type { CertificatePair } from '@sheaf/native';
import { systemErrorCode, UserError } from '../errors/user_error.js';
import type { TlsOptions } from '../schema/tls.js';
import { readSmallFile } from '../values/regular_file.js';

export type CertificateFiles = Exclude<TlsOptions, 'dev'>;

/** A fault of one of the files, which `option` names */
export class CertificateError extends UserError {
  readonly option: 'cert' | 'key' | 'ca';

  constructor(option: CertificateError['option'], message: string, hint: string, cause?: unknown) {
    super('CONFIG_CERTIFICATE', message, { hint, cause });
    this.option = option;
  }
}

/**
 * Reads a certificate and its key, and checks that they belong together.
 * @throws CertificateError
 */
export async function readCertificateFiles(files: CertificateFiles): Promise<CertificatePair> {
  // Reads the files one after the other, so that the same fault is reported every time.
  const certificate = await readPem('cert', files.cert);
  const privateKey = await readPem('key', files.key);
  const pair = { certificate, privateKey };
  const leaf = parseCertificate('cert', files.cert, certificate);
  if (!leaf.checkPrivateKey(parseKey(files.key, privateKey))) {
    throw new CertificateError(
      'key',
      `${files.key} is not the key of ${files.cert}`,
      'name the key that the certificate was made with',
    );
  }
  return pair;
}

/**
 * Reads the certificates of one or several authorities.
 * @throws CertificateError
 */
export async function readAuthorityFile(file: string): Promise<string> {
  const authority = await readPem('ca', file);
  parseCertificate('ca', file, authority);
  return authority;
}

/** Returns the SHA-256 of the leaf certificate's DER in hexadecimal, which `serverCertificateHashes` compares. */
export function certificateHash(pair: CertificatePair): string {
  return createHash('sha256').update(new X509Certificate(pair.certificate).raw).digest('hex');
}

/** Returns the end of the leaf certificate's validity. */
export function certificateExpiry(pair: CertificatePair): Date {
  return new Date(new X509Certificate(pair.certificate).validTo);
}

async function readPem(option: CertificateError['option'], file: string): Promise<string> {
  try {
    return await readSmallFile(file);
  } catch (error) {
    const code = systemErrorCode(error) ?? 'unknown error';
    const hint =
      code === 'ENOENT' ? 'correct the path; it is relative to the configuration file' : 'check its permissions';
    throw new CertificateError(option, `the file ${file} cannot be read (${code})`, hint, error);
  }
}

function parseCertificate(option: 'cert' | 'ca', file: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new CertificateError(
      option,
      `${file} holds no certificate in PEM form`,
      'it must start with -----BEGIN CERTIFICATE-----',
      error,
    );
  }
}

function parseKey(file: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new CertificateError(
      'key',
      `${file} holds no private key in PEM form without a passphrase`,
      'it must start with -----BEGIN PRIVATE KEY-----',
      error,
    );
  }
}
