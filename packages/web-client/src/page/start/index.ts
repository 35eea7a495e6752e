/** What a site may import from `/.well-known/sheaf/page-loader.js`. */
export { startPageLoader, type PageLoaderOptions, type Unavailable } from './page_loader.js';
