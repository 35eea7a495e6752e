import { formatBytes, formatNumber } from './format.js';
import { pathClass } from './path_charts.js';
import type { PathSeries } from './path_history.js';

/** A cell of a table: the label of its column, its text, and its classes */
export type Cell = [label: string, content: string, className: string];

export const nameOf = ({ report: { local, remote } }: PathSeries): string => `${local} →\u00a0${remote}`;

function stateOf({ gone, report }: PathSeries): string {
  const state = gone ? 'gone' : report.state;
  return report.backup ? `${state}, backup` : state;
}

/** Returns the cells that describe a path: its name, its state, and its traffic. */
export function pathCells(series: PathSeries): [Cell, Cell, ...Cell[]] {
  const { report, samples, gone } = series;
  const share = report.packetsSent === 0 ? 0 : (100 * report.packetsLost) / report.packetsSent;
  return [
    ['Path', nameOf(series), `mark ${pathClass(series.place)}`],
    ['State', stateOf(series), ''],
    ['Round trip', `${formatNumber(report.roundTripMs)} ms`, 'number'],
    ['Lost', `${report.packetsLost} (${share.toFixed(1)} %)`, 'number'],
    ['Now', `${formatNumber(gone ? 0 : (samples.at(-1)?.rate ?? 0))} Mbit/s`, 'number'],
    ['Sent', formatBytes(report.bytesSent), 'number'],
    ['Received', formatBytes(report.bytesReceived), 'number'],
  ];
}

/** Returns a row with the labels of the columns. */
export function tableHead(cells: readonly Cell[]): HTMLTableRowElement {
  const line = document.createElement('tr');
  for (const [label, , className] of cells) {
    const cell = document.createElement('th');
    cell.scope = 'col';
    cell.textContent = label;
    cell.classList.toggle('number', className === 'number');
    line.append(cell);
  }
  return line;
}

export function tableRow(cells: readonly Cell[]): HTMLTableRowElement {
  const line = document.createElement('tr');
  for (const [label, content, className] of cells) {
    const cell = line.insertCell();
    cell.textContent = content;
    cell.className = className;
    // In the narrow layout, where a row is a card, each cell shows its own label.
    cell.dataset['label'] = label;
  }
  return line;
}
