import type { NativeModule, ServerOptions } from '@sheaf/native';
import { expect, it } from 'vitest';
import { parseConfiguration } from '../src/configuration/load.js';
import type { RequestHandler } from '../src/http/request_handler.js';
import { createQuicListener } from '../src/listeners/quic_listener.js';

/** What the transport would be given for this configuration. */
function optionsFor(yaml: string): ServerOptions {
  const { node } = parseConfiguration(`listen: 127.0.0.1:0\nroutes: [{ files: . }]\n${yaml}`, 'sheaf.yaml');
  let given: ServerOptions | undefined;
  const module = { createHttp3Server: (options: ServerOptions) => ((given = options), { on: () => undefined }) } as unknown as NativeModule;
  createQuicListener({
    module,
    address: node.listen,
    alpn: node.alpn,
    congestion: node.congestion,
    certificate: { certificate: '', privateKey: '' },
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
  expect(() => optionsFor('congestion: reno')).toThrow(expect.objectContaining({ code: 'CONFIG_VALUE' }) as Error);
});
