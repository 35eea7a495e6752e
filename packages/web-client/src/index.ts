export { browserDirectory } from './browser_files.js';
