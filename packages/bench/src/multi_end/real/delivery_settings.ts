import { caddyfile } from '../../http/gateways.js';
import { proxyDirectives, siteConfiguration, upstreamsOf } from './backend_site.js';
import type { ClientTask } from './client_messages.js';
import { proxyConfiguration } from './nginx_proxy.js';
import { taskFor, type Plan, type RealBackendsOptions } from './real_backends.js';

/** Everything that decides how responses are delivered, as it is when nothing has a port yet */
export interface DeliverySettings {
  /** Configuration of what clients talk to: the primary, or another proxy in its place */
  proxy: unknown;
  backends: unknown;
  task: ClientTask;
}

/** Returns what programs and clients of one way of delivery are started with. */
export function deliverySettings(
  plan: Omit<Plan, 'samples'>,
  options: Pick<RealBackendsOptions, 'requests' | 'bytes'>,
): DeliverySettings {
  const ports = Array.from({ length: plan.backends }, (_, index) => ({
    name: `backend${index + 1}`,
    listen: 0,
    backbone: 0,
    http: 0,
  }));
  const upstreams = upstreamsOf(ports);
  const described = {
    port: 0,
    admin: 0,
    backbone: 0,
    backends: ports,
    deliveries: ['direct', 'proxy'] as const,
    sink: 'sink',
  };
  const { site, ...backends } = siteConfiguration(described).nodes;
  const proxies = {
    direct: () => site,
    proxy: () => site,
    caddy: () => caddyfile(0, proxyDirectives(upstreams)),
    nginx: () => proxyConfiguration(0, upstreams),
  };
  return { proxy: proxies[plan.delivery](), backends, task: taskFor(0, plan, options) };
}
