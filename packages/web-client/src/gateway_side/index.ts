/** Exports what a gateway needs to serve pages to the page loader. Format: docs/reference/wire.md. */
export { isOriginAllowed } from './origin.js';
export { tunnelPageResource } from './tunnel_page.js';
export { pageLoaderResource, type PageLoaderResource, type PageLoaderSwitch } from './page_loader_resources.js';
export {
  CredentialsNeeded,
  servePage,
  type PageRequest,
  type PageResponse,
  type PageSession,
  type PageStream,
  type ServePageOptions,
} from './serve_page.js';
