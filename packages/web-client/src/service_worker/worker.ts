/** Entry of the Service Worker: the events of a page on one side, the loader on the other. */
import { DEFAULT_STYLE } from '../priority/index.js';
import { WELL_KNOWN_PREFIX } from '../protocol/index.js';
import { Configuration } from './configuration.js';
import { GatewaySession } from './gateway_session.js';
import { KeepAwake } from './keep_awake.js';
import { LoadLog } from './load_log.js';
import { LOADS_CHANNEL, type Message, type Reply } from './messages.js';
import { PageLoader } from './page_loader.js';
import { RequestOrder } from './request_order.js';
import { supportedEncodings } from './response.js';
import { connect } from './transport.js';

declare const self: ServiceWorkerGlobalScope;

const configuration = new Configuration();
const session = new GatewaySession((refresh) => connect(configuration, refresh));
const channel = new BroadcastChannel(LOADS_CHANNEL);
const log = new LoadLog((load) => channel.postMessage(load));
const visitor = {
  userAgent: navigator.userAgent,
  languages: navigator.languages,
  encodings: supportedEncodings(),
};
const order = new RequestOrder();
const loader = new PageLoader(session, log, visitor, order, (request) => fetch(request));
/** A worker that was started for a request has to recall the style first. */
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
    'WebTransport' in self &&
    url.origin === self.location.origin &&
    !url.pathname.startsWith(WELL_KNOWN_PREFIX) &&
    // Asks for what the browser's own cache holds, which is not ours.
    request.cache !== 'only-if-cached'
  );
}

async function answer(message: Message, port: MessagePort | undefined): Promise<void> {
  switch (message.type) {
    case 'configure':
      await configuration.set(message.description, message.style ?? DEFAULT_STYLE);
      order.defaultStyle = await configuration.style();
      session.reset();
      await session.warmUp();
      break;
    case 'status':
      break;
  }
  const reply: Reply = { session: session.status(), loads: log.history() };
  port?.postMessage(reply);
}
