import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@sheaf/gateway/client';
import { runProgram } from '../process/run_program.js';
import { stop, untilListening } from '../process/service.js';
import type { GatewayUnderTest } from './gateways.js';
import type { FoundNginx } from './nginx.js';

/** What an nginx does: directives of its block `http`, and of the one server in it */
export interface NginxSite {
  http: string;
  server: string;
}

/**
 * Starts nginx with a certificate and files of its own, over all protocols that it has. @throws UserError when it does
 * not serve
 */
export async function startNginxWith(directory: string, site: NginxSite, found: FoundNginx): Promise<GatewayUnderTest> {
  const port = await freePort();
  const own = join(directory, 'nginx');
  await mkdir(own, { recursive: true });
  const [key, certificate] = [join(own, 'key.pem'), join(own, 'certificate.pem')];
  // Two commands, since one that does both prints a line of dashes.
  await runProgram('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', key]);
  const what = ['-x509', '-days', '1', '-subj', '/CN=localhost'];
  await runProgram('openssl', ['req', ...what, '-key', key, '-out', certificate]);
  const configuration = join(own, 'nginx.conf');
  await writeFile(configuration, nginxConfiguration(port, site, found));
  const child = spawn(found.command, ['-p', own, '-c', configuration, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await untilListening(child, 'nginx', port);
  return { name: 'nginx', version: found.version, port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/**
 * Describes an nginx of one process, whose processor time is then that of the process that was started. Paths are
 * relative to its own directory.
 */
export const nginxConfiguration = (
  port: number,
  { http, server }: NginxSite,
  { http2Directive, reasons }: Pick<FoundNginx, 'http2Directive' | 'reasons'>,
): string => `
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 4096; }
http {
access_log off;
keepalive_requests 100000000;
client_body_temp_path body;
proxy_temp_path proxy;
fastcgi_temp_path fastcgi;
uwsgi_temp_path uwsgi;
scgi_temp_path scgi;
${http}
server {
${listeners(port, http2Directive, reasons)}
server_name localhost;
ssl_certificate certificate.pem;
ssl_certificate_key key.pem;
ssl_protocols TLSv1.3;
${server}
}
}
`;

/** Returns the sockets. Segmentation offload, which is off by default, makes HTTP/3 several times as fast. */
function listeners(port: number, http2Directive: boolean, reasons: FoundNginx['reasons']): string {
  const http2 = reasons.h2 === undefined;
  return [
    `listen 127.0.0.1:${port} ssl${http2 && !http2Directive ? ' http2' : ''};`,
    ...(http2 && http2Directive ? ['http2 on;'] : []),
    ...(reasons.h3 === undefined ? [`listen 127.0.0.1:${port} quic;`, 'quic_gso on;'] : []),
  ].join('\n');
}
