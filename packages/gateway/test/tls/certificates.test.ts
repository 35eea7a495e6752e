import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { copyFile, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { loadConfiguration } from '../../src/configuration/load.js';
import { certificateHash, readCertificateFiles } from '../../src/tls/certificate_files.js';
import { CertificateSource } from '../../src/tls/certificate_source.js';
import { createDevCertificate, devCertificateFiles, loadDevCertificate } from '../../src/tls/dev_certificate.js';
import { get } from '../support/client.js';
import { startFullGateway, startGateway } from '../support/gateway.js';
import { ask, connect } from '../support/http3_client.js';
import { temporaryDirectory } from '../support/temporary_directory.js';

const dayMs = 86_400_000;
const names = ['localhost', '127.0.0.1', '::1'];
const log = pino({ level: 'silent' });

async function writePair(directory: string, pair: { certificate: string; privateKey: string }): Promise<void> {
  await writeFile(join(directory, 'cert.pem'), pair.certificate);
  await writeFile(join(directory, 'key.pem'), pair.privateKey);
}

/** The hash of the certificate that a TLS handshake on TCP shows. */
async function shownHash(port: number): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { raw } = socket.getPeerCertificate();
  socket.destroy();
  return certificateHash({ certificate: new X509Certificate(raw).toString(), privateKey: '' });
}

describe('a development certificate', () => {
  it('is what serverCertificateHashes accepts: ECDSA P-256, less than 14 days', async () => {
    const { certificate, privateKey } = await createDevCertificate(names, new Date());
    const leaf = new X509Certificate(certificate);
    expect(leaf.publicKey.asymmetricKeyDetails).toEqual({ namedCurve: 'prime256v1' });
    const validity = new Date(leaf.validTo).getTime() - new Date(leaf.validFrom).getTime();
    expect(validity).toBeLessThanOrEqual(13 * dayMs);
    expect(leaf.checkHost('localhost')).toBe('localhost');
    expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(leaf.subjectAltName).toContain('IP Address:0:0:0:0:0:0:0:1');
    expect(privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  });

  it('is kept beside the configuration, its key for its owner alone', async () => {
    const directory = await temporaryDirectory();
    const first = await loadDevCertificate(directory, names, new Date());
    const again = await loadDevCertificate(directory, names, new Date());
    expect(again).toEqual(first);
    expect((await stat(devCertificateFiles(directory).key)).mode & 0o777).toBe(0o600);
  });

  it('is kept for names in any form that routes and addresses have', async () => {
    const directory = await temporaryDirectory();
    const all = [...names, '*.shop.example', 'a.example', '2001:db8::7', '192.0.2.7'];
    const first = await loadDevCertificate(directory, all, new Date());
    expect(await loadDevCertificate(directory, all, new Date())).toEqual(first);
    for (const more of ['2001:db8::8', '192.0.2.8', 'b.shop.example'])
      expect(await loadDevCertificate(directory, [...all, more], new Date())).not.toEqual(first);
  });

  it('is made once when several nodes start at one time', async () => {
    const directory = await temporaryDirectory();
    const pairs = await Promise.all(Array.from({ length: 8 }, () => loadDevCertificate(directory, names, new Date())));
    expect(new Set(pairs.map(certificateHash)).size).toBe(1);
  });

  it('does not wait for ever for one who was killed while making it', async () => {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, '.sheaf'));
    await writeFile(join(directory, '.sheaf', 'dev-cert.lock'), '');
    const pair = await loadDevCertificate(directory, names, new Date());
    expect(certificateHash(await loadDevCertificate(directory, names, new Date()))).toBe(certificateHash(pair));
  });

  it('is made anew when it soon expires, lacks a name, or was damaged', async () => {
    const directory = await temporaryDirectory();
    const now = new Date();
    const first = await loadDevCertificate(directory, names, now);
    expect(await loadDevCertificate(directory, names, new Date(now.getTime() + 9 * dayMs))).toEqual(first);
    const renewed = await loadDevCertificate(directory, names, new Date(now.getTime() + 11 * dayMs));
    expect(renewed.certificate).not.toBe(first.certificate);
    const named = await loadDevCertificate(directory, [...names, 'a.example'], now);
    expect(new X509Certificate(named.certificate).checkHost('a.example')).toBe('a.example');
    await writeFile(devCertificateFiles(directory).cert, 'garbage');
    expect(
      new X509Certificate((await loadDevCertificate(directory, names, now)).certificate).checkHost('localhost'),
    ).toBe('localhost');
  });

  it('is renewed while the gateway runs', async () => {
    const directory = await temporaryDirectory();
    let now = new Date();
    const source = await CertificateSource.open({ tls: 'dev', directory, names, log, now: () => now });
    const before = source.hash;
    const changed = vi.fn();
    source.install = changed;
    await source.refresh();
    expect(changed).not.toHaveBeenCalled();
    now = new Date(now.getTime() + 12 * dayMs);
    await source.refresh();
    source.close();
    expect(changed).toHaveBeenCalledOnce();
    expect(source.hash).not.toBe(before);
    expect(await readFile(devCertificateFiles(directory).cert, 'utf8')).toBe(source.pair.certificate);
  });

  it('is published with its hash', async () => {
    const { gateway, port } = await startGateway('routes: [{ files: . }]');
    const answer = await get(port, '/.well-known/sheaf/certificate-hashes', { headers: { host: `localhost:${port}` } });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'access-control-allow-origin': '*',
      'cache-control': 'no-store',
    });
    expect(JSON.parse(answer.body.toString())).toEqual({
      hashes: [await shownHash(port)],
      authority: `127.0.0.1:${port}`,
    });
    expect(gateway.status().certificate).toMatchObject({ development: true, sha256: await shownHash(port) });
  });
});

