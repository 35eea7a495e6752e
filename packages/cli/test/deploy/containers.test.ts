import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { deployed, gatewayYaml, sitesYaml } from '../support/deployable.js';
import { checker, ended, missing } from '../support/deploy_checks.js';

const because = (reason: string | undefined): string => (reason === undefined ? '' : ` (skipped: ${reason})`);
const noCompose = missing(checker('docker-compose'), ['version']);
const noValidator = missing(checker('kubernetes-validate'), ['--version']);

describe('Compose', () => {
  it.skipIf(noCompose !== undefined)(`accepts the file, and no misspelt one${because(noCompose)}`, async () => {
    const { out, files } = await deployed(gatewayYaml, 'compose');
    const check = (): ReturnType<typeof ended> =>
      ended(checker('docker-compose'), ['-f', 'compose.yaml', 'config', '-q'], out);
    expect(await check()).toEqual({ code: 0, output: '' });
    await writeFile(join(out, 'compose.yaml'), (files['compose.yaml'] ?? '').replace('cap_drop', 'cap_drops'));
    expect((await check()).code).not.toBe(0);
  });

  it('gives the container time to drain, its keys, and nothing to change', async () => {
    const { files, printed } = await deployed(gatewayYaml, 'compose', '--image', 'example/sheaf:1');
    const compose = files['compose.yaml'] ?? '';
    for (const line of [
      'image: "example/sheaf:1"',
      'network_mode: host',
      'stop_grace_period: 75s',
      'read_only: true',
      'cap_drop: [ALL]',
      'secrets: ["tls-cert", "tls-key", "secrets"]',
      'source: "/srv/chat"',
      '"healthcheck", "--admin", "127.0.0.1:9433"]',
    ])
      expect(compose).toContain(line);
    expect(files['sheaf.yaml']).toContain('key: "/run/secrets/tls-key" }   # of an authority');
    expect(files['sheaf.yaml']).toContain('webtransport: "/srv/sheaf/routes-0-webtransport-application/chat.js"');
    expect(files['60-sheaf.conf']).toContain('net.ipv4.ip_unprivileged_port_start = 443\n');
    expect(files['.dockerignore']).toBe('*\n!packages\n');
    expect(files['.gitignore']).toContain('secrets/\n');
    expect(printed).toContain('-o 65532 -g 65532 /etc/sheaf/key.pem secrets/tls-key');
  });
});

describe('Kubernetes', () => {
  it.skipIf(noValidator !== undefined).each([
    ['a Deployment', gatewayYaml, [], 'deployment.yaml'],
    ['a DaemonSet', gatewayYaml, ['--host-network'], 'daemonset.yaml'],
    ['one of several nodes', sitesYaml, ['--node', 'site'], 'deployment.yaml'],
  ])(`accepts %s${because(noValidator)}`, async (_what, yaml, args, workload) => {
    const { out, files } = await deployed(yaml, 'kubernetes', ...args);
    for (const file of [workload, 'service.yaml', 'disruption-budget.yaml'])
      expect(await ended(checker('kubernetes-validate'), ['--strict', file], out)).toMatchObject({ code: 0 });
    await writeFile(join(out, workload), (files[workload] ?? '').replace('runAsNonRoot', 'runAsNoRoot'));
    expect((await ended(checker('kubernetes-validate'), ['--strict', workload], out)).code).not.toBe(0);
  });

  it('waits longer than the node drains, and asks for health where it is answered', async () => {
    const pods = (await deployed(gatewayYaml, 'kubernetes')).files['deployment.yaml'] ?? '';
    expect(pods).toContain('terminationGracePeriodSeconds: 80\n');
    expect(pods).toContain('value: "443"');
    expect(pods).not.toContain('httpGet');
    expect(pods).toContain('"healthcheck", "--admin", "127.0.0.1:9433"]');
    const host = (await deployed(gatewayYaml, 'kubernetes', '--host-network')).files['daemonset.yaml'] ?? '';
    expect(host).toContain('readinessProbe:\n            httpGet: { path: /readyz, port: 9433, host: "127.0.0.1" }');
    expect(host).toContain('livenessProbe:\n            httpGet: { path: /healthz, port: 9433, host: "127.0.0.1" }');
    expect(host).toContain('hostNetwork: true');
    // Machines set this themselves: a pod with their network may not.
    expect(host).not.toContain('sysctls');
    const open = gatewayYaml.replace('127.0.0.1:9433', '":9433"');
    const asked = (await deployed(open, 'kubernetes')).files['deployment.yaml'] ?? '';
    expect(asked).toContain('httpGet: { path: /readyz, port: 9433 }');
  });

  it('offers UDP and TCP at one address, and the backbone to nobody', async () => {
    const service = (await deployed(sitesYaml, 'kubernetes', '--node', 'site')).files['service.yaml'] ?? '';
    expect(service).toContain('port: 443, targetPort: 443, protocol: TCP');
    expect(service).toContain('port: 443, targetPort: 443, protocol: UDP');
    expect(service).toContain('externalTrafficPolicy: Local');
    expect(service).not.toContain('4533');
  });

  it('names files of keys, and copies none', async () => {
    const { files, printed } = await deployed(gatewayYaml, 'kubernetes');
    expect(printed).not.toContain('# without secrets');
    const without = await deployed(gatewayYaml.replace(/secrets:.*\n/, ''), 'kubernetes');
    expect(without.printed).toContain('# without secrets');
    const text = files['kustomization.yaml'] ?? '';
    expect(text).toContain('type: kubernetes.io/tls');
    expect(text).toContain('- "tls.key=secrets/tls-key"\n');
    expect(text).toContain('- "secrets=secrets/secrets"\n');
    expect(files['sheaf.yaml']).toContain('{ cert: "/run/secrets/tls/tls.crt", key: "/run/secrets/tls/tls.key" }');
    expect(Object.keys(files).filter((path) => path.startsWith('secrets'))).toEqual([]);
  });
});
