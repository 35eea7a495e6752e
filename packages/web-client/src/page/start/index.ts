/** What a site may import from `/.well-known/sheaf/page-loader.js`. */
export { startPageLoader, type Unavailable } from './page_loader.js';
