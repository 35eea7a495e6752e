import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '@sheaf/gateway/client';
import type { GatewayUnderTest } from '../../http/gateways.js';
import type { FoundNginx } from '../../http/nginx.js';
import { runProgram } from '../../process/run_program.js';
import { stop, untilListening } from '../../process/service.js';

/**
 * Starts nginx in front of servers that speak HTTP/1.1 without TLS, and keeps its connections to them like Caddy.
 * @throws UserError when it does not serve
 */
export async function startNginxProxy(
  directory: string,
  upstreams: readonly string[],
  { command, version }: FoundNginx,
): Promise<GatewayUnderTest> {
  const port = await freePort();
  const own = join(directory, 'nginx');
  await mkdir(own, { recursive: true });
  const certificate = ['-keyout', join(own, 'key.pem'), '-out', join(own, 'certificate.pem')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  await runProgram('openssl', [
    'req',
    '-x509',
    ...curve,
    '-nodes',
    '-days',
    '1',
    '-subj',
    '/CN=localhost',
    ...certificate,
  ]);
  const configuration = join(own, 'nginx.conf');
  await writeFile(configuration, proxyConfiguration(port, upstreams));
  const child = spawn(command, ['-p', own, '-c', configuration, '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await untilListening(child, 'nginx', port);
  return { name: 'nginx', version, port, pid: child.pid ?? 0, stop: () => stop(child) };
}

/**
 * Describes a proxy of one process, whose processor time is then that of the process that was started. Paths are
 * relative to its own directory. Like Caddy it passes bodies on as they come, and keeps none on disk.
 */
export const proxyConfiguration = (port: number, upstreams: readonly string[]): string => `
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 100000000;
  client_max_body_size 0;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  upstream backends {
${upstreams.map((address) => `    server ${address};`).join('\n')}
    keepalive 32;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port} ssl http2;
    server_name localhost;
    ssl_certificate certificate.pem;
    ssl_certificate_key key.pem;
    ssl_protocols TLSv1.3;
    location / {
      proxy_pass http://backends;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_request_buffering off;
      proxy_max_temp_file_size 0;
    }
  }
}
`;
