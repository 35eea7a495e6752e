export { launchChromium } from './browser/chromium.js';
export { runBrowserDemo, type BrowserDemoReport, type BrowserDemoTarget } from './browser/browser_demo.js';
