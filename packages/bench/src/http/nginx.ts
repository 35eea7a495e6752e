import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@sheaf/gateway/client';
import { capture, runProgram } from '../process/run_program.js';
import { stop, untilListening } from '../process/service.js';
import type { GatewayUnderTest, Site } from './gateways.js';
import type { Protocol } from './load_clients.js';

/** Commands of nginx: Debian's package installs it where only root has it in the path. */
const commands = ['nginx', '/usr/sbin/nginx'];

export interface FoundNginx {
  command: string;
  version: string;
  /** Why it cannot be measured over a protocol */
  reasons: Partial<Record<Protocol, string>>;
}

/** Finds nginx. Debian 12's does not speak HTTP/3. */
export async function findNginx(): Promise<FoundNginx> {
  for (const command of commands) {
    // Prints to standard error, which a shell joins to the output.
    const build = await capture('sh', ['-c', `${command} -V 2>&1`]);
    if (build === undefined) continue;
    const described = describeNginx(build);
    const installed = await capture('dpkg-query', ['--show', '--showformat', '${Version}', 'nginx']);
    return { command, ...described, version: versionOf(described.version, installed) };
  }
  const reason = 'nginx is not installed (apt-get install nginx-light)';
  return { command: '', version: 'none', reasons: { h3: reason, h2: reason } };
}

/** Returns the version of the installed package, which names the release of Debian, if the program is its own. */
export const versionOf = (version: string, installed: string | undefined): string =>
  installed?.startsWith(`${version}-`) ? installed : version;

/** Reads the output of `nginx -V`. */
export function describeNginx(build: string): Omit<FoundNginx, 'command'> {
  const version = /nginx version: nginx\/(\S+)/.exec(build)?.[1] ?? 'unknown';
  const has = (protocol: string): boolean => build.includes(`--with-http_${protocol}_module`);
  return {
    version,
    reasons: {
      ...(!has('v3') && { h3: `nginx ${version} is built without HTTP/3, which came with 1.25` }),
      ...(!has('v2') && { h2: `nginx ${version} is built without HTTP/2` }),
    },
  };
}

/** Starts nginx as a file server over the protocols that it has. @throws UserError when it does not serve */
export async function startNginx(
  { directory, files }: Site,
  { command, version, reasons }: FoundNginx,
): Promise<GatewayUnderTest> {
  const port = await freePort();
  const own = join(directory, 'nginx');
  await mkdir(own, { recursive: true });
  await runProgram('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'],
    ...['-subj', '/CN=localhost', '-keyout', join(own, 'key.pem'), '-out', join(own, 'certificate.pem')],
  ]);
  await writeFile(join(own, 'nginx.conf'), configurationOf({ own, files, port, http3: reasons.h3 === undefined }));
  const child = spawn(command, ['-p', own, '-c', join(own, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await untilListening(child, 'nginx', port);
  return { name: 'nginx', version, port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/** One process serves, so that its processor time is that of the process that was started. */
const configurationOf = ({
  own,
  files,
  port,
  http3,
}: {
  own: string;
  files: string;
  port: number;
  http3: boolean;
}): string => `
daemon off;
master_process off;
pid ${own}/nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  sendfile on;
  open_file_cache max=100;
  keepalive_requests 100000000;
  client_body_temp_path ${own}/body;
  proxy_temp_path ${own}/proxy;
  fastcgi_temp_path ${own}/fastcgi;
  uwsgi_temp_path ${own}/uwsgi;
  scgi_temp_path ${own}/scgi;
  server {
    listen 127.0.0.1:${port} ssl http2;${http3 ? `\n    listen 127.0.0.1:${port} quic;` : ''}
    server_name localhost;
    ssl_certificate ${own}/certificate.pem;
    ssl_certificate_key ${own}/key.pem;
    ssl_protocols TLSv1.3;
    root ${files};
  }
}
`;
