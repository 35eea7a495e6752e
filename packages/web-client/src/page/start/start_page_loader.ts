import type { StyleName } from '../../priority/index.js';
import { WELL_KNOWN, parseGatewayDescription } from '../../protocol/index.js';
import type { Message, Reply } from '../../service_worker/messages.js';

/** Reason why the browser loads pages itself */
export type Unavailable = 'no-service-worker' | 'no-webtransport' | 'no-gateway' | 'switched-off' | 'failed';

export interface PageLoaderOptions {
  /** Order of requests for pages that choose none by `?sheaf-style=`; default: RFC 9218 as Chromium uses it */
  readonly style?: StyleName;
}

/** Sends a message to the worker, and waits for the reply. */
export async function ask(worker: ServiceWorker, message: Message): Promise<Reply> {
  const { port1, port2 } = new MessageChannel();
  const reply = new Promise<Reply>((resolve) => {
    port1.onmessage = (event): void => resolve(event.data as Reply);
  });
  worker.postMessage(message, [port2]);
  return reply;
}

/**
 * Registers the page loader, and waits until it controls this page and knows how to reach the gateway. After that,
 * navigations and subresources of this origin use one WebTransport session. Never throws, since the site also works
 * without the page loader.
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

/** Returns the worker, once its `clients.claim()` has reached this page. */
async function controllingWorker(): Promise<ServiceWorker> {
  for (;;) {
    const { controller } = navigator.serviceWorker;
    if (controller !== null) return controller;
    await new Promise((resolve) => {
      navigator.serviceWorker.addEventListener('controllerchange', resolve, { once: true });
    });
  }
}
