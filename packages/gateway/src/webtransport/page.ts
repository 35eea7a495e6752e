import { isOriginAllowed, servePage, type PageSession } from '@sheaf/web-client/server';
import type { RequestHandler } from '../http/request_handler.js';
import { fromPageRequest, PageResponseWriter } from './page_exchange.js';
import type { WebTransportApplication } from './session.js';

export { isOriginAllowed };

/** The application behind the page loader: every stream is a request to the gateway itself. */
export function pageApplication(handler: RequestHandler): WebTransportApplication {
  return (session, context) =>
    servePage(
      session as unknown as PageSession,
      (pageRequest) => {
        const response = new PageResponseWriter(pageRequest.signal);
        void handler.handle(fromPageRequest(pageRequest, context), response);
        return response.head;
      },
      { onError: (error) => context.log.warn({ err: error, path: context.url }, 'page request failed') },
    );
}
