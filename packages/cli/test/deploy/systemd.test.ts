import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deployed, gatewayYaml, makeSite, sitesYaml } from '../support/deployable.js';
import { ended, missing } from '../support/deploy_checks.js';
import { bindManagerSocket } from '../support/manager_socket.js';
import { freePort } from '../support/process.js';
import { sheaf, temporaryDirectory } from '../support/world.js';

const program = fileURLToPath(new URL('../../bin/sheaf.js', import.meta.url));
const analyze = missing('systemd-analyze', ['--version']);
const because = (reason: string | undefined): string => (reason === undefined ? '' : ` (skipped: ${reason})`);

describe.skipIf(analyze !== undefined)(`units of systemd${because(analyze)}`, () => {
  it.each([
    ['of a gateway', gatewayYaml, 'gateway', []],
    ['of one of several nodes', sitesYaml, 'site', ['--node', 'site']],
    ['that sends from the address of another machine', sitesYaml, 'images', ['--node', 'images']],
    ['without ports below 1024', sitesYaml, 'laptop', ['--node', 'laptop']],
    ['with sockets that systemd opens', `${gatewayYaml}workers: 2\n`, 'gateway', ['--socket-unit']],
  ])('are valid, and expose little: %s', async (_what, yaml, name, args) => {
    const { out } = await deployed(yaml, 'systemd', '--program', program, ...args);
    const unit = `./sheaf@${name}.service`;
    expect(await ended('systemd-analyze', ['verify', unit], out)).toEqual({ code: 0, output: '' });
    const security = await ended('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], out);
    expect(security).toMatchObject({ code: 0, output: expect.stringContaining('Overall exposure level') });
  });

  it('that open sockets are valid', async () => {
    const { out, files } = await deployed(
      sitesYaml,
      'systemd',
      '--program',
      program,
      '--node',
      'site',
      '--socket-unit',
    );
    const unit = './sheaf@site.socket';
    expect(await ended('systemd-analyze', ['verify', unit], out)).toEqual({ code: 0, output: '' });
    await writeFile(join(out, unit), files['sheaf@site.socket']!.replace('=[::]:443', '=[::]:port'));
    expect((await ended('systemd-analyze', ['verify', unit], out)).output).toContain('Failed to parse address');
  });

  it('would be refused without what hardens them', async () => {
    const { out, files } = await deployed(gatewayYaml, 'systemd', '--program', program);
    const template = files['sheaf@.service'] ?? '';
    await writeFile(join(out, 'sheaf@.service'), template.replaceAll(/^(Protect|Restrict|SystemCall).*\n/gm, ''));
    const args = ['security', '--offline=true', '--threshold=20', './sheaf@gateway.service'];
    expect((await ended('systemd-analyze', args, out)).code).not.toBe(0);
    await writeFile(join(out, 'sheaf@.service'), template.replace('Type=notify', 'Type=notify\nExecReload=missing'));
    expect((await ended('systemd-analyze', ['verify', './sheaf@gateway.service'], out)).code).not.toBe(0);
  });
});

describe('what belongs to one node', () => {
  it('is where it writes secrets that an operator sends, and how NATS knows it', async () => {
    const operator = 'ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    const fleet = `key: { file: /etc/sheaf/node.key }\nregistry: { nats: "nats://10.0.0.1:4222", credentials: /etc/sheaf/nats.creds, operator: "${operator}" }\n`;
    const { files } = await deployed(gatewayYaml + fleet, 'systemd');
    expect(files['gateway.yaml']).toContain('secrets: "/var/lib/sheaf/gateway/secrets"');
    expect(files['gateway.yaml']).toContain('/run/credentials/sheaf@gateway.service/registry-credentials');
    const settings = files['sheaf@gateway.service.d/node.conf'];
    expect(settings).toContain('LoadCredential=registry-credentials:/etc/sheaf/nats.creds\n');
    expect(settings).not.toContain('LoadCredential=secrets');
  });

  it('is its time to drain, its credentials, and the capabilities of its ports', async () => {
    const { files, printed } = await deployed(gatewayYaml, 'systemd');
    expect(Object.keys(files).sort()).toEqual([
      '60-sheaf.conf',
      'gateway.yaml',
      'sheaf@.service',
      'sheaf@gateway.service.d/node.conf',
    ]);
    const settings = files['sheaf@gateway.service.d/node.conf'];
    expect(settings).toContain('TimeoutStopSec=75s\n');
    expect(settings).toContain('LoadCredential=tls-key:/etc/sheaf/key.pem\n');
    expect(settings).toContain('LoadCredential=secrets:/etc/sheaf/secrets\n');
    expect(settings).toContain('CapabilityBoundingSet=CAP_NET_BIND_SERVICE\n');
    expect(files['gateway.yaml']).toContain(
      'key: "/run/credentials/sheaf@gateway.service/tls-key" }   # of an authority',
    );
    expect(files['gateway.yaml']).toContain('files: "/srv/site"');
    expect(printed).toContain('wrote out/sheaf@gateway.service.d/node.conf\n');
    expect(printed).toContain('systemctl enable --now sheaf@gateway.service');
  });

  it('is a unit with a socket for each worker at each address, and no right to open ports', async () => {
    const { files, printed } = await deployed(
      `${gatewayYaml.replace('":443"', '["[2001:db8::1]:443", "192.0.2.1:443"]')}http: 192.0.2.1:80\nworkers: 2\n`,
      ...['systemd', '--socket-unit'],
    );
    const unit = files['sheaf@gateway.socket']!;
    expect(unit.match(/^Listen.*$/gm)).toEqual(
      ['Stream=[2001:db8::1]:443', 'Stream=192.0.2.1:443', 'Datagram=[2001:db8::1]:443', 'Datagram=192.0.2.1:443']
        .concat('Stream=192.0.2.1:80')
        .flatMap((line) => [`Listen${line}`, `Listen${line}`]),
    );
    expect(unit).toContain('ReusePort=yes\n');
    const settings = files['sheaf@gateway.service.d/node.conf'];
    expect(settings).toContain('Requires=sheaf@gateway.socket\n');
    expect(settings).not.toContain('CAP_');
    expect(printed).toContain('systemctl enable sheaf@gateway.socket sheaf@gateway.service');
    expect(printed).toContain('sudo systemctl stop sheaf@gateway.service sheaf@gateway.socket && sudo systemctl start');
    const backend = await deployed(sitesYaml, 'systemd', '--node', 'images', '--socket-unit');
    expect(backend.files['sheaf@images.socket']!.match(/^Listen.*$/gm)).toEqual([
      'ListenStream=10.0.0.2:4434',
      'ListenDatagram=10.0.0.2:4434',
      'ListenDatagram=10.0.0.2:4533',
    ]);
  });

  it('has no capability where it needs none, and that of a backend where it does', async () => {
    const tunnel = await deployed(sitesYaml, 'systemd', '--node', 'laptop');
    expect(tunnel.files['sheaf@laptop.service.d/node.conf']).not.toContain('CAP_');
    const backend = await deployed(sitesYaml, 'systemd', '--node', 'images');
    expect(backend.files['sheaf@images.service.d/node.conf']).toContain('AmbientCapabilities=CAP_NET_RAW\n');
    // The files of the other nodes stay as they are, since this machine does not have them.
    expect(backend.files['images.yaml']).toContain('{ cert: /etc/sheaf/cert.pem, key: /etc/sheaf/key.pem }');
  });
});

/** Asks over TLS on TCP, which Node serves. */
async function statusOverTcp(url: string): Promise<number | undefined> {
  const [response] = (await once(get(url, { rejectUnauthorized: false }), 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

const filter = missing('/usr/bin/python3', ['-c', 'import seccomp']) ?? analyze;

it.skipIf(filter !== undefined)(`a node serves under the system calls of its unit${because(filter)}`, async () => {
  const { files } = await deployed(gatewayYaml, 'systemd');
  const [directory, port, admin] = [await temporaryDirectory(), await freePort(), await freePort()];
  await makeSite(directory);
  await sheaf(['secrets', 'secrets'], directory);
  const large = randomBytes(5_000_000);
  await writeFile(join(directory, 'site', 'large.bin'), large);
  const unit = join(directory, 'unit');
  await writeFile(unit, files['sheaf@.service'] ?? '');
  await writeFile(
    join(directory, 'sheaf.yaml'),
    `listen: 127.0.0.1:${port}
workers: 1
tls: { cert: ./cert.pem, key: ./key.pem }
secrets: ./secrets
admin: 127.0.0.1:${admin}
qlog: ./qlog
log: { file: ./log }
routes: [{ path: /echo, webtransport: echo }, { files: ./site }]
`,
  );
  const filtered = fileURLToPath(new URL('../support/filtered.py', import.meta.url));
  const socket = `@sheaf-test-${randomUUID()}`;
  const manager = await bindManagerSocket(socket);
  const child = spawn('/usr/bin/python3', [filtered, unit, process.execPath, program, 'up'], {
    cwd: directory,
    env: { ...process.env, NOTIFY_SOCKET: socket },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ends = once(child, 'close');
  await expect.poll(() => text).toMatch(/ready|error|Error/);
  expect(text).toMatch(/^\d{3} calls permitted\n/);
  expect(await readFile(`/proc/${child.pid}/status`, 'utf8')).toMatch(/^Seccomp:\s+2$/m);
  const url = `https://127.0.0.1:${port}/large.bin`;
  const load = ['fetch', '--insecure', '--fail', '--json', '--repeat', '40', '--parallel', '8', url];
  const clients = await Promise.all([sheaf(load), sheaf(load), sheaf(load)]);
  for (const { code, out } of clients) {
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ status: 200, bytes: 40 * large.length });
  }
  expect(await statusOverTcp(url)).toBe(200);
  expect(await sheaf(['healthcheck', '--admin', `127.0.0.1:${admin}`])).toMatchObject({ code: 0 });
  expect((await fetch(`http://127.0.0.1:${admin}/metrics`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await ends).toEqual([0, null]);
  expect(manager.messages()[0]).toMatch(/^READY=1\n/);
  expect(text).not.toContain('warning: the service manager');
});

it.skipIf(filter !== undefined)(
  `a call that the unit does not permit is refused under it${because(filter)}`,
  async () => {
    const { files } = await deployed(gatewayYaml, 'systemd');
    const directory = await temporaryDirectory();
    await mkdir(join(directory, 'target'));
    await writeFile(join(directory, 'unit'), files['sheaf@.service'] ?? '');
    const filtered = fileURLToPath(new URL('../support/filtered.py', import.meta.url));
    const mount = await ended('/usr/bin/python3', [filtered, 'unit', 'mount', '--bind', '.', 'target'], directory);
    expect(mount.code).not.toBe(0);
    expect(mount.output).toMatch(/permission denied|not permitted|must be superuser/i);
  },
);
