/** Entry of the service worker, which connects the events of a page to the loader */
import { DEFAULT_STYLE, isStyleName } from '../priority/index.js';
import { WELL_KNOWN_PREFIX, type GatewayDescription } from '../protocol/index.js';
import { Configuration, PageLoaderUnwanted } from './configuration.js';
import { GatewaySession } from './gateway_session.js';
import { HttpCache } from './http_cache.js';
import { KeepAwake } from './keep_awake.js';
import { LoadLog } from './load_log.js';
import { LOADS_CHANNEL, type Message, type Reply } from './messages.js';
import { PageLoader } from './page_loader.js';
import { RESPONSES_CACHE, removePageLoader } from './removal.js';
import { RequestOrder } from './request_order.js';
import { supportedEncodings } from './response.js';
import { connect } from './transport.js';
import { VisitorCredentials } from './visitor_credentials.js';

declare const self: ServiceWorkerGlobalScope;

/** Whether the site no longer wants the page loader, so that the browser loads by itself */
let removed = false;
const configuration = new Configuration(self.location.host);
const session = new GatewaySession((refresh) =>
  connect({ get: () => configuration.get(), refresh: describe }, refresh),
);
const channel = new BroadcastChannel(LOADS_CHANNEL);
const log = new LoadLog((load) => channel.postMessage(load));
const visitor = {
  userAgent: navigator.userAgent,
  languages: navigator.languages,
  encodings: supportedEncodings(),
};
const order = new RequestOrder();
const credentials = new VisitorCredentials({
  ask: async () => (await describe()).credentials === true,
  ...(self.cookieStore && { cookies: () => self.cookieStore.getAll() }),
});
const cache = new HttpCache(() => caches.open(RESPONSES_CACHE));
const loader = new PageLoader({
  session,
  log,
  visitor,
  order,
  credentials,
  cache,
  network: (request) => fetch(request),
});
/** A worker that was started for a request must recall the style first. */
const ready = configuration.style().then((style) => {
  order.defaultStyle = style;
});
const keepAwake = new KeepAwake();

self.addEventListener('install', (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(self.clients.claim());
});

self.addEventListener('fetch', (event) => {
  if (!isOurs(event.request)) return;
  keepAwake.extend(event);
  event.respondWith(ready.then(() => loader.respond(event.request, event)));
});

self.addEventListener('message', (event) => {
  event.waitUntil(answer(event.data as Message, event.ports[0]));
});

function isOurs(request: Request): boolean {
  const url = new URL(request.url);
  return (
    !removed &&
    'WebTransport' in self &&
    url.origin === self.location.origin &&
    !url.pathname.startsWith(WELL_KNOWN_PREFIX) &&
    // Such a request asks for the browser's own cache, not for ours.
    request.cache !== 'only-if-cached'
  );
}

/** Returns the gateway's current description. Removes the page loader if the gateway says so. */
async function describe(): Promise<GatewayDescription> {
  try {
    return await configuration.refresh();
  } catch (error) {
    if (error instanceof PageLoaderUnwanted && !removed) {
      removed = true;
      await removePageLoader(self.registration);
    }
    throw error;
  }
}

async function answer(message: Message, port: MessagePort | undefined): Promise<void> {
  switch (message.type) {
    case 'configure':
      await describe();
      // Any script of the site can send a message, so check the style.
      order.defaultStyle = isStyleName(message.style) ? message.style : DEFAULT_STYLE;
      await configuration.setStyle(order.defaultStyle);
      session.reset();
      await session.warmUp();
      break;
    case 'status':
      break;
  }
  const reply: Reply = { session: session.status(), loads: log.history() };
  port?.postMessage(reply);
}
