import type { GatewayUnderTest } from '../../http/gateways.js';
import { intendedNginx, type FoundNginx } from '../../http/nginx.js';
import { nginxConfiguration, startNginxWith, type NginxSite } from '../../http/nginx_process.js';

/**
 * Starts nginx in front of servers that speak HTTP/1.1 without TLS, and keeps its connections to them like Caddy.
 * @throws UserError when it does not serve
 */
export const startNginxProxy = (
  directory: string,
  upstreams: readonly string[],
  found: FoundNginx,
): Promise<GatewayUnderTest> => startNginxWith(directory, proxySite(upstreams), found);

/** Returns the configuration of an nginx in front of these servers. */
export const proxyConfiguration = (port: number, upstreams: readonly string[], found = intendedNginx): string =>
  nginxConfiguration(port, proxySite(upstreams), found);

/** Like Caddy it passes bodies on as they come, and keeps none on disk. */
const proxySite = (upstreams: readonly string[]): NginxSite => ({
  http: `client_max_body_size 0;
upstream backends {
${upstreams.map((address) => `server ${address};`).join('\n')}
keepalive 32;
keepalive_requests 100000000;
}`,
  server: `location / {
proxy_pass http://backends;
proxy_http_version 1.1;
proxy_set_header Connection "";
proxy_set_header Host $host;
proxy_request_buffering off;
proxy_max_temp_file_size 0;
}`,
});
