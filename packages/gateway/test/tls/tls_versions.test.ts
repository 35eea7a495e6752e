import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDevCertificate } from '../../src/tls/dev_certificate.js';
import { startGateway } from '../support/gateway.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

async function writeCertificate(directory: string): Promise<string> {
  const { certificate, privateKey } = await createDevCertificate(['localhost'], new Date());
  await writeFile(join(directory, 'key.pem'), privateKey);
  await writeFile(join(directory, 'cert.pem'), certificate);
  return new X509Certificate(certificate).fingerprint256;
}

async function startWithFiles(minimum: string): Promise<{ port: number; directory: string }> {
  const directory = await temporaryDirectory();
  await writeCertificate(directory);
  return startGateway(`tls: { cert: ./cert.pem, key: ./key.pem${minimum} }\nroutes: [{ files: . }]`, directory);
}

/** Version, suite and certificate that a client gets; rejects with the alert that it gets instead. */
async function shakeHands(
  port: number,
  options: ConnectionOptions,
): Promise<{ version: string | null; suite: string; certificate: string }> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'], ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return {
    version: socket.getProtocol(),
    suite: socket.getCipher().name,
    certificate: socket.getPeerCertificate().fingerprint256,
  };
}

const tls12: ConnectionOptions = { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' };

describe('TLS on TCP', () => {
  it.each([['tls: dev'], ['files'], ['minimum_version: 1.3']])('takes 1.3 alone (%s)', async (form) => {
    const { port } =
      form === 'tls: dev'
        ? await startGateway('routes: [{ files: . }]')
        : await startWithFiles(form === 'files' ? '' : `, ${form}`);
    expect((await shakeHands(port, {})).version).toBe('TLSv1.3');
    await expect(shakeHands(port, tls12)).rejects.toThrow(/alert protocol version/);
  });

  it.each(['1.2', '"1.2"'])(
    'takes 1.2 where it is asked for (%s), with suites that HTTP/2 may use',
    async (version) => {
      const { port } = await startWithFiles(`, minimum_version: ${version}`);
      expect((await shakeHands(port, {})).version).toBe('TLSv1.3');
      const { version: agreed, suite } = await shakeHands(port, tls12);
      expect([agreed, suite]).toEqual(['TLSv1.2', expect.stringMatching(/^ECDHE-.*(GCM|POLY1305)/)]);
      await expect(shakeHands(port, { ...tls12, ciphers: 'ECDHE-ECDSA-AES128-SHA' })).rejects.toThrow(
        /handshake failure/,
      );
      await expect(
        shakeHands(port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
      ).rejects.toThrow(/protocol version/);
    },
  );

  it('still refuses 1.2 with a certificate that was replaced', async () => {
    const { port, directory } = await startWithFiles('');
    const replaced = await writeCertificate(directory);
    await vi.waitFor(async () => expect((await shakeHands(port, {})).certificate).toBe(replaced), {
      timeout: 30_000,
      interval: 100,
    });
    await expect(shakeHands(port, tls12)).rejects.toThrow(/alert protocol version/);
  });
});
