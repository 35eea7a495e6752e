import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectHttp3, type Http3Client } from '@sheaf/native';
import { freePort } from '@sheaf/gateway/client';
import { residentMebibytes } from '../../../src/process/memory.js';
import { smallRequest } from '../../../src/soak/requests.js';
import { root, sheaf, startProgram } from '../programs.js';

const modules = join(root, 'fixtures', 'modules');
/** What lines of the log may speak of: what clients asked for, and the gateway itself. */
const expectedLines = new Set(['serving', 'request', 'webtransport session', 'draining', 'stopped']);

/** A gateway that is flooded while another client asks for 1 KB again and again. */
export interface FloodedGateway {
  port: number;
  residentMebibytes(): Promise<number>;
  /** Runs `work` while the polite client asks. Resolves to how often it was answered; rejects when it was not. */
  meanwhile<Result>(work: () => Promise<Result>): Promise<{ result: Result; answered: number }>;
  /** Lines of the log that no request or session explains, and that are longer than any should be. */
  strangeLines(): string[];
  /** Exit code of the process. */
  stop(): Promise<number | null>;
}

/** `limits`: keys of that section. */
export async function startFloodedGateway(limits = ''): Promise<FloodedGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-floods-'));
  const [port, admin] = [await freePort(), await freePort()];
  mkdirSync(join(directory, 'site'));
  writeFileSync(join(directory, 'site', 'small'), Buffer.alloc(1_000));
  writeFileSync(join(directory, 'site', 'large'), Buffer.alloc(3_000_000));
  const session = (name: string): string =>
    `  - { path: /${name}, webtransport: ${JSON.stringify(join(modules, `${name}.mjs`))} }`;
  const lines = [
    `listen: 127.0.0.1:${port}`,
    `admin: 127.0.0.1:${admin}`,
    'log: { file: gateway.log }',
    `limits: { ${limits} }`,
    'routes:',
    '  - { path: /echo, webtransport: echo }',
    session('ignores'),
    session('floods'),
    '  - { path: /, files: ./site }',
  ];
  writeFileSync(join(directory, 'sheaf.yaml'), `${lines.join('\n')}\n`);
  const gateway = await startProgram(sheaf, ['up', join(directory, 'sheaf.yaml')], /ready/);
  const status = (await (await fetch(`http://127.0.0.1:${admin}/status`)).json()) as { pid: number };
  const polite = await connectHttp3({ alpn: ['h3'], host: '127.0.0.1', port, serverName: 'localhost', insecure: true });
  return {
    port,
    residentMebibytes: () => residentMebibytes(status.pid),
    meanwhile: (work) => whileAsking(polite, work),
    strangeLines: () => strangeLines(readFileSync(join(directory, 'gateway.log'), 'utf8')),
    async stop() {
      await polite.close();
      const code = await gateway.stop();
      rmSync(directory, { recursive: true, force: true });
      return code;
    },
  };
}

async function whileAsking<Result>(
  client: Http3Client,
  work: () => Promise<Result>,
): Promise<{ result: Result; answered: number }> {
  let done = false;
  let answered = 0;
  const asking = (async () => {
    while (!done) {
      await smallRequest(client);
      answered += 1;
    }
  })();
  const finished = work().finally(() => (done = true));
  const [result] = await Promise.all([finished, asking]);
  return { result, answered };
}

function strangeLines(log: string): string[] {
  return log
    .split('\n')
    .filter(
      (line) => line !== '' && (line.length > 1_000 || !expectedLines.has((JSON.parse(line) as { msg: string }).msg)),
    );
}
