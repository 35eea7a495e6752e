import { EventList } from '../event_list.js';
import { formatBytes } from '../live/format.js';
import type { PathSeries } from '../live/path_history.js';
import type { ResponseReport } from '../../protocol/index.js';
import type { DemoBackend } from './demo_control.js';
import { markOf, nameOf } from './server_marks.js';
import { serverOf, type Server } from './tally.js';

/** The list of events, the latest first */
export class Happenings {
  /** State of each server in its latest event */
  private readonly pathStates = new Map<Server, string>();
  private readonly backends = new Map<number, DemoBackend>();

  private readonly events: EventList;

  constructor(list: HTMLElement) {
    this.events = new EventList(list);
  }

  tell(text: string, server?: Server): void {
    this.events.tell(text, server === undefined ? undefined : markOf(server));
  }

  /** Reports changes of the edge's path to a server. */
  pathOf(server: Server, path: PathSeries | undefined): void {
    const state = path === undefined || path.gone || path.report.state === 'abandoned' ? 'none' : path.report.state;
    const before = this.pathStates.get(server);
    this.pathStates.set(server, state);
    if (before === undefined || before === state) return;
    if (state === 'none') this.tell(`The edge abandoned its path to ${nameOf(server)}.`, server);
    else if (state === 'silent')
      this.tell(`Nothing is acknowledged by ${nameOf(server)} any more. The edge probes the path.`, server);
    else if (state === 'active') this.tell(`The edge has a working path to ${nameOf(server)}.`, server);
  }

  /** Reports changes of the gateway's view of a backend. */
  backend(now: DemoBackend): void {
    const { number, name, process, pid, state } = now;
    const before = this.backends.get(number);
    this.backends.set(number, now);
    if (before === undefined) return;
    if (process !== before.process) {
      if (process === 'stopped') this.tell(`The process of ${name} is gone.`, number);
      if (process === 'running') this.tell(`${name} runs as process ${pid ?? 'of its own'}.`, number);
    }
    if (state !== before.state) this.tell(`The gateway sees ${name} as ${state}.`, number);
  }

  /** Reports a piece that another server completed than the one that was asked first. */
  continued(place: number, report: ResponseReport): void {
    const last = report.parts.at(-1);
    if (!last) return;
    const earlier = report.parts.slice(0, -1);
    const began = earlier.map(
      (part) => `${nameOf(serverOf(part))} sent ${part.bytes === 0 ? 'nothing' : formatBytes(part.bytes)}`,
    );
    const rest = earlier.some(({ bytes }) => bytes > 0) ? 'the other ' : '';
    this.tell(
      `Piece ${place + 1}: ${began.join(', ')}; ${rest}${formatBytes(last.bytes)} came from ${nameOf(serverOf(last))}.`,
      serverOf(last),
    );
  }
}
