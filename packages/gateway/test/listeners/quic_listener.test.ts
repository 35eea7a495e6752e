import type { NativeModule, ServerOptions } from '@sheaf/native';
import { expect, it } from 'vitest';
import { parseGateway } from '../support/configuration.js';
import type { RequestHandler } from '../../src/http/request_handler.js';
import { createQuicListener } from '../../src/listeners/quic_listener.js';

/** What the transport would be given for this configuration. */
function optionsFor(yaml: string): ServerOptions {
  const { node } = parseGateway(`listen: 127.0.0.1:0\nroutes: [{ files: . }]\n${yaml}`, 'sheaf.yaml');
  let given: ServerOptions | undefined;
  const module = {
    createHttp3Server: (options: ServerOptions) => ((given = options), { on: () => undefined }),
  } as unknown as NativeModule;
  createQuicListener({
    module,
    address: node.listen,
    alpn: node.alpn,
    congestion: node.congestion,
    multipath: node.multipath,
    sharesPort: false,
    multiEnd: false,
    returnPaths: false,
    pathScheduler: node.path_scheduler,
    streamScheduler: node.stream_scheduler,
    certificate: { certificate: '', privateKey: '' },
    resetSecret: Buffer.alloc(32),
    resetScope: '',
    handler: {} as RequestHandler,
    limits: node.limits,
    onError: () => undefined,
  });
  if (!given) throw new Error('no server was made');
  return given;
}

it('the congestion controller is CUBIC unless the configuration says otherwise', () => {
  expect(optionsFor('').congestionControl).toBe('cubic');
  expect(optionsFor('congestion: newreno').congestionControl).toBe('new_reno');
  expect(optionsFor('congestion: bbr').congestionControl).toBe('bbr');
  expect(optionsFor('congestion: olia').congestionControl).toBe('olia');
  expect(() => optionsFor('congestion: reno')).toThrow(expect.objectContaining({ code: 'CONFIG_VALUE' }) as Error);
});

it('several paths are allowed, and scheduled by ECF, unless the configuration says otherwise', () => {
  expect(optionsFor('')).toMatchObject({ multipath: true, pathScheduler: 'ecf' });
  expect(optionsFor('multipath: false\npath_scheduler: min-rtt\nstream_scheduler: rr')).toMatchObject({
    multipath: false,
    pathScheduler: 'min-rtt',
    streamScheduler: 'rr',
  });
  expect(() => optionsFor('path_scheduler: fastest')).toThrow(
    expect.objectContaining({ code: 'CONFIG_VALUE' }) as Error,
  );
});
