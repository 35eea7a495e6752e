export { launchChromium } from './browser/chromium.js';
export { runBrowserDemo, type BrowserDemoReport, type BrowserDemoTarget } from './browser/browser_demo.js';
export type { EngineReport, EngineResult } from './engine/engine_bench.js';
export type { HttpReport } from './http/http_bench.js';
export { benchNames, benchOptions, runBench } from './run_bench.js';
