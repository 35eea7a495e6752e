import { parseConfiguration } from '@sheaf/gateway';
import { expect, test } from 'vitest';
import { edgeConfiguration, gatewayConfiguration } from '../../../src/pages/real/node_configurations.js';
import { COMPARED_NAMES } from '../../../src/pages/simulation/schedulers.js';

/** Returns the settings of the only node, with defaults. */
const parsed = (configuration: object): unknown =>
  parseConfiguration(JSON.stringify(configuration), 'node.yaml').nodes[0]?.node;

const files = { pages: '/pages', warm: '/warm' };

test('gateways of all schedulers have the default scheduler of paths', () => {
  const scheduler = (configuration: object): unknown =>
    (parsed(configuration) as { path_scheduler: string }).path_scheduler;
  const byDefault = scheduler({ listen: '127.0.0.1:0', routes: [{ path: '/', files: '/pages' }] });
  expect(byDefault).toBeTypeOf('string');
  for (const name of COMPARED_NAMES) expect(scheduler(gatewayConfiguration(name, files)), name).toBe(byDefault);
});

test('gateways differ in the scheduler of streams alone, and the one with BBR in the controller, too', () => {
  const { stream_scheduler: streams, ...rr } = gatewayConfiguration('rr', files);
  expect(streams).toBe('rr');
  expect(gatewayConfiguration('rfc9218', files)).toEqual({ ...rr, stream_scheduler: 'rfc9218' });
  expect(gatewayConfiguration('critical-first-bbr', files)).toEqual({
    ...rr,
    stream_scheduler: 'critical-first',
    congestion: 'bbr',
  });
});

test('the edge has a path for each link', () => {
  expect(parsed(edgeConfiguration(4433, [5001, 5002]))).toMatchObject({
    paths: [
      { local: expect.anything(), remote: expect.anything() },
      { local: expect.anything(), remote: expect.anything() },
    ],
  });
});
