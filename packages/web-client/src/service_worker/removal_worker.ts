/** Entry of the worker that a site serves instead of the page loader once it does not want that any more. */
import { removePageLoader } from './removal.js';

declare const self: ServiceWorkerGlobalScope;

self.addEventListener('install', (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => {
  // It listens to no fetch: pages that are open load by themselves from here on.
  event.waitUntil(self.clients.claim().then(() => removePageLoader(self.registration)));
});
