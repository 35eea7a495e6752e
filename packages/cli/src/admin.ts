import { request } from 'node:http';
import type { Readable } from 'node:stream';
import { errorMessage, UserError } from '@sheaf/gateway/client';
import { unreadableInput } from './unreadable_input.js';

/** Maximum wait for a response. A node usually runs on this machine and answers within milliseconds. */
const usualTimeoutMs = 5_000;

export interface AdminQuestion {
  method?: string;
  headers?: Record<string, string>;
  body?: Readable;
  /** Maximum wait for the response to a question without a body */
  timeoutMs?: number;
}

export interface AdminAnswer {
  status: number;
  text: string;
}

/** Sends a request to the admin address of a node. A body may take any time. @throws UserError when nobody answers, and what the body fails with */
export function askAdmin(
  address: string,
  path: string,
  { method = 'GET', headers = {}, body, timeoutMs = usualTimeoutMs }: AdminQuestion = {},
): Promise<AdminAnswer> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void =>
      reject(
        new UserError('ADMIN_UNREACHABLE', `no gateway answers on ${address} (${errorMessage(cause)})`, {
          hint: 'start it with `sheaf up`, or name its address with --admin',
          cause,
        }),
      );
    const url = `http://${address}${path}`;
    if (!URL.canParse(url)) return refuse(new Error('not an address'));
    const sent = request(url, { method, headers, ...(body ? {} : { timeout: timeoutMs }) }, (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (chunk: string) => (text += chunk));
      response.once('error', refuse);
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.once('timeout', () => sent.destroy(new Error('timeout'))).once('error', refuse);
    if (!body) return void sent.end();
    // What the body fails with is no fault of the node.
    body.once('error', (error) => {
      reject(error instanceof UserError ? error : unreadableInput('the input', error, errorMessage(error)));
      sent.destroy();
    });
    body.pipe(sent);
  });
}
