import { formatBytes, formatNumber } from '../live/format.js';
import type { PathSeries } from '../live/path_history.js';
import type { BackendAction, DemoBackend } from './demo_control.js';
import { markOf, nameOf } from './server_marks.js';
import type { Server, Share } from './tally.js';

/** Facts that a card shows; unknown ones are left out */
export interface ServerFacts {
  readonly share: Share;
  readonly path: PathSeries | undefined;
  /** Mbit/s */
  readonly rate: number;
  /** In which ways its responses travelled; empty while unknown */
  readonly ways: string;
  readonly backend: DemoBackend | undefined;
}

const LABELS: Readonly<Record<BackendAction, string>> = {
  kill: 'Kill',
  drain: 'Drain',
  resume: 'Resume',
  start: 'Start',
};
const DESCRIPTIONS: Readonly<Record<BackendAction, (name: string) => string>> = {
  kill: (name) => `Kill the process of ${name}`,
  drain: (name) => `Drain ${name}: it finishes what it has and gets nothing new`,
  resume: (name) => `Resume ${name}`,
  start: (name) => `Start ${name} again`,
};

/** The card of one server: its path, rate and bytes, and the actions on it */
export class ServerCard {
  readonly element = document.createElement('li');
  private readonly texts = new Map<string, HTMLElement>();
  private readonly actions = document.createElement('p');

  constructor(
    private readonly server: Server,
    /** Settles when the action succeeded or its failure was shown. Never rejects. */
    private readonly act: (name: string, action: BackendAction) => Promise<void>,
  ) {
    this.element.className = `server ${markOf(server)}`;
    this.element.dataset['server'] = String(server);
    const head = document.createElement('div');
    head.className = 'server-head';
    head.append(this.text('h2', 'name', 'mark'), this.text('span', 'state'));
    const rate = document.createElement('p');
    rate.className = 'server-rate';
    const unit = document.createElement('small');
    unit.textContent = 'Mbit/s';
    rate.append(this.text('span', 'rate'), unit);
    const facts = document.createElement('dl');
    facts.append(
      ...(['Sent', 'Delivery', 'Path', 'Round trip', 'Link', 'Process'] as const).map((label) => this.fact(label)),
    );
    this.actions.className = 'actions';
    this.element.append(head, rate, facts, this.actions);
  }

  show({ share, path, rate, ways, backend }: ServerFacts): void {
    const present = path !== undefined && !path.gone;
    this.element.dataset['bytes'] = String(share.bytes);
    this.element.dataset['pieces'] = String(share.pieces);
    this.write('name', nameOf(this.server));
    this.write('state', stateOf(path, backend));
    this.element.dataset['state'] = stateOf(path, backend);
    this.write('rate', formatNumber(rate));
    this.write('Sent', `${formatBytes(share.bytes)}, ${share.pieces} pieces`);
    this.write('Delivery', ways);
    this.write('Path', present ? `${path.report.id}, to ${path.report.remote}` : '–');
    this.write('Round trip', present ? `${formatNumber(path.report.roundTripMs)} ms` : '–');
    this.write('Link', backend ? `${backend.megabitsPerSecond} Mbit/s, ${backend.delayMs} ms` : '');
    this.write('Process', backend?.pid === undefined ? '' : String(backend.pid));
    this.offer(backend);
  }

  private offer(backend: DemoBackend | undefined): void {
    const offered = backend === undefined ? [] : actionsOf(backend);
    const key = offered.join(' ');
    if (this.actions.dataset['actions'] === key) return;
    this.actions.dataset['actions'] = key;
    this.actions.replaceChildren(...(backend ? offered.map((action) => this.button(backend.name, action)) : []));
  }

  private button(name: string, action: BackendAction): HTMLButtonElement {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'button';
    button.textContent = LABELS[action];
    button.setAttribute('aria-label', DESCRIPTIONS[action](name));
    button.addEventListener('click', () => {
      button.disabled = true;
      void this.act(name, action).then(() => (button.disabled = false));
    });
    return button;
  }

  private fact(label: string): HTMLElement {
    const row = document.createElement('div');
    const term = document.createElement('dt');
    term.textContent = label;
    row.append(term, this.text('dd', label));
    // An unknown fact takes no room.
    row.hidden = true;
    return row;
  }

  private text(tag: string, key: string, className = ''): HTMLElement {
    const element = document.createElement(tag);
    element.className = className;
    element.dataset['fact'] = key;
    this.texts.set(key, element);
    return element;
  }

  private write(key: string, text: string): void {
    const element = this.texts.get(key);
    if (!element || element.textContent === text) return;
    element.textContent = text;
    if (element.tagName === 'DD') element.parentElement!.hidden = text === '';
  }
}

function stateOf(path: PathSeries | undefined, backend: DemoBackend | undefined): string {
  if (backend && backend.process !== 'running') return backend.process;
  if (backend) return backend.state;
  return path === undefined || path.gone ? 'no path' : path.report.state;
}

function actionsOf({ process, state }: DemoBackend): BackendAction[] {
  if (process === 'starting') return [];
  if (process === 'stopped') return ['start'];
  return ['kill', state === 'draining' ? 'resume' : 'drain'];
}
