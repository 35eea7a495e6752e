/** Exports what a site may import from `/.well-known/sheaf/page-loader.js`. */
export { startPageLoader, type PageLoaderOptions, type Unavailable } from './start_page_loader.js';
