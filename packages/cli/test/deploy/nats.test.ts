import { execFileSync, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { deployed, gatewayYaml } from '../support/deployable.js';
import { checker, ended, missing } from '../support/deploy_checks.js';
import { freePort, start } from '../support/process.js';
import { sheaf, temporaryDirectory } from '../support/world.js';

/** Debian puts servers where users do not look for programs. */
const natsServer = '/usr/sbin/nats-server';
const because = (reason: string | undefined): string => (reason === undefined ? '' : ` (skipped: ${reason})`);
const noCompose = missing(checker('docker-compose'), ['version']);
const noValidator = missing(checker('kubernetes-validate'), ['--version']);
const noNats = missing(natsServer, ['--version']);

const fleet = (nats: string): string =>
  `${gatewayYaml}key: { file: /etc/sheaf/node.key }\nregistry: { nats: ${nats}, credentials: /etc/sheaf/nats.txt }\n`;
const besideYaml = fleet('"nats://127.0.0.1:4222"');
const clusterYaml = fleet('["nats://10.0.0.1:4222", "nats://10.0.0.2:4222", "nats://10.0.0.3:4222"]');

/** Debian 12 has NATS 2.9, which knows all but `sync_interval`. */
const forDebian = (configuration: string): string => {
  expect(configuration).toContain('  sync_interval: always\n');
  return configuration.replace('  sync_interval: always\n', '');
};

/** Lays the files out as a container has them. Returns the directory that stands for `/`. */
async function laidOut(configuration: string, secrets: Record<string, string>): Promise<string> {
  const root = await temporaryDirectory();
  await mkdir(join(root, 'etc/nats'), { recursive: true });
  await writeFile(join(root, 'etc/nats/nats.conf'), forDebian(configuration).replaceAll('"/data"', `"${root}/data"`));
  for (const [path, text] of Object.entries(secrets)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

/** Runs the printed command that makes a secret of NATS out of the credentials of nodes. */
function authorizationOf(printed: string, credentials: string): string {
  const [, command] = /(awk .*) \/etc\/sheaf\/nats\.txt \|/.exec(printed) ?? [];
  return execFileSync('sh', ['-c', `${command} "$1"`, 'sh', credentials], { encoding: 'utf8' });
}

describe('NATS beside a container', () => {
  it.skipIf(noCompose !== undefined)(`is accepted by Compose${because(noCompose)}`, async () => {
    const { out } = await deployed(besideYaml, 'compose');
    const check = await ended(checker('docker-compose'), ['-f', 'compose.yaml', 'config', '-q'], out);
    expect(check).toEqual({ code: 0, output: '' });
  });

  it('listens where nodes ask, keeps what it has, and has its credentials in a secret', async () => {
    const { files, printed } = await deployed(besideYaml, 'compose');
    const [, service = ''] = (files['compose.yaml'] ?? '').split('\n  nats:\n');
    for (const line of [
      'network_mode: host\n',
      'read_only: true\n',
      'secrets: ["nats-authorization"]\n',
      'source: ./nats\n        target: /data\n',
      '"http://127.0.0.1:8222/healthz"]',
    ])
      expect(service).toContain(line);
    expect(files['nats.conf']).toContain('listen: "127.0.0.1:4222"\n');
    expect(files['nats.conf']).not.toContain('cluster');
    expect(files['sheaf.yaml']).toContain('/run/secrets/registry-credentials');
    expect(printed).not.toContain('# nodes ask');
    const several = await deployed(clusterYaml, 'compose');
    expect(several.printed).toContain('# nodes ask 3 servers, and here is one alone');
    for (const host of ['10.0.0.9', 'nats.example.com']) {
      const remote = await deployed(fleet(`"nats://${host}:4222"`), 'compose');
      expect(remote.printed).toContain(`# nodes ask ${host}: keep the service`);
    }
    expect((await deployed(gatewayYaml, 'compose')).files).not.toHaveProperty('nats.conf');
  });

  it('shows its certificate where nodes want TLS, and asks for theirs where they have one', async () => {
    const tls = besideYaml
      .replace('nats://', 'tls://')
      .replace(' credentials:', ' tls: { cert: /c, key: /k }, credentials:');
    const { files, printed } = await deployed(tls, 'compose');
    expect(files['nats.conf']).toContain('cert_file: "/run/secrets/nats-cert"');
    expect(files['nats.conf']).toContain('verify: true');
    expect(files['compose.yaml']).toContain('secrets: ["nats-authorization", "nats-cert", "nats-key", "nats-ca"]');
    expect(printed).toContain('NATS_KEY.pem secrets/nats-key');
  });

  it.skipIf(noNats !== undefined)(
    `lets in a node that has its credentials, and no other${because(noNats)}`,
    async () => {
      const [nats, monitor, port, admin] = [await freePort(), await freePort(), await freePort(), await freePort()];
      const { files, printed } = await deployed(besideYaml.replace('4222', String(nats)), 'compose');
      const directory = await temporaryDirectory();
      const credentials = join(directory, 'nats.txt');
      await writeFile(credentials, 'site:a:lo"ng\\$secret \r\n\n');
      const root = await laidOut((files['nats.conf'] ?? '').replace('8222', String(monitor)), {
        'run/secrets/nats-authorization': authorizationOf(printed, credentials),
      });
      const server = spawn(natsServer, ['--config', join(root, 'etc/nats/nats.conf')], {
        env: { HOSTNAME: 'one' },
        stdio: 'ignore',
      });
      onTestFinished(() => void server.kill('SIGKILL'));
      const health = (): Promise<boolean> =>
        fetch(`http://127.0.0.1:${monitor}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        );
      await expect.poll(health, { timeout: 20_000 }).toBe(true);
      await mkdir(join(directory, 'site'));
      await sheaf(['keys', 'new', 'gateway'], directory);
      await writeFile(
        join(directory, 'sheaf.yaml'),
        `listen: 127.0.0.1:${port}\nadmin: 127.0.0.1:${admin}\nroutes: [{ files: ./site }]\nregistry: { nats: "nats://127.0.0.1:${nats}", credentials: ./nats.txt }\n`,
      );
      const connected = async (): Promise<unknown> => {
        const status = await fetch(`http://127.0.0.1:${admin}/status`).then(
          (response) => response.json() as Promise<{ registry?: { connected: boolean } }>,
          () => undefined,
        );
        return status?.registry?.connected;
      };
      const running = start(['up'], directory);
      await expect.poll(connected, { timeout: 30_000 }).toBe(true);
      running.child.kill('SIGKILL');
      await running.exit;
      await writeFile(credentials, 'site:another');
      start(['up'], directory);
      await expect.poll(connected, { timeout: 30_000 }).toBe(false);
    },
  );
});

describe('NATS in Kubernetes', () => {
  it.skipIf(noValidator !== undefined)(`is valid, and would not be misspelt${because(noValidator)}`, async () => {
    const { out, files } = await deployed(clusterYaml, 'kubernetes');
    const check = (): ReturnType<typeof ended> => ended(checker('kubernetes-validate'), ['--strict', 'nats.yaml'], out);
    expect(await check()).toMatchObject({ code: 0 });
    for (const [right, wrong] of [
      ['podManagementPolicy', 'podManagement'],
      ['policyTypes', 'policyKinds'],
      ['maxUnavailable', 'mostUnavailable'],
      ['publishNotReadyAddresses', 'publishNotReady'],
    ] as const) {
      await writeFile(join(out, 'nats.yaml'), (files['nats.yaml'] ?? '').replace(right, wrong));
      expect([right, (await check()).code]).not.toEqual([right, 0]);
    }
  });

  it('is three servers on different machines, and says what to change where nodes ask others', async () => {
    const { files, printed } = await deployed(clusterYaml, 'kubernetes');
    for (const line of [
      'replicas: 3\n',
      'serviceName: nats-sheaf\n',
      'topologyKey: kubernetes.io/hostname\n',
      'maxUnavailable: 1\n',
      'volumeClaimTemplates:\n',
      'secretName: nats-sheaf,',
    ])
      expect(files['nats.yaml']).toContain(line);
    const kustomization = files['kustomization.yaml'] ?? '';
    expect(kustomization).toContain('resources: [deployment.yaml, service.yaml, disruption-budget.yaml, nats.yaml]\n');
    expect(kustomization).toContain('  - name: nats-sheaf\n    files: [nats.conf]\n');
    expect(kustomization).toContain('- nats-authorization=secrets/nats-authorization\n');
    const [, advised] = /^ *# {3}nats: (\[.*\])$/m.exec(printed) ?? [];
    const followed = await deployed(fleet(advised ?? ''), 'kubernetes');
    expect(followed.printed).not.toContain('# nodes ask');
    expect(followed.files['nats.conf']).toBe(files['nats.conf']);
  });

  it.skipIf(noNats !== undefined)(`has a configuration that NATS reads${because(noNats)}`, async () => {
    const { files } = await deployed(clusterYaml, 'kubernetes');
    const root = await laidOut(files['nats.conf'] ?? '', {
      'etc/nats-secrets/nats-authorization': 'users: [{ user: "a", password: "b" }]\n',
    });
    const configuration = join(root, 'etc/nats/nats.conf');
    const check = (): ReturnType<typeof ended> =>
      ended('/usr/bin/env', ['POD_NAME=one', natsServer, '-t', '-c', configuration], root);
    expect(await check()).toMatchObject({ code: 0 });
    await writeFile(configuration, (await readFile(configuration, 'utf8')).replace('store_dir', 'store_directory'));
    expect((await check()).code).not.toBe(0);
  });
});
