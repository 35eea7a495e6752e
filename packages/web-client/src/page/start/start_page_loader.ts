import type { StyleName } from '../../priority/index.js';
import { WELL_KNOWN, parseGatewayDescription } from '../../protocol/index.js';
import type { Message, Reply } from '../../service_worker/messages.js';

/** Why pages are loaded by the browser itself. */
export type Unavailable = 'no-service-worker' | 'no-webtransport' | 'no-gateway' | 'switched-off' | 'failed';

export interface PageLoaderOptions {
  /** Order of requests for pages that choose none by `?sheaf-style=`; default: RFC 9218 as Chromium uses it. */
  readonly style?: StyleName;
}

/** Asks the worker something and waits for what it says. */
export async function ask(worker: ServiceWorker, message: Message): Promise<Reply> {
  const { port1, port2 } = new MessageChannel();
  const reply = new Promise<Reply>((resolve) => {
    port1.onmessage = (event): void => resolve(event.data as Reply);
  });
  worker.postMessage(message, [port2]);
  return reply;
}

/**
 * Registers the page loader, waits until it controls this page and has asked how the gateway is
 * reached. From then on navigations and subresources of this origin go over one WebTransport
 * session. Never throws: without the page loader the site works as ever.
 */
export async function startPageLoader({ style }: PageLoaderOptions = {}): Promise<Reply | Unavailable> {
  if (!('serviceWorker' in navigator)) return 'no-service-worker';
  if (!('WebTransport' in window)) return 'no-webtransport';
  try {
    const answer = await fetch(WELL_KNOWN.certificate_hashes, { cache: 'no-store' });
    if (!answer.ok) return 'no-gateway';
    if (parseGatewayDescription(await answer.json()).page_loader === 'off') {
      await (await navigator.serviceWorker.getRegistration('/'))?.update();
      return 'switched-off';
    }
    await navigator.serviceWorker.register(WELL_KNOWN.worker, { scope: '/', updateViaCache: 'none' });
    return await ask(await controllingWorker(), { type: 'configure', ...(style && { style }) });
  } catch (error) {
    console.warn('The page loader could not be started.', error);
    return 'failed';
  }
}

/** The worker, once its `clients.claim()` has reached this page. */
async function controllingWorker(): Promise<ServiceWorker> {
  for (;;) {
    const { controller } = navigator.serviceWorker;
    if (controller !== null) return controller;
    await new Promise((resolve) => {
      navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true });
    });
  }
}
