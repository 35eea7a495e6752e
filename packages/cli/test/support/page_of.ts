import { request as httpsRequest } from 'node:https';

/** Returns the body of `/a.txt`, over a connection of its own. */
export function pageOf({ port }: { port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(
      { host: '127.0.0.1', port, path: '/a.txt', rejectUnauthorized: false, agent: false },
      (response) => response.setEncoding('utf8').once('data', resolve),
    );
    sent.once('error', reject).end();
  });
}
