export { launchChromium } from './browser/chromium.js';
export { runBrowserDemo, type BrowserDemoReport, type BrowserDemoTarget } from './browser/browser_demo.js';
export type { EngineReport, EngineResult } from './engine/engine_bench.js';
export type { HttpReport } from './http/http_bench.js';
export { buildPage, writePage, type PageFile } from './pages/build/build_page.js';
export { ensurePages, pageNames, pageResources } from './pages/build/fixtures.js';
export { formatPageTable, parsePageTable, type PageResource } from './pages/table/page_table.js';
export { recordHar, type Recording } from './pages/record/record.js';
export { benchNames, benchOptions, runBench } from './run_bench.js';