describe('certificate files', () => {
  it('are used, and used anew when they change', async () => {
    const directory = await temporaryDirectory();
    const first = await createDevCertificate(names, new Date());
    await writePair(directory, first);
    const { port, gateway } = await startGateway(
      'tls: { cert: cert.pem, key: key.pem }\nroutes: [{ files: . }]',
      directory,
    );
    expect(await shownHash(port)).toBe(certificateHash(first));
    expect(JSON.parse((await get(port, '/.well-known/sheaf/certificate-hashes')).body.toString())).toEqual({
      hashes: [],
      authority: `127.0.0.1:${port}`,
    });

    const second = await createDevCertificate(names, new Date());
    // Half of the change: the old pair stays in use.
    await writeFile(join(directory, 'cert.pem'), second.certificate);
    await gateway.certificate.refresh();
    expect(await shownHash(port)).toBe(certificateHash(first));
    await writeFile(join(directory, 'key.pem'), second.privateKey);
    await vi.waitFor(async () => expect(await shownHash(port)).toBe(certificateHash(second)), 30_000);
  });

  it('that QUIC refuses are not used on TCP either, and not told', async () => {
    const directory = await temporaryDirectory();
    const first = await createDevCertificate(names, new Date());
    await writePair(directory, first);
    const { port, gateway, log } = await startFullGateway(
      'tls: { cert: cert.pem, key: key.pem }\nroutes: [{ files: . }]',
      directory,
    );
    // OpenSSL has the curve, GnuTLS has not.
    const made = join(directory, 'made');
    await mkdir(made);
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:secp256k1',
        '-nodes',
        '-days',
        '5',
        '-subj',
        '/CN=localhost',
        '-keyout',
        join(made, 'key.pem'),
        '-out',
        join(made, 'cert.pem'),
      ],
      { stdio: 'ignore' },
    );
    for (const name of ['key.pem', 'cert.pem']) await copyFile(join(made, name), join(directory, name));
    await gateway.certificate.refresh();
    await vi.waitFor(
      () =>
        expect(log.some(({ msg }) => msg === 'the new certificate is refused; the old one stays in use')).toBe(true),
      30_000,
    );
    expect(await shownHash(port)).toBe(certificateHash(first));
    expect(gateway.certificate.hash).toBe(certificateHash(first));
    const client = await connect(port);
    expect((await ask(client, { path: '/none' })).status).toBe(404);
    const second = await createDevCertificate(names, new Date());
    await writePair(directory, second);
    await gateway.certificate.refresh();
    await vi.waitFor(async () => expect(await shownHash(port)).toBe(certificateHash(second)), 30_000);
  });

  it('must belong together', async () => {
    const directory = await temporaryDirectory();
    const [one, other] = await Promise.all([
      createDevCertificate(names, new Date()),
      createDevCertificate(names, new Date()),
    ]);
    await writePair(directory, { certificate: one.certificate, privateKey: other.privateKey });
    await expect(
      readCertificateFiles({ cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }),
    ).rejects.toMatchObject({ code: 'CONFIG_CERTIFICATE', option: 'key' });
    await writeFile(
      join(directory, 'sheaf.yaml'),
      'listen: 127.0.0.1:0\ntls: { cert: cert.pem, key: key.pem }\nroutes: [{ files: . }]\n',
    );
    const error = (await loadConfiguration(join(directory, 'sheaf.yaml')).catch((caught: unknown) => caught)) as {
      render(): string;
    };
    expect(error.render()).toContain('sheaf.yaml:2:29');
    expect(error.render()).toContain('is not the key of');
  });
});
