/** Cache Storage of the {@link Configuration} */
export const SETTINGS_CACHE = 'sheaf-page-loader';
/** Cache Storage of the {@link HttpCache} */
export const RESPONSES_CACHE = 'sheaf-responses';

/** Removes the page loader from this browser. Open pages load without it from their next load on. */
export async function removePageLoader(registration: ServiceWorkerRegistration): Promise<void> {
  await Promise.all([SETTINGS_CACHE, RESPONSES_CACHE].map((name) => caches.delete(name)));
  await registration.unregister();
}
