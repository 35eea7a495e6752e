import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { sheaf, temporaryDirectory } from './world.js';

/** A gateway with all kinds of files, of which none has to be here */
export const gatewayYaml = `# The site
listen: ":443"
tls: { cert: /etc/sheaf/cert.pem, key: /etc/sheaf/key.pem }   # of an authority
secrets: /etc/sheaf/secrets
admin: 127.0.0.1:9433
routes:
  - { path: /chat, webtransport: /srv/chat/chat.js }
  - { path: /, files: /srv/site }
limits: { drain: 60s }
`;

/** Nodes of several machines */
export const sitesYaml = `nodes:
  site:
    role: gateway
    listen: ":443"
    tls: { cert: /etc/sheaf/cert.pem, key: /etc/sheaf/key.pem }
    backbone: 10.0.0.1:4533
    key: { file: /etc/sheaf/site.key }
    public_key: ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    backends: [images]
    admin: 127.0.0.1:9433
    routes: [{ path: /, backends: [images] }]
  images:
    role: backend
    listen: 10.0.0.2:4434
    tls: { cert: /etc/sheaf/images.pem, key: /etc/sheaf/images.key }
    primary: site
    backbone: 10.0.0.2:4533
    key: { file: /etc/sheaf/images.key }
    public_key: ed25519:BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
    return: { from: 10.0.0.1:443 }
    admin: 127.0.0.1:9434
    routes: [{ path: /, files: /srv/images }]
  laptop:
    role: tunnel
    gateway: { address: "gateway.example:443" }
    user: { file: /etc/sheaf/user.txt }
    socks5: 127.0.0.1:1080
`;

export interface Written {
  /** Directory with the configuration */
  directory: string;
  /** Directory with what was written */
  out: string;
  /** Texts by path */
  files: Record<string, string>;
  printed: string;
}

/** Runs `sheaf deploy` on a configuration, and reads what it wrote. */
export async function deployed(yaml: string, ...args: readonly string[]): Promise<Written> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'sheaf.yaml'), yaml);
  const { code, out: printed, err } = await sheaf(['deploy', ...args, '--out', 'out'], directory);
  expect([code, err]).toEqual([0, '']);
  const out = join(directory, 'out');
  const entries = await readdir(out, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(paths.map((path) => readFile(path, 'utf8')));
  return {
    directory,
    out,
    printed,
    files: Object.fromEntries(paths.map((path, i) => [path.slice(out.length + 1), texts[i]!])),
  };
}

/** Makes a certificate and a site in a directory. */
export async function makeSite(directory: string): Promise<void> {
  await mkdir(join(directory, 'site'));
  await writeFile(join(directory, 'site', 'index.html'), 'hello');
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost';
  execFileSync('openssl', [...request.split(' '), '-keyout', 'key.pem', '-out', 'cert.pem'], {
    cwd: directory,
    stdio: 'ignore',
  });
}
