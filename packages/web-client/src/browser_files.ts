import { fileURLToPath } from 'node:url';

/** Directory of the bundled browser files, `page_loader/` and `live/` */
export const browserDirectory = fileURLToPath(new URL('../dist/browser/', import.meta.url));
