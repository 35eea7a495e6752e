/**
 * The start page: `?to=/path` says where to go once the page loader is there, `&style=` in which
 * order resources are asked for.
 */
import { isStyleName } from '../../priority/index.js';
import { startPageLoader } from './start_page_loader.js';

// Nobody should wait longer for a page than a slow page takes.
const PATIENCE_MS = 5_000;

const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
const query = new URLSearchParams(location.search);
const style = query.get('style');
await Promise.race([startPageLoader(isStyleName(style) ? { style } : {}), patience]);
location.replace(destination(query.get('to') ?? '/'));

/** `to` on this origin; anything else would make an open redirect of this page. */
function destination(to: string): string {
  const url = URL.canParse(to, location.origin) ? new URL(to, location.origin) : undefined;
  if (url?.origin !== location.origin || url.pathname === location.pathname) return '/';
  return url.href;
}
