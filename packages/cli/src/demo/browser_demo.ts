import type { Writable } from 'node:stream';
import { UserError } from '@sheaf/gateway';
import { loadBench } from '../commands/bench.js';

/** What a browser has to know to load the demo over every transport. */
export interface BrowserDemoTarget {
  /** HTTP/3, WebTransport, HTTP/2 and HTTP/1.1 with the development certificate. */
  httpsUrl: string;
  /** The same site without TLS, a secure context for browsers on this machine. */
  httpUrl: string;
  /** SHA-256 of the certificate, hexadecimal. */
  certificateHash: string;
  /** SHA-256 of the certificate's public key, base64: for Chromium's switch. */
  publicKeyHash: string;
  progress: Writable;
}

/** What came of it: resources loaded, protocol and load time per transport, screenshot. */
export interface BrowserDemoReport {
  ok: boolean;
  [key: string]: unknown;
}

/** The browser part, which lives with the experiments. @throws UserError */
export async function loadBrowserDemo(): Promise<(target: BrowserDemoTarget) => Promise<BrowserDemoReport>> {
  const { runBrowserDemo } = (await loadBench()) as { runBrowserDemo?: (target: BrowserDemoTarget) => Promise<BrowserDemoReport> };
  if (runBrowserDemo) return runBrowserDemo;
  throw new UserError('DEMO_UNAVAILABLE', 'this build cannot drive a browser', { hint: 'run `npm run setup` in the repository' });
}
