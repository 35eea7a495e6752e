import {
  connectHttp3,
  type ClientOptions,
  type ClientRequestOptions,
  type HeaderMap,
  type Http3Client,
} from '@sheaf/native';
import { onTestFinished } from 'vitest';
import { collect } from './client.js';

/** Our own client, connected to a gateway on this machine; closes with the test. */
export async function connect(port: number, options: Partial<ClientOptions> = {}): Promise<Http3Client> {
  const client = await connectHttp3({ host: '127.0.0.1', port, alpn: ['h3'], insecure: true, ...options });
  onTestFinished(() => client.close().catch(() => undefined));
  return client;
}

export interface Http3Answer {
  status: number;
  headers: HeaderMap;
  body: Buffer;
}

export async function ask(client: Http3Client, options: ClientRequestOptions): Promise<Http3Answer> {
  const response = await client.request(options);
  return { status: response.status, headers: response.headers, body: await collect(response) };
}
