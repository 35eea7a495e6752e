import { expect, it } from 'vitest';
import { addon } from '../lib/addon.js';
import { clientEndpointOptions } from '../lib/endpoint_options.js';

it('an endpoint without a server refuses a certificate', () => {
  const endpoint = new (addon().Endpoint)(
    clientEndpointOptions({}, { address: '127.0.0.1', port: 0 }),
    () => undefined,
  );
  try {
    expect(() => endpoint.setCertificate('certificate', 'key')).toThrow(
      'This endpoint is no server, so it has no certificate.',
    );
  } finally {
    endpoint.close();
  }
});
