import {
  WELL_KNOWN,
  parsePathReports,
  parseResponseReports,
  type PathReport,
  type ResponseReport,
} from '../../protocol/index.js';
import { fetchBackends, type DemoBackend } from './demo_control.js';

const TURN_MS = 250;
/** Number of turns after which paths and processes are requested again */
const TURNS_A_SECOND = 4;

export interface ReportEvents {
  responses(reports: readonly ResponseReport[]): void;
  /** Reports paths, once a second. */
  paths(reports: readonly PathReport[]): void;
  /** Reports backends, once a second, if a demo serves this page. */
  backends(backends: readonly DemoBackend[]): void;
  /** Reports once that this page did not come through an edge with reports. Backends are still reported. */
  untold(): void;
  unreachable(): void;
}

/** Polls the edge and the demo, one request at a time, as long as the page is open. */
export async function followReports(events: ReportEvents): Promise<void> {
  let controlled = true;
  let told = true;
  for (let turn = 0; told || controlled; turn += 1) {
    try {
      const responses = told ? await ask(WELL_KNOWN.responses) : undefined;
      if (responses !== undefined) events.responses(parseResponseReports(responses));
      else if (told) {
        told = false;
        events.untold();
      }
      if (turn % TURNS_A_SECOND === 0) {
        if (told) events.paths(parsePathReports(await ask(WELL_KNOWN.paths)));
        const backends: readonly DemoBackend[] | undefined = controlled ? await fetchBackends() : undefined;
        controlled = backends !== undefined;
        if (backends) events.backends(backends);
      }
    } catch {
      events.unreachable();
    }
    do await new Promise((resolve) => setTimeout(resolve, TURN_MS));
    while (document.hidden);
  }
}

async function ask(resource: string): Promise<unknown> {
  const response = await fetch(resource, { cache: 'no-store' });
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${resource}: status ${response.status}`);
  return response.json();
}
