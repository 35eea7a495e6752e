/**
 * The start page. `?to=/path` is where to go once the page loader runs, and `&style=` is the order in which resources
 * are requested.
 */
import { isStyleName } from '../../priority/index.js';
import { startPageLoader } from './start_page_loader.js';

// Nobody should wait longer for the page loader than for a slow page.
const PATIENCE_MS = 5_000;

const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
const query = new URLSearchParams(location.search);
const style = query.get('style');
await Promise.race([startPageLoader(isStyleName(style) ? { style } : {}), patience]);
location.replace(destination(query.get('to') ?? '/'));

/** Returns `to` if it is on this origin. Otherwise this page would be an open redirect. */
function destination(to: string): string {
  const url = URL.canParse(to, location.origin) ? new URL(to, location.origin) : undefined;
  if (url?.origin !== location.origin || url.pathname === location.pathname) return '/';
  return url.href;
}
