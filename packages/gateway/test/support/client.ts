import { request as httpsRequest } from 'node:https';
import { connect } from 'node:http2';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface Ask {
  /** IP address of the gateway; only for HTTP/1.1. */
  host?: string;
  method?: string;
  headers?: Record<string, string>;
  body?: Buffer | Readable;
}

/** One request over HTTP/1.1; the path goes out as it is. */
export function get(
  port: number,
  path: string,
  { host = '127.0.0.1', method = 'GET', headers = {}, body }: Ask = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host, port, path, method, headers, agent: false, rejectUnauthorized: false },
      (response) => {
        collect(response).then(
          (bytes) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: bytes }),
          reject,
        );
      },
    );
    request.once('error', reject);
    if (body === undefined) request.end();
    else if (Buffer.isBuffer(body)) request.end(body);
    else body.pipe(request);
  });
}

/** One request over HTTP/2. */
export async function getByHttp2(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: Ask = {},
): Promise<Answer> {
  const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  try {
    const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined });
    if (Buffer.isBuffer(body)) stream.end(body);
    else body?.pipe(stream);
    const head = await new Promise<IncomingHttpHeaders & { ':status'?: number }>((resolve, reject) => {
      stream.once('response', resolve).once('error', reject);
      session.once('error', reject);
    });
    return { status: head[':status'] ?? 0, headers: head, body: await collect(stream) };
  } finally {
    session.destroy();
  }
}

export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
