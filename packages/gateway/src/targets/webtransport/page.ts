import { isOriginAllowed, servePage, type PageResponse } from '@sheaf/web-client/server';
import type { RequestHandler } from '../../http/request_handler.js';
import { fromPageRequest, PageResponseWriter } from './page_exchange.js';
import type { WebTransportApplication, WebTransportContext } from './session.js';

export { isOriginAllowed };

/**
 * Returns the application behind the page loader. Every stream is a request to the gateway itself, for the host that
 * the session was opened for.
 */
export function pageApplication(handler: RequestHandler): WebTransportApplication {
  return (session, context) =>
    servePage(
      session,
      async (pageRequest) => {
        if (!isOwnAuthority(pageRequest.url, context)) return misdirected;
        const response = new PageResponseWriter(pageRequest.signal, pageRequest.credentials);
        void handler.handle(fromPageRequest(pageRequest, context), response);
        return response.head;
      },
      { onError: (error) => context.log.warn({ err: error, path: context.url }, 'page request failed') },
    );
}

/**
 * Returns whether a URL belongs to the authority of the extended CONNECT, or to the origin of the page that sent it.
 * That origin was checked against the authority (`isOriginAllowed`), and has another port if the page came over TCP.
 * Any other host of the gateway needs a session of its own.
 */
export function isOwnAuthority(
  url: string,
  { authority, origin }: Pick<WebTransportContext, 'authority' | 'origin'>,
): boolean {
  const requested = new URL(url).origin;
  const own = `https://${authority}`;
  return requested === origin || (URL.canParse(own) && requested === new URL(own).origin);
}

/** 421 Misdirected Request (RFC 9110 §15.5.20) */
const misdirected: PageResponse = {
  status: 421,
  headers: [['content-type', 'text/plain; charset=utf-8']],
  body: Buffer.from('421 Misdirected Request\n'),
};
