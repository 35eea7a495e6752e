/** Entry of the worker that a site serves once it no longer wants the page loader */
import { removePageLoader } from './removal.js';

declare const self: ServiceWorkerGlobalScope;

self.addEventListener('install', (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener('activate', (event) => {
  // It listens to no fetch, so open pages load by themselves after this.
  event.waitUntil(self.clients.claim().then(() => removePageLoader(self.registration)));
});
